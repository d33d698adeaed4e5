-- The checked part of JSON Schema: what is said of a fault, encrypted texts, bounds. That it means what others mean: tests/test_json_schema.py.
begin;
select plan(80);

create function pg_temp.fault(p_schema text, p_value text) returns text language sql as $$ select bpm_core.schema_fault(p_schema::jsonb, p_value::jsonb) $$;

-- schemas that are refused, with a pointer
select is(bpm_core.schema_problem(x.schema::jsonb), x.problem, coalesce(x.problem, 'fine') || ' ' || left(x.schema, 80))
  from (values
    (null, null), ('{}', null), ('true', null), ('{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "t", "description": "d", "default": 1, "examples": []}', null),
    ('{"$defs": {"a": {"properties": {"next": {"$ref": "#/$defs/a"}}}}, "$ref": "#/$defs/a", "description": "a list"}', null), ('{"type": "string", "format": "encrypted", "title": "t"}', null),
    ('3', 'root: a schema is an object, true or false'), ('null', 'root: a schema is an object, true or false'), ('{"if": {}}', 'root: if is not checked, so it is refused'),
    ('{"properties": {"a/b": {"items": {"dependentRequired": {}}}}}', '/properties/a~1b/items: dependentRequired is not checked, so it is refused'),
    ('{"allOf": [{}, {"type": "text"}]}', '/allOf/1: type must be null, boolean, integer, number, string, array or object, or an array of these'),
    ('{"items": [{}]}', 'root: items must be one schema; for one per place there is prefixItems'), ('{"properties": {"a": 3}}', '/properties/a: a schema is an object, true or false'),
    ('{"$schema": "http://json-schema.org/draft-07/schema#"}', 'root: $schema can only name draft 2020-12, at the root'), ('{"not": {"$defs": {}}}', '/not: $defs can only stand at the root'),
    ('{"format": "date"}', 'root: format can only be encrypted; use pattern for the shape of a text'), ('{"minLength": -1}', 'root: minLength must be a whole number from 0 to 1,000,000,000'),
    ('{"type": "string", "format": "encrypted", "minLength": 1}', 'root: format encrypted stands beside "type": "string", and nothing else is checked there'),
    ('{"format": "encrypted"}', 'root: format encrypted stands beside "type": "string", and nothing else is checked there'),
    ('{"$ref": "#/$defs/b", "$defs": {"a": {}}}', 'root: $ref can only be "#" or "#/$defs/" and a name that is there, of letters, digits, dots, dashes and underscores'),
    ('{"properties": {"a": {"$ref": "#", "type": "object"}}}', '/properties/a: beside $ref there can only be annotations'), ('{"$ref": "#"}', 'root: leads to itself without going into the value'),
    ('{"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}', '/$defs/a: leads to itself without going into the value'),
    ('{"pattern": "(?=a)"}', 'root: pattern is no regular expression of the part that is checked: literals, ., classes, \d \w, groups, |, ^, $, * + ? {n,m}'),
    (repeat('{"not": ', 33) || '{}' || repeat('}', 33), repeat('/not', 33) || ': nested more than 32 deep'),
    (format('{"title": "%s"}', repeat('x', 65536)), 'root: a schema has at most 65,536 bytes, not 65549')) x(schema, problem);

-- patterns mean what they mean in JavaScript
select is(pg_temp.fault(format('{"pattern": %s}', to_json(x.pattern)), to_json(x.value)::text) is null, x.met, format('%s on %s', x.pattern, to_json(x.value)))
  from (values
    ('^\d$', '٣', false), ('^\w$', 'ä', false), ('^.$', 'ä', true), ('^.$', E'\n', false), ('a$', E'a\n', false), ('^[^a]$', E'\n', true), ('^[a-z]$', 'ä', false), ('b', 'abc', true), ('^[\-\]]$', ']', true),
    ('^(a|b){2,3}$', 'aba', true), ('^\.$', 'x', false), ('^a+?$', 'aaa', true)) x(pattern, value, met);
select ok(not bpm_core.is_pattern(x.pattern), 'refused: ' || left(x.pattern, 20))
  from (values ('\s'), ('\b'), ('(a)\1'), ('(?i)a'), ('***=a'), ('[[:alpha:]]'), ('[]a]'), ('a{300}b'), ('(a{200}){200}'), (']'), ('('), ('a**'), ('\u0041'), (repeat('a', 501))) x(pattern);

-- where the fault is
select is(pg_temp.fault('{"properties": {"lines": {"items": {"properties": {"n/m": {"minimum": 3}}}}}}', '{"lines": [{"n/m": 5}, {"n/m": 2}]}'), '/lines/1/n~1m: must be at least 3', 'a pointer');
select is(pg_temp.fault('{"required": ["b", "a"]}', '{"c": 1}'), 'root: lacks a, b', 'at the root');
select is(pg_temp.fault('{"anyOf": [{"type": "string"}, {"type": "null"}]}', '3'), 'root: meets none of anyOf, the first not because of root: must be of type string, is number', 'of branches the first');

