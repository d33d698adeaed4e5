-- What is wrong or odd about the events: timers, correlation keys, error codes, boundary events that cannot fire.
create or replace function bpm_core.find_event_faults(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label from unnest(p_nodes) n),
  definition as materialized (select d.* from bpm_core.bpmn_definitions(p_elements) d)
  select case when t.problem is not null then bpm_core.fault('InvalidTimer', format('Timer of %s: %s', n.label, t.problem), n.node_id, null, t.hint)
              else bpm_core.warning('CronWeekdayNumber', format('Timer of %s: %s names days of the week by numbers, which engines count differently; taken as %s.', n.label,
                     quote_literal(left(t.rule, 100)), bpm_core.cron_weekdays(t.rule)), n.node_id, null, 'Write names: MON, FRI.') end
    from node n cross join lateral bpm_core.drawn_timer(n.definition ->> 'timer_kind', n.definition ->> 'timer_rule', bpm_core.own_timer(n.attributes, n.definition) ->> 'time_zone') t
   where n.event = 'timer' and (t.problem is not null or t.numbered)
  union all
  select bpm_core.fault('InvalidTimer', format('Timer of %s: bpm:catchUp=%s is not Once, All or Skip.', n.label, quote_literal(left(o.catch_up, 50))), n.node_id, null,
           'Once: what was missed while nothing ran is made up for by one firing. All: one by one. Skip: not at all.')
    from node n cross join lateral (select bpm_core.own_timer(n.attributes, n.definition) ->> 'catch_up') o(catch_up)
   where n.event = 'timer' and o.catch_up not in ('Once', 'All', 'Skip')
  union all
  select bpm_core.fault('InvalidTimer', format('Timer of %s: %s is an expression, but before the process starts there are no variables.', n.label, n.timer_rule), n.node_id, null, 'Write a literal.')
    from node n where n.kind = 'TimerStart' and n.timer_rule ~ '^\s*=|[$#]\{'
  union all
  select bpm_core.fault('InvalidCondition', format('Condition of %s cannot be read: %s.', n.label, coalesce(x.problem || ' (position ' || x.at || ')', 'there is none')), n.node_id, null,
           'Write a condition over variables: ${stock < 10}.')
    from node n cross join lateral bpm_core.compile_expression(coalesce(n.definition ->> 'condition', ''), false) x
   where n.event = 'conditional' and n.kind in ('ConditionalCatch', 'ConditionalBoundary') and (x.problem is not null or coalesce(n.definition ->> 'condition', '') = '')
  union all
  select bpm_core.warning('CycleFiresOnce', format('%s has a cycle, but ends with its first firing.', n.label), n.node_id, null, 'Use timeDuration, or a boundary event that does not interrupt.')
    from node n
   where n.timer_kind = 'Cycle' and (n.kind = 'TimerCatch' or (n.kind = 'TimerBoundary' and n.interrupting))
  union all
  select bpm_core.fault('InvalidCondition', format('%s: %s', n.label, m.problem), n.node_id, null, 'Write the path of a variable: order.id. Without a key the business key correlates.')
    from node n
    join definition d on d.tag = 'message' and d.id = bpm_core.local_reference(coalesce(n.definition ->> 'messageRef', n.attributes ->> 'messageRef'))
   cross join lateral bpm_core.drawn_message(n.attributes, d.id, d.name, d.attributes, d.extensions) m
   where m.problem is not null
  union all
  select bpm_core.fault('UnsupportedElement', format('%s has a %s whose name is an expression, which is not executed.', n.label, coalesce(n.event, 'message')), n.node_id, null,
           'Give it a fixed name; messages correlate by key.')
    from node n where n.message_name ~ '^(=|.*[$#]\{)'
  union all
  select bpm_core.fault('UnsupportedElement', format('%s has an %s code that is an expression, which is not executed.', n.label, n.event), n.node_id, null, 'Use a fixed code.')
    from node n where n.error_code ~ '^(=|.*[$#]\{)'
  union all
  select bpm_core.warning('ErrorCodeMissing', format('%s names an error without errorCode; it catches every error.', n.label), n.node_id, null, 'Add errorCode to the error, or remove errorRef to say so.')
    from node n where n.kind = 'ErrorBoundary' and n.error_code is null and n.definition ? 'errorRef'
  union all
  select bpm_core.warning('ErrorAlwaysInterrupts', format('%s says cancelActivity="false"; an error ends its activity all the same.', n.label), n.node_id)
    from node n where n.kind = 'ErrorBoundary' and not n.interrupting
  union all
  select bpm_core.warning('BoundaryNeverFires', format('%s is attached to %s, which %s; it never fires.', n.label, bpm_core.element_label(h.tag, h.node_id, h.name),
           case when n.kind = 'EscalationBoundary' then 'throws no escalation' when h.tag = 'receiveTask' then 'throws no error' else 'is passed at once' end), n.node_id)
    from node n join node h on h.scope_pos = n.scope_pos and h.node_id = n.attached_to
   where (n.kind in ('TimerBoundary', 'MessageBoundary', 'SignalBoundary', 'ConditionalBoundary', 'ErrorBoundary') and h.tag in ('task', 'manualTask', 'sendTask'))
      or (n.kind = 'ErrorBoundary' and h.tag = 'receiveTask')
      or (n.kind = 'EscalationBoundary' and h.tag not in ('subProcess', 'transaction', 'callActivity'))
$$;
