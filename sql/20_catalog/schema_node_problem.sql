-- What is wrong with one schema, those inside it left aside.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.schema_node_problem(p_node jsonb, p_is_root boolean, p_root jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when jsonb_typeof(p_node) = 'boolean' then null
    when jsonb_typeof(p_node) <> 'object' then 'a schema is an object, true or false'
    else (
      select min(p.problem)
        from (
          select left(k.key, 100) || ' ' || bpm_core.keyword_problem(k.key, k.value, p_is_root, p_root) as problem from jsonb_each(p_node) k
          union all
          select 'beside $ref there can only be annotations'
           where p_node ? '$ref' and (select array_agg(k) from jsonb_object_keys(p_node - '{$ref,$defs}'::text[]) k) && bpm_core.schema_assertions()
          union all
          select 'format encrypted stands beside "type": "string", and nothing else is checked there'
           where p_node ->> 'format' = 'encrypted'
             and (p_node -> 'type' is distinct from '"string"' or (select array_agg(k) from jsonb_object_keys(p_node - '{type,format}'::text[]) k) && bpm_core.schema_assertions())) p)
    end
$$;
