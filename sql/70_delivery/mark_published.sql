-- Says up to which number a subscriber was told, and what kept it from more, if anything did.
-- p_error: what happened; then the next claim waits for p_retry_in (null: 1 second, doubled with every failure of the same event, at most 5 minutes).
-- Returns:  text: Done, LeaseLost (the token is old or the lease over: nothing changed, the events are told again), NotFound.
-- Raises:   BP403. BP422 a number that was not handed out, an error over 64 kB.
-- Writes:   event_subscription. Locks: event_subscription.
create or replace function bpm.mark_published(
  p_subscription text, p_fencing_token bigint, p_published_to bigint, p_error jsonb default null, p_retry_in interval default null,
  p_tenant_id text default '')
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_now timestamptz;
  r_sub bpm_core.event_subscription;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  select s.* into r_sub from bpm_core.event_subscription s where s.tenant_id = p_tenant_id and s.code = p_subscription for no key update;
  v_now := bpm_core.now();
  if not found then
    return 'NotFound';
  elsif r_sub.fencing_token is distinct from p_fencing_token or r_sub.lease_until is null or r_sub.lease_until <= v_now then
    -- The same mark again, of a lease that it ended itself.
    return case when r_sub.fencing_token = p_fencing_token and r_sub.lease_until is null and r_sub.cursor_no = p_published_to then 'Done' else 'LeaseLost' end;
  elsif coalesce(p_published_to not between r_sub.cursor_no and (select s.last_no from bpm_core.event_stream s where s.tenant_id = p_tenant_id), true) then
    perform bpm_core.fail('BP422', format('Subscription %s was not handed out number %s.', p_subscription, p_published_to),
      jsonb_build_object('published_to', p_published_to, 'cursor', r_sub.cursor_no));
  elsif octet_length(p_error::text) > 65536 then
    perform bpm_core.fail('BP422', format('The error has %s bytes; at most 65536.', octet_length(p_error::text)));
  end if;
  update bpm_core.event_subscription s
     set cursor_no = p_published_to, worker_id = null, lease_until = null, last_error = p_error,
         attempt = case when p_error is null then 0 when p_published_to > s.cursor_no then 1 else s.attempt + 1 end,
         next_at = case when p_error is null then v_now
                        else v_now + case when p_retry_in is null then least(interval '5 minutes', interval '1 second' * power(2, case when p_published_to > s.cursor_no then 0 else least(s.attempt, 10) end))
                                     else least(p_retry_in, interval '1 day') end end
   where s.tenant_id = p_tenant_id and s.code = p_subscription;
  return 'Done';
end
$$;
