-- Makes one fault of a BPMN file. Lines are filled in at the end, from the id, for all findings at once (locate_findings).
create or replace function bpm_core.fault(p_code text, p_message text, p_node_id text default null, p_flow_id text default null, p_hint text default null)
returns bpm_core.finding
language sql immutable parallel safe
as $$ select row('fault', p_code, p_message, p_node_id, p_flow_id, null, p_hint)::bpm_core.finding $$;
