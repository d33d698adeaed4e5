-- What a result says for the record: its evidence and facts.
-- Returns:  jsonb {evidence, facts}; null when it says nothing.
create or replace function bpm_core.record_of(p_evidence jsonb, p_facts jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select nullif(jsonb_build_object('evidence', coalesce(nullif(p_evidence, 'null'), '[]'), 'facts', coalesce(nullif(p_facts, 'null'), '[]')),
                '{"evidence": [], "facts": []}')
$$;
