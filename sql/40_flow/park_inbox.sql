-- Sets inbox rows of suspended instances and processes aside, where no tick looks, until resume; also those behind older ones that are still set aside.
-- Cancelling and sweeping reach a suspended instance. The targets are locked.
-- Returns:  integer, how many. Writes: inbox.
create or replace function bpm_core.park_inbox(p_tenant_id text, p_rows uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_waiting uuid[];
begin
  v_waiting := array(
    select i.id
      from unnest(p_rows) k(id)
     cross join lateral (select i.tenant_id, i.id, i.kind, i.target_kind, i.target_id, i.available_at from bpm_core.inbox i
                          where i.tenant_id = p_tenant_id and i.id = k.id offset 0) i
     cross join lateral (select case i.target_kind when 'WorkflowInstance' then (
                                  select w.status::text from bpm_core.workflow_instance w where w.tenant_id = i.tenant_id and w.id = i.target_id)
                                else (select p.status::text from bpm_core.process_instance p where p.tenant_id = i.tenant_id and p.id = i.target_id) end as status
                         offset 0) w
     where i.kind not in ('Sweep', 'Cancel') and i.available_at < 'infinity'
       and (w.status = 'Suspended'
            or w.status = 'Running' and exists (
              select from (select o.id, o.available_at from bpm_core.inbox o where o.target_id = i.target_id offset 0) o
               where o.available_at = 'infinity' and o.id < i.id)));
  if cardinality(v_waiting) > 0 then
    perform bpm_core.date_inbox(p_tenant_id, v_waiting, 'infinity');
  end if;
  return cardinality(v_waiting);
end
$$;
