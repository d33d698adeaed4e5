-- Whether something thrown in an instance that a call activity called would be caught there or further out. The callers' rows are read without their
-- locks: they rest at their call activities as long as what they called runs, or are about to cancel it.
create or replace function bpm_core.is_caught_by_caller(p_token bpm_core.moving, p_kind bpm_core.node_kind, p_code text)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_host bpm_core.moving := p_token;
begin
  loop
    v_host := (
      select row(t.tenant_id, t.workflow_instance_id, c.workflow_version_id, t.scope_id, t.id, t.node_id, null, null)::bpm_core.moving
        from (select w.tenant_id, w.parent_token_id from bpm_core.workflow_instance w
               where w.tenant_id = v_host.tenant_id and w.id = v_host.instance_id offset 0) w
       cross join lateral (select t.* from bpm_core.token t where t.tenant_id = w.tenant_id and t.id = w.parent_token_id offset 0) t
       cross join lateral (select c.workflow_version_id from bpm_core.workflow_instance c
                            where c.tenant_id = t.tenant_id and c.id = t.workflow_instance_id offset 0) c
       where w.parent_token_id is not null and t.state = 'Waiting');
    exit when v_host.token_id is null;
    if (bpm_core.find_catch(v_host, p_kind, p_code)).node_id is not null then
      return true;
    end if;
  end loop;
  return false;
end
$$;
