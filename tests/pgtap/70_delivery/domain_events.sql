-- Domain events: written only for subscribers, in the transaction of what they tell of; published in order; told at least once. I-15, A-07.
begin;
select plan(63);
select kit.deploy_sending('ev');
select kit.deploy_gated('gate', false);
create function pg_temp.tick() returns integer language sql as $$ select (t.done ->> 'domain_events')::integer from bpm.tick() t $$;
create function pg_temp.claim(p_subscription text default null, p_limit integer default 100) returns text language sql as $$
  select coalesce((select concat_ws(' ', c.subscription, c.fencing_token, 'to ' || c.published_to,
                                    (select string_agg((e ->> 'published_no') || ':' || (e ->> 'type'), ' ') from jsonb_array_elements(c.events) e))
                     from bpm.claim_domain_events('w', p_limit, p_subscription => p_subscription) c), 'nothing') $$;
create function pg_temp.types() returns text language sql as $$ select string_agg(e.event_type || ' ' || e.state, ', ' order by e.event_id) from bpm.domain_event e $$;

-- Without subscribers
select kit.start('ev') as quiet \gset
select is(pg_temp.types(), null, 'nobody subscribed: nothing is written');
select is(pg_temp.tick(), 0, 'nor published');
select is(pg_temp.claim(), 'nothing', 'nor handed out');

-- Subscribing
select is(bpm.subscribe_events('mine', 'ev', p_actor => 'ann'), 'mine', 'somebody who asks, for one process');
select is(bpm.subscribe_events('ends', null, '{InstanceCompleted,CommandSent}', 'ev'), 'ends', 'a destination, for some types');
select is(bpm.subscribe_events('wake', null, null, null, 'bpm_happened'), 'wake', 'a channel');
select is((select count(*) from bpm_core.audit_event a where a.action = 'SubscribeEvents'), 3::bigint, 'audited');
select is((select a.actor from bpm_core.audit_event a where a.action = 'SubscribeEvents' and a.aggregate_id = 'mine'), 'ann', 'with who it was');

-- What happens is written with it
select kit.sending('ev', '{"n": 1}') as wi \gset
select is(pg_temp.types(), 'InstanceStarted Pending', 'a start');
select is((select e.payload - '{at,event_id}'::text[] from bpm.domain_event e),
          jsonb_build_object('type', 'InstanceStarted', 'process_code', 'ev', 'workflow_instance_id', :'wi', 'business_key', null, 'detail', '{}'::jsonb,
                             'process_instance_id', (select w.process_instance_id from bpm_core.workflow_instance w where w.id = :'wi')), 'with what it is about');
select kit.mark(:'wi', 'Sent', '{"receipt": {"status": 200}}') as _ \gset
select kit.mark(:'quiet', 'Unknown') as _ \gset
select d.* from bpm.claim_tasks('w', '{rest}', 10) c cross join lateral bpm.complete_task(c.task_id, c.fencing_token) d where c.workflow_instance_id = :'wi' \gset done_
select kit.start('gate') as gated \gset
select from bpm.decide_approval((select (a).id from kit.approval(:'gated') a), 'Rejected', null, 'boss');
select is((select string_agg(e.event_type, ' ' order by e.seq) from bpm_core.event_outbox e),
          'InstanceStarted CommandSent CommandUnknown InstanceCompleted InstanceStarted ApprovalRequested ApprovalDecided InstanceFailed', 'sent, unknown, ended, asked, decided, failed');
