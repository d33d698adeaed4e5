-- The key a path, or the tree of an expression, gives a message wait, as correlate_message could name it. An encrypted text is nobody's key: it is never compared.
-- Returns:  text; null when the path leads to no scalar, to an empty or encrypted text, or to one of more than 300 characters.
create or replace function bpm_core.correlation_key(p_path text, p_tree jsonb, p_variables jsonb)
returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text := case when p_tree is null then bpm_core.text_value('=' || p_path, p_variables) else bpm_core.evaluate_text(p_tree, p_variables) end;
begin
  return case when length(v_key) between 1 and 300 and not starts_with(v_key, '__encrypted:') then v_key end;
end
$$;
