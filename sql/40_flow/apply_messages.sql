-- Under the instance locks: hands messages to the waits they were matched with. The payload is patched into the variables, the token goes on.
-- A wait that closed meanwhile never swallows its message: it is buffered again, or offered to the next wait, within its time to live.
-- A boundary event that does not interrupt waits again at once. Output mappings of the event say what of the payload is taken over.
-- Raises:   55P03 another call holds a message key that is needed: apply_inbox leaves the row for the next tick.
-- Writes:   subscription, message, workflow_instance, history_event, and what the paths ahead write.
create or replace function bpm_core.apply_messages(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_met    bpm_core.subscription[];
  v_again  bpm_core.subscription[];
  v_missed uuid[];
begin
  with due as materialized (
    select r.tenant_id, (r.payload ->> 'message')::uuid as message_id, s.id as subscription_id, n.interrupting, n.interrupting and n.element <> 'startEvent' as takes_host, t.scope_id,
           case when n.outputs is null then m.payload else bpm_core.message_patch(r.tenant_id, s.workflow_instance_id, t.scope_id, n.outputs, m.payload) end as payload
      from unnest(p_rows) r
     cross join lateral (select s.id, s.state, s.workflow_instance_id, s.node_id, s.token_id from bpm_core.subscription s
                          where s.tenant_id = r.tenant_id and s.id = (r.payload ->> 'subscription')::uuid offset 0) s
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = r.tenant_id and w.id = s.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting, n.element, n.expressions -> 'outputs' as outputs from bpm_core.workflow_node n
                          where n.tenant_id = r.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = s.node_id offset 0) n
     cross join lateral (select t.scope_id from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = s.token_id offset 0) t
     cross join lateral (select m.payload from bpm_core.message m where m.tenant_id = r.tenant_id and m.id = (r.payload ->> 'message')::uuid offset 0) m
     where s.state = 'Open'),
  consumed as (
    update bpm_core.subscription s
       set state = 'Consumed'
      from due d
     where s.tenant_id = d.tenant_id and s.id = d.subscription_id
    returning s.*, d.message_id, d.interrupting, d.takes_host, d.scope_id, d.payload),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p_tenant_id, c.workflow_instance_id, v_now, 'MessageReceived', c.token_id, c.node_id,
           jsonb_build_object('message', c.message_id, 'name', c.name, 'variables', c.payload)
           || case when c.takes_host then '{}'::jsonb else '{"interrupting": false}' end || bpm_core.local_names(c.tenant_id, c.scope_id, c.payload)
      from consumed c),
  patched as (
    update bpm_core.workflow_instance w
       set lock_version = w.lock_version + 1, variables = w.variables || bpm_core.patch_scopes(c.tenant_id, c.scope_id, c.payload)
      from consumed c
     where w.tenant_id = c.tenant_id and w.id = c.workflow_instance_id
    returning row(c.tenant_id, c.id, c.workflow_instance_id, c.process_version_id, c.token_id, c.visit, c.node_id, c.kind, c.name, c.correlation_key,
                  c.state, c.created_at, c.last_met, c.opened_by)::bpm_core.subscription as wait, c.interrupting)
  select array_agg(p.wait), array_agg(p.wait) filter (where not p.interrupting)
    into v_met, v_again
    from patched p;
  v_missed := array(
    select d.id
      from unnest(p_rows) r
     cross join lateral (select s.id, s.state from bpm_core.subscription s
                          where s.tenant_id = r.tenant_id and s.id = (r.payload ->> 'subscription')::uuid offset 0) s
     cross join lateral (select d.id, d.correlated_to from bpm_core.message d
                          where d.tenant_id = r.tenant_id and d.id = (r.payload ->> 'message')::uuid offset 0) d
     where s.state = 'Closed' and d.correlated_to = s.id);
  perform bpm_core.reopen_waits(v_again);
  perform bpm_core.leave_by_waits(v_met);
  perform bpm_core.return_messages(p_tenant_id, v_missed);
end
$$;
