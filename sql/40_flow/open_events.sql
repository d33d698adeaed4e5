-- Opens what events wait for, by their kind: each wait names the token that rests and the event, at its node, attached to it, or behind its event-based
-- gateway.
-- Returns:  moving[], the message waits, still to be opened: their keys are locked together, sorted.
-- Writes:   subscription, timer, history_event; token, incident where a timer gives no time.
create or replace function bpm_core.open_events(p_waits bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_signals    bpm_core.moving[];
  v_timers     bpm_core.moving[];
  v_messages   bpm_core.moving[];
  v_conditions bpm_core.moving[];
begin
  select array_agg(e) filter (where e.kind in ('SignalBoundary', 'SignalCatch')), array_agg(e) filter (where e.kind in ('TimerBoundary', 'TimerCatch')),
         array_agg(e) filter (where e.kind in ('MessageBoundary', 'MessageCatch')),
         array_agg(e) filter (where e.kind in ('ConditionalBoundary', 'ConditionalCatch'))
    into v_signals, v_timers, v_messages, v_conditions
    from unnest(p_waits) e;
  if v_signals is not null then
    perform bpm_core.open_signal_waits(v_signals);
  end if;
  if v_conditions is not null then
    perform bpm_core.open_condition_waits(v_conditions);
  end if;
  -- Timers last: one that gives no time closes what the token offered already.
  if v_timers is not null then
    perform bpm_core.start_timers(v_timers);
  end if;
  return coalesce(v_messages, '{}');
end
$$;
