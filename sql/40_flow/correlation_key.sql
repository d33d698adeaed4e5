-- The key an expression gives a message wait, as correlate_message could name it. An encrypted text is nobody's key: it is never compared.
-- Returns:  text; null when the path leads to no scalar, to an empty or encrypted text, or to one of more than 300 characters.
create or replace function bpm_core.correlation_key(p_path text, p_variables jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text := bpm_core.text_value('=' || p_path, p_variables);
begin
  return case when length(v_key) between 1 and 300 and not starts_with(v_key, '__encrypted:') then v_key end;
end
$$;