-- encrypted texts: what was promised to be checked is not taken unchecked
select is(pg_temp.fault(x.schema, x.value) is null, x.met, format('%s on %s', x.schema, x.value))
  from (values
    ('{}', '"__encrypted:x"', true), ('{"title": "t"}', '"__encrypted:x"', true), ('{"type": "string"}', '"__encrypted:x"', false), ('{"type": "string", "format": "encrypted"}', '"__encrypted:x"', true),
    ('{"type": "string", "format": "encrypted"}', '"x"', false), ('{"anyOf": [{"type": "null"}, {"type": "string", "format": "encrypted"}]}', '"__encrypted:x"', true), ('{"not": {"type": "object"}}', '"__encrypted:x"', false),
    ('{"not": {"properties": {"a": {"const": 5}}}}', '{"a": "__encrypted:x"}', false), ('{"enum": [["__encrypted:x"]]}', '["__encrypted:x"]', false),
    ('{"properties": {"a": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"type": "string", "format": "encrypted"}}}', '{"a": "__encrypted:x", "b": "__encrypted:y"}', true)) x(schema, value, met);

-- bounds
select is(pg_temp.fault('{"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}', (repeat('{"a": ', 40) || '{}' || repeat('}', 40))) like '%too much to check%', true, 'a check that doubles with each level ends');
select is(pg_temp.fault('{"items": {"$ref": "#"}, "maxItems": 1}', repeat('[', 200) || repeat(']', 200)) like '%: too much to check', true, 'so does a deep one');
select is(pg_temp.fault('{"multipleOf": 0.1}', '123456789012345678901234567890.1'), null, 'numbers are exact');
select is(pg_temp.fault('{"type": "integer", "maximum": 10}', '10.0'), null, '10.0 is an integer');

select is(bpm_core.schema_problem(('{"enum": [' || x.number || ']}')::jsonb), 'root: a number has more than 1,000 digits', 'no schema with ' || x.number)
  from (values ('1e1000'), ('-1e131071'), ('1e-16000')) x(number);
-- A bound of time: whatever is asked of how much. Without it each of these takes minutes.
create function pg_temp.doubling(p_leaf jsonb) returns jsonb language sql as $$
  select jsonb_build_object('$ref', '#/$defs/d0', '$defs', jsonb_object_agg('d' || i, case when i = 18 then p_leaf else
           jsonb_build_object('allOf', jsonb_build_array(jsonb_build_object('$ref', '#/$defs/d' || i + 1), jsonb_build_object('$ref', '#/$defs/d' || i + 1), jsonb_build_object('$ref', '#/$defs/d' || i + 1))) end))
    from generate_series(0, 18) i
$$;
set local statement_timeout = '60s';
select matches(bpm_core.schema_fault(x.schema, x.value), x.says, x.of_what)
  from (values
    ('definitions that refer to the next three times, and an encrypted text', pg_temp.doubling('{}'), '"__encrypted:x"'::jsonb, 'is encrypted, so it cannot be checked'),
    ('the same without one', pg_temp.doubling('{}'), '3', 'too much to check'),
    ('a long enum for each item', jsonb_build_object('items', jsonb_build_object('enum', (select jsonb_agg(i) from generate_series(1, 9000) i))),
     (select jsonb_agg(9000) from generate_series(1, 40000)), 'too much to check'),
    ('a long enum of lists in branches', jsonb_build_object('items', jsonb_build_object('anyOf', jsonb_build_array(jsonb_build_object('enum', (select jsonb_agg(jsonb_build_array(i)) from generate_series(1, 9000) i)), true))),
     (select jsonb_agg(-1) from generate_series(1, 40000)), 'too much to check'),
    ('a large object before a thousand branches', jsonb_build_object('anyOf', (select jsonb_agg('{"properties": {"q": false}, "required": ["zz"]}'::jsonb) from generate_series(1, 1000))),
     (select jsonb_object_agg('k' || i, i) from generate_series(1, 40000) i), 'meets none of anyOf'),
    ('a large array before a thousand branches', jsonb_build_object('oneOf', (select jsonb_agg('{"uniqueItems": true}'::jsonb) from generate_series(1, 1000))),
     (select jsonb_agg(i) from generate_series(1, 40000) i), 'must meet one of oneOf|too much'),
    ('numbers without a text', '{"properties": {"a": {"type": "integer"}}}', ('{"a": [' || rtrim(repeat('1e131071,', 9000), ',') || ']}')::jsonb, '/a: must be of type integer')) x(of_what, schema, value, says);
select is(bpm_core.schema_fault(jsonb_build_object('items', jsonb_build_object('type', 'object', 'properties', '{"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}}'::jsonb)),
                                (select jsonb_agg(jsonb_build_object('a', i, 'b', 'y', 'c', repeat('z', 20))) from generate_series(1, 8000) i)), null, 'eight thousand ordinary items are fine');

select * from finish();
rollback;
