-- The text of variables, unless they are large and need a closer look before one dares to write them out (has_huge_number). Inlined into its caller.
-- The size is that of the value itself: concatenated with nothing, since one that comes from a table may arrive compressed.
-- Returns:  text; null for what is not an object, or is large and not plain.
create or replace function bpm_core.small_text(p_variables jsonb)
returns text
language sql stable parallel safe
as $$
  select case when jsonb_typeof(p_variables) = 'object' and (pg_column_size(p_variables || '{}') <= 1000 or bpm_core.is_plain_large(p_variables)) then p_variables::text end
$$;
