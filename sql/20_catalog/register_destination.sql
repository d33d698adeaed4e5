-- Registers where commands go and how the receiver behaves, or changes it: what is not given falls back to its default. Commands already
-- written keep the destination as it was.
-- p_key_header: the header that carries the command's id. p_key_retention: how long the receiver remembers it. p_conflict_means: what a 409
-- says of our key (Failed: reused; Sent: already done; Pending: in progress). p_resend_allowed: it honours keys. p_server_error_safe: its
-- 5xx mean that nothing was stored. p_receipt_path: what an answer must hold to count as a receipt.
-- p_ordered: commands of one business key leave one after the other. p_probe_url: where GET tells whether a command arrived ({command_id} in
-- it); p_absent_means: what 404 there proves (Unknown: nothing; Pending: it never arrived, send it). p_max_concurrent, p_rate_limit per
-- p_rate_period: bounds on what is under way, and on how often. p_breaker_threshold: after so many failures in a row (null: never) nothing is
-- sent for p_breaker_delay, twice as long each time, then one command to see.
-- Returns:  text, the code.
-- Raises:   BP400 bad code. BP422 configuration or profile refused, with the reason. BP403.
-- Writes:   destination, audit_event.
create or replace function bpm.register_destination(
  p_code text, p_kind text default 'http', p_config jsonb default '{}', p_secret_ref text default null, p_key_header text default 'Idempotency-Key',
  p_key_retention interval default interval '24 hours', p_conflict_means text default 'Failed', p_resend_allowed boolean default false,
  p_server_error_safe boolean default false, p_receipt_path text default null, p_max_attempts integer default 10,
  p_backoff interval default interval '1 second', p_backoff_cap interval default interval '5 minutes', p_lease interval default interval '60 seconds',
  p_ordered boolean default false, p_actor text default null, p_probe_url text default null, p_absent_means text default 'Unknown',
  p_max_concurrent integer default null, p_rate_limit integer default null, p_rate_period interval default interval '1 second',
  p_breaker_threshold integer default 20, p_breaker_delay interval default interval '10 seconds', p_tenant_id text default '')
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor text;
  v_now   timestamptz := bpm_core.now();
  v_fault text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(length(btrim(p_code)), 0) not between 1 and 200 then
    perform bpm_core.fail('BP400', 'The code of a destination has 1 to 200 characters.');
  end if;
  v_fault := coalesce(
    bpm_core.destination_fault(p_kind, p_config, p_secret_ref, p_key_header, p_receipt_path),
    bpm_core.profile_fault(p_key_retention, p_conflict_means, p_max_attempts, p_backoff, p_backoff_cap, p_lease),
    bpm_core.limits_fault(p_probe_url, p_absent_means, p_max_concurrent, p_rate_limit, p_rate_period, p_breaker_threshold, p_breaker_delay),
    case when p_resend_allowed is null or p_server_error_safe is null or p_ordered is null then 'A flag of the profile is null.' end);
  if v_fault is not null then
    perform bpm_core.fail('BP422', v_fault, jsonb_build_object('code', p_code), 'See register_destination in the reference.');
  end if;
  insert into bpm_core.destination as d (
    tenant_id, id, code, kind, secret_ref, config, key_header, key_retention, conflict_means, resend_allowed, server_error_safe, receipt_path,
    max_attempts, backoff, backoff_cap, lease, ordered, probe_url, absent_means, max_concurrent, rate_limit, rate_period, breaker_threshold,
    breaker_delay, created_by, created_at, updated_at)
  values (
    p_tenant_id, bpm_core.new_id(), p_code, p_kind, p_secret_ref, p_config, p_key_header, p_key_retention, p_conflict_means, p_resend_allowed,
    p_server_error_safe, p_receipt_path, p_max_attempts, p_backoff, p_backoff_cap, p_lease, p_ordered, p_probe_url, p_absent_means,
    p_max_concurrent, p_rate_limit, p_rate_period, p_breaker_threshold, p_breaker_delay, v_actor, v_now, v_now)
  on conflict (tenant_id, code) do update
     set kind = excluded.kind, secret_ref = excluded.secret_ref, config = excluded.config, key_header = excluded.key_header,
         key_retention = excluded.key_retention, conflict_means = excluded.conflict_means, resend_allowed = excluded.resend_allowed,
         server_error_safe = excluded.server_error_safe, receipt_path = excluded.receipt_path, max_attempts = excluded.max_attempts,
         backoff = excluded.backoff, backoff_cap = excluded.backoff_cap, lease = excluded.lease, ordered = excluded.ordered,
         probe_url = excluded.probe_url, absent_means = excluded.absent_means, max_concurrent = excluded.max_concurrent,
         rate_limit = excluded.rate_limit, rate_period = excluded.rate_period, breaker_threshold = excluded.breaker_threshold,
         breaker_delay = excluded.breaker_delay, updated_at = excluded.updated_at;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'RegisterDestination', 'destination', p_code, null, null,
    jsonb_build_object('kind', p_kind, 'url', p_config ->> 'url', 'resend_allowed', p_resend_allowed));
  return p_code;
end
$$;
