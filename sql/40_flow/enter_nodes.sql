-- Which function handles which kind. A new element is a new file and a line here.
-- Returns:  moving[]: of kinds that hold tokens, the message waits to be opened; of others, the tokens that move on at once.
create or replace function bpm_core.enter_nodes(p_kind bpm_core.node_kind, p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if cardinality(p_arriving) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  case p_kind
    when 'ServiceTask' then
      return bpm_core.enter_service_tasks(p_arriving);
    when 'ExclusiveGateway' then
      return bpm_core.enter_exclusive_gateways(p_arriving);
    when 'PassThrough' then
      return bpm_core.enter_pass_throughs(p_arriving);
    when 'ParallelFork' then
      return bpm_core.enter_parallel_forks(p_arriving);
    when 'InclusiveSplit' then
      return bpm_core.enter_inclusive_splits(p_arriving);
    when 'ParallelJoin' then
      return bpm_core.enter_parallel_joins(p_arriving);
    when 'InclusiveJoin' then
      return bpm_core.enter_inclusive_joins(p_arriving);
    when 'EndEvent', 'CompensationDone' then
      return bpm_core.enter_end_events(p_arriving);
    when 'UserTask' then
      return bpm_core.enter_user_tasks(p_arriving);
    when 'SendTask' then
      return bpm_core.enter_send_tasks(p_arriving);
    when 'ApprovalTask' then
      return bpm_core.enter_approval_tasks(p_arriving);
    when 'TimerCatch' then
      return bpm_core.enter_timer_catches(p_arriving);
    when 'MessageCatch' then
      return bpm_core.enter_message_catches(p_arriving);
    when 'SignalCatch' then
      return bpm_core.enter_signal_catches(p_arriving);
    when 'ConditionalCatch' then
      return bpm_core.enter_conditional_catches(p_arriving);
    when 'SignalThrow' then
      return bpm_core.enter_signal_throws(p_arriving);
    when 'EscalationThrow' then
      return bpm_core.enter_escalation_throws(p_arriving);
    when 'EventGateway' then
      return bpm_core.enter_event_gateways(p_arriving);
    when 'SubProcess' then
      return bpm_core.enter_sub_processes(p_arriving);
    when 'CompensationMark' then
      return bpm_core.enter_compensation_marks(p_arriving);
    when 'CompensationThrow' then
      return bpm_core.enter_compensation_throws(p_arriving);
    when 'CancelEnd' then
      return bpm_core.enter_cancel_ends(p_arriving);
    when 'MultiInstance', 'StandardLoop' then
      return bpm_core.enter_multi_instances(p_arriving);
    when 'ItemEnd' then
      return bpm_core.enter_item_ends(p_arriving);
    when 'CallActivity' then
      return bpm_core.enter_call_activities(p_arriving);
    when 'TerminateEnd' then
      return bpm_core.enter_terminate_ends(p_arriving);
    when 'ErrorEnd' then
      return bpm_core.enter_error_ends(p_arriving);
    else
      -- Start events and boundaries are left, never entered; a graph that says otherwise was not made by the compiler.
      perform bpm_core.fail('BP500', format('Nothing enters a node of kind %s (node %s).', p_kind, (p_arriving[1]).node_id));
      return null;  -- never reached: fail raises
  end case;
end
$$;
