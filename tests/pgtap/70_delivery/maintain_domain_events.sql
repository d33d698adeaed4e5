-- Forgetting domain events: what everybody has had and is old enough, a little at a time; who is far behind is seen.
begin;
select plan(31);
select kit.deploy_sending('ev');
create function pg_temp.kept() returns text language sql as $$ select string_agg(e.published_no::text, ' ' order by e.published_no) from bpm_core.event_outbox e where e.published_no is not null $$;
create function pg_temp.maintain(p_limit integer default 100) returns text language sql as $$ select concat_ws(' ', m.deleted, m.done::text, m.held_by) from bpm.maintain_domain_events(p_limit) m $$;
-- Told of everything up to a number.
create function pg_temp.told(p_subscription text, p_to bigint) returns text language sql as $$
  select bpm.mark_published(p_subscription, c.fencing_token, p_to) from bpm.claim_domain_events('w', 1000, p_subscription => p_subscription) c $$;
create function pg_temp.check() returns jsonb language sql as $$ select c.item from jsonb_array_elements(bpm.ready() -> 'checks') c(item) where c.item ->> 'name' = 'subscribers' $$;
create function pg_temp.behind() returns text language sql as $$
  select (pg_temp.check() ->> 'ok') || coalesce(' ' || string_agg(concat_ws(' ', b ->> 'subscription', b ->> 'events'), ', '), '') from jsonb_array_elements(pg_temp.check() #> '{detail,behind}') b $$;

select is(pg_temp.maintain(), '0 true', 'nobody ever subscribed');
select is(pg_temp.behind(), 'true', 'nor is anybody behind');
select from bpm.subscribe_events('fast', p_notify_channel => 'heard');
select from bpm.subscribe_events('slow');
select count(kit.start('ev')) from generate_series(1, 5);
select is(bpm.metrics() #>> '{domain_events,pending}', '5', 'five that have no number yet');
select from bpm.tick();
select is((select s.last_no || ' ' || s.behind || ' ' || (s.behind_since = e.published_at) from bpm.event_subscription s join bpm.domain_event e on e.published_no = 1 where s.code = 'slow'),
          '5 5 true', 'a subscription says how far behind it is, and since when');
select is(bpm.metrics() #> '{domain_events}', '{"pending": 0, "most_behind": 5}', 'so do the metrics');
select is(pg_temp.told('fast', 4), 'Done', 'one has four');
select is(pg_temp.told('slow', 2), 'Done', 'the other two');
select is(pg_temp.maintain(), '0 true', 'young ones stay');
select is(pg_temp.behind(), 'true', 'and a moment is not far behind');
select from bpm.advance_clock('20 minutes');
select is(pg_temp.behind(), 'false fast 1', 'a quarter of an hour is, for whom runners tell');
select from bpm.advance_clock('30 days');
select is(pg_temp.behind(), 'false slow 3, fast 1', 'and two days for whoever asks');
select is((bpm.ready() ->> 'ready')::boolean, true, 'which is a warning');
select count(kit.start('ev')) from generate_series(1, 2);
select from bpm.tick();
select is(pg_temp.maintain(1), '1 false slow', 'old ones go, at most as many as said');
select is(pg_temp.kept(), '2 3 4 5 6 7', 'the oldest first');
select is(pg_temp.maintain(1), '1 false slow', 'one more');
select is(pg_temp.maintain(1), '0 true slow', 'and no more than everybody has had; who keeps the others is said');
select is(pg_temp.kept(), '3 4 5 6 7', 'those stay');
select is(pg_temp.told('slow', 7), 'Done', 'it has all');
select is(pg_temp.maintain(), '2 true fast', 'up to where the other is');
select is(pg_temp.told('fast', 7), 'Done', 'that has all, too');
select is(pg_temp.maintain(), '1 true', 'the two young ones stay');
select is(pg_temp.kept(), '6 7', 'as they should');
select is_empty('select * from bpm.check_invariants()', 'with some forgotten, invariants hold');
select from bpm.subscribe_events('late');
select from kit.start('ev');
select from bpm.tick();
select is((select c.events -> 0 ->> 'published_no' from bpm.claim_domain_events('w', 10, p_subscription => 'late') c), '8', 'numbers go on');

-- A setting, an ended subscription, all of them
select from bpm.set_setting('engine.domain_event_days', '1');
select from bpm.advance_clock('25 hours');
select is(pg_temp.maintain(), '2 true fast', 'a day is enough now; the one that nobody was told of stays');
select bpm.unsubscribe_events(s.code) from bpm_core.event_subscription s \g /dev/null
select is(pg_temp.maintain(), '1 true', 'who has ended keeps nothing');
select is_empty('select * from bpm.check_invariants()', 'with all forgotten, invariants hold');
select is(pg_temp.behind(), 'true', 'and nobody is behind');

select throws_ok($$select bpm.set_setting('engine.domain_event_days', '0')$$, 'BP400', null, 'a day at least');
select throws_ok('select from bpm.maintain_domain_events(0)', 'BP422', null, 'arguments are checked');
select throws_ok('select from bpm.maintain_domain_events(1, ''nobody'')', 'BP403', null, 'tenant not granted');
select * from finish();
rollback;
