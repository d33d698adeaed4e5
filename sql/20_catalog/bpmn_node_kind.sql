-- Which node kind executes an element, from its tag, its event, the number of its flows, whether approval gates it and whether it sends a command.
-- Returns:  node_kind; null: not executed. Stable, as reading an enum is: called immutable it could not be inlined.
create or replace function bpm_core.bpmn_node_kind(
  p_tag text, p_event text, p_incoming integer, p_outgoing integer, p_conditional integer, p_gated boolean, p_sends boolean)
returns bpm_core.node_kind
language sql stable parallel safe
as $$
  select (case p_tag
    when 'startEvent' then case p_event when 'none' then 'StartEvent' when 'message' then 'MessageStart' when 'timer' then 'TimerStart' when 'signal' then 'SignalStart' end
    when 'endEvent' then
      case p_event when 'none' then 'EndEvent' when 'terminate' then 'TerminateEnd' when 'error' then 'ErrorEnd' when 'signal' then 'SignalThrow'
                   when 'escalation' then 'EscalationThrow' when 'compensate' then 'CompensationThrow' when 'cancel' then 'CancelEnd'
                   when 'message' then case when p_sends then 'SendTask' else 'EndEvent' end end
    when 'intermediateThrowEvent' then
      case p_event when 'none' then 'PassThrough' when 'link' then 'PassThrough' when 'signal' then 'SignalThrow' when 'escalation' then 'EscalationThrow'
                   when 'compensate' then 'CompensationThrow' when 'message' then case when p_sends then 'SendTask' else 'PassThrough' end end
    when 'intermediateCatchEvent' then
      case p_event when 'timer' then 'TimerCatch' when 'message' then 'MessageCatch' when 'signal' then 'SignalCatch' when 'conditional' then 'ConditionalCatch' when 'link' then 'PassThrough' end
    when 'boundaryEvent' then
      case p_event when 'timer' then 'TimerBoundary' when 'message' then 'MessageBoundary' when 'signal' then 'SignalBoundary'
                   when 'error' then 'ErrorBoundary' when 'escalation' then 'EscalationBoundary' when 'conditional' then 'ConditionalBoundary'
                   when 'compensate' then 'CompensationBoundary' when 'cancel' then 'CancelBoundary' end
    when 'task' then 'PassThrough'
    when 'manualTask' then 'PassThrough'
    when 'receiveTask' then 'MessageCatch'
    when 'userTask' then 'UserTask'
    when 'sendTask' then 'SendTask'
    when 'serviceTask' then case when p_gated then 'ApprovalTask' else 'ServiceTask' end
    when 'scriptTask' then case when p_gated then 'ApprovalTask' else 'ServiceTask' end
    when 'businessRuleTask' then case when p_gated then 'ApprovalTask' else 'ServiceTask' end
    when 'callActivity' then 'CallActivity'
    when 'subProcess' then 'SubProcess'
    when 'transaction' then 'SubProcess'
    when 'exclusiveGateway' then case when p_outgoing <= 1 and p_conditional = 0 then 'PassThrough' else 'ExclusiveGateway' end
    when 'inclusiveGateway' then
      case when p_incoming > 1 then 'InclusiveJoin' when p_outgoing <= 1 and p_conditional = 0 then 'PassThrough' else 'InclusiveSplit' end
    when 'eventBasedGateway' then 'EventGateway'
    when 'parallelGateway' then
      case when p_incoming > 1 then 'ParallelJoin' when p_outgoing > 1 then 'ParallelFork' else 'PassThrough' end
  end)::bpm_core.node_kind
$$;
