-- The workflow instances that keep a month of history: they are still there, and began before it ended, so that rows of theirs may lie in it, which replay and the
-- audit read (I-13, I-14). All tenants in one go along the primary key, whose order is that of time.
-- Returns:  one row: instances (up to 10,000), oldest, its tenant_id and when it began; 0 and null: nobody needs it.
create or replace function bpm_core.holders_of_history(
  p_until timestamptz, out instances bigint, out oldest uuid, out tenant_id text, out since timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_bound constant uuid := bpm_core.id_at(p_until + interval '1 minute');
begin
  select count(*), (array_agg(h.id))[1], (array_agg(h.tenant_id))[1], (array_agg(h.created_at))[1] into instances, oldest, tenant_id, since
    from (select w.id, w.tenant_id, w.created_at
            from bpm_core.workflow_instance w
           where w.id < v_bound and w.created_at < p_until
           order by w.id
           limit 10000) h;
end
$$;
