-- bpm.replay: history and the immutable graph alone give every token back, as it is and as it was.
begin;
select plan(17);

select test.deploy_everything();
select test.start('everything', '{"amount": 1200}', 'K') as p \gset
select test.workflow(:'p') as w \gset
create function pg_temp.differs() returns bigint language sql as $$
  select count(*)
    from bpm_core.token t
    full join bpm.replay((select i.workflow_instance_id from bpm.instance i)) r on r.token_id = t.id
   where r.node_id is distinct from t.node_id or r.state is distinct from t.state::text $$;
create function pg_temp.replayed(p_upto bigint) returns text language sql as $$
  select coalesce(string_agg(r.node_id || ' ' || r.state, ', ' order by r.node_id, r.state), '')
    from bpm.replay((select i.workflow_instance_id from bpm.instance i), p_upto) r $$;
create temp table mark (name text, seq bigint, standing text);
create function pg_temp.remember(p_name text) returns void language sql as $$
  insert into mark select p_name, max(h.seq), pg_temp.replayed(null) from bpm.history h $$;

select is(pg_temp.differs(), 0::bigint, 'after the start: as live');
select is(pg_temp.replayed(null), 'reserve Waiting', 'the token waits at the first task');
select pg_temp.remember('start');
select test.fail_next('reserve'); select test.fail_next('reserve');
select is(pg_temp.replayed(null), 'reserve Failed', 'attempts exhausted: Failed');
select is(pg_temp.differs(), 0::bigint, 'as live');
select pg_temp.remember('failed');
select bpm.requeue_dead_letter((select d.dead_letter_id from bpm.dead_letter d));
select is(pg_temp.replayed(null), 'reserve Waiting', 'requeued: Waiting again');
select test.complete_next('reserve');
select test.decide(:'p', 'Approved');
select test.complete_next('release-gated');
select is(pg_temp.replayed(null), 'charge Waiting, fork Completed, picked Waiting', 'forked: the parent ended, each child waits');
select is(pg_temp.differs(), 0::bigint, 'as live');
select pg_temp.remember('forked');
select bpm.advance_clock('2 hours'); select bpm.run_until_idle();
select is(pg_temp.differs(), 0::bigint, 'a boundary timer that does not interrupt bears a token and leaves its host');
select bpm.correlate_message('picked-up', 'K');
select test.complete_next('remind');
select test.complete_next('charge');
select is(pg_temp.differs(), 0::bigint, 'message received, timer waiting: as live');
select bpm.advance_clock('2 s'); select bpm.run_until_idle();
select is(pg_temp.replayed(null), 'fork Completed, join Completed, look Waiting, reminded Completed', 'joined: one goes on, one ended at the join');
select test.complete_user(:'p');
select is(pg_temp.differs(), 0::bigint, 'at the end: as live');

select is_empty('select m.name, m.standing, pg_temp.replayed(m.seq) from mark m where m.standing <> pg_temp.replayed(m.seq)',
  'replay up to a row gives what was then');
select is(pg_temp.replayed(0), '', 'before the first row there is nothing');
select results_eq(format('select * from bpm.replay(%L)', :'w'), format('select * from bpm.replay(%L)', :'w'), 'twice gives the same');

select throws_ok('select * from bpm.replay(bpm_core.new_id())', 'BP404', null, 'an unknown instance');
select throws_ok('select * from bpm.replay(null)', 'BP404', null, 'no instance');
select throws_ok(format('select * from bpm.replay(%L, p_tenant_id => ''other'')', :'w'), 'BP403', null, 'a tenant that is not granted');

select * from finish();
rollback;
