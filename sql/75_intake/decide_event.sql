-- Carries out what somebody decided about an event, whose row is locked; closes the dead letter of one that had failed.
-- Raises:   BP404, BP409, BP422 it cannot be carried out.
-- Writes:   as carry_out_plans, dead_letter, audit_event.
create or replace function bpm_core.decide_event(p_event bpm_core.event, p_actions jsonb, p_actor text, p_reason text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     constant timestamptz := bpm_core.now();
  v_refusal bpm_core.event_refusal;
begin
  v_refusal := (bpm_core.carry_out_plans(
    p_event.tenant_id, array[row(p_event, null, null, p_actions, null, p_actor, p_reason)::bpm_core.event_plan], p_actor, v_now, true))[1];
  if v_refusal.event_id is not null then
    perform bpm_core.fail(
      case when v_refusal.detail ->> 'outcome' = 'Rejected' then 'BP422' when v_refusal.detail ->> 'outcome' = 'WrongState' then 'BP409'
           when v_refusal.reason = 'NoInstance' and v_refusal.detail ? 'business_key' then 'BP409' else 'BP404' end,
      v_refusal.message, v_refusal.detail, 'The event waits as before.');
  end if;
  update bpm_core.dead_letter d
     set state = 'Requeued', closed_by = p_actor, closed_at = v_now
    from (select l.tenant_id, l.id, l.state from bpm_core.dead_letter l where l.event_id = p_event.id offset 0) l
   where l.state = 'Open' and d.tenant_id = l.tenant_id and d.id = l.id;
  perform bpm_core.write_audit(p_event.tenant_id, p_actor, 'DispatchEvent', 'event', p_event.id::text, null, p_reason,
    jsonb_build_object('actions', (select jsonb_agg(a.item - 'variables' order by a.n) from jsonb_array_elements(p_actions) with ordinality a(item, n)),
                       'waited_for', p_event.reason));
end
$$;
