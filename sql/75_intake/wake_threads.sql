-- After events left Pending: the next of each of their threads may be looked at now. Should it be held by somebody, or not be known to wait yet, it comes
-- by itself a little later.
-- Writes:   event. Locks: event, skip locked.
create or replace function bpm_core.wake_threads(p_tenant_id text, p_plans bpm_core.event_plan[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if not exists (select from unnest(p_plans) p where (p.event).thread_id is not null) then
    return;
  end if;
  with next as materialized (
    select n.tenant_id, n.id, n.reason, n.available_at
      from (select distinct (p.event).session_id as session_id, (p.event).thread_id as thread_id from unnest(p_plans) p where (p.event).thread_id is not null) t
     cross join lateral (
       select e.tenant_id, e.id, e.reason, e.available_at
         from bpm_core.event e
        where e.dispatch_state = 'Pending' and e.thread_id is not null
          and hashtextextended(e.tenant_id || chr(31) || e.session_id || chr(31) || e.thread_id, 7526)
              = hashtextextended(p_tenant_id || chr(31) || t.session_id || chr(31) || t.thread_id, 7526)
        order by e.occurred_at, e.id
        limit 1
          for no key update skip locked) n)
  update bpm_core.event e
     set available_at = p_now
    from next n
   where n.reason = 'Thread' and n.available_at > p_now and e.tenant_id = n.tenant_id and e.id = n.id;
end
$$;
