-- Parts with one month of history that has had its time, as the setting retention.history_months says; by default none has. In two steps, each a call: it is detached, which
-- needs the whole table for an instant and gives up if that is not to be had at once; then it is dropped, which takes as long as its files are large and hinders
-- nobody. A month that any instance still there may have history in is kept. Call it until it returns no row that says Detached or Dropped.
-- Returns:  one row: partition, action (Detached, Dropped, Kept), detail ({until, rows, bytes}; of Kept: {instances, oldest, tenant_id, since}); none: nothing is due.
-- Raises:   BP403 not admin of the tenant without a name. BP503 the lock was not to be had in time: call again.
-- Writes:   tables, audit_event, retention_pass. Locks: history_event, access exclusive, at most 200 ms waited for; then only the month that is dropped.
create or replace function bpm.maintain_history(p_tenant_id text default '')
returns table (partition text, action text, detail jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '200ms'
as $$
declare
  v_months  integer;
  v_now     timestamptz := bpm_core.now();
  v_until   timestamptz;
  v_holders record;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_tenant_id <> '' then
    perform bpm_core.fail('BP403', 'Partitions hold the history of all tenants; only an admin of the tenant without a name maintains them.');
  end if;
  partition := bpm_core.detached_history();
  if partition is not null then
    action := 'Dropped';
    detail := bpm_core.drop_history(partition);
    perform bpm_core.write_audit('', bpm_core.caller(), 'DropHistory', 'history', partition, null, null, detail);
    return next;
    return;
  end if;
  v_months := (bpm_core.setting_value('retention.history_months', 'null') #>> '{}')::integer;
  select b.partition, b.until_at into partition, v_until
    from bpm_core.history_bounds() b
   where b.until_at <= (date_trunc('month', v_now at time zone 'UTC') - make_interval(months => v_months)) at time zone 'UTC'
   order by b.until_at
   limit 1;
  if partition is null then
    perform bpm_core.close_pass(bpm_core.open_pass('', 'history', v_now), null, 0, '{}', null, v_now);
    return;
  end if;
  v_holders := bpm_core.holders_of_history(v_until);
  if v_holders.instances > 0 then
    action := 'Kept';
    perform bpm_core.close_pass(bpm_core.open_pass('', 'history', v_now), null, 0, '{}', null, v_now);
    detail := jsonb_build_object('until', v_until, 'instances', v_holders.instances, 'oldest', v_holders.oldest, 'tenant_id', v_holders.tenant_id,
                                 'since', v_holders.since);
  else
    action := 'Detached';
    detail := bpm_core.detach_history(partition, v_until);
    perform bpm_core.write_audit('', bpm_core.caller(), 'DetachHistory', 'history', partition, null, null, detail);
  end if;
  return next;
exception
  when lock_not_available then
    perform bpm_core.fail('BP503', 'The history table is in use by somebody else.', null, 'Call again; nothing was changed.');
end
$$;
