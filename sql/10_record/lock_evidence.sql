-- Locks the evidence lists of several tellers speak of, as far as it is there, and finds those who speak of what nothing new may refer to: purged, or not there
-- under the evidence_id given.
-- p_items: a list per teller. Returns: integer[], the places of those tellers, from 1. Locks: evidence, for share: purges wait.
create or replace function bpm_core.lock_evidence(p_tenant_id text, p_items jsonb[])
returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_tellers integer[];
  v_named   boolean[];
  v_ids     uuid[];
begin
  select array_agg(i.teller), array_agg(i.named), array_agg(coalesce(e.id, i.id))
    into v_tellers, v_named, v_ids
    from (select p_tenant_id as tenant_id, t.n::integer as teller, (e.item ->> 'evidence_id')::uuid as id, e.item ? 'evidence_id' as named,
                 bpm_core.evidence_identity(decode(e.item ->> 'sha256', 'hex'), e.item ->> 'object_key') as hash
            from unnest(p_items) with ordinality t(items, n)
           cross join lateral jsonb_array_elements(t.items) e(item)
          offset 0) i
    left join lateral (select e.id from bpm_core.evidence e where e.identity_hash = i.hash and e.tenant_id = i.tenant_id offset 0) e on true;
  perform 1
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(v_ids) k(id) where k.id is not null order by k.id offset 0) k
    cross join lateral (select from bpm_core.evidence e where e.tenant_id = k.tenant_id and e.id = k.id for share) e;
  return array(
    select distinct k.teller
      from (select p_tenant_id as tenant_id, k.* from unnest(v_tellers, v_named, v_ids) k(teller, named, id) offset 0) k
      left join lateral (select e.id, e.purged_at from bpm_core.evidence e where e.tenant_id = k.tenant_id and e.id = k.id offset 0) e on true
     where e.purged_at is not null or k.named and e.id is null);
end
$$;
