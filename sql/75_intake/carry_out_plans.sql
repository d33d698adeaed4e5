-- Carries out what was decided about events whose rows are locked: decision, business cases, instances and links, in one transaction. A plan that
-- cannot be carried out as a whole is not begun.
-- p_may_wait: for message keys and business cases; a tick, which may hold others, only tries.
-- Returns:  event_refusal[], for the events that were left as they are.
-- Writes:   event, routing_decision, event_process_instance, task_event, business_case, message, and what starting and correlating write.
-- Locks:    message keys; business cases that are new or closed; instances of receivers by skip locked.
create or replace function bpm_core.carry_out_plans(
  p_tenant_id text, p_plans bpm_core.event_plan[], p_actor text, p_now timestamptz, p_may_wait boolean)
returns bpm_core.event_refusal[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actions bpm_core.event_action[] := bpm_core.read_actions(p_tenant_id, p_plans);
  v_starts  bpm_core.start[];
  v_keys    bigint[];
  v_busy    bigint[] := '{}'::bigint[];
  v_refused bpm_core.event_refusal[];
  v_plans   bpm_core.event_plan[] := p_plans;
  v_events  uuid[];
begin
  v_starts := bpm_core.event_starts(p_tenant_id, v_actions);
  v_keys := array(select bpm_core.message_key_hash(p_tenant_id, a.message_name, a.correlation_key) from unnest(v_actions) a where a.message_name is not null);
  if cardinality(v_keys) > 0 then
    if p_may_wait then
      perform bpm_core.lock_message_keys(v_keys);
    else
      v_busy := bpm_core.try_message_keys(v_keys);
    end if;
  end if;
  v_refused := bpm_core.refuse_actions(p_tenant_id, v_actions, v_starts, v_busy);
  v_refused := v_refused || bpm_core.open_cases(
    p_tenant_id, array(select a from unnest(v_actions) a where a.event_id <> all (array(select r.event_id from unnest(v_refused) r))), p_now, p_may_wait);
  if cardinality(v_refused) > 0 then
    v_events := array(select r.event_id from unnest(v_refused) r);
    v_starts := array(select s from unnest(v_starts) s where (v_actions[s.item]).event_id <> all (v_events));
    v_actions := array(select a from unnest(v_actions) a where a.event_id <> all (v_events));
    v_plans := array(select p from unnest(p_plans) p where (p.event).id <> all (v_events));
  end if;
  if cardinality(v_plans) > 0 then
    if cardinality(v_starts) > 0 then
      perform bpm_core.begin_starts(p_tenant_id, v_starts, p_actor, p_now);
    end if;
    perform bpm_core.record_decisions(p_tenant_id, v_plans, v_actions, p_now);
    perform bpm_core.link_instances(p_tenant_id, v_actions, v_starts, p_now);
    if cardinality(v_keys) > 0 then
      perform bpm_core.send_event_messages(p_tenant_id, v_actions, p_now);
    end if;
    perform bpm_core.wake_threads(p_tenant_id, v_plans, p_now);
  end if;
  return v_refused;
end
$$;
