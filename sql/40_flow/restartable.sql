-- A process instance that may be started again, as a start of the version it was pinned to.
-- Returns:  start, without idempotency key; workflow_instance_id and start_node_id: see restart_process.
-- Raises:   BP404 there is none, BP409 it neither failed nor was cancelled.
create or replace function bpm_core.restartable(p_tenant_id text, p_process_instance_id uuid)
returns bpm_core.start
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_process bpm_core.process_instance;
  v_start   bpm_core.start;
begin
  select p.* into r_process from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no process instance %s.', coalesce(p_process_instance_id::text, 'null')));
  elsif r_process.status not in ('Failed', 'Cancelled') then
    perform bpm_core.fail('BP409', format('Process instance %s is %s.', p_process_instance_id, r_process.status), jsonb_build_object('status', r_process.status),
      'Only what failed or was cancelled is started again.');
  end if;
  v_start := (
    -- By name, so that whatever else a start may carry is null.
    select jsonb_populate_record(null::bpm_core.start, jsonb_build_object(
             'item', 1, 'code', d.code, 'variables', r_process.variables, 'business_key', r_process.business_key,
             'process_version_id', r_process.process_version_id, 'workflow_version_id', w.workflow_version_id, 'role_version_id', w.role_version_id,
             'is_several', r_process.ended_bindings is not null, 'start_node_id', n.node_id, 'process_instance_id', bpm_core.new_id(), 'workflow_instance_id', bpm_core.new_id(), 'token_id', bpm_core.new_id(),
             'cause', jsonb_build_object('restart_of', p_process_instance_id)))
      from bpm_core.workflow_instance w
     cross join lateral (select n.node_id from bpm_core.workflow_node n
                          where n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.scope_node_id is null
                            and n.kind in ('StartEvent', 'MessageStart', 'TimerStart', 'SignalStart')
                          order by n.kind
                          limit 1) n
     cross join lateral (select v.definition_id from bpm_core.process_version v
                          where v.tenant_id = w.tenant_id and v.id = r_process.process_version_id offset 0) v
     cross join lateral (select d.code from bpm_core.process_definition d where d.tenant_id = w.tenant_id and d.id = v.definition_id offset 0) d
     where w.tenant_id = p_tenant_id and w.id = bpm_core.first_workflow(p_tenant_id, p_process_instance_id));
  return v_start;
end
$$;
