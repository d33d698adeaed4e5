-- References of events and their links that are no foreign keys, and point at nothing.
-- Returns:  rows (kind, id, refers_to, which).
create or replace function bpm_core.orphans_of_events(p_tenant_id text)
returns table (kind text, id text, refers_to text, which text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'event_evidence', v.event_id::text, 'evidence', v.evidence_id::text
    from bpm_core.event_evidence v
    left join bpm_core.evidence e on e.tenant_id = v.tenant_id and e.id = v.evidence_id
   where v.tenant_id = p_tenant_id and e.id is null
$$;
