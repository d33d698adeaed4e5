-- What an incident is told about a condition.
begin;
select plan(8);

select is(bpm_core.describe_condition('${a.b > 5 && c == a.b}', '{"a": {"b": 3}}'),
  '[{"path": "a.b", "value": 3, "type": "number"}, {"path": "c", "value": null, "type": "missing"}]', 'every path once, in order, with value and type');
select is(bpm_core.describe_condition('${x}', '{"x": null}'), '[{"path": "x", "value": null, "type": "null"}]', 'null is not missing');
select is(bpm_core.describe_condition('${!empty x || y < 2}', '{"x": [1], "y": {"z": 1}}') #> '{0,type}', '"array"', 'arrays');
select is(bpm_core.describe_condition('${execution.getVariable("a b") > 2}', '{"a b": "3"}'), '[{"path": "a b", "value": "3", "type": "string"}]', 'getVariable is the path it names');
select is(length(bpm_core.describe_condition('${x > 2}', jsonb_build_object('x', repeat('y', 5000))) #>> '{0,value}'), 1001, 'long values are cut');
select is(bpm_core.describe_condition('${x > 2}', '{"x": "__encrypted:abc"}'), '[{"path": "x", "value": null, "type": "encrypted"}]', 'encrypted values are not shown');
select is(bpm_core.describe_condition('${1 == 1}', '{}'), '[]', 'nothing looked at');
select is(bpm_core.describe_condition(null, '{}'), '[]', 'no condition');

select * from finish();
rollback;
