-- The first tenant behind p_after in the index of one picker, with the time its first entry there falls due. The order is the whole of the index, so that
-- no other index can give it.
-- Returns:  one row; none when there is no further tenant. p_after null: from the very first.
create or replace function bpm_core.next_tenant(p_picker text, p_after text)
returns table (tenant_id text, due_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off  set enable_incremental_sort = off
as $$
declare
  -- The least text behind p_after: no text lies between a text and itself with the least of all characters behind it.
  v_from text := coalesce(p_after || chr(1), '');
begin
  case p_picker
    when 'tasks' then
      return query
      select t.tenant_id, '-infinity'::timestamptz from bpm_core.task_instance t where t.state = 'Ready' and t.tenant_id >= v_from order by t.tenant_id, t.task_type, t.priority_level, t.available_at, t.id limit 1;
    when 'leases' then
      return query
      select t.tenant_id, t.lease_until from bpm_core.task_instance t where t.state = 'Executing' and t.tenant_id >= v_from order by t.tenant_id, t.lease_until, t.id limit 1;
    when 'timers' then
      return query
      select t.tenant_id, t.due_at from bpm_core.timer t where t.status = 'Scheduled' and t.tenant_id >= v_from order by t.tenant_id, t.due_at, t.id limit 1;
    when 'inbox' then
      return query
      select t.tenant_id, t.available_at from bpm_core.inbox t where t.available_at is not null and t.tenant_id >= v_from order by t.tenant_id, t.available_at, t.id limit 1;
    when 'tokens' then
      return query
      select t.tenant_id, t.ready_at from bpm_core.token t where t.state = 'Ready' and t.tenant_id >= v_from order by t.tenant_id, t.ready_at, t.id limit 1;
    when 'messages' then
      return query
      select t.tenant_id, t.expires_at from bpm_core.message t where t.state = 'Buffered' and t.expires_at is not null and t.tenant_id >= v_from order by t.tenant_id, t.expires_at, t.id limit 1;
    when 'commands' then
      return query
      select f.tenant_id, m.available_at
        from (select t.tenant_id from bpm_core.outbox t where t.state = 'Pending' and t.tenant_id >= v_from
               order by t.tenant_id, t.destination_id, t.available_at, t.id limit 1) f
       cross join lateral (
         select min(o.available_at) as available_at
           from bpm_core.destination d
          cross join lateral (select o.available_at from bpm_core.outbox o where o.state = 'Pending' and o.tenant_id = d.tenant_id and o.destination_id = d.id
                               order by o.available_at limit 1) o
          where d.tenant_id = f.tenant_id) m;
    when 'sending' then
      return query
      select t.tenant_id, t.lease_until from bpm_core.outbox t where t.state in ('Sending', 'Reconciling') and t.tenant_id >= v_from order by t.tenant_id, t.lease_until, t.id limit 1;
    when 'unknown' then
      return query
      select t.tenant_id, t.review_at from bpm_core.outbox t where t.review_at is not null and t.tenant_id >= v_from order by t.tenant_id, t.review_at, t.id limit 1;
    when 'probes' then
      return query
      select t.tenant_id, t.probe_at from bpm_core.outbox t where t.probe_at is not null and t.tenant_id >= v_from order by t.tenant_id, t.probe_at, t.id limit 1;
    when 'streams' then
      -- Events to be published, or subscribers to be told.
      return query
      select s.tenant_id,
             case when exists (select from bpm_core.event_outbox e where e.state = 'Pending' and e.tenant_id = s.tenant_id) then '-infinity'::timestamptz
                  else coalesce((select min(greatest(u.next_at, u.lease_until)) from bpm_core.event_subscription u
                                  where u.tenant_id = s.tenant_id and u.ended_at is null and u.cursor_no < s.last_no
                                    and (u.destination_code is not null or u.notify_channel is not null)), 'infinity') end
        from (select t.tenant_id, t.last_no from bpm_core.event_stream t where t.tenant_id >= v_from order by t.tenant_id limit 1) s;
    when 'events' then
      return query
      select t.tenant_id, t.available_at from bpm_core.event t where t.dispatch_state = 'Pending' and t.tenant_id >= v_from order by t.tenant_id, t.available_at, t.id limit 1;
    when 'rules' then
      return query
      select e.tenant_id, case when e.rules_version < coalesce(s.rules_version, 0) then '-infinity'::timestamptz else 'infinity' end
        from (select t.tenant_id, t.rules_version from bpm_core.event t where t.rules_version is not null and t.tenant_id >= v_from
               order by t.tenant_id, t.rules_version, t.id limit 1) e
        left join bpm_core.routing_state s on s.tenant_id = e.tenant_id;
    when 'approvals' then
      return query
      select t.tenant_id, t.decided_at
        from bpm_core.approval_record t
       where t.effect = 'Pending' and t.status in ('Approved', 'Rejected', 'Expired') and t.tenant_id >= v_from
       order by t.tenant_id, t.decided_at, t.id
       limit 1;
    when 'decisions' then
      return query
      select t.tenant_id, t.due_at from bpm_core.approval_record t where t.status = 'Pending' and t.due_at is not null and t.tenant_id >= v_from order by t.tenant_id, t.due_at, t.id limit 1;
  end case;
end
$$;
