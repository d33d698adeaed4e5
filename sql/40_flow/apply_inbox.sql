-- Under the instance locks: applies inbox rows, of each target only the oldest, and deletes them. If that raises, one by one: one that raises
-- alone is put back with a backoff, and after ten times buried as an incident of its instance; one whose message key is busy stays as it is.
-- Returns:  integer, rows dealt with. Writes: inbox, and what applying writes.
create or replace function bpm_core.apply_inbox(p_tenant_id text, p_rows uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_first bpm_core.inbox[];
  v_some  bpm_core.inbox[];
begin
  perform 1
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_rows) k(id) order by k.id offset 0) k
    cross join lateral (select from bpm_core.inbox i where i.tenant_id = k.tenant_id and i.id = k.id for no key update) i;
  v_first := array(
    select distinct on (i.target_id) i
      from (select p_tenant_id as tenant_id, k.id from unnest(p_rows) k(id) offset 0) k
      join bpm_core.inbox i on i.tenant_id = k.tenant_id and i.id = k.id
     order by i.target_id, i.id);
  if cardinality(v_first) = 0 then
    return 0;
  end if;
  begin
    v_some := array(select f from unnest(v_first) f where f.kind = 'Message');
    if cardinality(v_some) > 0 then
      perform bpm_core.apply_messages(p_tenant_id, v_some);
    end if;
    v_some := array(select f from unnest(v_first) f where f.kind = 'Signal');
    if cardinality(v_some) > 0 then
      perform bpm_core.apply_signals(p_tenant_id, v_some);
    end if;
    v_some := array(select f from unnest(v_first) f where f.kind = 'Continue');
    if cardinality(v_some) > 0 then
      perform bpm_core.continue_loops(p_tenant_id, v_some);
    end if;
    delete from bpm_core.inbox i using unnest(v_first) f where i.tenant_id = f.tenant_id and i.id = f.id;
  exception
    -- As in drive_isolated: none of it is the fault of a row.
    when transaction_rollback or operator_intervention or insufficient_resources or system_error then
      raise;
    when others then
      if cardinality(v_first) > 1 then
        return (select sum(bpm_core.apply_inbox(p_tenant_id, array[f.id]))::integer from unnest(v_first) f);
      elsif sqlstate = '55P03' then
        return 0;
      end if;
      perform bpm_core.put_back_inbox(p_tenant_id, v_first, format('%s (%s)', sqlerrm, sqlstate));
  end;
  return cardinality(v_first);
end
$$;
