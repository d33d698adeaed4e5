-- What a task gets besides its node's fixed values when it is offered: its inputs, for whom it is, by when, how urgent.
-- p_expressions: as drawn_binding compiles them. The expressions see the inputs. p_input_schema: what the inputs have to meet; where there are none, the variables.
-- Returns:  one row; null where nothing is said. problem: what could not be evaluated, and detail with the values seen; or what is not valid, with
--           detail {invalid}; then no task may be offered.
create or replace function bpm_core.task_settings(
  p_expressions jsonb, p_variables jsonb, p_input_schema jsonb,
  out input jsonb, out assignee text, out candidate_groups text[], out candidate_users text[], out due_at timestamptz, out follow_up_at timestamptz,
  out priority_level smallint, out problem text, out detail jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name  text;
  v_wish  jsonb;
  v_value jsonb;
  v_sound boolean;
begin
  if p_expressions ? 'inputs' then
    select m.mapped, m.problem, m.detail into input, problem, detail from bpm_core.map_values(p_expressions -> 'inputs', p_variables) m;
    if problem is not null then
      return;
    end if;
  end if;
  for v_name, v_wish in select e.key, e.value from jsonb_each(p_expressions) e where e.key not in ('inputs', 'outputs') loop
    v_value := bpm_core.evaluate(v_wish -> 'tree', p_variables, coalesce(input, '{}'));
    continue when v_value = 'null';
    if bpm_core.is_hidden(v_value) then
      v_value := null;
    end if;
    case v_name
      when 'assignee' then v_sound := jsonb_typeof(v_value) in ('string', 'number'); assignee := case when v_sound then nullif(v_value #>> '{}', '') end;
      when 'groups' then candidate_groups := bpm_core.name_list(v_value); v_sound := candidate_groups is not null;
      when 'users' then candidate_users := bpm_core.name_list(v_value); v_sound := candidate_users is not null;
      when 'due' then due_at := bpm_core.moment_of(v_value); v_sound := due_at is not null;
      when 'follow_up' then follow_up_at := bpm_core.moment_of(v_value); v_sound := follow_up_at is not null;
      else priority_level := bpm_core.priority_level(v_value, (v_wish ->> 'middle')::integer); v_sound := priority_level is not null;
    end case;
    if v_sound is not true then
      problem := format('the %s %s cannot be evaluated', replace(v_name, '_', ' '), v_wish ->> 'source');
      detail := jsonb_build_object('expression', v_wish ->> 'source', 'seen', bpm_core.describe_tree(v_wish -> 'tree', p_variables || coalesce(input, '{}')));
      return;
    end if;
  end loop;
  if p_input_schema is not null then
    detail := jsonb_build_object('invalid', bpm_core.schema_fault(p_input_schema, coalesce(input, p_variables)));
    problem := 'what it is given does not meet its input schema: ' || (detail ->> 'invalid');
  end if;
end
$$;