select is((select e.payload #>> '{detail,receipt,status}' from bpm.domain_event e where e.event_type = 'CommandSent'), '200', 'a command with its receipt');
select is((select e.payload #>> '{detail,actor}' from bpm.domain_event e where e.event_type = 'ApprovalDecided'), 'boss', 'a decision with who took it');

-- Rolled back with what it tells of
savepoint before;
select kit.start('ev', '{"n": 2}') as undone \gset
select is((select count(*) from bpm_core.event_outbox e where e.aggregate_id = :'undone'), 1::bigint, 'written in the same transaction');
rollback to before;
select is((select count(*) from bpm_core.event_outbox e where e.aggregate_id = :'undone'), 0::bigint, 'and gone with it');

-- Publishing
select count(*) as written from bpm_core.event_outbox \gset
select is(pg_temp.claim(), 'nothing', 'what is not published is not told');
select is(pg_temp.tick(), :written, 'tick publishes all');
select is(pg_temp.tick(), 0, 'once');
select is((select array_agg(e.published_no order by e.seq) from bpm_core.event_outbox e), (select array_agg(n) from generate_series(1::bigint, :written) n),
          'numbered in the order they were written, without a gap');
select is((select s.last_no from bpm_core.event_stream s), :written::bigint, 'and counted');

-- Telling
select is(pg_temp.claim('mine', 2), 'mine 1 to 2 1:InstanceStarted 2:CommandSent', 'as many as asked for, in order');
select is(pg_temp.claim('mine'), 'nothing', 'one at a time');
select is(bpm.mark_published('mine', 1, 1), 'Done', 'the first was told, then it stopped');
select is(pg_temp.claim('mine', 1), 'mine 2 to 2 2:CommandSent', 'so the second comes again');
select is(bpm.mark_published('mine', 1, 2), 'LeaseLost', 'an old token counts for nothing');
select is(bpm.mark_published('mine', 2, 2), 'Done', 'told');
select is(bpm.mark_published('mine', 2, 2), 'Done', 'the same again');
select is(split_part(pg_temp.claim('mine'), ' ', 5), '3:CommandUnknown', 'and on');

-- A-07: told, and dead before the mark
select from bpm.advance_clock('2 minutes');
select is(bpm.mark_published('mine', 3, 3), 'LeaseLost', 'a lease that ran out');
select is(split_part(pg_temp.claim('mine', 1), ' ', 5), '3:CommandUnknown', 'what was told and not marked is told again');
select is((select s.behind from bpm.event_subscription s where s.code = 'mine'), :written - 2::bigint, 'how far behind can be seen');

-- Only what is wanted; the rest is passed over
select is(split_part(pg_temp.claim(), ' ', 1), 'ends', 'a destination is served by whoever comes');
select is((select s.cursor_no from bpm.event_subscription s where s.code = 'ends'), 0::bigint, 'its place moves when it is marked');
select c.* from (select s.fencing_token as fence from bpm_core.event_subscription s where s.code = 'ends') c \gset e_
select is(bpm.mark_published('ends', :e_fence, 1, '{"status": 500}'), 'Done', 'it could not be told');
select is((select s.attempt || ' ' || (s.last_error ->> 'status') || ' ' || (s.next_at > bpm_core.now())::text from bpm.event_subscription s where s.code = 'ends'), '1 500 true', 'later, and why');
select is(split_part(pg_temp.claim(), ' ', 1), 'wake', 'others are told meanwhile');
select is(pg_temp.claim(), 'nothing', 'and it waits');
select from bpm.advance_clock('3 seconds');
select is(split_part(pg_temp.claim(), ' ', 1), 'ends', 'then again');
select is((select c.destination ->> 'code' from bpm.claim_domain_events('w', 10, p_subscription => 'wake') c), null, 'a channel has no destination');
select is(pg_temp.claim('nobody'), 'nothing', 'a subscription that is not there');

-- Types that nobody knows
insert into bpm_core.event_outbox (tenant_id, id, event_type, aggregate_id, process_code, payload, created_at)
values ('', bpm_core.new_id(), 'MoonRose', :'wi', 'ev', '{}', bpm_core.now());
select is(pg_temp.tick(), 1, 'an unknown type');
select is((select e.state || ' ' || coalesce(e.published_no::text, 'never') from bpm.domain_event e where e.event_type = 'MoonRose'), 'Parked never', 'is parked, not dropped');
select is((select s.last_no from bpm_core.event_stream s), :written::bigint, 'and takes no number');

-- Subscribing later, again, and no more
select is(bpm.subscribe_events('late'), 'late', 'who comes late');
select is(pg_temp.claim('late'), 'nothing', 'is told from then on');
select is((select s.cursor_no from bpm.event_subscription s where s.code = 'mine'), 2::bigint, 'has');
select is(bpm.subscribe_events('mine', 'ev', '{InstanceStarted}'), 'mine', 'a subscription changed');
select is((select s.cursor_no from bpm.event_subscription s where s.code = 'mine'), 2::bigint, 'keeps its place');
select is(bpm.unsubscribe_events('mine', 'enough', 'ann'), 'mine', 'ended');
select is(bpm.unsubscribe_events('mine'), 'mine', 'twice is once');
select is((select count(*) from bpm_core.audit_event a where a.action = 'UnsubscribeEvents'), 1::bigint, 'audited once');
select is(pg_temp.claim('mine'), 'nothing', 'and told no more');
select count(bpm.unsubscribe_events(s.code)) from bpm_core.event_subscription s;
select kit.start('ev') as silent \gset
select is((select count(*) from bpm_core.event_outbox e where e.aggregate_id = :'silent'), 0::bigint, 'nobody left: nothing is written');

-- Errors
select throws_ok('select bpm.subscribe_events('''')', 'BP400', null, 'no code');
select throws_ok('select bpm.subscribe_events(''x'', null, null, ''nowhere'')', 'BP404', null, 'no such destination');
select throws_ok('select bpm.subscribe_events(''x'', null, ''{MoonRose}'')', 'BP422', null, 'no such type');
select throws_ok('select bpm.subscribe_events(''x'', null, null, ''ev'', ''c'')', 'BP422', null, 'a destination and a channel');
select throws_ok('select bpm.subscribe_events(''x'', p_notify_channel => ''A b'')', 'BP422', null, 'a bad channel');
select throws_ok('select bpm.unsubscribe_events(''nobody'')', 'BP404', null, 'no such subscription');
select throws_ok('select bpm.mark_published(''late'', 0, 1, p_tenant_id => ''nobody'')', 'BP403', null, 'tenant not granted');
select throws_ok('select from bpm.claim_domain_events(''w'', 0)', 'BP422', null, 'arguments are checked');
select is(bpm.mark_published('nobody', 1, 1), 'NotFound', 'marking what is not there');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
