-- What can be said against a BPMN text before anything parses it: too large, or a document type declaration, which could name
-- entities on disk or net. The declaration can only stand before the root element, so only the prolog is walked. A prolog of more
-- than 64 kB or 100 comments and instructions is refused too: walking it would cost more than the rest.
-- Returns:  finding, null when there is nothing.
create or replace function bpm_core.bpmn_text_fault(p_xml text)
returns bpm_core.finding
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cap    integer := bpm_core.setting_value('catalog.max_bpmn_bytes', '4194304')::integer;
  v_rest   text := ltrim(left(p_xml, 65536), E' \t\r\n\ufeff');
  v_pieces integer := 0;
  v_end    integer;
  v_before text;
  v_fault  bpm_core.finding;
begin
  if octet_length(p_xml) > v_cap then
    return bpm_core.fault('TooLarge', format('The file has %s bytes; the limit is %s.', octet_length(p_xml), v_cap), null, null,
      'Split the file, or raise the setting catalog.max_bpmn_bytes.');
  end if;
  while v_pieces < 100 and (starts_with(v_rest, '<?') or starts_with(v_rest, '<!--')) loop
    v_end := case when starts_with(v_rest, '<?') then position('?>' in v_rest) + 2
                  else position('-->' in substr(v_rest, 5)) + 7 end;
    exit when v_end in (2, 7);
    v_rest := ltrim(substr(v_rest, v_end), E' \t\r\n');
    v_pieces := v_pieces + 1;
  end loop;
  if starts_with(v_rest, '<!--') or starts_with(v_rest, '<?') or (v_rest = '' and length(p_xml) >= 65536) then
    return bpm_core.fault('InvalidXml', 'No root element within 64 kB and 100 comments.', null, null,
      'Close or shorten the comments at the top of the file.');
  elsif starts_with(v_rest, '<!') then
    v_before := left(p_xml, length(left(p_xml, 65536)) - length(v_rest));
    v_fault := bpm_core.fault('InvalidXml',
      format('The file carries a document type declaration (<!DOCTYPE …>), which is never read (line %s, column %s).',
             regexp_count(v_before, E'\n') + 1, length(regexp_replace(v_before, E'^.*\n|\ufeff', '', 'g')) + 1), null, null,
      'Remove it: BPMN needs none, and it could name files or addresses.');
    v_fault.line := regexp_count(v_before, E'\n') + 1;
  end if;
  return v_fault;
end
$$;
