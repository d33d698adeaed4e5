-- Destinations: made, changed, and what is refused; a secret never gets in.
begin;
select plan(39);

create function pg_temp.refused(p_config jsonb) returns text language plpgsql as $$
begin
  perform bpm.register_destination('d', p_config => p_config);
  return 'taken';
exception when sqlstate 'BP422' then
  return sqlerrm;
end $$;

select is(bpm.register_destination('courier', p_config => '{"url": "https://example.org/book"}'), 'courier', 'made');
select results_eq($$select d.kind, d.key_header, d.key_retention, d.conflict_means, d.resend_allowed, d.max_attempts, d.lease from bpm_core.destination d where d.code = 'courier'$$,
  $$values ('http', 'Idempotency-Key', interval '24 hours', 'Failed', false, 10, interval '60 seconds')$$, 'with the careful profile');
select is(bpm.register_destination('courier', p_config => '{"url": "http://127.0.0.1:8080/book", "method": "PUT", "headers": {"X-Channel": "orders"}, "timeout_seconds": 2.5}', p_secret_ref => 'env:COURIER_TOKEN',
    p_key_header => 'X-Request-Id', p_resend_allowed => true, p_conflict_means => 'Sent', p_receipt_path => 'booking.id'), 'courier', 'changed');
select results_eq($$select d.config ->> 'method', d.secret_ref, d.resend_allowed, d.conflict_means, d.receipt_path from bpm_core.destination d$$,
  $$values ('PUT', 'env:COURIER_TOKEN', true, 'Sent', 'booking.id')$$, 'one row, as last said');
select is((select count(*)::integer from bpm_core.audit_event a where a.action = 'RegisterDestination'), 2, 'audited');
select is((select count(*)::integer from bpm_core.audit_event a where a.detail::text like '%COURIER_TOKEN%'), 0, 'without what it names');

select is(pg_temp.refused(x.config::jsonb), 'taken', 'taken: ' || x.config)
  from (values ('{"url": "http://localhost"}'), ('{"url": "https://example.org:8443/a?b=c&tenant=1"}'), ('{"url": "http://x/y", "headers": {}}')) x (config);
select isnt(pg_temp.refused(x.config::jsonb), 'taken', 'refused: ' || x.config)
  from (values ('{}'), ('[]'), ('{"url": "ftp://x/y"}'), ('{"url": "x/y"}'), ('{"url": "http://user:pw@x/y"}'), ('{"url": "http://x/y#z"}'), ('{"url": "http:///y"}'), ('{"url": "http://x y"}'), ('{"url": 5}'),
               ('{"url": "http://x", "verify": false}'), ('{"url": "http://x", "method": "GET"}'), ('{"url": "http://x", "timeout_seconds": 0}'), ('{"url": "http://x", "timeout_seconds": "5"}'),
               ('{"url": "http://x", "headers": ["a"]}'), ('{"url": "http://x", "headers": {"a b": "c"}}'), ('{"url": "http://x", "headers": {"a": "b\r\nc"}}'),
               ('{"url": "http://x", "headers": {"Authorization": "Bearer x"}}'), ('{"url": "http://x", "headers": {"X-Api-Key": "x"}}'), ('{"url": "http://x/?access_token=x"}')) x (config);
select is(pg_temp.refused('{"url": "http://x", "verify": false, "token": "x"}'), 'p_config knows url, method, headers, timeout_seconds and connect_timeout_seconds, not token, verify.', 'unknown keys by name');

select throws_ok('select bpm.register_destination(' || x.arguments || ')', x.code, null, x.code || ' ' || x.arguments)
  from (values
    ($$null$$, 'BP400'), ($$'d', 'a fax', '{"url": "http://x"}'$$, 'BP422'), ($$'d', p_config => null$$, 'BP422'), ($$'d', p_config => '{"url": "http://x"}', p_secret_ref => 's3cret'$$, 'BP422'),
    ($$'d', p_config => '{"url": "http://x"}', p_conflict_means => 'Maybe'$$, 'BP422'), ($$'d', p_config => '{"url": "http://x"}', p_max_attempts => 0$$, 'BP422'),
    ($$'d', p_config => '{"url": "http://x"}', p_key_header => ''$$, 'BP422'), ($$'d', p_config => '{"url": "http://x"}', p_resend_allowed => null$$, 'BP422'),
    ($$'d', p_config => '{"url": "http://x"}', p_key_retention => '-1 s'$$, 'BP422'), ($$'d', p_config => '{"url": "http://x"}', p_tenant_id => 'nobody'$$, 'BP403')) x (arguments, code);

select * from finish();
rollback;
