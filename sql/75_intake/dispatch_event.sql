-- Decides what becomes of an event, instead of the rules: a person, or a router outside of the database. Decision, business case, instances, links and audit are
-- written in one transaction; an event is decided once. Also an event that failed is decided so; its dead letter is closed.
-- p_decision: {"action": "StartProcess", "process_code", "version", "business_key", "variables"} | {"action": "Correlate", "message_name", "correlation_key",
-- "business_key", "variables", "ttl_seconds"} | {"action": "Attach", "business_key", "process_code", "process_instance_ids", "task_ids", and those of a message} |
-- {"action": "Ignore"}, which needs p_reason | {"actions": […]}. Variables that are not said are the payload.
-- Returns:  one row: event_id, dispatch_state, process_instance_ids, business_case_id, is_new (false: the same decision was made before, the first answer).
-- Raises:   BP400 ill-formed decision or no reason, BP403, BP404 no such event, process, instance or task, BP409 decided otherwise, the process has no plain start
--           event, or nothing to attach to, BP422 what an action needs is missing, variables refused.
-- Writes:   as carry_out_plans, dead_letter, audit_event. Locks: event, then message keys.
-- Source:   tenant-scoped design, transaction cookbook, "Dispatch / plan".
create or replace function bpm.dispatch_event(
  p_event_id uuid, p_decision jsonb, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (event_id uuid, dispatch_state text, process_instance_ids uuid[], business_case_id uuid, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor   text;
  v_actions jsonb;
  r_event   bpm_core.event;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  v_actions := bpm_core.read_decision(p_decision);
  if v_actions @? 'strict $[*] ? (@.action == "Ignore")' and coalesce(btrim(p_reason), '') = '' then
    perform bpm_core.fail('BP400', 'Ignoring an event needs a reason.', null, 'Pass p_reason.');
  end if;
  select e.* into r_event from bpm_core.event e where e.tenant_id = p_tenant_id and e.id = p_event_id for no key update;
  if not found then
    perform bpm_core.fail('BP404', format('There is no event %s.', coalesce(p_event_id::text, 'null')), null, 'See the view bpm.event.');
  end if;
  is_new := r_event.dispatch_state in ('Pending', 'Failed');
  if is_new then
    perform bpm_core.decide_event(r_event, v_actions, v_actor, p_reason);
  else
    perform bpm_core.check_decided(r_event, v_actions);
  end if;
  return query
  select e.id, e.dispatch_state::text,
         array(select distinct l.process_instance_id from bpm_core.event_process_instance l where l.tenant_id = e.tenant_id and l.event_id = e.id order by 1),
         d.business_case_id, is_new
    from (select e.tenant_id, e.id, e.dispatch_state from bpm_core.event e where e.tenant_id = p_tenant_id and e.id = p_event_id offset 0) e
   cross join lateral (select d.business_case_id from bpm_core.routing_decision d where d.event_id = e.id and d.tenant_id is not distinct from e.tenant_id offset 0) d;
end
$$;
