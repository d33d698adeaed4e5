-- Dispatches events whose rows are locked by the rules, inside one subtransaction: if it raises, half by half, and one that raises alone is put back with a
-- growing delay, and after five times buried. What cannot be decided or carried out yet waits with its reason.
-- Raises:   what passes by itself or concerns the server, not the event: 40xxx, 55P03, 57xxx, 53xxx, 58xxx. The caller repeats the whole command.
-- Writes:   as carry_out_plans, event, dead_letter.
create or replace function bpm_core.dispatch_isolated(p_tenant_id text, p_events bpm_core.event[], p_rules_version bigint, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count   constant integer := coalesce(cardinality(p_events), 0);
  v_plans   bpm_core.event_plan[];
  v_refused bpm_core.event_refusal[];
  v_error   text;
begin
  if v_count = 0 then
    return;
  end if;
  begin
    v_plans := bpm_core.plan_events(p_tenant_id, p_events);
    v_refused := array(select row((p.event).id, p.reason, null, p.detail)::bpm_core.event_refusal from unnest(v_plans) p where p.reason is not null);
    v_plans := array(select p from unnest(v_plans) p where p.reason is null);
    if cardinality(v_plans) > 0 then
      v_refused := v_refused || bpm_core.carry_out_plans(p_tenant_id, v_plans, bpm_core.caller(), p_now, false);
    end if;
    if cardinality(v_refused) > 0 then
      perform bpm_core.hold_events(p_tenant_id, v_refused, p_rules_version, p_now);
    end if;
    return;
  exception
    when transaction_rollback or lock_not_available or operator_intervention or insufficient_resources or system_error then
      raise;
    when others then
      v_error := format('%s (%s)', sqlerrm, sqlstate);
  end;
  if v_count = 1 then
    perform bpm_core.put_back_event(p_tenant_id, p_events[1], v_error, p_now);
  else
    perform bpm_core.dispatch_isolated(p_tenant_id, p_events[ : v_count / 2], p_rules_version, p_now);
    perform bpm_core.dispatch_isolated(p_tenant_id, p_events[v_count / 2 + 1 : ], p_rules_version, p_now);
  end if;
end
$$;
