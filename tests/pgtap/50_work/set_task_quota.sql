-- bpm.set_task_quota, bpm.set_tenant_quota: how many tasks may be Executing at once, by type and by tenant, held as rows.
begin;
select plan(63);
select bpm.deploy_bpmn(test.linear('small', 'pack')), bpm.deploy_bpmn(test.linear('ship', 'send')) \g /dev/null
create function pg_temp.claimed(p_types text[], p_limit integer) returns bigint language sql as $$ select count(*) from bpm.claim_tasks('w', p_types, p_limit) $$;
create function pg_temp.held() returns text language sql as $$
  select string_agg(q.task_type || ' ' || q.held || '/' || q.bound, ', ' order by q.task_type) from bpm.task_quota q $$;
create function pg_temp.in_hand(p_n integer default null) returns jsonb language sql as $$
  select jsonb_agg(jsonb_build_object('task_id', t.task_id, 'fencing_token', t.fencing_token))
    from (select * from bpm.task t where t.state = 'Executing' order by t.task_id limit p_n) t $$;
create function pg_temp.started(p_code text, p_n integer) returns bigint language sql as $$ select count(test.start(p_code)) from generate_series(1, p_n) n $$;

-- Setting
select is(bpm.set_task_quota('pack', 3, 'their API', 'ann'), null, 'there was no bound');
select is((select row(q.tenant_id, q.task_type, q.bound, q.held, q.set_by)::text from bpm.task_quota q), '("",pack,3,0,ann)', 'the view shows it');
select is(bpm.set_task_quota('pack', 3), 3, 'the same again changes nothing');
select is(bpm.set_task_quota('pack', 4), 3, 'the bound there was');
select is((select array_agg(a.action || ' ' || a.aggregate_id || ' ' || coalesce(a.reason, '-') || ' ' || (a.detail ->> 'to') order by a.id) from bpm_core.audit_event a where a.action like '%Quota'),
  '{"SetTaskQuota pack their API 3","SetTaskQuota pack - 4"}', 'each change is audited');
select is(bpm.set_task_quota('pack', 3), 4, 'back again');

