-- Creates the monthly partitions of history that are missing: last month, this month, p_months ahead. Run it now and then; ready() warns in time.
-- Returns:  one row per month: partition, action Created or Present.
-- Raises:   BP403 not admin of the tenant without a name. BP422 months (1..120). BP503 the lock was not to be had in time.
-- Writes:   tables. Locks: history_event, share update exclusive: readers and writers go on.
create or replace function bpm.maintain_partitions(p_months integer default 24, p_tenant_id text default '')
returns table (partition text, action text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_tenant_id <> '' then
    perform bpm_core.fail('BP403', 'Partitions hold the history of all tenants; only an admin of the tenant without a name maintains them.');
  elsif p_months is null or p_months not between 1 and 120 then
    perform bpm_core.fail('BP422', format('The months must be 1 to 120, not %s.', coalesce(p_months::text, 'null')), jsonb_build_object('months', p_months));
  end if;
  return query select c.partition, c.action from bpm_core.create_history_partitions(p_months) c;
exception
  when lock_not_available then
    perform bpm_core.fail('BP503', 'The history table is locked by somebody else.', null, 'Try again; nothing was changed.');
end
$$;
