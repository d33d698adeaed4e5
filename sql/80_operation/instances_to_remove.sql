-- The next process instances that have had their time, along the primary key, without a lock. A page ends after p_limit of them, after p_limit × 20 that were
-- looked at, or where those found have more than p_limit × 20 tokens, so that what one transaction removes is bounded (but for one instance of many).
-- Returns:  one row: chosen, in order; reached: the last one looked at; null: there are no more.
create or replace function bpm_core.instances_to_remove(
  p_tenant_id text, p_after uuid, p_limit integer, p_now timestamptz, out chosen uuid[], out reached uuid)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_cutoff     timestamptz;
  v_by_version jsonb;
  v_latest     timestamptz;
begin
  select c.cutoff, c.by_version, c.latest into v_cutoff, v_by_version, v_latest from bpm_core.retention_cutoffs(p_tenant_id, p_now) c;
  -- Ids are drawn in the order of time, so whatever ended by then was made before. A minute for clocks that were set.
  with walked as materialized (
    select p.id, p.ended_at <= case when v_by_version ? p.process_version_id::text then (v_by_version ->> p.process_version_id::text)::timestamptz
                                    else v_cutoff end as is_due
      from bpm_core.process_instance p
     where p.tenant_id = p_tenant_id and p.id > p_after and p.id < bpm_core.id_at(v_latest + interval '1 minute')
     order by p.id
     limit p_limit * 20),
  due as materialized (
    select w.id, row_number() over () as n, sum(k.tokens) over (rows between unbounded preceding and 1 preceding) as before
      from walked w
     cross join lateral (
       select count(*) as tokens
         from (select i.id from bpm_core.workflow_instance i where i.process_instance_id = w.id offset 0) i
        cross join lateral (select from bpm_core.token t where t.workflow_instance_id = i.id offset 0) t) k
     where w.is_due
     limit p_limit + 1),
  cut as (
    select d.id from due d where d.n > p_limit or d.before >= p_limit * 20 limit 1)
  select coalesce((select array_agg(d.id) from due d where not exists (select from cut c where c.id <= d.id)), '{}'),
         case when exists (select from cut) then (select max(w.id::text)::uuid from walked w where w.id < (select c.id from cut c))
              when (select count(*) from walked) = p_limit * 20 then (select max(w.id::text)::uuid from walked w) end
    into chosen, reached;
end
$$;
