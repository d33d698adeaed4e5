-- bpm.set_tenant_weight, bpm.tenants_in_turn: tenants have turns in proportion to their weights.
begin;
select plan(23);
select bpm.create_tenant(t.id, t.id) from unnest('{a,b,c}'::text[]) t(id) \g /dev/null

-- The weight
select is((select t.weight from bpm.tenant t where t.tenant_id = 'a'), 1, 'one, unless told otherwise');
select is(bpm.set_tenant_weight('a', 10, 'pays more', 'ann'), 1, 'the weight it had');
select is((select t.weight from bpm.tenant t where t.tenant_id = 'a'), 10, 'everybody sees it');
select is(bpm.set_tenant_weight('a', 10), 10, 'the same again changes nothing');
select is((select array_agg(row(e.actor, e.aggregate_type, e.aggregate_id, e.reason, e.detail)::text) from bpm_core.audit_event e where e.action = 'SetTenantWeight'),
  array[row('ann', 'tenant', 'a', 'pays more', '{"to": 10, "from": 1}'::jsonb)::text], 'audited once');
select lives_ok($$select bpm.set_tenant_weight('', 1000), bpm.set_tenant_weight('', 1)$$, 'the tenant without a name has one as well; the bounds themselves are taken');
select throws_ok($$select bpm.set_tenant_weight('a', 0)$$, 'BP422', null, 'nothing');
select throws_ok($$select bpm.set_tenant_weight('a', 1001)$$, 'BP422', null, 'too much');
select throws_ok($$select bpm.set_tenant_weight('a', null)$$, 'BP422', null, 'null');
select throws_ok($$select bpm.set_tenant_weight('a', 2, repeat('x', 4001))$$, 'BP422', null, 'a reason has bounds');
select throws_ok($$select bpm.set_tenant_weight('nobody', 2)$$, 'BP404', null, 'no such tenant');
select throws_ok($$select bpm.set_tenant_weight(null, 2)$$, 'BP400', null, 'none');
select throws_ok($$select bpm.set_tenant_weight('a', 2, p_tenant_id => 'a')$$, 'BP403', null, 'not by the tenant itself');

-- Whose turn is it?
create function pg_temp.turns(p_round bigint, p_limit integer default 1000, p_after text default null) returns text language sql as $$
  select string_agg(t.tenant_id || case when t.in_turn then '+' else '-' end, ' ' order by t.n)
    from bpm.tenants_in_turn(p_round, p_limit, p_after) with ordinality t(tenant_id, weight, in_turn, n) $$;
select is(pg_temp.turns(0), null, 'nobody has work');
select bpm.deploy_bpmn(test.linear('p', 'job'), p_tenant_id => t.id), bpm.start_process('p', p_tenant_id => t.id) from unnest('{a,b,c}'::text[]) t(id) \g /dev/null
select bpm.set_tenant_weight('b', 4) \g /dev/null
select is(pg_temp.turns(0), 'a+ b+ c+', 'everybody in the first round');
select is((select array_agg(x.turns order by x.tenant_id) from (select t.tenant_id, count(*) filter (where t.in_turn) as turns from generate_series(0, 999) r cross join lateral bpm.tenants_in_turn(r) t group by 1) x),
  '{1000,400,100}', 'in proportion to the weights');
select is((select max(x.n - x.before) from (select r as n, lag(r) over (order by r) as before from generate_series(0, 99) r cross join lateral bpm.tenants_in_turn(r) t where t.tenant_id = 'c' and t.in_turn) x),
  10, 'the lightest has every tenth round');
select is(pg_temp.turns(1, 2), 'a+ b-', 'page by page');
select is(pg_temp.turns(1, 2, 'b'), 'c+', 'each page for itself');
select bpm.suspend_tenant('a') \g /dev/null
select is(pg_temp.turns(1), 'b+ c-', 'the heaviest of those that have work has every round');
select throws_ok($$select bpm.tenants_in_turn(null)$$, 'BP422', null, 'no round');
select throws_ok($$select bpm.tenants_in_turn(-1)$$, 'BP422', null, 'one before the first');
select throws_ok($$select bpm.tenants_in_turn(0, 0)$$, 'BP422', null, 'bounds as tenants_with_work');
select * from finish();
rollback;
