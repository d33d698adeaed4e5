-- bpm.open_case, bpm.close_case.
begin;
select plan(20);
select bpm.deploy_bpmn(test.linear('order', 'a'));
select c.* from bpm.open_case('K-1', 'ann') c \gset c_
select is(concat_ws(' ', :'c_state', :'c_lock_version', :'c_is_new'), 'Open 0 t', 'opened before anything runs');
select is((select concat_ws(' ', c.business_case_id = :'c_business_case_id', c.lock_version, c.is_new) from bpm.open_case('K-1') c), 't 0 f', 'once');
select is((select concat_ws(' ', a.actor, a.aggregate_id = :'c_business_case_id') from bpm_core.audit_event a where a.action = 'OpenCase'), 'ann t', 'audited once');
select test.start('order', '{}', 'K-1') as i \gset
select is((select p.business_case_id from bpm_core.process_instance p where p.id = :'i'), :'c_business_case_id'::uuid, 'what starts under its key belongs to it');
select throws_ok($$select * from bpm.close_case('K-1')$$, 'BP409', '1 of its process instances have not ended.', 'BP409: something runs');
select test.complete_next('a') is not null as done \gset
select throws_ok($$select * from bpm.close_case('K-1', 3)$$, 'BP409', 'The case has version 0.', 'BP409: another version was expected');
select is((select concat_ws(' ', c.state, c.lock_version, c.is_new) from bpm.close_case('K-1', 0, 'paid and gone', 'ann') c), 'Closed 1 t', 'closed');
select is((select concat_ws(' ', a.actor, a.reason, a.aggregate_version) from bpm_core.audit_event a where a.action = 'CloseCase'), 'ann paid and gone 1', 'audited');
select is((select concat_ws(' ', c.state, c.lock_version, c.is_new) from bpm.close_case('K-1', 0) c), 'Closed 1 f', 'once');
select is((select concat_ws(' ', c.business_key, c.state, c.lock_version) from bpm.business_case c), 'K-1 Closed 1', 'the view shows it');
select is((select concat_ws(' ', c.state, c.lock_version, c.is_new) from bpm.open_case('K-1') c), 'Open 2 t', 'it can be opened again');
select c.is_new as closed from bpm.close_case('K-1') c \gset
select count(*) as started from bpm.start_processes('[{"code": "order", "business_key": "K-1"}, {"code": "order", "business_key": "K-1"}, {"code": "order", "business_key": "K-2"}]') s \gset
select is((select array_agg(concat_ws(' ', c.business_key, c.state, c.lock_version) order by c.business_key) from bpm.business_case c), '{"K-1 Open 4","K-2 Open 0"}', 'so does what starts under its key');
select throws_ok($$select * from bpm.open_case('')$$, 'BP400', null, 'BP400: no key');
select throws_ok($$select * from bpm.open_case(repeat('x', 301))$$, 'BP400', null, 'BP400: a key too long');
select throws_ok($$select * from bpm.close_case('K-9')$$, 'BP404', null, 'BP404: no such case');
select throws_ok($$select * from bpm.close_case(null)$$, 'BP404', null, 'BP404: none');
select throws_ok($$select * from bpm.close_case('K-1', p_reason => repeat('x', 4001))$$, 'BP422', null, 'BP422: a reason too long');
select throws_ok($$select * from bpm.open_case('K-1', p_tenant_id => 'nobody')$$, 'BP403', null, 'BP403: a tenant that is not there');
select bpm.create_tenant('other', 'other') is not null as made, bpm.grant_access(session_user, 'other', 'admin') is not null as granted \gset
select throws_ok($$select * from bpm.close_case('K-1', p_tenant_id => 'other')$$, 'BP404', null, 'BP404: the case of another tenant');
select is(test.broken(), '{}', 'all is well');
select * from finish();
rollback;
