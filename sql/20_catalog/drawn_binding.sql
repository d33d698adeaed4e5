-- What a node says about its own execution, over the task version's defaults. What depends on variables is compiled into expressions
-- (assignee, groups, users, due, follow_up, priority, inputs, outputs), which task_settings evaluates when the task is offered.
-- Returns:  each null or empty when the node does not say it; problem: a value that cannot be used; unread: expressions that cannot be read.
create or replace function bpm_core.drawn_binding(
  p_attributes jsonb, p_extensions jsonb, p_lane text,
  out max_attempts integer, out lease interval, out priority_level smallint, out assignee text, out candidate_groups text[],
  out expressions jsonb, out headers jsonb, out problem text, out unread text[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_retries text := coalesce(nullif(btrim(p_attributes ->> 'bpm:retries'), ''), nullif(btrim(p_extensions #>> '{zeebe:taskDefinition,retries}'), ''),
                             p_extensions #>> '{camunda:failedJobRetryTimeCycle,body}', p_extensions #>> '{flowable:failedJobRetryTimeCycle,body}');
  v_lease   text := nullif(btrim(p_attributes ->> 'bpm:lease'), '');
  r_said    record;
  r_tree    record;
begin
  v_retries := coalesce((regexp_match(v_retries, '^R(\d+)/'))[1], v_retries);
  if v_retries ~ '^\d{1,4}$' and v_retries::integer between 1 and 1000 then
    max_attempts := v_retries::integer;
  elsif v_retries is not null then
    problem := format('retries %s is not a number from 1 to 1000', quote_literal(left(v_retries, 50)));
  end if;
  lease := bpm_core.parse_duration(v_lease);
  if v_lease is not null and coalesce(lease not between interval '1 second' and interval '1 day', true) then
    lease := null;
    problem := concat_ws('; ', problem, format('lease %s is not an ISO 8601 duration from PT1S to P1D', quote_literal(left(v_lease, 50))));
  end if;
  expressions := '{}';
  for r_said in
    select s.name, s.source, s.middle
      from bpm_core.drawn_wishes(p_attributes, p_extensions) s
     -- Asked before the function is called: most nodes say none of it.
     where p_attributes::text ~ 'ssignee|andidate|ueDate|followUp|riority' or p_extensions ?| '{zeebe:assignmentDefinition,zeebe:taskSchedule,zeebe:priorityDefinition}'
  loop
    select c.tree, c.problem, c.at into r_tree from bpm_core.compile_expression(r_said.source) c;
    if r_tree.problem is not null then
      unread := unread || format('%s %s: %s (position %s)', replace(r_said.name, '_', ' '), left(r_said.source, 200), r_tree.problem, r_tree.at);
    elsif r_tree.tree ->> 'op' = 'value' and bpm_core.wish_problem(r_said.name, r_said.source) is not null then
      problem := concat_ws('; ', problem, bpm_core.wish_problem(r_said.name, r_said.source));
    elsif r_tree.tree ->> 'op' = 'value' and r_said.name in ('assignee', 'groups', 'priority') then
      case r_said.name
        when 'assignee' then assignee := r_said.source;
        when 'groups' then candidate_groups := bpm_core.name_list(to_jsonb(r_said.source));
        else priority_level := bpm_core.priority_level(to_jsonb(r_said.source), r_said.middle);
      end case;
    else
      expressions := expressions || jsonb_build_object(r_said.name, jsonb_build_object('tree', r_tree.tree, 'source', left(r_said.source, 1000), 'middle', r_said.middle));
    end if;
  end loop;
  -- Nulls are not stripped: a tree may hold one.
  if p_extensions ? 'mappings' then
    expressions := expressions || (
      select coalesce(jsonb_object_agg(d.name, m.mappings), '{}')
        from (values ('inputs', 'in'), ('outputs', 'out')) d(name, direction)
       cross join lateral bpm_core.drawn_mappings(p_extensions, d.direction) m
       where m.mappings is not null);
  end if;
  expressions := nullif(expressions, '{}');
  headers := bpm_core.drawn_headers(p_attributes, p_extensions);
  candidate_groups := coalesce(candidate_groups, case when p_lane is not null and not coalesce(expressions, '{}') ? 'groups' then array[p_lane] end, '{}');
end
$$;
