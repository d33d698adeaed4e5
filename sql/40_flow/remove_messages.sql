-- One page of a pass over the messages of a tenant: those that expired before the cutoff and reached nobody go. What reached somebody goes with its instance.
-- Returns:  next: the last one looked at; null: there are no more. removed.
-- Writes:   message. Locks: messages, skip locked.
create or replace function bpm_core.remove_messages(p_tenant_id text, p_after uuid, p_limit integer, p_cutoff timestamptz, out next uuid, out removed integer)
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
    select m.id from bpm_core.message m
     where m.tenant_id = p_tenant_id and m.id > p_after and m.id < bpm_core.id_at(p_cutoff + interval '1 minute')
     order by m.id
     limit p_limit);
  delete from bpm_core.message x
   where x.ctid = any (array(
    select m.ctid
      from (select p_tenant_id as tenant_id, w.id from unnest(v_walked) w(id) offset 0) w
     cross join lateral (select m.ctid, m.state, m.received_at, m.expires_at from bpm_core.message m
                          where m.tenant_id = w.tenant_id and m.id = w.id for no key update skip locked) m
     where m.state = 'Expired' and greatest(m.received_at, m.expires_at) <= p_cutoff));
  get diagnostics removed = row_count;
  next := case when cardinality(v_walked) = p_limit then v_walked[p_limit] end;
end
$$;
