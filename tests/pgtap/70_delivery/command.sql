-- The view bpm.command, what freezes a payload, how long it waits, and what the table itself refuses.
begin;
select plan(18);
select kit.deploy_sending('plain');
select kit.start('plain', '{}', 'K-1') as wi \gset
select is((select concat_ws(' ', c.business_key, c.node_id, c.destination_code, c.state, c.attempt, c.first_sent_at) from bpm.command c where c.workflow_instance_id = :'wi'),
          'K-1 a plain Pending 0', 'what, where to, of which order');
select is((select c.payload_hash from bpm.command c where c.workflow_instance_id = :'wi'), encode(sha256('{}'), 'hex'), 'with its hash');
create role command_reader;
select from bpm.grant_access('command_reader', '', 'reader');
grant bpm_reader to command_reader;
create role command_stranger;
grant bpm_reader to command_stranger;
set local role command_reader;
select is((select count(*) from bpm.command), 1::bigint, 'a reader of the tenant sees it');
select throws_ok('select from bpm.claim_commands(''w'')', '42501', null, 'but cannot claim it');
set local role command_stranger;
select is((select count(*) from bpm.command), 0::bigint, 'a stranger sees nothing');
reset role;

select is(bpm_core.payload_hash('{"b": 1, "a": "Huế"}'), sha256(convert_to('{"a": "Huế", "b": 1}', 'UTF8')), 'the hash is of the text as it is handed out');
select isnt(bpm_core.payload_hash('{"a": 1}'), bpm_core.payload_hash('{"a": 1.0}'), 'to the digit');

create function pg_temp.delay(p_attempt integer) returns interval language sql as $$
  select bpm_core.command_delay(jsonb_populate_record(null::bpm_core.destination, '{"backoff": "2 seconds", "backoff_cap": "1 minute"}'), p_attempt)
$$;
select ok(pg_temp.delay(1) between interval '2 seconds' and interval '2.2 seconds', 'the first wait is the backoff, at most a tenth longer');
select ok(pg_temp.delay(4) between interval '16 seconds' and interval '17.6 seconds', 'it doubles');
select ok(pg_temp.delay(6) between interval '1 minute' and interval '66 seconds', 'up to the cap');
select ok(pg_temp.delay(1000) between interval '1 minute' and interval '66 seconds', 'however often');
select is(bpm_core.cap_json('{"a": 1}'), '{"a": 1}', 'what a receiver says is kept');
select is(bpm_core.cap_json(null), null, 'and so is its silence');

select throws_ok(format('update bpm_core.outbox set state = ''Sending'' where workflow_instance_id = %L', :'wi'), '23514', null, 'Sending needs a worker and a lease');
select throws_ok(format('update bpm_core.outbox set state = ''Failed'' where workflow_instance_id = %L', :'wi'), '23514', null, 'Failed needs an end');
select throws_ok(format('update bpm_core.outbox set state = ''Unknown'' where workflow_instance_id = %L', :'wi'), '23514', null, 'Unknown needs a time from which it may have been seen');
select throws_ok(format('update bpm_core.outbox set state = ''Cancelled'', ended_at = now(), first_sent_at = now() where workflow_instance_id = %L', :'wi'), '23514', null,
                 'what may have been seen cannot be Cancelled');
select throws_ok(format('update bpm_core.outbox set attempt = 4 where workflow_instance_id = %L', :'wi'), '23514', null, 'attempts do not pass the maximum');
select * from finish();
rollback;
