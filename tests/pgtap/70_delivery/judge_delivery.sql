-- bpm_core.judge_delivery: "what happened / goes to", every line of the table, with attempts left or not, seen before or not.
begin;
select plan(77);
-- "-" stands for what must not matter: both values are tried.
create temporary table expected (reported text, profile jsonb, receipt jsonb, tries_left text, arrived text, becomes text) on commit drop;
insert into expected values
  ('Sent',          '{}',                              null,                        '-', '-', 'Sent true'),
  ('Sent',          '{"receipt_path": "body.id"}',     '{"body": {"id": 7}}',       '-', '-', 'Sent true'),
  ('Sent',          '{"receipt_path": "body.id"}',     '{"body": {"id": false}}',   '-', '-', 'Sent true'),
  ('Sent',          '{"receipt_path": "body.id"}',     '{"body": {"id": null}}',    '-', '-', 'Unknown true'),
  ('Sent',          '{"receipt_path": "body.id"}',     '{"body": "ok"}',            '-', '-', 'Unknown true'),
  ('Sent',          '{"receipt_path": "body.id"}',     null,                        '-', '-', 'Unknown true'),
  ('NotSent',       '{}',                              null,                        't', 'f', 'Pending false'),
  ('NotSent',       '{}',                              null,                        't', 't', 'Pending true'),
  ('NotSent',       '{}',                              null,                        'f', 'f', 'Failed false DeliveryExhausted'),
  ('NotSent',       '{}',                              null,                        'f', 't', 'Unknown true'),
  ('Throttled',     '{}',                              null,                        't', 'f', 'Pending false'),
  ('Throttled',     '{}',                              null,                        't', 't', 'Pending true'),
  ('Throttled',     '{}',                              null,                        'f', 'f', 'Failed false DeliveryExhausted'),
  ('Throttled',     '{}',                              null,                        'f', 't', 'Unknown true'),
  ('Unknown',       '{}',                              null,                        '-', '-', 'Unknown true'),
  ('Unknown',       '{"resend_allowed": true}',        null,                        't', '-', 'Unknown true'),
  ('InProgress',    '{}',                              null,                        't', '-', 'Pending true'),
  ('InProgress',    '{}',                              null,                        'f', '-', 'Unknown true'),
  ('Conflict',      '{"conflict_means": "Sent"}',      null,                        '-', '-', 'Sent true'),
  ('Conflict',      '{"conflict_means": "Sent", "receipt_path": "body.id"}', null,  '-', '-', 'Sent true'),
  ('Conflict',      '{"conflict_means": "Pending"}',   null,                        't', '-', 'Pending true'),
  ('Conflict',      '{"conflict_means": "Pending"}',   null,                        'f', '-', 'Unknown true'),
  ('Conflict',      '{"conflict_means": "Failed"}',    null,                        '-', 'f', 'Failed false KeyReused'),
  ('Conflict',      '{"conflict_means": "Failed"}',    null,                        '-', 't', 'Failed true KeyReused'),
  ('Conflict',      '{}',                              null,                        '-', 'f', 'Failed false KeyReused'),
  ('KeyReused',     '{}',                              null,                        '-', 'f', 'Failed false KeyReused'),
  ('KeyReused',     '{"conflict_means": "Sent"}',      null,                        '-', 't', 'Failed true KeyReused'),
  ('Refused',       '{}',                              null,                        '-', 'f', 'Failed false DeliveryRefused'),
  ('Refused',       '{}',                              null,                        '-', 't', 'Failed true DeliveryRefused'),
  ('ReceiverError', '{}',                              null,                        '-', '-', 'Unknown true'),
  ('ReceiverError', '{"server_error_safe": true}',     null,                        't', 'f', 'Pending false'),
  ('ReceiverError', '{"server_error_safe": true}',     null,                        't', 't', 'Pending true'),
  ('ReceiverError', '{"server_error_safe": true}',     null,                        'f', 'f', 'Failed false DeliveryExhausted'),
  ('ReceiverError', '{"server_error_safe": true}',     null,                        'f', 't', 'Unknown true');
select is(concat_ws(' ', j.state, j.arrived::text, j.failure), e.becomes,
          format('%s, profile %s, receipt %s, %s, %s', e.reported, e.profile, e.receipt, case when t.x then 'attempts left' else 'none left' end,
                 case when a.x then 'may have been seen' else 'cannot have been seen' end))
  from expected e
  join (values (true), (false)) t(x) on e.tries_left in ('-', left(t.x::text, 1))
  join (values (true), (false)) a(x) on e.arrived in ('-', left(a.x::text, 1))
 cross join lateral bpm_core.judge_delivery(e.reported, e.receipt, jsonb_populate_record(null::bpm_core.destination, e.profile), t.x, a.x) j;
select throws_ok($$select bpm_core.judge_delivery('Perhaps', null, null, true, false)$$, '20000', null, 'anything else is no outcome');
select * from finish();
rollback;
