-- Forgets domain events of one tenant that every subscription has had and that were published long enough ago, oldest first. Call it until done is
-- true. How long events are kept is the setting engine.domain_event_days. One that a subscription has not had is kept however old it is; an ended
-- subscription keeps nothing. Parked ones stay.
-- Returns:  one row: deleted, done (nothing is left that may go, or somebody else is at it), held_by (the subscription that keeps older ones; null: none).
-- Raises:   BP403. BP422 limit (1..100,000).
-- Writes:   event_outbox, event_stream. Locks: event_stream, skip locked.
create or replace function bpm.maintain_domain_events(p_limit integer default 10000, p_tenant_id text default '')
returns table (deleted integer, done boolean, held_by text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
declare
  v_before   timestamptz := bpm_core.now() - make_interval(days => (bpm_core.setting_value('engine.domain_event_days', '30'))::integer);
  r_stream   bpm_core.event_stream;
  r_slowest  record;
  v_old      uuid[];
  v_to       bigint;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_limit is null or p_limit not between 1 and 100000 then
    perform bpm_core.fail('BP422', format('The limit must be 1 to 100000, not %s.', coalesce(p_limit::text, 'null')), jsonb_build_object('limit', p_limit));
  end if;
  deleted := 0;
  done := true;
  -- Who subscribes holds it, too: nobody begins below what is deleted here.
  select s.* into r_stream from bpm_core.event_stream s where s.tenant_id = p_tenant_id for no key update skip locked;
  if not found then
    return next;
    return;
  end if;
  select s.code, s.cursor_no into r_slowest
    from bpm_core.event_subscription s
   where s.tenant_id = p_tenant_id and s.ended_at is null
   order by s.cursor_no, s.code
   limit 1;
  -- Numbers are in the order of times, so the first that is too young ends it; only so many are looked at.
  select array_agg(e.id), max(e.published_no)
    into v_old, v_to
    from (select e.id, e.published_no, e.published_at
            from bpm_core.event_outbox e
           where e.published_no is not null and e.tenant_id = p_tenant_id and e.published_no > r_stream.forgotten_no
             and e.published_no <= coalesce(r_slowest.cursor_no, r_stream.last_no)
           order by e.published_no
           limit p_limit) e
   where e.published_at < v_before;
  deleted := coalesce(cardinality(v_old), 0);
  done := deleted < p_limit;
  if deleted > 0 then
    delete from bpm_core.event_outbox e
     using (select p_tenant_id as tenant_id, o.id from unnest(v_old) o(id) offset 0) o
     where e.tenant_id = o.tenant_id and e.id = o.id;
    update bpm_core.event_stream s set forgotten_no = v_to where s.tenant_id = p_tenant_id;
  end if;
  select r_slowest.code into held_by
    from bpm_core.event_outbox e
   where e.published_no is not null and e.tenant_id = p_tenant_id and e.published_no = r_slowest.cursor_no + 1 and e.published_at < v_before;
  return next;
end
$$;
