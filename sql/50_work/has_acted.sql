-- Has this person completed a user task of this process? p_nodes: an array of node ids, of these only; anything else: any.
-- Returns:  boolean.
create or replace function bpm_core.has_acted(p_tenant_id text, p_process_instance_id uuid, p_actor text, p_nodes jsonb)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return exists (
    select
      from (select w.tenant_id, w.id from bpm_core.workflow_instance w where w.process_instance_id = p_process_instance_id offset 0) w
     cross join lateral (
       select t.tenant_id, t.node_id, t.state, t.task_type, t.worker_id from bpm_core.task_instance t where t.workflow_instance_id = w.id offset 0) t
     where w.tenant_id = p_tenant_id and t.tenant_id = p_tenant_id and t.state = 'Completed' and t.task_type = 'bpm:user' and t.worker_id = p_actor
       and (jsonb_typeof(p_nodes) <> 'array' or p_nodes ? t.node_id));
end
$$;
