-- Hands out the next events of one subscription, in order, under a lease and a fencing token. Commit, tell them one after the other, then
-- bpm.mark_published with the number of the last one told. Told and not marked, they are handed out again.
-- p_subscription: this one (also one who asks); null: whichever with a destination of p_kinds (null: any) or a channel has some.
-- Returns:  one row: subscription, fencing_token, lease_until, notify_channel, destination (its profile), published_to (mark this when all were told), events
--           jsonb [{"published_no", "event_id", "type", …}]; none when nobody has any.
-- Raises:   BP403, BP422 worker, limit (1..1000) or lease (1 s..1 day) out of range.
-- Writes:   event_subscription. Locks: event_subscription, skip locked.
create or replace function bpm.claim_domain_events(
  p_worker text, p_limit integer default 100, p_lease interval default interval '60 seconds', p_kinds text[] default null,
  p_subscription text default null, p_tenant_id text default '')
returns table (subscription text, fencing_token bigint, lease_until timestamptz, notify_channel text, destination jsonb, published_to bigint, events jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now  timestamptz;
  v_last bigint;
  r_sub  bpm_core.event_subscription;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_picker(p_worker, p_limit, p_lease);
  v_now := bpm_core.now();
  select s.last_no into v_last from bpm_core.event_stream s where s.tenant_id = p_tenant_id;
  for r_sub in
    select s.*
      from bpm_core.event_subscription s
      left join lateral (select d.kind from bpm_core.destination d where d.tenant_id = s.tenant_id and d.code = s.destination_code offset 0) d on true
     where s.tenant_id = p_tenant_id and s.ended_at is null and s.cursor_no < v_last and s.next_at <= v_now
       and (s.lease_until is null or s.lease_until <= v_now)
       and (s.code = p_subscription or p_subscription is null and (s.notify_channel is not null or p_kinds is null and d.kind is not null or d.kind = any (p_kinds)))
     order by s.next_at, s.code
     limit 20
       for no key update of s skip locked
  loop
    select n.events, n.published_to into events, published_to from bpm_core.next_events(r_sub, p_limit, v_last) n;
    if events is null then
      update bpm_core.event_subscription s set cursor_no = published_to where s.tenant_id = p_tenant_id and s.code = r_sub.code;
      continue;
    end if;
    update bpm_core.event_subscription s
       set fencing_token = s.fencing_token + 1, worker_id = p_worker, lease_until = v_now + p_lease
     where s.tenant_id = p_tenant_id and s.code = r_sub.code
    returning s.code, s.fencing_token, s.lease_until, s.notify_channel into subscription, fencing_token, lease_until, notify_channel;
    destination := (select bpm_core.destination_profile(d) from bpm_core.destination d where d.tenant_id = p_tenant_id and d.code = r_sub.destination_code);
    return next;
    return;
  end loop;
end
$$;
