-- Which of those who tell facts expect another version of a subject than there is? As if they came one after the other: what an earlier item of this call
-- writes counts. Subjects are locked.
-- Returns:  integer[], the items.
create or replace function bpm_core.outdated_facts(p_tenant_id text, p_facts bpm_core.told_fact[])
returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_versions integer[];
  v_outdated integer[] := array[]::integer[];
  v_place    integer;
  r_item     record;
begin
  if not exists (select from unnest(p_facts) f where f.expected_version is not null) then
    return v_outdated;
  end if;
  v_versions := array(
    select coalesce(s.lock_version, 0)
      from (select p_tenant_id as tenant_id, f.*
              from (select distinct f.subject_type collate "C", f.subject_key collate "C" from unnest(p_facts) f order by 1, 2) f offset 0) f
      left join lateral (select s.lock_version from bpm_core.subject s
                          where s.subject_key = f.subject_key and s.subject_type = f.subject_type and s.tenant_id = f.tenant_id offset 0) s on true
     order by f.subject_type, f.subject_key);
  for r_item in
    select f.item, array_agg(f.place) as places, array_agg(f.expected_version) as expected
      from (select f.item, f.expected_version, dense_rank() over (order by f.subject_type collate "C", f.subject_key collate "C")::integer as place
              from unnest(p_facts) f) f
     group by f.item
     order by f.item
  loop
    if exists (select from unnest(r_item.places, r_item.expected) x(place, expected) where v_versions[x.place] <> x.expected) then
      v_outdated := v_outdated || r_item.item;
    else
      foreach v_place in array array(select distinct x.place from unnest(r_item.places) x(place)) loop
        v_versions[v_place] := v_versions[v_place] + 1;
      end loop;
    end if;
  end loop;
  return v_outdated;
end
$$;
