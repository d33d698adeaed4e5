-- Makes one warning about a BPMN file: odd but runnable.
create or replace function bpm_core.warning(p_code text, p_message text, p_node_id text default null, p_flow_id text default null, p_hint text default null)
returns bpm_core.finding
language sql immutable parallel safe
as $$ select row('warning', p_code, p_message, p_node_id, p_flow_id, null, p_hint)::bpm_core.finding $$;
