-- Findings of one severity as the JSON records callers get.
-- Returns:  jsonb array of {code, message, node_id, flow_id, line, hint}.
create or replace function bpm_core.findings_json(p_findings bpm_core.finding[], p_severity text)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(jsonb_build_object('code', f.code, 'message', f.message, 'node_id', f.node_id, 'flow_id', f.flow_id, 'line', f.line, 'hint', f.hint) order by f.ord), '[]')
    from unnest(p_findings) with ordinality f (severity, code, message, node_id, flow_id, line, hint, ord)
   where f.severity = p_severity
$$;
