-- bpm.claim_commands: what is due, leased and fenced.
begin;
select plan(31);
select kit.deploy_sending('courier', '{"resend_allowed": true, "secret_ref": "env:COURIER"}');
select kit.start('courier', '{"n": 1}', 'K-1') as one \gset
select kit.start('courier', '{"n": 2}') as two \gset

select c.* from bpm.claim_commands('w1') c \gset c_
select is(:'c_payload'::jsonb, '{"n": 1}', 'the oldest first');
select is(:'c_attempt' || ' ' || :'c_fencing_token', '1 1', 'its first attempt, under the first fence');
select is(:'c_command_id'::uuid, (select (c).command_id from kit.command(:'one') c), 'with the command''s own id');
select is(:'c_business_key' || ' ' || :'c_task_type' || ' ' || :'c_destination_code', 'K-1 courier courier', 'and what it is about');
select is(:'c_process_instance_id'::uuid, (select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'one'), 'of which process');
select is((:'c_destination'::jsonb) #>> '{config,method}', 'POST', 'and where to');
select is((:'c_destination'::jsonb) ->> 'key_header', 'Idempotency-Key', 'and how the receiver wants the key');
select is(:'c_payload_hash'::text, encode(sha256(convert_to('{"n": 1}', 'UTF8')), 'hex'), 'the hash of its payload');
select ok(:'c_lease_until'::timestamptz between bpm_core.now() + interval '50 seconds' and bpm_core.now() + interval '60 seconds', 'leased as its destination says');
select is((select (c).state || ' ' || (c).worker_id from kit.command(:'one') c), 'Sending w1', 'it is Sending');
select is((select (c).first_sent_at from kit.command(:'one') c), null, 'which does not say that it was sent');
select is(kit.history(:'one', 'Command%'), 'CommandWritten', 'a claim writes no history');
select is((select count(*) from bpm.claim_commands('w2', 10)), 1::bigint, 'another worker gets the other one only');
select is((select count(*) from bpm.claim_commands('w3', 10)), 0::bigint, 'and a third nothing');
select kit.start('courier', '{"n": 3}') as wi \gset
select ok((select c.lease_until > bpm_core.now() + interval '9 minutes' from bpm.claim_commands('w1', 1, '10 minutes') c), 'the caller may choose the lease');

-- Not yet due, and due
select kit.sending('courier', '{"n": 4}') as wi \gset
select is(kit.mark(:'wi', 'NotSent'), 'Pending Pending', 'put back with a backoff');
select is((select count(*) from bpm.claim_commands('w1', 10)), 0::bigint, 'not handed out before its time');
select from bpm.advance_clock('30 seconds');
select is((select c.attempt || ' ' || c.fencing_token || ' ' || c.command_id from bpm.claim_commands('w1', 10) c),
          '2 2 ' || (select (c).command_id from kit.command(:'wi') c), 'then again, a new attempt under a new fence, with the same id');

-- Never handed out
select kit.start('courier', '{"n": 5}') as wi \gset
update bpm_core.outbox o set payload = '{"n": 55}' where o.workflow_instance_id = :'wi';
select is((select count(*) from bpm.claim_commands('w1', 10)), 0::bigint, 'a payload that is not the one that was hashed never leaves');
select is((select (c).state::text from kit.command(:'wi') c), 'Pending', 'it stays where it is');
update bpm_core.outbox o set payload = '{"n": 5}', first_sent_at = bpm_core.now() - interval '1 hour', review_at = bpm_core.now() + interval '30 seconds'
 where o.workflow_instance_id = :'wi';
select is((select count(*) from bpm.claim_commands('w1', 10)), 0::bigint, 'nor does one the receiver may have seen, when its memory could end within the lease');
select is((select count(*) from bpm.claim_commands('w1', 10, '10 seconds')), 1::bigint, 'a shorter lease fits in');
select is((select (c).review_at from kit.command(:'wi') c), null, 'while it is being sent tick need not look at it');

-- What is refused
select throws_ok('select from bpm.claim_commands('''')', 'BP422', null, 'a worker without a name');
select throws_ok('select from bpm.claim_commands(null)', 'BP422', null, 'no worker');
select throws_ok('select from bpm.claim_commands(''w'', 0)', 'BP422', null, 'limit too small');
select throws_ok('select from bpm.claim_commands(''w'', 1001)', 'BP422', null, 'limit too large');
select throws_ok('select from bpm.claim_commands(''w'', 1, ''0.5 seconds'')', 'BP422', null, 'lease too short');
select throws_ok('select from bpm.claim_commands(''w'', 1, ''2 days'')', 'BP422', null, 'lease too long');
select throws_ok('select from bpm.claim_commands(''w'', p_tenant_id => ''nobody'')', 'BP403', null, 'tenant not granted');

-- The plan: the claim's index, its whole condition, no sort
create function pg_temp.plan() returns text language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  v_line text;
  v_plan text := '';
begin
  for v_line in execute
    'explain (costs off) select o.id from bpm_core.outbox o where o.state = ''Pending'' and o.tenant_id = '''' and o.available_at <= clock_timestamp()::timestamptz
        and (o.available_at, o.id) > (timestamptz ''2020-01-01'', uuid ''00000000-0000-0000-0000-000000000000'')
      order by o.available_at, o.id limit 10 for no key update skip locked'
  loop
    v_plan := v_plan || v_line || E'\n';
  end loop;
  return v_plan;
end $$;
select matches(pg_temp.plan(), 'Index Scan using outbox_pending[^\n]*\n\s+Index Cond:[^\n]*tenant_id[^\n]*ROW\(available_at, id\)', 'a claim walks its index from its position');
select * from finish();
rollback;
