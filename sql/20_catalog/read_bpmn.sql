-- The reader: BPMN text to element rows. Knows XML, not BPMN; a server without libxml can be fed the same rows by the driver.
-- Returns:  elements, or one fault (TooLarge, InvalidXml) in findings and no elements.
create or replace function bpm_core.read_bpmn(p_xml text, out elements bpm_core.bpmn_element[], out findings bpm_core.finding[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault   bpm_core.finding := bpm_core.bpmn_text_fault(p_xml);
  v_message text;
  v_detail  text;
begin
  elements := '{}';
  findings := '{}';
  if v_fault.code is not null then
    findings := array[v_fault];
    return;
  end if;
  begin
    elements := bpm_core.bpmn_elements(xmlparse(document ltrim(p_xml, E'\ufeff')));
  exception
    when data_exception or internal_error then
      get stacked diagnostics v_message = message_text, v_detail = pg_exception_detail;
      findings := array[bpm_core.xml_fault(p_xml, v_message, v_detail)];
  end;
end
$$;
