-- What a drawing tells the worker besides the variables: Zeebe's task headers, Camunda's extension properties, the decision of a business rule
-- task, the script of a script task.
-- Returns:  jsonb object of texts; null when there is nothing.
create or replace function bpm_core.drawn_headers(p_attributes jsonb, p_extensions jsonb)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select nullif(coalesce(p_extensions -> 'headers', '{}') || jsonb_strip_nulls(jsonb_build_object(
    'decision', coalesce(bpm_core.vendor_attribute(p_attributes, 'decisionRef'), nullif(btrim(p_extensions #>> '{zeebe:calledDecision,decisionId}'), '')),
    'resultVariable', coalesce(bpm_core.vendor_attribute(p_attributes, 'resultVariable'), nullif(btrim(p_extensions #>> '{zeebe:calledDecision,resultVariable}'), ''),
                               nullif(btrim(p_extensions #>> '{zeebe:script,resultVariable}'), '')),
    'scriptFormat', coalesce(nullif(btrim(p_attributes ->> 'scriptFormat'), ''), case when p_extensions ? 'zeebe:script' then 'feel' end),
    'script', coalesce(nullif(btrim(p_extensions ->> 'script'), ''), nullif(btrim(p_extensions #>> '{zeebe:script,expression}'), '')))), '{}')
$$;
