-- Wakes runners that sleep, once this transaction has committed; does nothing while none sleeps. Whatever makes work that may be taken at once calls it.
-- The first of the sleepers holds the lock alone. Who cannot share it tells the channel; who can keeps its share to the end of the transaction: one that is about to
-- sleep waits for that and looks once more (decision 0038). Tells nothing but the kind of work and a byte that only narrows down the tenant.
-- p_work: tasks, commands, or tick (what tick drives). Locks: the advisory lock of sleepers, shared, without waiting.
create or replace function bpm_core.wake_sleepers(p_work text, p_tenant_id text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if not bpm_core.nobody_sleeps() then
    perform pg_notify('pgbpm_wakeup', p_work || ' ' || left(md5(p_tenant_id), 2));
  end if;
end
$$;
