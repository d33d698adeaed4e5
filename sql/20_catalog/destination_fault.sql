-- What is wrong with a destination. The configuration is frozen into every command and readable by operators, so it must not carry a secret:
-- no user info in the address, no name that looks like one. What kinds of your own need, the runner that knows them checks.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.destination_fault(p_kind text, p_config jsonb, p_secret_ref text, p_key_header text, p_receipt_path text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(case
    when coalesce(p_kind !~ '^[a-z][a-z0-9_.-]{0,49}$', true) then 'p_kind must be http, webhook, smtp, or the name of a kind that a runner of yours knows.'
    when jsonb_typeof(p_config) is distinct from 'object' then 'p_config must be an object.'
    when octet_length(p_config::text) > 20000 then 'p_config is longer than 20,000 bytes.'
    when p_kind in ('http', 'webhook') then bpm_core.http_fault(p_kind, p_config, p_secret_ref)
    when p_kind = 'smtp' then bpm_core.smtp_fault(p_config)
    when exists (select from jsonb_object_keys(p_config) k where k ~* '(authorization|cookie|token|secret|passw|api[_-]?key|credential|signature)')
      then 'p_config seems to carry a secret; let p_secret_ref name where the driver finds it.'
  end, case
    when p_secret_ref !~ '^(env:[A-Za-z_][A-Za-z0-9_]{0,199}|file:/.+)$' or length(p_secret_ref) > 500 then 'p_secret_ref must be env:NAME or file:/PATH, never the secret itself.'
    when coalesce(p_key_header, '') !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,100}$' then 'p_key_header must be the name of a header.'
    when btrim(p_receipt_path) = '' or length(p_receipt_path) > 500 then 'p_receipt_path must be a dotted path into the receipt.'
  end)
$$;
