-- bpm.accept_events, bpm.accept_event: insert or return; one key, one content; evidence; the row is the dispatch marker.
begin;
select plan(43);

-- The set form
select a.* from bpm.accept_events('[
  {"channel": "shop", "session_id": "eu", "provider_event_id": "e-1", "type": "order.created", "payload": {"id": "A-1", "list": "__var:1:[1]"}, "thread_id": "A-1", "occurred_at": "2026-03-01T10:00:00+01:00"},
  {"channel": "shop", "provider_event_id": "e-1", "type": "order.created", "payload": {"id": "A-1"}},
  {"channel": "mail", "session_id": "eu", "provider_event_id": "e-1", "type": "order.created"}]') a where a.item = 1 \gset one_
select is(:'one_outcome' || ' ' || :'one_is_new' || ' ' || :'one_dispatch_state', 'Done t Pending', 'accepted, new, pending');
select is((select count(*) from bpm.event), 3::bigint, 'channel, session and id make the key together');
select is((select concat_ws(' ', e.channel, e.session_id, e.thread_id, e.provider_event_id, e.event_type, e.payload, e.occurred_at at time zone 'UTC', e.reason, e.attempts, e.available_at = e.received_at)
             from bpm.event e where e.event_id = :'one_event_id'),
          'shop eu A-1 e-1 order.created {"id": "A-1", "list": [1]} 2026-03-01 09:00:00 0 t', 'what was given is kept, wire forms taken off');
select is((select concat_ws(' ', e.session_id, e.thread_id, e.payload, e.occurred_at > e.received_at, e.occurred_at < e.received_at + interval '1 ms') from bpm.event e where e.channel = 'mail'),
          'eu {} t t', 'what was not has its default; the moment is that of receiving, in the order of the items');

