-- Variables that need no closer look: an object, small, without numbers of more than a thousand digits (has_huge_number), without texts that begin like a wire form. Inlined into its caller.
-- Returns:  boolean. False says only that variables_fault and decode_variables have to look. The same as looks_plain says of their small_text.
create or replace function bpm_core.is_plain(p_variables jsonb)
returns boolean
language sql stable parallel safe
as $$
  select case when jsonb_typeof(p_variables) <> 'object' then false
              when (pg_column_size(p_variables || '{}') > 1000 or length(p_variables::text) > 4000) and not bpm_core.is_plain_large(p_variables) then false
              else strpos(p_variables::text, '"__') = 0 end
$$;
