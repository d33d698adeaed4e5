-- One violation, with the rule it breaks and the values seen.
create or replace function bpm_core.violation_of(p_invariant text, p_tenant_id text, p_kind text, p_id text, p_rule text, p_seen jsonb default '{}')
returns bpm_core.violation
language sql immutable parallel safe
as $$ select row(p_invariant, p_tenant_id, p_kind || ' ' || p_id, jsonb_build_object('rule', p_rule) || p_seen)::bpm_core.violation $$;
