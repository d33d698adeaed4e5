-- The BPMN elements that are nodes of the flow, executed here or not.
create or replace function bpm_core.bpmn_flow_node_tags()
returns text[]
language sql immutable parallel safe
as $$
  select array['startEvent', 'endEvent', 'intermediateCatchEvent', 'intermediateThrowEvent', 'implicitThrowEvent', 'boundaryEvent',
    'task', 'serviceTask', 'sendTask', 'receiveTask', 'userTask', 'manualTask', 'scriptTask', 'businessRuleTask', 'callActivity',
    'subProcess', 'transaction', 'adHocSubProcess', 'choreographyTask', 'subChoreography', 'callChoreography',
    'exclusiveGateway', 'parallelGateway', 'inclusiveGateway', 'eventBasedGateway', 'complexGateway']
$$;
