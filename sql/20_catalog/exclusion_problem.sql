-- What is wrong with a rule about who may not do a task.
-- Returns:  text, null when nothing is, or there is no rule.
create or replace function bpm_core.exclusion_problem(p_rule jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_rule is null then null
    when jsonb_typeof(p_rule) <> 'object' or p_rule - '{requester,earlier_actors,delegates,actors}'::text[] <> '{}' or p_rule = '{}'
      then 'p_exclusion_rule is an object of requester, earlier_actors, delegates and actors.'
    when p_rule ? 'requester' and jsonb_typeof(p_rule -> 'requester') <> 'boolean' then 'p_exclusion_rule: requester is true or false.'
    when p_rule ? 'delegates' and jsonb_typeof(p_rule -> 'delegates') <> 'boolean' then 'p_exclusion_rule: delegates is true or false.'
    when p_rule ? 'earlier_actors' and jsonb_typeof(p_rule -> 'earlier_actors') <> 'boolean' and not bpm_core.is_text_list(p_rule -> 'earlier_actors')
      then 'p_exclusion_rule: earlier_actors is true or false, or an array of node ids.'
    when p_rule ? 'actors' and not bpm_core.is_text_list(p_rule -> 'actors') then 'p_exclusion_rule: actors is an array of names.'
    when p_rule ? 'actors'
      then 'p_exclusion_rule: actors, ' || bpm_core.names_problem(array(select jsonb_array_elements_text(p_rule -> 'actors')), '{}') || '.' end
$$;
