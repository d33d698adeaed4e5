-- May an encrypted text stand where this schema is asked? Where it says so, or says nothing at all.
create or replace function bpm_core.schema_allows_hidden(p_root jsonb, p_schema jsonb, p_depth integer)
returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(p_schema) = 'boolean' then
    return p_schema = 'true';
  elsif p_schema ->> 'format' = 'encrypted' then
    return true;
  elsif p_depth > 40 or exists (select from jsonb_object_keys(p_schema) k where k = any (bpm_core.schema_assertions()) and k not in ('$ref', 'allOf', 'anyOf', 'oneOf')) then
    return false;
  elsif p_schema ? '$ref' then
    return bpm_core.schema_allows_hidden(p_root, bpm_core.schema_target(p_root, p_schema ->> '$ref'), p_depth + 1);
  end if;
  return not exists (select from jsonb_array_elements(coalesce(p_schema -> 'allOf', '[]')) e where not bpm_core.schema_allows_hidden(p_root, e, p_depth + 1))
     and (not p_schema ? 'anyOf' or exists (select from jsonb_array_elements(p_schema -> 'anyOf') e where bpm_core.schema_allows_hidden(p_root, e, p_depth + 1)))
     and (not p_schema ? 'oneOf' or (select count(*) from jsonb_array_elements(p_schema -> 'oneOf') e where bpm_core.schema_allows_hidden(p_root, e, p_depth + 1)) = 1);
end
$$;
