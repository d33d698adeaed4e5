-- The verdict of a compiled condition. A bare name asks for true; what is missing is not true.
-- Returns:  boolean; null when it is undecidable, as anything is that is neither true nor false.
create or replace function bpm_core.evaluate_condition(p_tree jsonb, p_variables jsonb)
returns boolean
language sql volatile parallel safe
as $$ select bpm_core.truth(p_tree, bpm_core.evaluate(p_tree, p_variables)) $$;
