-- What maps of variables are taken, and their wire forms.
begin;
select plan(49);

-- variables_fault
select is(bpm_core.variables_fault(x.v), null, format('%s is fine', x.v))
  from (values ('{}'::jsonb), ('{"a": 1, "b": {"c": [null, true]}}'), ('{"số tiền": "x"}'), ('{"a": "__encrypted:abc"}'), ('{"a": "__var:1:{\"b\": 2}"}'),
               ('{"a": "artifact://x"}'), ('{"a": "__init__"}'), ('{"__var:1:": 1}')) x(v);
select matches(bpm_core.variables_fault(x.v), x.says, format('%s is not', coalesce(x.v::text, 'null')))
  from (values (null::jsonb, 'missing'), ('[]', 'array'), ('"x"', 'string'), ('{"a": "__var:1:{"}', 'Variable a .* no wire form'),
               ('{"a": "__var:2:1"}', 'reserved prefix'), ('{"b": 1, "a": "__secret:x"}', 'Variable a ')) x(v, says);
select is(bpm_core.variables_fault(jsonb_build_object('a', repeat('x', 100000))), null, 'a large value is fine');
select matches(bpm_core.variables_fault(jsonb_build_object('a', 1, 'b', repeat('x', 300000))), 'Variable b exceeds the limit of 262144 bytes', 'to a limit');
select matches(bpm_core.variables_fault((select jsonb_object_agg('k' || i, repeat('x', 100000)) from generate_series(1, 11) i)), 'exceed the limit of 1048576 bytes',
  'which the map has, too');
select bpm.set_setting('engine.max_variables_bytes', '2000000') \g /dev/null
select is(bpm_core.variables_fault((select jsonb_object_agg('k' || i, repeat('x', 100000)) from generate_series(1, 11) i)), null, 'both can be set');
select bpm.set_setting('engine.max_value_bytes', '90000') \g /dev/null
select matches(bpm_core.variables_fault(jsonb_build_object('a', repeat('x', 100000))), 'limit of 90000', 'lower as well');

-- decode_variables
select is(bpm_core.decode_variables('{"a": 1}'), '{"a": 1}', 'plain values stay');
select is(bpm_core.decode_variables('{"a": "__var:1:{\"b\": [2]}", "c": "x"}'), '{"a": {"b": [2]}, "c": "x"}', 'the wire form of JSON is taken off');
select is(bpm_core.decode_variables('{"a": "__encrypted:abc"}'), '{"a": "__encrypted:abc"}', 'what is encrypted stays opaque');

-- encode_variables
select is(bpm_core.encode_variables('{"a": 1.50, "b": "x", "c": {"d": [null]}, "e": "__encrypted:abc", "f": "__var:1:2", "g": "__init__", "h": null, "i": "artifact://s/p"}'),
  '{"a": "__var:1:1.50", "b": "x", "c": "__var:1:{\"d\": [null]}", "e": "__encrypted:abc", "f": "__var:1:\"__var:1:2\"", "g": "__init__", "h": "__var:1:null", "i": "artifact://s/p"}',
  'every value becomes a text, and what looks like a wire form is wrapped');
select is_empty($$
  select x.v from (values ('{}'::jsonb), ('{"a": "__var:1:2", "b": [1, {"c": "__var:1:3"}], "c": "", "d": 1e400, "e": "__secret:x", "f": "__encrypted:x"}')) x(v)
   where bpm_core.decode_variables(bpm_core.encode_variables(x.v)) <> x.v or bpm_core.variables_fault(bpm_core.encode_variables(x.v)) is not null$$, 'decoded it is what it was, and it is taken');
select is(bpm_core.encode_variables(null), null, 'nothing of nothing');

-- Depth: what parses where little stands on the stack must still be copied deep inside a command
create function pg_temp.nested(p_depth integer) returns text language sql as $$ select repeat('[', p_depth) || repeat(']', p_depth) $$;
select is(bpm_core.variables_fault(format('{"a": %s}', pg_temp.nested(499))::jsonb), null, '500 levels are fine');
select is(bpm_core.variables_fault(jsonb_build_object('a', '__var:1:' || pg_temp.nested(499))), null, 'in wire form, too');
select matches(bpm_core.variables_fault(format('{"a": %s}', pg_temp.nested(501))::jsonb), 'nested deeper than 500', 'more are not');
select matches(bpm_core.variables_fault(jsonb_build_object('a', '__var:1:' || pg_temp.nested(x.depth))), 'no wire form', format('nor %s in wire form', x.depth))
  from (values (501), (40000)) x(depth);
-- Size: that of the value, however it is stored
create temp table stored on commit drop as
select jsonb_build_object('a', repeat('x', 3000000)) as large, format('{"a": %s}', pg_temp.nested(5000))::jsonb as deep;
select ok((select pg_column_size(s.large) < 65536 from stored s), 'small where it is stored');
select matches((select bpm_core.variables_fault(s.large) from stored s), 'Variables of 3000', 'large for us');
select matches((select bpm_core.variables_fault(s.deep) from stored s), 'nested deeper', 'one that is deep is found, too');
select ok((select not bpm_core.is_plain(s.large) and not bpm_core.is_plain(s.deep) from stored s), 'neither is plain');

-- Numbers whose text is very much longer than they are: a map of them has no text at all
create function pg_temp.numbers(p_number text, p_count integer) returns jsonb language sql as $$
  select format('{"a": {"b": [%s]}}', rtrim(repeat(p_number || ',', p_count), ','))::jsonb
$$;
select is(bpm_core.variables_fault(pg_temp.numbers(x.number, 5500)), 'Variables hold a number of more than 1,000 digits.', 'no thousands of ' || x.number)
  from (values ('1e131071'), ('-1e131071'), ('1e-16383'), ('-1e-16383'), ('0e-16383')) x(number);
select ok(not bpm_core.is_plain(pg_temp.numbers(x.number, x.count)), format('%s times %s is not plain', x.count, x.number))
  from (values ('1e131071', 1), ('1e131071', 100), ('-1e131071', 1000), ('1e-16383', 100)) x(number, count);
select is(bpm_core.variables_fault('{"a": 1e4300}'), 'Variables hold a number of more than 1,000 digits.', 'nor one that readers of JSON refuse');
select ok(bpm_core.is_plain(pg_temp.numbers(x.number, 200)), format('%s is an ordinary number', x.number))
  from (values ('1e300'), ('-2.5e-300'), ('0.00')) x(number);

-- is_plain never passes what the others would change or refuse
select is_empty($$
  select x.v from (values ('{}'::jsonb), ('[]'), ('{"a": "__encrypted:abc"}'), ('{"a": "__var:1:1"}'), ('{"a": "__var:1:{"}'), ('{"a": "x"}')) x(v)
   where bpm_core.is_plain(x.v) and (bpm_core.variables_fault(x.v) is not null or bpm_core.decode_variables(x.v) <> x.v)$$, 'is_plain is on the safe side');
select ok(bpm_core.is_plain('{"a": "x"}') and not bpm_core.is_plain('[]'), 'and of use');

select * from finish();
rollback;
