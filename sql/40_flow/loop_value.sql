-- What decides how often an activity is done: its collection, its number, or of a loop that asks before its first turn the verdict.
-- Returns:  jsonb; SQL NULL is undecidable, and of a loop that asks nothing.
create or replace function bpm_core.loop_value(p_spec jsonb, p_variables jsonb)
returns jsonb
language sql volatile
as $$
  select case
    when p_spec ? 'collection' then bpm_core.evaluate(p_spec #> '{collection,tree}', p_variables)
    when p_spec ? 'cardinality' then bpm_core.evaluate(p_spec #> '{cardinality,tree}', p_variables)
    when p_spec ? 'before' then to_jsonb(bpm_core.evaluate_condition(p_spec #> '{while,tree}', p_variables || jsonb_build_object(p_spec ->> 'counter', 0)))
  end
$$;
