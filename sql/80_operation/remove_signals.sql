-- One page of a pass over the signals of a tenant: those sent before the cutoff go, the oldest first and none in between, up to the first that is still to be
-- heard: it is in the inbox of an instance, or could not be applied and may be tried again. So what is older than the oldest that is left was removed (I-18).
-- The next one of a name whose last is gone asks every wait that was ever open for it, once (safe_signal).
-- Returns:  next: the last one looked at; null: there are no more. removed.
-- Writes:   signal. Locks: its rows; nobody else ever does.
create or replace function bpm_core.remove_signals(p_tenant_id text, p_after uuid, p_limit integer, p_cutoff timestamptz, out next uuid, out removed integer)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_walked uuid[];
  v_stays  uuid[];
begin
  v_walked := array(
    select s.id from bpm_core.signal s
     where s.tenant_id = p_tenant_id and s.id > p_after and s.id < bpm_core.id_at(p_cutoff + interval '1 minute')
     order by s.id
     limit p_limit);
  -- What is awaited, of instances that were suspended for long; both are nearly always empty. And what has not had its time.
  v_stays := array(
    select s.id
      from (select p_tenant_id as tenant_id, w.id from unnest(v_walked) w(id) offset 0) w
     cross join lateral (select s.id, s.sent_at from bpm_core.signal s where s.tenant_id = w.tenant_id and s.id = w.id offset 0) s
     where s.sent_at > p_cutoff
     union all
    select (i.payload ->> 'signal')::uuid from bpm_core.inbox i where i.tenant_id = p_tenant_id and i.kind = 'Signal'
     union all
    select (i.detail ->> 'signal')::uuid from bpm_core.incident i
     where i.tenant_id = p_tenant_id and i.state = 'Open' and i.code = 'InboxPoisoned' and i.detail ->> 'inbox' = 'Signal');
  delete from bpm_core.signal x
   where x.ctid = any (array(
    select s.ctid
      from (select p_tenant_id as tenant_id, w.id from unnest(v_walked) w(id)
             where w.id < (select a.id from unnest(v_stays) a(id) order by a.id limit 1) or v_stays = '{}') w
     cross join lateral (select s.ctid from bpm_core.signal s where s.tenant_id = w.tenant_id and s.id = w.id for no key update) s));
  get diagnostics removed = row_count;
  next := case when cardinality(v_walked) = p_limit and removed = p_limit then v_walked[p_limit] end;
end
$$;
