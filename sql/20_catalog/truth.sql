-- What a value says when it is asked for true or false: null only where it was read from the variables, and then it is not true.
create or replace function bpm_core.truth(p_tree jsonb, p_value jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select case jsonb_typeof(p_value) when 'boolean' then p_value::boolean
                                    when 'null' then case when p_tree ->> 'op' in ('path', 'member', 'index') or p_tree ->> 'name' = 'get' then false end end
$$;
