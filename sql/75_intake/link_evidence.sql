-- Stores the evidence of new events and links it. What was purged since, nothing new refers to: such a piece is left out.
-- Writes:   evidence, event_evidence.
create or replace function bpm_core.link_evidence(p_tenant_id text, p_events bpm_core.incoming_event[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_owners uuid[];
  v_pieces jsonb;
  v_stored uuid[];
begin
  select array_agg(i.id order by i.item, x.n), jsonb_agg(x.piece order by i.item, x.n)
    into v_owners, v_pieces
    from unnest(p_events) i
   cross join lateral jsonb_array_elements(i.evidence) with ordinality x(piece, n);
  v_stored := bpm_core.store_evidence(p_tenant_id, v_pieces);
  insert into bpm_core.event_evidence (tenant_id, event_id, evidence_id)
  select distinct p_tenant_id, s.event_id, s.evidence_id
    from unnest(v_owners, v_stored) s(event_id, evidence_id)
   where s.evidence_id is not null;
end
$$;
