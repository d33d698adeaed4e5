-- The reader: BPMN text to element rows. Knows XML, not BPMN; a server without libxml can be fed the same rows by the driver.
-- XPath counts in floats; how these are spelled is a setting of the session, and so pinned.
-- Returns:  elements, or one fault (TooLarge, InvalidXml) in findings and no elements.
create or replace function bpm_core.read_bpmn(p_xml text, out elements bpm_core.bpmn_element[], out findings bpm_core.finding[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_fault   bpm_core.finding := bpm_core.bpmn_text_fault(p_xml);
  v_message text;
  v_detail  text;
  v_limit   constant integer := 100000;
  v_xml     xml;
  v_count   integer;
begin
  elements := '{}';
  findings := '{}';
  if v_fault.code is not null then
    findings := array[v_fault];
    return;
  end if;
  begin
    v_xml := xmlparse(document ltrim(p_xml, E'\ufeff'));
    v_count := (xpath('count(//*)', v_xml))[1]::text::integer;
    if v_count > v_limit then
      findings := array[bpm_core.fault('TooLarge', format('The file has %s elements; the limit is %s.', v_count, v_limit), null, null, 'Split the file.')];
    else
      elements := bpm_core.bpmn_elements(v_xml);
    end if;
  exception
    when data_exception or internal_error then
      get stacked diagnostics v_message = message_text, v_detail = pg_exception_detail;
      findings := array[bpm_core.xml_fault(p_xml, v_message, v_detail)];
  end;
end
$$;
