-- Bounds of destinations: slots for what is under way and for the rate; a full one keeps nobody waiting but its own.
begin;
select plan(25);
select kit.deploy_sending('narrow', '{"max_concurrent": 2}');
select kit.deploy_sending('slow', '{"rate_limit": 2, "rate_period": "10 seconds"}');
select kit.deploy_sending('wide');
create function pg_temp.claimed(p_limit integer default 10) returns text language sql as
$$ select coalesce(string_agg(c.destination_code || ' ' || (c.payload ->> 'n'), ', ' order by c.destination_code, c.payload ->> 'n'), 'nothing') from bpm.claim_commands('w', p_limit) c $$;

-- Under way
select array_agg(kit.start('narrow', jsonb_build_object('n', n)) order by n) as narrow from generate_series(1, 5) n \gset
select is(pg_temp.claimed(), 'narrow 1, narrow 2', 'as many as may be under way');
select is(pg_temp.claimed(), 'nothing', 'and no more');
select is((select string_agg(s.slot || ' ' || s.kind || ' ' || (s.free_at = o.lease_until), ', ' order by s.slot)
             from bpm_core.destination_slot s join bpm_core.outbox o on o.command_id = s.command_id and o.slot = s.slot),
          '1 Concurrency true, 2 Concurrency true', 'each holds a slot until its lease ends');
select kit.start('wide', '{"n": 1}') as wide \gset
select is(pg_temp.claimed(), 'wide 1', 'others are served while it is full');
select is(kit.mark((:'narrow'::uuid[])[1], 'NotSent'), 'Pending Pending', 'one ends');
select is(pg_temp.claimed(), 'narrow 3', 'its slot is free at once, whatever became of it');
select is(kit.mark((:'narrow'::uuid[])[2], 'Unknown'), 'Unknown Unknown', 'another ends');
select is(pg_temp.claimed(1), 'narrow 4', 'free again');
select is(kit.mark((:'narrow'::uuid[])[2], 'Sent'), 'Sent Sent', 'its answer comes late');
select is((select count(*) from bpm_core.destination_slot s where s.command_id is not null), 2::bigint, 'and frees nobody else''s slot');
select from bpm.advance_clock('61 seconds');
select is(pg_temp.claimed(1), 'narrow 5', 'a lease that ran out frees its slot, too');
select is((select count(*) from bpm_core.destination_slot s where s.free_at > bpm_core.now()), 1::bigint, 'one is held');
update bpm_core.destination d set max_concurrent = 1 where d.code = 'narrow';
select is(pg_temp.claimed(), 'nothing', 'the bound is the one of now: made smaller');
update bpm_core.destination d set max_concurrent = null where d.code = 'narrow';
select is(pg_temp.claimed(), 'narrow 1', 'or taken away');

-- The rate
select from kit.start('slow', jsonb_build_object('n', 1));
select from kit.start('slow', jsonb_build_object('n', 2));
select from kit.start('slow', jsonb_build_object('n', 3));
select is(pg_temp.claimed(1), 'slow 1', 'one');
select from bpm.advance_clock('6 seconds');
select is(pg_temp.claimed(), 'slow 2', 'and one more within the period');
select is(pg_temp.claimed(), 'nothing', 'then it is used up');
select is((select c.next_due_at - bpm_core.now() between '3 seconds' and '4 seconds' from bpm.claim_commands_at('w', 10) c), true, 'next_due_at says until when');
select from bpm.advance_clock('5 seconds');
select is(pg_temp.claimed(), 'slow 3', 'the period slides');

-- Kinds
select from kit.start('wide', '{"n": 7}');
select is((select count(*) from bpm.claim_commands('w', 10, p_kinds => '{smtp}')), 0::bigint, 'only kinds that are asked for');
select is((select count(*) from bpm.claim_commands('w', 10, p_kinds => '{smtp,http}')), 1::bigint, 'of all that are');

-- Positions: a full destination does not move its own
select kit.deploy_sending('one', '{"max_concurrent": 1}');
select array_agg(kit.start('one', jsonb_build_object('n', n)) order by n) as one from generate_series(1, 3) n \gset
select c.* from bpm.claim_commands_at('w', 2) c \gset a_
select c.* from bpm.claim_commands_at('w', 2, null, :'a_positions') c \gset b_
select is(jsonb_array_length(:'a_commands') || ' ' || jsonb_array_length(:'b_commands'), '1 0', 'one, then none');
select is((:'a_positions'::jsonb) -> 'one', (:'b_positions'::jsonb) -> 'one', 'its position stands');
select kit.mark((:'one'::uuid[])[1], 'Sent') as _ \gset
select is((select c.commands #>> '{0,payload,n}' from bpm.claim_commands_at('w', 2, null, :'b_positions') c), '2', 'and finds the next');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
