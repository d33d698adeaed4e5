-- What maps of variables are taken, and their wire forms.
begin;
select plan(24);

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

-- is_plain never passes what the others would change or refuse
select is_empty($$
  select x.v from (values ('{}'::jsonb), ('[]'), ('{"a": "__encrypted:abc"}'), ('{"a": "__var:1:1"}'), ('{"a": "__var:1:{"}'), ('{"a": "x"}')) x(v)
   where bpm_core.is_plain(x.v) and (bpm_core.variables_fault(x.v) is not null or bpm_core.decode_variables(x.v) <> x.v)$$, 'is_plain is on the safe side');
select ok(bpm_core.is_plain('{"a": "x"}') and not bpm_core.is_plain('[]'), 'and of use');

select * from finish();
rollback;
