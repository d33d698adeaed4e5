-- Idempotency keys: how long they are kept, what they answer, and bpm.maintain_keys, which forgets them. At once is races/test_idempotency.py.
begin;
select plan(23);
select bpm.deploy_bpmn(test.linear('again', 'go')) is not null as deployed \gset

-- What a key answers
select s.* from bpm.broadcast_signal('bell', '{"a": 1}', 'k') s \gset a_
select is(:'a_is_new'::boolean, true, 'the first call sends');
select is((select s::text from bpm.broadcast_signal('bell', '{"a": 1}', 'k') s), format('(%s,0,f)', :'a_signal_id'), 'its repeat gets the first answer');
select is((select count(*)::integer from bpm.signal s where s.name = 'bell'), 1, 'and sends nothing');
select throws_ok($$select * from bpm.broadcast_signal('bell', '{"a": 2}', 'k')$$, 'BP409', 'Idempotency key ''k'' was used for another request.', 'another payload');
select throws_ok($$select * from bpm.broadcast_signal('gong', '{"a": 1}', 'k')$$, 'BP409', null, 'another signal');
select throws_ok($$select * from bpm.broadcast_signal('bell', '{}', '')$$, 'BP400', null, 'an empty key');
select throws_ok($$select * from bpm.broadcast_signal('bell', '{}', repeat('k', 301))$$, 'BP400', null, 'a key that is too long');
select throws_ok($$select * from bpm.broadcast_signal('bell', '[]', 'refused')$$, 'BP422', null, 'a call that is refused');
select is((select count(*)::integer from bpm_core.idempotency_key k where k.key = 'refused'), 0, 'leaves no key');
select is((select s.is_new from bpm.start_process('again', p_idempotency_key => 'k') s), true, 'the key of another call is another key');
select bpm.create_tenant('Other', 'other') is not null as made \gset
select is((select s.is_new from bpm.broadcast_signal('bell', '{"a": 2}', 'k', 'other') s), true, 'so is that of another tenant');

-- How long
select is((select array_agg(distinct k.expires_at - k.created_at) from bpm_core.idempotency_key k), array[interval '90 days'], 'kept for 90 days');
select throws_ok($$select bpm.set_setting('engine.idempotency_key_days', '6')$$, 'BP400', null, 'not less than a week');
select is(bpm.set_setting('engine.idempotency_key_days', '7'), '7'::jsonb, 'a week is the least');
select s.is_new from bpm.broadcast_signal('bell', '{}', 'short') s \g /dev/null
select is((select k.expires_at - k.created_at from bpm_core.idempotency_key k where k.key = 'short'), interval '7 days', 'what is entered now is kept so');
select is((select k.expires_at - k.created_at from bpm_core.idempotency_key k where k.operation = 'start_process'), interval '90 days', 'what was promised before stays so');

-- Forgotten
select is((select m.deleted || ' ' || m.done from bpm.maintain_keys() m), '0 true', 'nothing is over yet');
select bpm.advance_clock(interval '8 days') is not null as moved \gset
select is((select m.deleted || ' ' || m.done from bpm.maintain_keys() m), '1 true', 'one is');
select bpm.advance_clock(interval '90 days') is not null as moved \gset
select is((select array_agg(m.deleted || ' ' || m.done order by m.oldest_expiry) from generate_series(1, 2) n cross join lateral (select m.* from bpm.maintain_keys(2 + 0 * n) m) m), '{"2 false","1 true"}', 'of all tenants, at most as many as said, until it is done');
select is((select s.is_new from bpm.broadcast_signal('gong', '{}', 'k') s), true, 'a key that is forgotten is free');
select throws_ok('select * from bpm.maintain_keys(0)', 'BP422', null, 'a limit');
select throws_ok($$select * from bpm.maintain_keys(p_tenant_id => 'other')$$, 'BP403', null, 'it is no affair of a tenant');

select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
