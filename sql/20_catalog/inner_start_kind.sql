-- Which node kind the start event of an event sub-process is: armed like a boundary event of the sub-process around it.
-- One of compensation begins when that is undone.
-- Returns:  node_kind; null: not executed.
create or replace function bpm_core.inner_start_kind(p_event text)
returns bpm_core.node_kind
language sql immutable parallel safe
as $$
  select (case p_event when 'timer' then 'TimerBoundary' when 'message' then 'MessageBoundary' when 'signal' then 'SignalBoundary' when 'error' then 'ErrorBoundary'
                       when 'escalation' then 'EscalationBoundary' when 'conditional' then 'ConditionalBoundary'
                       when 'compensate' then 'CompensationBoundary' end)::bpm_core.node_kind
$$;
