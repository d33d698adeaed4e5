-- Ordered destinations: one of a key at a time, in the order they were written, through retries and Unknown; other keys go on.
begin;
select plan(26);
select kit.deploy_sending('o', '{"ordered": true, "max_attempts": 3}');
create function pg_temp.send(p_n integer, p_key text) returns uuid language sql as $$ select kit.start('o', jsonb_build_object('n', p_n), p_key) $$;
create function pg_temp.claimed(p_limit integer default 100) returns text language sql as
$$ select coalesce(string_agg(c.payload ->> 'n', ' ' order by (c.payload ->> 'n')::integer), 'nothing') from bpm.claim_commands('w', p_limit) c $$;
select pg_temp.send(1, 'A') as a1 \gset
select pg_temp.send(2, 'A') as a2 \gset
select pg_temp.send(3, 'B') as b1 \gset
select pg_temp.send(4, 'A') as a3 \gset
select pg_temp.send(5, null) as none1 \gset
select pg_temp.send(6, null) as none2 \gset
select is((select count(distinct o.sequence_key) from bpm_core.outbox o), 4::bigint, 'the key is the business key, without one the process instance');
select is(pg_temp.claimed(), '1 3 5 6', 'the first of each key');
select is(pg_temp.claimed(), 'nothing', 'the others wait');
select is((select c.available_at from bpm.command c where c.payload ->> 'n' = '2'), 'infinity', 'as can be seen');
select is(bpm_core.commands_due('', bpm_core.now()), null, 'and are not due');
select kit.mark(:'a1', 'NotSent') as _ \gset
select is(pg_temp.claimed(), 'nothing', 'while the first is to be tried again');
select from bpm.advance_clock('12 seconds');
select is(pg_temp.claimed(), '1', 'it is tried again before them');
select kit.mark(:'a1', 'Sent') as _ \gset
select is(pg_temp.claimed(), '2', 'then comes the second');
select kit.mark(:'a2', 'Unknown') as _ \gset
select is(pg_temp.claimed(), 'nothing', 'Unknown keeps the rest waiting');
select from bpm.advance_clock('1 hour');
select is(pg_temp.claimed(), 'nothing', 'however long');
select is((select r.state from bpm.reconcile_command((select (c).command_id from kit.command(:'a2') c), 'Manual', p_actor => 'ann') r), 'Manual', 'a person has it');
select is(pg_temp.claimed(), 'nothing', 'it still waits');
select is((select r.state from bpm.reconcile_command((select (c).command_id from kit.command(:'a2') c), 'Failed', p_actor => 'ann') r), 'Failed', 'given up');
select is(pg_temp.claimed(), '4', 'the next goes on');
select kit.mark(:'a3', 'Refused') as _ \gset
select pg_temp.send(7, 'A') as a4 \gset
select is(pg_temp.claimed(), '7', 'nothing stands before it');

-- One that is cancelled makes room
select pg_temp.send(8, 'A') as a5 \gset
select pg_temp.send(9, 'A') as a6 \gset
select is(pg_temp.claimed(), 'nothing', 'both wait for 7');
select kit.mark(:'a4', 'NotSent') as _ \gset
select from bpm.cancel_process((select w.process_instance_id from bpm_core.workflow_instance w where w.id = :'a5'), 'test');
select from bpm.cancel_process((select w.process_instance_id from bpm_core.workflow_instance w where w.id = :'a4'), 'test');
select is((select (c).state from kit.command(:'a4') c), 'Cancelled', 'the first is cancelled');
select is(pg_temp.claimed(), '9', 'and the next that is not goes on');

-- One that was written later and left first: never two at once
select pg_temp.send(10, 'C') as c1 \gset
select pg_temp.send(11, 'C') as c2 \gset
update bpm_core.outbox o set available_at = 'infinity' where o.workflow_instance_id = :'c1';
update bpm_core.outbox o set id = '00000000-0000-7000-8000-000000000000' where o.workflow_instance_id = :'c2';
select is(pg_temp.claimed(), '11', 'another is first');
update bpm_core.outbox o set available_at = bpm_core.now() where o.workflow_instance_id = :'c1';
update bpm_core.outbox o set id = 'ffffffff-ffff-7fff-8fff-ffffffffffff' where o.workflow_instance_id = :'c2';
select is(pg_temp.claimed(), 'nothing', 'none leaves while one of its key is under way, whatever their order');
select kit.mark(:'c2', 'Sent') as _ \gset
select is(pg_temp.claimed(), '10', 'then it does');

-- Many that wait are put to sleep once, and do not hide others
select count(pg_temp.send(n, 'D')) from generate_series(100, 250) n;
select pg_temp.send(300, 'E') as e1 \gset
select is(pg_temp.claimed(1), '100', 'the first of many');
select is(pg_temp.claimed(1), '300', 'behind 150 that wait another is found at once');
select is((select count(*) from bpm_core.outbox o where o.sequence_key = 'key:D' and o.available_at = 'infinity'), 150::bigint, 'these sleep');
select throws_ok($$ update bpm_core.outbox o set state = 'Pending', probe_at = now() where o.sequence_key = 'key:E' $$, '23514', null, 'only what is Unknown is asked for');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
