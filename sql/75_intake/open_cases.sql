-- Makes the business cases that actions speak of, before anything of them is done and in order of their keys, so that two who make the same ones part.
-- p_may_wait: for somebody who has made or closed one of them and not yet committed; a tick, which holds much else, only tries.
-- Returns:  event_refusal[], Busy, for each event whose case somebody else holds.
-- Writes:   business_case. Locks: the cases that are new; those that are closed.
create or replace function bpm_core.open_cases(p_tenant_id text, p_actions bpm_core.event_action[], p_now timestamptz, p_may_wait boolean)
returns bpm_core.event_refusal[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_keys text[] := array(select distinct a.business_key collate "C" from unnest(p_actions) a where a.business_key is not null order by 1);
  v_busy text[];
begin
  if cardinality(v_keys) = 0 then
    return null;
  elsif p_may_wait then
    perform bpm_core.insert_cases(p_tenant_id, v_keys, p_now);
    return null;
  end if;
  v_busy := bpm_core.try_cases(p_tenant_id, v_keys, p_now);
  return array(
    select distinct on (a.event_id) row(a.event_id, 'Busy', 'Another call holds the business case.', jsonb_build_object('business_key', a.business_key))::bpm_core.event_refusal
      from unnest(p_actions) a
     where a.business_key = any (v_busy)
     order by a.event_id, a.n);
end
$$;
