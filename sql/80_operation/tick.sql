-- Does what time and others have made due: timers, inbox, parked tokens, expired leases, approvals whose time is over, pending approval effects, expired messages, commands, events to dispatch.
-- Idempotent; any number of callers at once. Each kind handles at most p_limit rows (null: the setting engine.timer_batch_size, 100); call again while something was done.
-- Returns:  one row: done jsonb {"timers": n, …}, positions jsonb (opaque; hand back with the next call), next_due_at (null: nothing planned within the next ten seconds).
-- Raises:   BP400 positions that are not ours, BP403, BP422 limit out of 1..1000.
-- Locks:    pickers only skip; instances one kind at a time, never waited for.
create or replace function bpm.tick(p_limit integer default null, p_positions jsonb default null, p_tenant_id text default '')
returns table (done jsonb, positions jsonb, next_due_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_limit    integer;
  v_kind     text;
  v_position bpm_core.pick_position;
  v_tick     bpm_core.tick_result;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_limit := coalesce(p_limit, (bpm_core.setting_value('engine.timer_batch_size', '100'))::integer);
  perform bpm_core.check_picker('tick', v_limit, null);
  perform bpm_core.check_positions(p_positions, 'object');
  -- Those of a claim have levels where ours have fields; names we do not know would otherwise pass.
  if exists (select from jsonb_each(nullif(p_positions, 'null')) p where not bpm_core.has_position_keys(p.value)) then
    perform bpm_core.fail_position();
  end if;
  done := '{}';
  positions := '{}';
  foreach v_kind in array array['timers', 'inbox', 'tokens', 'leases', 'messages', 'commands', 'unknown', 'events', 'rules', 'domain_events', 'decisions', 'approvals'] loop
    v_position := bpm_core.read_position(p_positions -> v_kind);
    v_tick := bpm_core.tick_kind(v_kind, p_tenant_id, v_limit, v_position, bpm_core.now());
    done := done || case v_kind when 'rules' then jsonb_build_object('events', (done ->> 'events')::integer + v_tick.done)
                                else jsonb_build_object(v_kind, v_tick.done) end;
    positions := positions || jsonb_build_object(v_kind, coalesce(to_jsonb(v_tick.next_position), '{}'));
    next_due_at := least(next_due_at, v_tick.next_due_at);
  end loop;
  return next;
end
$$;
