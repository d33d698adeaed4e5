-- The attributes of our own namespace that mean something on an element.
create or replace function bpm_core.own_attributes(p_tag text)
returns text[]
language sql immutable parallel safe
as $$
  select case p_tag
    when 'serviceTask' then array['bpm:type', 'bpm:retries', 'bpm:lease', 'bpm:priority', 'bpm:approval'] || bpm_core.approval_attributes()
    when 'scriptTask' then array['bpm:type', 'bpm:retries', 'bpm:lease', 'bpm:priority', 'bpm:approval'] || bpm_core.approval_attributes()
    when 'businessRuleTask' then array['bpm:type', 'bpm:retries', 'bpm:lease', 'bpm:priority', 'bpm:approval'] || bpm_core.approval_attributes()
    when 'sendTask' then array['bpm:type', 'bpm:destination']
    when 'userTask' then array['bpm:type', 'bpm:priority', 'bpm:assignee', 'bpm:candidateGroups', 'bpm:candidateUsers', 'bpm:dueDate', 'bpm:followUpDate', 'bpm:formKey']
    when 'intermediateThrowEvent' then array['bpm:type', 'bpm:destination']
    when 'endEvent' then array['bpm:type', 'bpm:destination']
    when 'process' then array['bpm:saga', 'bpm:owner']
    when 'subProcess' then array['bpm:saga']
    when 'transaction' then array['bpm:saga']
    when 'message' then array['bpm:correlationKey']
    when 'receiveTask' then array['bpm:correlationKey']
    when 'intermediateCatchEvent' then array['bpm:correlationKey', 'bpm:timeZone']
    when 'boundaryEvent' then array['bpm:correlationKey', 'bpm:timeZone', 'bpm:catchUp']
    when 'startEvent' then array['bpm:timeZone', 'bpm:catchUp']
    when 'timerEventDefinition' then array['bpm:timeZone', 'bpm:catchUp']
    when 'multiInstanceLoopCharacteristics' then array['bpm:collection', 'bpm:elementVariable', 'bpm:outputCollection', 'bpm:outputElement']
    else '{}'
  end
$$;
