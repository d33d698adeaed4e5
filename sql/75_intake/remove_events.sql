-- One page of a pass over the events of a tenant: those decided before the cutoff go, with their decision, letters and links; one that is linked with an instance
-- or a task goes after that. Its key is forgotten with it: sent once more it is taken for new.
-- Returns:  next: the last one looked at; null: there are no more. removed. reasons: why what has had its time was kept, one each. oldest_kept.
-- Writes:   event, event_evidence, routing_decision, dead_letter. Locks: events, skip locked.
create or replace function bpm_core.remove_events(
  p_tenant_id text, p_after uuid, p_limit integer, p_cutoff timestamptz, out next uuid, out removed integer, out reasons text[], out oldest_kept uuid)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_walked uuid[];
  v_locked uuid[];
  v_kept   uuid[];
begin
  v_walked := array(
    select e.id from bpm_core.event e
     where e.tenant_id = p_tenant_id and e.id > p_after and e.id < bpm_core.id_at(p_cutoff + interval '1 minute')
     order by e.id
     limit p_limit);
  v_locked := array(
    select e.id
      from (select p_tenant_id as tenant_id, w.id from unnest(v_walked) w(id) offset 0) w
     cross join lateral (select e.id, e.decided_at from bpm_core.event e where e.tenant_id = w.tenant_id and e.id = w.id for no key update skip locked) e
     where e.decided_at <= p_cutoff);
  v_kept := array(
    select k.id
      from (select p_tenant_id as tenant_id, k.* from unnest(v_locked) with ordinality k(id, n) offset 0) k
     -- Offset: as joins they would be planned with whole tenants.
     where exists (select from bpm_core.event_process_instance l where l.tenant_id = k.tenant_id and l.event_id = k.id offset 0)
        or exists (select from bpm_core.task_event l where l.tenant_id = k.tenant_id and l.event_id = k.id offset 0)
     order by k.n);
  removed := bpm_core.delete_events(p_tenant_id, array(select l.id from unnest(v_locked) l(id) where l.id <> all (v_kept)));
  next := case when cardinality(v_walked) = p_limit then v_walked[p_limit] end;
  reasons := array(select 'linked' from unnest(v_kept));
  oldest_kept := v_kept[1];
end
$$;
