-- Under the instance locks: hands signals to the waits they were sent to. The payload is patched into the variables, the token goes on. A wait
-- that closed meanwhile gets nothing; that of a boundary event that does not interrupt stays open.
-- Writes:   subscription, workflow_instance, history_event, and what the paths ahead write.
create or replace function bpm_core.apply_signals(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
  v_met bpm_core.subscription[];
begin
  with due as materialized (
    select s::bpm_core.subscription as wait, g.id as signal_id, g.name, g.payload, n.interrupting, n.interrupting and n.element <> 'startEvent' as takes_host, t.scope_id
      from unnest(p_rows) r
     cross join lateral (select s.* from bpm_core.subscription s
                          where s.tenant_id = r.tenant_id and s.id = (r.payload ->> 'subscription')::uuid offset 0) s
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = r.tenant_id and w.id = s.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting, n.element from bpm_core.workflow_node n
                          where n.tenant_id = r.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = s.node_id offset 0) n
     cross join lateral (select g.id, g.name, g.payload from bpm_core.signal g
                          where g.tenant_id = r.tenant_id and g.id = (r.payload ->> 'signal')::uuid offset 0) g
     cross join lateral (select t.scope_id from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = s.token_id offset 0) t
     where s.state = 'Open'),
  consumed as (
    update bpm_core.subscription s
       set state = 'Consumed'
      from due d
     where s.tenant_id = (d.wait).tenant_id and s.id = (d.wait).id and d.interrupting),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p_tenant_id, (d.wait).workflow_instance_id, v_now, 'SignalReceived', (d.wait).token_id, (d.wait).node_id,
           jsonb_build_object('signal', d.signal_id, 'name', d.name, 'variables', d.payload)
           || case when d.takes_host then '{}'::jsonb else '{"interrupting": false}' end || bpm_core.local_names(p_tenant_id, d.scope_id, d.payload)
      from due d),
  patched as (
    update bpm_core.workflow_instance w
       set lock_version = w.lock_version + 1, variables = w.variables || bpm_core.patch_scopes(p_tenant_id, d.scope_id, d.payload)
      from due d
     where w.tenant_id = (d.wait).tenant_id and w.id = (d.wait).workflow_instance_id
    returning d.wait)
  select array_agg(p.wait) into v_met from patched p;
  perform bpm_core.leave_by_waits(v_met);
end
$$;
