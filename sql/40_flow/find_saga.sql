-- The nearest saga around a token that a failure there brings to compensation. A failure inside a compensation handler is for a person: an incident.
-- Returns:  catch, of its start event; null fields when there is none.
create or replace function bpm_core.find_saga(p_token bpm_core.moving)
returns bpm_core.catch
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_catch bpm_core.catch;
  v_from  bpm_core.moving := p_token;
  v_copy  boolean;
begin
  while v_from.scope_id <> bpm_core.root_scope() loop
    select s.is_copy, row(t.tenant_id, t.workflow_instance_id, p_token.version_id, t.scope_id, t.id, t.node_id, null, null)::bpm_core.moving
      into v_copy, v_catch.host
      from bpm_core.scope s
     cross join lateral (select t.* from bpm_core.token t where t.tenant_id = s.tenant_id and t.id = s.host_token_id offset 0) t
     where s.tenant_id = p_token.tenant_id and s.id = v_from.scope_id;
    exit when v_copy;
    v_catch.node_id := (
      select n.node_id
        from (select n.node_id from bpm_core.workflow_node n
               where n.attached_to = (v_catch.host).node_id and n.workflow_version_id = p_token.version_id and n.tenant_id = p_token.tenant_id offset 0) n
       where n.node_id like '%:saga-start');
    -- What the compensation of a saga itself meets is not for that saga.
    if v_catch.node_id is not null and v_from.node_id not like '%:saga' then
      v_catch.interrupting := true;
      v_catch.is_start := true;
      return v_catch;
    end if;
    v_from := v_catch.host;
  end loop;
  return null;
end
$$;
