-- Under the instance locks: applies inbox rows, of each target only the oldest, and deletes them. If that raises, one by one: one that raises
-- alone is put back with a backoff, and after ten times buried as an incident of its instance; one whose message key is busy stays as it is.
-- Those of suspended instances are set aside; those of instances of which somebody holds a task in a transaction that lasts stay as they are.
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
  v_parked integer;
  v_first  bpm_core.inbox[];
  v_this   bpm_core.inbox;
  v_free   uuid[];
begin
  perform 1
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_rows) k(id) order by k.id offset 0) k
    cross join lateral (select from bpm_core.inbox i where i.tenant_id = k.tenant_id and i.id = k.id for no key update) i;
  v_parked := bpm_core.park_inbox(p_tenant_id, p_rows);
  v_first := bpm_core.next_inbox_rows(p_tenant_id, p_rows);
  if cardinality(v_first) = 0 then
    return v_parked;
  end if;
  begin
    perform bpm_core.apply_inbox_rows(p_tenant_id, v_first);
    -- One by one: the table is mostly empty, and a join planned then walks all that was ever in it.
    foreach v_this in array v_first loop
      delete from bpm_core.inbox i where i.tenant_id = p_tenant_id and i.id = v_this.id;
    end loop;
    -- Afterwards: a sweep looks at what is left.
    perform bpm_core.sweep_on(p_tenant_id, f.target_id) from unnest(v_first) f where f.kind = 'Sweep';
  exception
    -- As in drive_isolated: none of it is the fault of a row.
    when transaction_rollback or operator_intervention or insufficient_resources or system_error then
      raise;
    when others then
      if sqlstate = '55P03' then
        v_free := bpm_core.unheld_instances(p_tenant_id, array(select f.target_id from unnest(v_first) f));
        if exists (select from unnest(v_first) f where f.target_id <> all (v_free)) then
          return v_parked + bpm_core.apply_inbox(p_tenant_id, array(select f.id from unnest(v_first) f where f.target_id = any (v_free)));
        end if;
      end if;
      if cardinality(v_first) > 1 then
        return v_parked + (select sum(bpm_core.apply_inbox(p_tenant_id, array[f.id]))::integer from unnest(v_first) f);
      elsif sqlstate = '55P03' then
        return v_parked;
      end if;
      perform bpm_core.put_back_inbox(p_tenant_id, v_first, format('%s (%s)', sqlerrm, sqlstate));
  end;
  return v_parked + cardinality(v_first);
end
$$;
