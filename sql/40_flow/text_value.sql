-- An attribute that is either plain text or one expression, ${path} or =path.
-- Returns:  text; null when the path leads nowhere or to something that is no scalar.
create or replace function bpm_core.text_value(p_source text, p_variables jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_path  text := coalesce(substring(p_source from '^\s*[$#]\{\s*([^{}]+?)\s*\}\s*$'), substring(p_source from '^\s*=\s*(.+?)\s*$'));
  v_value jsonb;
begin
  if v_path is null then
    return p_source;
  end if;
  v_value := bpm_core.path_value(p_variables, v_path);
  return case when jsonb_typeof(v_value) in ('string', 'number', 'boolean') then v_value #>> '{}' end;
end
$$;
