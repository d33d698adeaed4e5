-- Removes what has had its time in one tenant, one bounded page of it; what is kept for how long is said by the settings retention.*, by default everything for
-- ever. Call it until the outcome is Done: each call goes on where the last one stopped.
-- p_kind: instances (process instances that ended, with everything in them), events (decided, with their links), messages (expired), signals (sent), traces (what is left of
-- removed instances, when their history is gone).
-- Returns:  one row: kind, outcome (Off: the settings keep all; Busy: somebody else is at it; More; Done: the end of a pass), removed by this call, rows of each
--           table; and of the pass so far removed_in_pass, kept (had its time, but has to stay), reasons {reason: how many}, oldest_kept.
-- Raises:   BP400 unknown kind. BP403. BP422 limit (1..10000).
-- Writes:   what it removes, retention_pass, removed_instance, audit_event. Locks: what it removes, skip locked: it waits for nobody.
create or replace function bpm.maintain_tenant(p_kind text default 'instances', p_limit integer default 500, p_tenant_id text default '')
returns table (kind text, outcome text, removed integer, rows jsonb, removed_in_pass bigint, kept bigint, reasons jsonb, oldest_kept uuid)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_cutoff timestamptz;
  r_pass   bpm_core.retention_pass;
  r_page   record;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if coalesce(p_kind, '') not in ('instances', 'events', 'messages', 'signals', 'traces') then
    perform bpm_core.fail('BP400', format('There is nothing called %L to be removed.', p_kind), jsonb_build_object('kind', p_kind),
      'It is instances, events, messages, signals or traces.');
  elsif p_limit is null or p_limit not between 1 and 10000 then
    perform bpm_core.fail('BP422', format('The limit must be 1 to 10000, not %s.', coalesce(p_limit::text, 'null')), jsonb_build_object('limit', p_limit));
  end if;
  v_cutoff := bpm_core.retention_cutoff(p_kind, p_tenant_id, v_now);
  r_pass := case when v_cutoff is not null then bpm_core.open_pass(p_tenant_id, p_kind, v_now) end;
  if r_pass.tenant_id is null then
    return query select p_kind, case when v_cutoff is null then 'Off' else 'Busy' end, 0, '{}'::jsonb, 0::bigint, 0::bigint, '{}'::jsonb, null::uuid;
    return;
  end if;
  r_page := bpm_core.remove_page(r_pass, p_limit, v_cutoff, bpm_core.caller(), v_now);
  return query select p_kind, case when (r_page.pass).reached is null then 'Done' else 'More' end, r_page.removed, r_page.rows, (r_page.pass).removed,
                      (r_page.pass).kept, (r_page.pass).reasons, (r_page.pass).oldest_kept;
end
$$;