-- A type
select pg_temp.started('small', 10), pg_temp.started('ship', 2) \g /dev/null
select is(pg_temp.claimed('{pack}', 2), 2::bigint, 'within the bound');
select is(pg_temp.claimed('{pack}', 10), 1::bigint, 'up to the bound');
select is(pg_temp.claimed('{pack}', 10), 0::bigint, 'not beyond it');
select is(pg_temp.claimed('{pack,send}', 10), 2::bigint, 'another type is not bounded by it');
select is(pg_temp.held(), 'pack 3/3', 'held as the view shows');
select is((select array_agg(t.type_slot order by t.type_slot) from bpm_core.task_instance t where t.state = 'Executing' and t.task_type = 'pack'), '{1,2,3}', 'each has a slot of its own');
select is(test.broken(), '{}', 'invariants hold');
select is((select jsonb_array_length(c.tasks) || coalesce(' ' || c.next_due_at::text, '') from bpm.claim_tasks_at('w', '{pack}', 10) c), '0', 'with positions as well');
-- A task that became ready behind what was reached while the quota was full is found when it is not.
select c.positions as p1 from bpm.claim_tasks_at('w', '{pack}', 10) c \gset
select ok((:'p1'::jsonb #>> '{pack,1,full_at}') is null, 'a slot that was not walked is not known to be empty');

-- Each way to end gives the slot back
select is((select c.outcome::text from bpm.complete_tasks(pg_temp.in_hand(1)) c), 'Completed', 'a completion');
select is(pg_temp.claimed('{pack}', 10) || ' ' || pg_temp.held(), '1 pack 3/3', 'gives its slot to the next');
select count(*) from bpm.complete_tasks((select jsonb_agg(jsonb_build_object('task_id', t.task_id, 'fencing_token', t.fencing_token)) from bpm.task t where t.state = 'Executing' and t.task_type = 'send')) \g /dev/null
select is((select string_agg(distinct f.outcome::text, ' ') from bpm.fail_tasks((select jsonb_agg(i || '{"retry_in_seconds": 5}') from jsonb_array_elements(pg_temp.in_hand(1)) i)) f), 'Retrying', 'a failure');
select is(pg_temp.held(), 'pack 2/3', 'too');
select is((select r.outcome::text from bpm.release_tasks(pg_temp.in_hand(1)) r), 'Released', 'a release');
select is(pg_temp.held(), 'pack 1/3', 'too');
select is((select e.outcome::text from jsonb_array_elements(pg_temp.in_hand(1)) i cross join lateral bpm.throw_error((i ->> 'task_id')::uuid, (i ->> 'fencing_token')::bigint, 'X') e), 'Failed', 'an error');
select is(pg_temp.held(), 'pack 0/3', 'too');
select is(pg_temp.claimed('{pack}', 10), 3::bigint, 'all three again');
select bpm.cancel_process((select t.process_instance_id from bpm.task t where t.state = 'Executing' order by t.task_id limit 1), 'gone') \g /dev/null
select is(pg_temp.held(), 'pack 2/3', 'a cancel');
select bpm.advance_clock('1 hour') is not null as moved, test.tick('leases') as reaped \gset
select is(:reaped || ' ' || pg_temp.held(), '2 pack 0/3', 'leases that ran out');
select is(test.broken(), '{}', 'invariants hold');
-- A person throws away, an instance is suspended: the claim that meets it gives the slot back.
select pg_temp.claimed('{pack}', 2) as two \gset
select bpm.suspend_process(p.id, 'wait') from (select distinct t.process_instance_id as id from bpm.task t where t.state = 'Executing' order by 1 limit 1) p \g /dev/null
select is((select string_agg(distinct r.outcome::text, ' ') from bpm.release_tasks(pg_temp.in_hand()) r), 'Released', 'a release while suspended');
select is(pg_temp.held(), 'pack 0/3', 'too');
update bpm_core.task_instance t set state = 'Ready', available_at = bpm_core.now() - interval '1 day' where t.state = 'Held' and t.task_type = 'pack';
select is((select count(*) from bpm.task t where t.state = 'Ready' and t.task_type = 'pack' and exists (select from bpm.instance i where i.process_instance_id = t.process_instance_id and i.status = 'Suspended')), 1::bigint, 'one that is to be held is still ready');
select is(pg_temp.claimed('{pack}', 3) || ' ' || pg_temp.held(), '2 pack 2/3', 'what is put back at once holds no slot');
select bpm.resume_process(i.process_instance_id, 'go on') from bpm.instance i where i.status = 'Suspended' \g /dev/null
select count(*) from bpm.release_tasks(pg_temp.in_hand()) \g /dev/null
update bpm_core.task_instance t set available_at = bpm_core.now() where t.state = 'Ready';

-- A smaller bound, a larger one, none
select is(pg_temp.claimed('{pack}', 10), 3::bigint, 'three in hand');
select is(bpm.set_task_quota('pack', 1), 3, 'one from now on');
select is(pg_temp.held(), 'pack 3/1', 'what is in hand stays');
select is(pg_temp.claimed('{pack}', 10), 0::bigint, 'and nothing more is handed out');
select count(*) from bpm.complete_tasks((select jsonb_agg(jsonb_build_object('task_id', t.id, 'fencing_token', t.fencing_token)) from bpm_core.task_instance t where t.type_slot < 3 and t.state = 'Executing')) \g /dev/null
select is(pg_temp.held(), 'pack 1/1', 'the third is still under its slot');
select is(pg_temp.claimed('{pack}', 10) || ' ' || pg_temp.held(), '1 pack 2/1', 'which is none of the quota any more');
select is(bpm.set_task_quota('pack', null), 1, 'none any more');
select is((select count(*) from bpm.task_quota), 0::bigint, 'gone');
select is(test.broken(), '{}', 'invariants hold');
select count(*) from bpm.complete_tasks(pg_temp.in_hand()) \g /dev/null
select bpm.set_task_quota('pack', 2), bpm.set_task_quota('pack', null) \g /dev/null
select is((select count(*) from bpm_core.quota_slot), 0::bigint, 'without a row left');
select pg_temp.started('small', 5) \g /dev/null
select ok(pg_temp.claimed('{pack}', 5) = 5, 'nothing is bounded');
select is((select count(*) from bpm_core.task_instance t where t.state = 'Executing' and t.type_slot is not null), 0::bigint, 'under no slots');
select count(*) from bpm.complete_tasks(pg_temp.in_hand()) \g /dev/null

-- The whole tenant, and both together
select is(bpm.set_tenant_quota('', 4, 'small'), null, 'a bound for all types together');
select bpm.set_task_quota('pack', 3) \g /dev/null
select pg_temp.started('small', 5), pg_temp.started('ship', 5) \g /dev/null
select is(pg_temp.claimed('{pack,send}', 10) || ': ' || pg_temp.held(), '4:  4/4, pack 3/3', 'both bounds are kept');
select is(pg_temp.claimed('{pack,send}', 10), 0::bigint, 'the tenant has no more');
select count(*) from bpm.complete_tasks((select jsonb_agg(jsonb_build_object('task_id', t.task_id, 'fencing_token', t.fencing_token)) from bpm.task t where t.state = 'Executing' and t.task_type = 'pack')) \g /dev/null
select is(pg_temp.held(), ' 1/4, pack 0/3', 'both slots are given back');
select is(pg_temp.claimed('{send}', 10), 3::bigint, 'to whoever comes');
select is(test.broken(), '{}', 'invariants hold');

-- Migrating to another type while in hand
select bpm.set_tenant_quota('', 9) \g /dev/null
select is(pg_temp.claimed('{pack}', 1), 1::bigint, 'one in hand');
select bpm.deploy_bpmn(replace(test.linear('small', 'pack'), 'bpm:type="pack"', 'bpm:type="send"')) \g /dev/null
select bpm.migrate_process(t.process_instance_id, 2) from bpm.task t where t.state = 'Executing' and t.task_type = 'pack' \g /dev/null
select is(pg_temp.held(), ' 5/9, pack 0/3', 'it leaves the quota of its old type, not that of its tenant');
select is(test.broken(), '{}', 'invariants hold');
select count(*) from bpm.complete_tasks(pg_temp.in_hand()) \g /dev/null
select is(pg_temp.held(), ' 0/9, pack 0/3', 'and ends');

-- Nonsense
select throws_ok($$select bpm.set_task_quota('pack', 0)$$, 'BP422', null, 'none at all');
select throws_ok($$select bpm.set_task_quota('pack', 10001)$$, 'BP422', null, 'too many');
select throws_ok($$select bpm.set_task_quota('', 3)$$, 'BP422', null, 'no type');
select throws_ok($$select bpm.set_task_quota(null, 3)$$, 'BP422', null, 'null');
select throws_ok($$select bpm.set_task_quota('bpm:user', 3)$$, 'BP422', null, 'people');
select throws_ok($$select bpm.set_task_quota('pack', 3, p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select throws_ok($$select bpm.set_tenant_quota('', -1)$$, 'BP422', null, 'less than none');
select throws_ok($$select bpm.set_tenant_quota('nobody', 3)$$, 'BP404', null, 'no such tenant');
select throws_ok($$select bpm.set_tenant_quota(null, 3)$$, 'BP400', null, 'no tenant');
select bpm.create_tenant('acme', 'acme') \g /dev/null
select throws_ok($$select bpm.set_tenant_quota('acme', 3, p_tenant_id => 'acme')$$, 'BP403', null, 'not by the tenant itself');
select * from finish();
rollback;
