-- The messages that workflow instances got, or that started them.
-- Returns:  uuid[].
create or replace function bpm_core.messages_of(p_tenant_id text, p_workflows uuid[])
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select m.id
      from unnest(p_workflows) i(id)
     cross join lateral (select t.id from bpm_core.token t where t.workflow_instance_id = i.id offset 0) t
     cross join lateral (select s.id from bpm_core.subscription s where s.token_id = t.id offset 0) s
     cross join lateral (select m.id, m.tenant_id from bpm_core.message m where m.correlated_to = s.id offset 0) m
     where m.tenant_id = p_tenant_id
    union all
    select m.id
      from unnest(p_workflows) i(id)
     cross join lateral (select m.id, m.tenant_id from bpm_core.message m where m.started_id = i.id offset 0) m
     where m.tenant_id = p_tenant_id);
end
$$;
