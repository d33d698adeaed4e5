-- The short name under which the compiler knows an XML namespace; Operaton speaks Camunda 7's dialect, Activiti Flowable's.
-- Returns:  text: bpmn, bpm (ours), bpm? (meant to be ours), camunda, flowable, zeebe, '' (none); null for every other namespace.
create or replace function bpm_core.bpmn_namespace(p_uri text)
returns text
language sql immutable parallel safe
as $$
  select case p_uri
    when 'http://www.omg.org/spec/BPMN/20100524/MODEL' then 'bpmn'
    when 'urn:pgbpm:bpmn:1' then 'bpm'
    when 'http://camunda.org/schema/1.0/bpmn' then 'camunda'
    when 'http://operaton.org/schema/1.0/bpmn' then 'camunda'
    when 'http://flowable.org/bpmn' then 'flowable'
    when 'http://activiti.org/bpmn' then 'flowable'
    when 'http://camunda.org/schema/zeebe/1.0' then 'zeebe'
    when '' then ''
    else case when p_uri like '%pgbpm%' then 'bpm?' end
  end
$$;
