-- Dispatches locked events by the rules: those of a thread one after the other in the order in which they occurred, and only if no earlier one of it
-- is still pending; all others at once.
-- Writes:   as dispatch_isolated.
create or replace function bpm_core.dispatch_events(p_tenant_id text, p_events bpm_core.event[], p_rules_version bigint, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_left    bpm_core.event[];
  v_round   bpm_core.event[];
  v_blocked bpm_core.event_refusal[];
begin
  perform bpm_core.dispatch_isolated(p_tenant_id, array(select e from unnest(p_events) e where e.thread_id is null order by e.id), p_rules_version, p_now);
  v_left := array(select e from unnest(p_events) e where e.thread_id is not null);
  while cardinality(v_left) > 0 loop
    v_round := array(select distinct on (e.session_id, e.thread_id) e from unnest(v_left) e order by e.session_id, e.thread_id, e.occurred_at, e.id);
    v_left := array(select e from unnest(v_left) e where e.id <> all (array(select r.id from unnest(v_round) r)));
    v_blocked := array(
      select row(r.id, 'Thread', null, jsonb_build_object('behind', b.id))::bpm_core.event_refusal
        from unnest(v_round) r
       cross join lateral (
         select e.id
           from bpm_core.event e
          where e.dispatch_state = 'Pending' and e.thread_id is not null
            and hashtextextended(e.tenant_id || chr(31) || e.session_id || chr(31) || e.thread_id, 7526)
                = hashtextextended(p_tenant_id || chr(31) || r.session_id || chr(31) || r.thread_id, 7526)
          order by e.occurred_at, e.id
          limit 1) b
       where b.id <> r.id);
    if cardinality(v_blocked) > 0 then
      perform bpm_core.hold_events(p_tenant_id, v_blocked, p_rules_version, p_now);
      v_round := array(select r from unnest(v_round) r where r.id <> all (array(select b.event_id from unnest(v_blocked) b)));
    end if;
    perform bpm_core.dispatch_isolated(p_tenant_id, v_round, p_rules_version, p_now);
  end loop;
end
$$;