-- Repeats
select is((select concat_ws(' ', a.event_id = :'one_event_id', a.is_new, a.dispatch_state, a.outcome) from bpm.accept_events('[
  {"channel": "shop", "session_id": "eu", "provider_event_id": "e-1", "type": "order.created", "payload": {"list": [1], "id": "A-1"}, "thread_id": "A-1", "occurred_at": "2027-01-01T00:00:00Z"}]') a),
  't f Pending Done', 'the same key and content again: the first answer, also when the provider''s clock says another time');
select is((select string_agg(concat_ws(' ', a.outcome, coalesce(a.event_id::text, '-'), coalesce(a.dispatch_state, '-'), a.is_new, a.message), '; ' order by a.item) from bpm.accept_events('[
  {"channel": "shop", "session_id": "eu", "provider_event_id": "e-1", "type": "order.created", "payload": {"id": "A-2"}, "thread_id": "A-1"},
  {"channel": "shop", "session_id": "eu", "provider_event_id": "e-1", "type": "order.changed", "payload": {"list": [1], "id": "A-1"}, "thread_id": "A-1"},
  {"channel": "shop", "session_id": "eu", "provider_event_id": "e-1", "type": "order.created", "payload": {"list": [1], "id": "A-1"}}]') a),
  'Conflict - - f Event e-1 of channel shop was accepted with another content.; Conflict - - f Event e-1 of channel shop was accepted with another content.; Conflict - - f Event e-1 of channel shop was accepted with another content.',
  'another payload, type or thread under the key is a conflict, and tells nothing of the first');
select is((select string_agg(concat_ws(' ', a.item, a.is_new, a.outcome), '; ' order by a.item) from bpm.accept_events('[
  {"channel": "x", "provider_event_id": "d", "type": "t"}, {"channel": "x", "provider_event_id": "d", "type": "t"}, {"channel": "x", "provider_event_id": "d", "type": "u"}]') a),
  '1 t Done; 2 f Done; 3 f Conflict', 'so within one call');
select is((select count(distinct a.event_id) || ' ' || count(*) from bpm.accept_events('[{"channel": "x", "provider_event_id": "d", "type": "t"}, {"channel": "x", "provider_event_id": "d", "type": "t"}]') a), '1 2', 'with one id');

-- Refused contents are outcomes of their item
select is((select string_agg(concat_ws(' ', a.outcome, case when a.event_id is null then '-' end, a.message), '; ' order by a.item) from bpm.accept_events('[
  {"channel": "x", "provider_event_id": "r1", "type": "t", "payload": [1]},
  {"channel": "x", "provider_event_id": "r2", "type": "t", "payload": {"a": "__var:1:{"}},
  {"channel": "x", "provider_event_id": "r3", "type": "t", "occurred_at": "yesterday"},
  {"channel": "x", "provider_event_id": "r4", "type": "t", "evidence": [{"object_key": "k"}]},
  {"channel": "x", "provider_event_id": "r5", "type": "t", "evidence": [{"evidence_id": "00000000-0000-0000-0000-000000000000"}]},
  {"channel": "x", "provider_event_id": "r6", "type": "t"}]') a),
  'Rejected - Variables must be a JSON object, not array.; Rejected - Variable a starts with a reserved prefix but is no wire form.; Rejected - occurred_at is not an ISO 8601 time: yesterday; '
  'Rejected - Evidence 1: sha256 must be 64 hexadecimal digits.; Rejected - What an event brings along is new: name it by object_key and sha256, not by evidence_id.; Done',
  'payloads, times and evidence that are no such thing are rejected, the others accepted');

-- Evidence
select a.event_id as proven from bpm.accept_event('shop', 'e-2', 'receipt', p_evidence => jsonb_build_array(
  jsonb_build_object('object_key', 'in/1.pdf', 'sha256', repeat('ab', 32), 'mime', 'application/pdf', 'size_bytes', 10),
  jsonb_build_object('object_key', 'in/2.pdf', 'sha256', repeat('cd', 32)))) a \gset
select is((select array_agg(v.object_key order by v.object_key) from bpm.event_link l join bpm.evidence v using (tenant_id, evidence_id) where l.event_id = :'proven' and l.how = 'Evidence'),
          '{in/1.pdf,in/2.pdf}', 'what came with it is linked');
select is((select a.is_new from bpm.accept_event('shop', 'e-2', 'receipt', p_evidence => jsonb_build_array(
  jsonb_build_object('object_key', 'elsewhere/2', 'sha256', repeat('CD', 32)), jsonb_build_object('object_key', 'elsewhere/1', 'sha256', repeat('ab', 32)))) a), false,
  'the same objects under other keys are the same content');
select throws_ok(format($$select * from bpm.accept_event('shop', 'e-2', 'receipt', p_evidence => '[{"object_key": "k", "sha256": "%s"}]')$$, repeat('ab', 32)), 'BP409', null, 'other objects are not');
select is((select count(*) from bpm.evidence), 2::bigint, 'a repeat stores no evidence');
select is((select count(*) from bpm.accept_event('shop', 'e-3', 'receipt', p_evidence => jsonb_build_array(jsonb_build_object('object_key', 'in/1.pdf', 'sha256', repeat('ab', 32)))) a
             join bpm.event_link l on l.event_id = a.event_id), 0::bigint, 'a link is seen once the statement is over');
select is((select count(*) from bpm.event_link l join bpm.event e using (tenant_id, event_id) where e.provider_event_id = 'e-3'), 1::bigint, 'one piece may belong to several events');
select v.evidence_id as first_piece from bpm.evidence v where v.object_key = 'in/1.pdf' \gset
select p.is_new as purged from bpm.purge_evidence(:'first_piece', 'asked to') p \gset
select bpm.accept_event('shop', 'e-4', 'receipt', p_evidence => jsonb_build_array(jsonb_build_object('object_key', 'in/1.pdf', 'sha256', repeat('ab', 32)))) is not null as accepted \gset
select is((select count(*) from bpm.event_link l join bpm.event e using (tenant_id, event_id) where e.provider_event_id = 'e-4'), 0::bigint, 'what was purged is not linked again; the event is accepted');

-- The single form
select a.* from bpm.accept_event('hook', '1', 'ping', '{"n": 1}', 'acct', 'th', '2026-03-01T10:00:00.123456Z') a \gset s_
select is((select concat_ws(' ', :'s_is_new', :'s_dispatch_state', e.session_id, e.thread_id, e.payload, e.occurred_at = '2026-03-01T10:00:00.123456Z') from bpm.event e where e.event_id = :'s_event_id'),
          't Pending acct th {"n": 1} t', 'the single form keeps what it is given');
select is((select concat_ws(' ', a.event_id = :'s_event_id', a.is_new) from bpm.accept_event('hook', '1', 'ping', '{"n": 1}', 'acct', 'th') a), 't f', 'and answers a repeat');
select throws_ok($$select * from bpm.accept_event('hook', '1', 'ping', '{"n": 2}', 'acct', 'th')$$, 'BP409', null, 'BP409: another content');
select throws_ok($$select * from bpm.accept_event('hook', '2', 'ping', '"x"')$$, 'BP422', null, 'BP422: payload');
select throws_ok($$select * from bpm.accept_event('hook', '2', 'ping', p_occurred_at => 'infinity')$$, 'BP422', null, 'BP422: a time that is none');
select throws_ok($$select * from bpm.accept_event('hook', '2', 'ping', p_occurred_at => '0044-03-15 BC')$$, 'BP422', null, 'BP422: a time before ours');
select throws_ok($$select * from bpm.accept_event(null, '2', 'ping')$$, 'BP400', null, 'BP400: no channel');
select throws_ok($$select * from bpm.accept_event('hook', null, 'ping')$$, 'BP400', null, 'BP400: no id');
select throws_ok($$select * from bpm.accept_event('hook', '2', null)$$, 'BP400', null, 'BP400: no type');

-- Ill-formed calls
select throws_ok($$select * from bpm.accept_events('{}')$$, 'BP400', null, 'BP400: no array');
select throws_ok($$select * from bpm.accept_events('[1]')$$, 'BP400', null, 'BP400: no objects');
select throws_ok($$select * from bpm.accept_events('[{"channel": "a", "provider_event_id": "1", "type": "t", "colour": "red"}]')$$, 'BP400', null, 'BP400: unknown key');
select throws_ok($$select * from bpm.accept_events('[{"channel": "a", "provider_event_id": 1, "type": "t"}]')$$, 'BP400', null, 'BP400: an id that is no text');
select throws_ok($$select * from bpm.accept_events('[{"channel": "", "provider_event_id": "1", "type": "t"}]')$$, 'BP400', null, 'BP400: an empty channel');
select throws_ok($$select * from bpm.accept_events('[{"channel": "a", "provider_event_id": "1", "type": "t", "thread_id": ""}]')$$, 'BP400', null, 'BP400: an empty thread');
select throws_ok(format($$select * from bpm.accept_events('[{"channel": "%s", "provider_event_id": "1", "type": "t"}]')$$, repeat('ü', 51)), 'BP400', null, 'BP400: more bytes than an index holds');
select throws_ok($$select * from bpm.accept_events('[{"channel": "a", "provider_event_id": "1", "type": "t", "evidence": {}}]')$$, 'BP400', null, 'BP400: evidence that is no array');
select throws_ok($$select * from bpm.accept_events((select jsonb_agg('{}'::jsonb) from generate_series(1, 1001)))$$, 'BP429', null, 'BP429: more than 1,000');
select lives_ok($$select * from bpm.accept_events('[]')$$, 'none is fine');
select lives_ok(format($$select * from bpm.accept_events('[{"channel": "%s", "session_id": "%s", "thread_id": "%s", "provider_event_id": "%s", "type": "%s"}]')$$,
  repeat('c', 100), repeat('s', 200), repeat('t', 300), repeat('p', 300), repeat('y', 200)), 'the longest names fit their indexes');
select throws_ok($$select * from bpm.accept_events('[]', 'nobody')$$, 'BP403', null, 'BP403: a tenant that is not there');

-- Another tenant, same key
select bpm.create_tenant('other', 'other');
select bpm.grant_access(session_user, 'other', 'admin');
select is((select concat_ws(' ', a.is_new, a.event_id <> :'one_event_id') from bpm.accept_event('shop', 'e-1', 'x', '{"theirs": 1}', 'eu', p_tenant_id => 'other') a), 't t', 'keys are each tenant''s own');
select is((select count(*) from bpm_core.event e where e.tenant_id = 'other'), 1::bigint, 'their row is theirs');

-- A thousand at once, and rolled back
savepoint before;
select is((select count(*) filter (where a.is_new) from bpm.accept_events((
  select jsonb_agg(jsonb_build_object('channel', 'bulk', 'provider_event_id', i::text, 'type', 't', 'payload', jsonb_build_object('n', i))) from generate_series(1, 1000) i)) a), 1000::bigint, 'a thousand in one call');
rollback to savepoint before;
select is((select count(*) from bpm.event e where e.channel = 'bulk'), 0::bigint, 'without a commit nothing was accepted');
select is((select string_agg(a.outcome::text, ' ' order by a.item) from bpm.accept_events(jsonb_build_array('{"channel": "n", "provider_event_id": "1", "type": "t"}'::jsonb,
            jsonb_build_object('channel', 'n', 'provider_event_id', '2', 'type', 't', 'payload', ('{"a": [' || rtrim(repeat('1e131071,', 9000), ',') || ']}')::jsonb))) a), 'Done Rejected',
          'a payload that has no text is refused, and nothing else');
select is(test.broken(), '{}', 'all is well');
select * from finish();
rollback;
