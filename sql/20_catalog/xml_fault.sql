-- Turns what libxml said into a fault with line and column. Its detail reads "line 3: message", then the end of the offending
-- line, then a caret under the place; long lines are cut on the left, so the column is found by looking for the excerpt.
-- Returns:  finding.
create or replace function bpm_core.xml_fault(p_xml text, p_message text, p_detail text)
returns bpm_core.finding
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts   text[] := regexp_match(p_detail, '^line (\d+): ([^\n]*)(?:\n([^\n]*)\n( *)\^)?');
  v_line    integer := v_parts[1]::integer;
  v_column  integer := length(v_parts[4]) + position(v_parts[3] in split_part(p_xml, E'\n', v_line));
  v_finding bpm_core.finding;
begin
  v_finding := bpm_core.fault('InvalidXml',
    'Not well-formed: ' || coalesce(v_parts[2], p_message)
      || coalesce(' (line ' || v_line || coalesce(', column ' || nullif(v_column, 0), '') || ')', '') || '.',
    null, null,
    case when p_detail ~ 'StartTag: invalid element name|xmlParseEntityRef|EntityRef: expecting'
         then 'In text write &lt; for < and &amp; for &; conditions also take lt, le and and.'
         else 'Open the file in an XML editor or export it again.' end);
  v_finding.line := v_line;
  return v_finding;
end
$$;
