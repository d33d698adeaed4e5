-- Refuses a file that has faults.
-- Raises:   BP422 with all of them in the detail (of a file with more than 1,000: the first 1,000), the first in the message.
create or replace function bpm_core.refuse_faults(p_findings bpm_core.finding[])
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_faults jsonb := bpm_core.findings_json(array(select f::bpm_core.finding from unnest(p_findings) f limit 1000), 'fault');
  v_count  integer := (select count(*)::integer from unnest(p_findings) f where f.severity = 'fault');
begin
  if v_count > 0 then
    perform bpm_core.fail('BP422',
      format('The file has %s; nothing was stored. %s: %s', case v_count when 1 then 'a fault' else v_count || ' faults' end,
             v_faults #>> '{0,code}', v_faults #>> '{0,message}'),
      jsonb_build_object('faults', v_faults, 'warnings', case when v_count <= 1000 then bpm_core.findings_json(p_findings, 'warning') else '[]' end, 'count', v_count),
      'bpm.check_bpmn lists every fault with its line.');
  end if;
end
$$;
