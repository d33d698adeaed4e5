-- KIND send task: a command is written, with the variables, and its inputs over them, as its payload and its destination as it is now, and the token moves on at once.
-- The command has an id of its own, which the receiver will see at every attempt. Without a destination the token stops: UnknownDestination.
-- Writes:   outbox, history_event; incident.
create or replace function bpm_core.enter_send_tasks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_leaving  bpm_core.moving[];
  v_troubles bpm_core.trouble[];
begin
  with sending as materialized (
    select a.tenant_id, a.instance_id, a.token_id, a.node_id, b.task_type, coalesce(b.destination_code, b.task_type) as destination_code,
           d.id as destination_id, d.max_attempts, d.snapshot, q.sequence_key,
           v.variables || coalesce(i.mapped, '{}') as payload, coalesce(i.problem, 'what it is given does not meet its input schema: ' || f.fault) as problem,
           coalesce(i.detail, jsonb_build_object('invalid', f.fault)) as detail, bpm_core.new_id() as command_id, a::bpm_core.moving as token
      from unnest(p_arriving) a
     cross join lateral (select b.task_type, b.destination_code, b.expressions -> 'inputs' as inputs, b.input_schema from bpm_core.workflow_task_binding b
                          where b.tenant_id = a.tenant_id and b.workflow_version_id = a.version_id and b.node_id = a.node_id offset 0) b
      left join lateral (select d.id, d.max_attempts, d.ordered, bpm_core.destination_profile(d) as snapshot
                           from bpm_core.destination d
                          where d.tenant_id = a.tenant_id and d.code = coalesce(b.destination_code, b.task_type) offset 0) d on true
      left join lateral (select bpm_core.command_sequence(a.tenant_id, a.instance_id) as sequence_key where d.ordered offset 0) q on true
     cross join lateral bpm_core.token_variables(a.tenant_id, a.instance_id, a.scope_id) v
      left join lateral (select m.* from bpm_core.map_values(b.inputs, v.variables) m where b.inputs is not null offset 0) i on true
      left join lateral (select bpm_core.schema_fault(b.input_schema, coalesce(i.mapped, v.variables)) as fault
                          where b.input_schema is not null and i.problem is null offset 0) f on true),
  written as (
    insert into bpm_core.outbox (
      tenant_id, id, command_id, workflow_instance_id, token_id, node_id, task_type, destination_id, destination_code, destination_snapshot,
      payload, payload_hash, available_at, max_attempts, sequence_key, created_at)
    select s.tenant_id, bpm_core.new_id(), s.command_id, s.instance_id, s.token_id, s.node_id, s.task_type, s.destination_id, s.destination_code,
           s.snapshot, s.payload, bpm_core.payload_hash(s.payload), bpm_core.now(), s.max_attempts, s.sequence_key, v_now
      from sending s
     where s.destination_id is not null and s.problem is null),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select s.tenant_id, s.instance_id, v_now, 'CommandWritten', s.token_id, s.node_id, 'Pending',
           jsonb_build_object('command', s.command_id, 'destination', s.destination_code)
      from sending s
     where s.destination_id is not null and s.problem is null)
  select array_agg(row((s.token).tenant_id, (s.token).instance_id, (s.token).version_id, (s.token).scope_id, (s.token).token_id, (s.token).node_id,
                       null, null)::bpm_core.moving) filter (where s.destination_id is not null and s.problem is null),
         array_agg(case when s.problem is not null then bpm_core.task_trouble(s.token, s.problem, s.detail) else row(s.token, 'UnknownDestination', format('Send task %s: there is no destination %s.', s.node_id, s.destination_code),
                       jsonb_build_object('destination', s.destination_code, 'task_type', s.task_type))::bpm_core.trouble end)
           filter (where s.destination_id is null or s.problem is not null)
    into v_leaving, v_troubles
    from sending s;
  perform bpm_core.wake_sleepers('commands', (p_arriving[1]).tenant_id);
  perform bpm_core.open_incidents(v_troubles);
  return coalesce(v_leaving, '{}');
end
$$;
