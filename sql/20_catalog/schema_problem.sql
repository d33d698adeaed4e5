-- Is this a JSON Schema that the engine checks in full? Understood is a part of draft 2020-12; every keyword outside of it is refused here, so that
-- what is stored is enforced: type, enum, const, properties, required, additionalProperties, items, prefixItems, the bounds of lengths and numbers,
-- uniqueItems, multipleOf, pattern (the part of regular expressions that means the same everywhere, see schema_pattern), allOf, anyOf, oneOf, not, and
-- $ref to "#" or to a name in $defs. Annotations: $schema, $comment, title, description, default, examples, deprecated, readOnly, writeOnly.
-- format says one thing only, encrypted: a text that the driver encrypted, whose clear value nobody here can check.
-- Returns:  text, the first problem with a JSON pointer to it; null when it is one, or null.
create or replace function bpm_core.schema_problem(p_schema jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem text;
  v_count   bigint;
begin
  if bpm_core.has_huge_number(p_schema) then
    return 'root: a number has more than 1,000 digits';
  elsif octet_length(p_schema::text) > 65536 then
    return format('root: a schema has at most 65,536 bytes, not %s', octet_length(p_schema::text));
  end if;
  with recursive sub as (
    select '' as at, p_schema as node, 0 as depth
    union all
    select c.at, c.node, s.depth + 1
      from sub s
     cross join lateral bpm_core.schema_children(s.node, s.at) c
     where s.depth <= 32)
  select count(*), (array_agg(x.at || ': ' || x.problem order by x.depth, x.at) filter (where x.problem is not null))[1]
    into v_count, v_problem
    from (select s.at, s.depth, case when s.depth > 32 then 'nested more than 32 deep' else bpm_core.schema_node_problem(s.node, s.at = '', p_schema) end as problem
            from sub s) x
   where p_schema is not null;
  return bpm_core.at_pointer(coalesce(v_problem,
    case when v_count > 2000 then format(': a schema has at most 2,000 parts, not %s', v_count)
         when (select count(*) from jsonb_object_keys(case jsonb_typeof(p_schema -> '$defs') when 'object' then p_schema -> '$defs' else '{}' end)) > 200
           then '/$defs: at most 200 definitions' end,
    bpm_core.schema_loop(p_schema)));
end
$$;
