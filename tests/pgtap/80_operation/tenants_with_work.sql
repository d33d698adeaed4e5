-- bpm.tenants_with_work: who has something ready or due, page by page.
begin;
select plan(27);

select bpm.create_tenant(t.id, t.id) from unnest('{a-task,b-timer,c-message,d-command,e-event,f-lease,g-idle,h-approval,i-inbox,j-tokens}'::text[]) t(id) \g /dev/null
create function pg_temp.due(p_within interval default '0') returns text[] language sql as $$
  select coalesce(array_agg(t order by n), '{}') from bpm.tenants_with_work(p_within => p_within) with ordinality w(t, n) $$;
create function pg_temp.run(p_tenant text, p_body text, p_outside text default '') returns uuid language sql as $$
  select from bpm.deploy_bpmn(test.bpmn('p', '<startEvent id="start"/>' || p_body || '<endEvent id="end"/>', p_outside), p_tenant_id => p_tenant);
  select s.process_instance_id from bpm.start_process('p', p_tenant_id => p_tenant) s $$;
select is(pg_temp.due(), '{}', 'nobody');

select pg_temp.run('a-task', test.service('a') || test.flows('start>a', 'a>end')) \g /dev/null
select is(pg_temp.due(), '{a-task}', 'a ready task');
select pg_temp.run('b-timer', test.timer('t', '<timeDuration>PT1M</timeDuration>') || test.flows('start>t', 't>end')) \g /dev/null
select is(pg_temp.due(), '{a-task}', 'a timer that is not due');
select is(pg_temp.due('2 min'), '{a-task,b-timer}', 'but will be');
select bpm.correlate_message('m', 'k', '{}', '3 min', p_tenant_id => 'c-message') \g /dev/null
select is(pg_temp.due('4 min'), '{a-task,b-timer,c-message}', 'a message that will have expired');
select is(pg_temp.due(), '{a-task}', 'not yet');
select bpm.register_destination('courier', 'http', '{"url": "http://courier.example/"}', p_tenant_id => 'd-command') \g /dev/null
select pg_temp.run('d-command', '<sendTask id="s" bpm:type="courier"/>' || test.flows('start>s', 's>end')) \g /dev/null
select is(pg_temp.due(), '{a-task,d-command}', 'a command to send');
select bpm.accept_event('c', '1', 't', p_tenant_id => 'e-event') \g /dev/null
select is(pg_temp.due(), '{a-task,d-command,e-event}', 'an event to dispatch');
select pg_temp.run('f-lease', test.service('a') || test.flows('start>a', 'a>end')) \g /dev/null
select bpm.claim_tasks('w', '{a}', p_lease => '5 min', p_tenant_id => 'f-lease') \g /dev/null
select bpm.claim_commands('w', p_lease => '5 min', p_tenant_id => 'd-command') \g /dev/null
select is(pg_temp.due(), '{a-task,e-event}', 'what is in hand is not ready');
select is(pg_temp.due('6 min'), '{a-task,b-timer,c-message,d-command,e-event,f-lease}', 'until its lease has run out');
select bpm.run_until_idle(p_tenant_id => 'e-event') \g /dev/null
select is(pg_temp.due(), '{a-task}', 'an event that waits for a rule is no work');
select bpm.set_routing_rule('r', '*', 'Ignore', p_reason => 'x', p_tenant_id => 'e-event') \g /dev/null
select is(pg_temp.due(), '{a-task,e-event}', 'until the rules have changed');
select pg_temp.run('h-approval', '<serviceTask id="t" bpm:type="t" bpm:approval="required" bpm:approvalExpires="PT10M"/>' || test.flows('start>t', 't>end')) \g /dev/null
select is('h-approval' = any (pg_temp.due('6 min')), false, 'an approval that nobody has decided yet is no work');
select is('h-approval' = any (pg_temp.due('11 min')), true, 'until its time is up');

-- Pages
select is(array(select bpm.tenants_with_work(1)), '{a-task}', 'one');
select is(array(select bpm.tenants_with_work(1, 'a-task')), '{e-event}', 'the next');
select is(array(select bpm.tenants_with_work(1, 'e-event')), '{}', 'no more');
select is(array(select bpm.tenants_with_work(3, p_idle => true)), array['', 'a-task', 'b-timer'], 'those without work too');
select is(array(select bpm.tenants_with_work(2, 'h-approval', p_idle => true)), '{i-inbox,j-tokens}', 'page by page');
select bpm.suspend_tenant('a-task') \g /dev/null
select is(pg_temp.due(), '{e-event}', 'a suspended tenant is passed by');
create role t_work_some; grant bpm_worker to t_work_some;
select bpm.grant_access('t_work_some', 'f-%', 'worker'), bpm.grant_access('t_work_some', 'e-event', 'reader') \g /dev/null
set local role t_work_some;
select is(pg_temp.due('6 min'), '{f-lease}', 'and whoever the caller may not work for');
reset role;

-- Every index of a picker is walked.
select is_empty(
  $$select i.indexrelid::regclass
      from pg_index i
      join pg_class c on c.oid = i.indrelid
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
     where c.relnamespace = 'bpm_core'::regnamespace and not i.indisprimary and i.indpred is not null and a.attname = 'tenant_id' and not c.relispartition
       and i.indexrelid::regclass::text not in ('bpm_core.incident_open', 'bpm_core.dead_letter_open', 'bpm_core.approval_open', 'bpm_core.review_open', 'bpm_core.outbox_unknown')  -- for people
       and i.indexrelid::regclass::text not in ('bpm_core.event_outbox_pending', 'bpm_core.event_outbox_published')  -- their tenants are in event_stream
       and not exists (
             select from pg_proc p
              where p.oid = 'bpm_core.next_tenant(text, text)'::regprocedure
                and p.prosrc ~ ('bpm_core\.' || c.relname || ' t\s+where[^;]*order by ' || (
                      select string_agg('t\.' || k.attname, ', ' order by x.n)
                        from unnest(i.indkey::int[]) with ordinality x(attnum, n) join pg_attribute k on k.attrelid = i.indrelid and k.attnum = x.attnum)))$$,
  'each picker''s index is walked in its own order');
select throws_ok('select bpm.tenants_with_work(0)', 'BP422', null, 'no limit');
select throws_ok('select bpm.tenants_with_work(10001)', 'BP422', null, 'too high a limit');
select throws_ok('select bpm.tenants_with_work(p_within => ''-1 s'')', 'BP422', null, 'the past');
select throws_ok('select bpm.tenants_with_work(p_within => ''2 days'')', 'BP422', null, 'too far ahead');
select is(pg_temp.due('1 day'), array['b-timer', 'c-message', 'd-command', 'e-event', 'f-lease', 'h-approval'], 'a day is not');

select * from finish();
rollback;
