-- Keeps evidence, each piece once: what is known by its content and key is found again, with the metadata first given. Call evidence_fault first.
-- p_items: as evidence_fault takes them, but without its limit of length.
-- Returns:  uuid[], in item order; null for one that was purged, or an evidence_id that is not there: nothing new may refer to it.
-- Writes:   evidence. Locks: what was there before, for share, so that no purge comes between this look and the reference its caller writes.
create or replace function bpm_core.store_evidence(p_tenant_id text, p_items jsonb, p_actor text default null)
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_hashes bytea[];
  v_known  uuid[];
begin
  select array_agg(case when i.item ? 'object_key' then bpm_core.evidence_identity(decode(i.item ->> 'sha256', 'hex'), i.item ->> 'object_key') end order by i.n),
         array_agg((i.item ->> 'evidence_id')::uuid order by i.n)
    into v_hashes, v_known
    from jsonb_array_elements(p_items) with ordinality i(item, n);
  insert into bpm_core.evidence (tenant_id, id, identity_hash, object_key, sha256, mime, size_bytes, occurred_at, created_by, created_at)
  select distinct on (v_hashes[i.n])
         p_tenant_id, bpm_core.new_id(), v_hashes[i.n], i.item ->> 'object_key', decode(i.item ->> 'sha256', 'hex'), i.item ->> 'mime',
         (i.item ->> 'size_bytes')::bigint, bpm_core.parse_timestamp(i.item ->> 'occurred_at'), coalesce(p_actor, bpm_core.caller()), v_now
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where v_hashes[i.n] is not null
   order by v_hashes[i.n], i.n
  on conflict do nothing;
  -- Found in a later statement than the insert, which may have waited for a concurrent caller with the same piece.
  select array_agg(coalesce(e.id, k.id) order by i.n) into v_known
    from (select p_tenant_id as tenant_id, i.* from unnest(v_hashes, v_known) with ordinality i(hash, id, n) offset 0) i
    left join lateral (select e.id from bpm_core.evidence e where e.identity_hash = i.hash and e.tenant_id = i.tenant_id offset 0) e on true
    left join lateral (select e.id from bpm_core.evidence e where e.tenant_id = i.tenant_id and e.id = i.id offset 0) k on true;
  perform 1
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(v_known) k(id) where k.id is not null order by k.id offset 0) k
    cross join lateral (select from bpm_core.evidence e where e.tenant_id = k.tenant_id and e.id = k.id for share) e;
  return array(
    select e.id
      from (select p_tenant_id as tenant_id, k.* from unnest(v_known) with ordinality k(id, n) offset 0) k
      left join lateral (select e.id, e.purged_at from bpm_core.evidence e where e.tenant_id = k.tenant_id and e.id = k.id offset 0) e on e.purged_at is null
     order by k.n);
end
$$;
