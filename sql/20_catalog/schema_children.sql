-- The schemas right inside a schema, with their JSON pointers.
create or replace function bpm_core.schema_children(p_schema jsonb, p_at text)
returns table (at text, node jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select p_at || '/' || k.key, p_schema -> k.key
    from unnest('{additionalProperties,items,not}'::text[]) k(key)
   where jsonb_typeof(p_schema) = 'object' and p_schema ? k.key
  union all
  select p_at || '/' || k.key || '/' || (e.n - 1), e.value
    from unnest('{prefixItems,allOf,anyOf,oneOf}'::text[]) k(key)
   cross join lateral jsonb_array_elements(case jsonb_typeof(p_schema -> k.key) when 'array' then p_schema -> k.key else '[]' end) with ordinality e(value, n)
   where jsonb_typeof(p_schema) = 'object'
  union all
  select p_at || '/' || k.key || '/' || bpm_core.pointer_part(e.key), e.value
    from unnest('{properties,$defs}'::text[]) k(key)
   cross join lateral jsonb_each(case jsonb_typeof(p_schema -> k.key) when 'object' then p_schema -> k.key else '{}' end) e
   where jsonb_typeof(p_schema) = 'object'
$$;
