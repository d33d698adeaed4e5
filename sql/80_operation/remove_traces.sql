-- One page of a pass over what is left of removed instances: it goes when none of their history is there any more and no idempotency key speaks of them.
-- Returns:  next: the last one looked at; null: there are no more. removed.
-- Writes:   removed_instance. Locks: its rows, skip locked.
create or replace function bpm_core.remove_traces(p_tenant_id text, p_after uuid, p_limit integer, p_cutoff timestamptz, out next uuid, out removed integer)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_walked uuid[];
begin
  v_walked := array(
    select r.id from bpm_core.removed_instance r
     where r.tenant_id = p_tenant_id and r.id > p_after and r.id < bpm_core.id_at(p_cutoff + interval '1 minute')
     order by r.id
     limit p_limit);
  delete from bpm_core.removed_instance x
   where x.ctid = any (array(
    select r.ctid
      from (select p_tenant_id as tenant_id, w.id from unnest(v_walked) w(id) offset 0) w
     cross join lateral (select r.ctid, r.id, r.removed_at from bpm_core.removed_instance r
                          where r.tenant_id = w.tenant_id and r.id = w.id for no key update skip locked) r
     where r.removed_at < p_cutoff
       and not exists (select from bpm_core.idempotency_key k where k.instance_id = r.id and k.tenant_id is not distinct from p_tenant_id offset 0)));
  get diagnostics removed = row_count;
  next := case when cardinality(v_walked) = p_limit then v_walked[p_limit] end;
end
$$;
