-- What callers of each kind get to see and do: by role for functions, by grant for tenants.
begin;
select plan(30);

create role t_nobody; create role t_reader; create role t_worker; create role t_operator; create role t_admin; create role t_both;
grant bpm_reader to t_nobody, t_reader;
grant bpm_worker to t_worker;
grant bpm_operator to t_operator;
grant bpm_admin to t_admin, t_both;
select bpm.create_tenant('A', 'acme');
select bpm.create_tenant('B', 'beta');
select bpm.grant_access('t_reader', '', 'reader');
select bpm.grant_access('t_worker', '', 'worker');
select bpm.grant_access('t_operator', '', 'operator');
select bpm.grant_access('t_admin', '', 'admin');
select bpm.grant_access('t_both', '%', 'admin');
select bpm.deploy_bpmn(test.linear('line', 'a'));
select test.start('line') as p, test.linear('line', 'a') as file \gset

-- Without a grant
set local role t_nobody;
select throws_ok('select * from bpm.claim_tasks(''w'', ''{a}'')', '42501', null, 'a reader''s role cannot even call claim_tasks');
select throws_ok($$select bpm.get_process('$$ || :'p' || $$')$$, 'BP403', null, 'without a grant there is no tenant');
select throws_ok($$select bpm.ready('acme')$$, 'BP403', null, 'nor another one');
select is_empty('table bpm.instance', 'and views are empty');
select is_empty('table bpm.history', 'history, too');
select lives_ok('select * from bpm.api_version()', 'api_version is for everybody');
select is_empty('select bpm.tenants_with_work(p_idle => true)', 'no tenant to work for');
select throws_ok('select * from bpm_core.token', '42501', null, 'private tables are closed');
select throws_ok('select bpm_core.now()', '42501', null, 'private functions are closed');

-- The same answer for an unknown tenant as for one that is not granted
create function pg_temp.said(p_sql text) returns text language plpgsql as $$
declare v_text text;
begin
  execute p_sql; return 'nothing';
exception when others then
  get stacked diagnostics v_text = message_text; return sqlstate || replace(replace(v_text, 'acme', 'X'), 'none', 'X');
end $$;
select is(pg_temp.said($$select bpm.ready('none')$$), pg_temp.said($$select bpm.ready('acme')$$), 'an unknown tenant and one not granted look the same');

-- Reader
set local role t_reader;
select isnt_empty('table bpm.instance', 'a reader sees the instances of its tenant');
select lives_ok($$select bpm.get_process('$$ || :'p' || $$')$$, 'and reads one');
select throws_ok($$select bpm.ready('acme')$$, 'BP403', null, 'but not of another tenant');
select throws_ok('update bpm.instance set status = ''Completed''', '55000', null, 'and writes nothing');

-- Worker
set local role t_worker;
select isnt_empty('select * from bpm.claim_tasks(''w'', ''{a}'')', 'a worker claims');
select isnt_empty('table bpm.task', 'and reads');
select lives_ok('select * from bpm.tick()', 'and keeps the time');
select throws_ok($$select bpm.cancel_process('$$ || :'p' || $$')$$, '42501', null, 'but cancels nothing');
select throws_ok($$select * from bpm.start_process('line', p_actor => 'somebody')$$, 'BP403', null, 'and acts as nobody else');
select results_eq('select bpm.tenants_with_work(p_idle => true)', $$values ('')$$, 'it works for its tenant');

-- Operator
set local role t_operator;
select throws_ok('select * from bpm.claim_tasks(''w'', ''{a}'')', '42501', null, 'an operator''s role is not for workers');
select throws_ok('select bpm.set_setting(''engine.loop_budget'', ''100'')', '42501', null, 'nor for admins');
select lives_ok($$select bpm.cancel_process('$$ || :'p' || $$', 'wrong order', 'ann')$$, 'an operator cancels, on behalf of somebody');

-- Admin
set local role t_admin;
select lives_ok('select bpm.set_setting(''engine.loop_budget'', ''100'')', 'an admin changes settings');
select throws_ok($$select bpm.deploy_bpmn('<x/>', p_tenant_id => 'acme')$$, 'BP403', null, 'but only of granted tenants');
select throws_ok($$select bpm.set_setting('engine.loop_budget', '100', p_tenant_id => 'acme')$$, 'BP403', null, 'not even settings');

-- Tenants apart
set local role t_both;
select lives_ok(format('select bpm.deploy_bpmn(%L, p_tenant_id => ''acme'')', :'file'), 'a pattern covers every tenant');
select results_eq('select bpm.tenants_with_work(p_idle => true)', $$values (''), ('acme'), ('beta')$$, 'each of them');
select results_eq('select distinct tenant_id collate "C" from bpm.history', $$values ('' collate "C")$$, 'rows carry their tenant');
select throws_ok($$select bpm.get_process('$$ || :'p' || $$', 'acme')$$, 'BP404', null, 'an instance of another tenant does not exist');

select * from finish();
rollback;
