-- What a node says about its own execution, over the task version's defaults.
-- Returns:  each null or empty when the node does not say it; problem: a value that cannot be used.
create or replace function bpm_core.drawn_binding(
  p_attributes jsonb, p_extensions jsonb, p_lane text,
  out max_attempts integer, out lease interval, out priority_level smallint, out assignee text, out candidate_groups text[], out problem text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_retries  text := coalesce(nullif(btrim(p_attributes ->> 'bpm:retries'), ''), nullif(btrim(p_extensions #>> '{zeebe:taskDefinition,retries}'), ''),
                              p_extensions #>> '{camunda:failedJobRetryTimeCycle,body}', p_extensions #>> '{flowable:failedJobRetryTimeCycle,body}');
  v_lease    text := nullif(btrim(p_attributes ->> 'bpm:lease'), '');
  v_priority text := nullif(btrim(p_attributes ->> 'bpm:priority'), '');
  v_assignee text := coalesce(bpm_core.vendor_attribute(p_attributes, 'assignee'), nullif(btrim(p_extensions #>> '{zeebe:assignmentDefinition,assignee}'), ''));
  v_groups   text := coalesce(bpm_core.vendor_attribute(p_attributes, 'candidateGroups'), nullif(btrim(p_extensions #>> '{zeebe:assignmentDefinition,candidateGroups}'), ''));
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
  priority_level := (case lower(v_priority) when 'high' then 0 when 'normal' then 1 when 'low' then 2 end)::smallint;
  if v_priority is not null and priority_level is null then
    problem := concat_ws('; ', problem, format('priority %s is not high, normal or low', quote_literal(left(v_priority, 50))));
  end if;
  -- A path is read when the task is entered; any other expression was warned of.
  assignee := case when v_assignee !~ '^([$#]\{|=)' then v_assignee else '${' || bpm_core.expression_path(v_assignee) || '}' end;
  candidate_groups := case
    when v_groups !~ '^([$#]\{|=)' then array(select btrim(g) from regexp_split_to_table(v_groups, ',') g where btrim(g) <> '')
    when v_groups is null and p_lane is not null then array[p_lane]
    else '{}' end;
end
$$;
