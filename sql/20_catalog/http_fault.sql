-- What is wrong with the configuration of a destination that is called over HTTP. A webhook is HTTP with a signature, so it needs a secret.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.http_fault(p_kind text, p_config jsonb, p_secret_ref text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when exists (select from jsonb_object_keys(p_config) k where k not in ('url', 'method', 'headers', 'timeout_seconds', 'connect_timeout_seconds'))
      then format('p_config knows url, method, headers, timeout_seconds and connect_timeout_seconds, not %s.',
                  (select string_agg(k, ', ' order by k) from jsonb_object_keys(p_config) k where k not in ('url', 'method', 'headers', 'timeout_seconds', 'connect_timeout_seconds')))
    when jsonb_typeof(p_config -> 'url') is distinct from 'string' or p_config ->> 'url' !~* '^https?://[^/\s@?#]+([/?][^\s#]*)?$'
      then 'url must be an http or https address, without user name, password and fragment.'
    when p_config ->> 'url' ~* '[?&;][^=&]*(token|secret|passw|api[_-]?key|signature)[^=&]*='
      then 'url seems to carry a secret; let p_secret_ref name where the driver finds it.'
    when coalesce(p_config ->> 'method', 'POST') !~ '^(POST|PUT|PATCH|DELETE)$' then 'method must be POST, PUT, PATCH or DELETE.'
    when bpm_core.seconds_fault(p_config) is not null then bpm_core.seconds_fault(p_config)
    when p_config ? 'headers' and (jsonb_typeof(p_config -> 'headers') <> 'object'
         or exists (select from jsonb_each(case jsonb_typeof(p_config -> 'headers') when 'object' then p_config -> 'headers' else '{}' end) h
                     where jsonb_typeof(h.value) <> 'string' or h.key !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,100}$' or h.value #>> '{}' ~ '[\r\n]'))
      then 'headers must be an object of names and one-line texts.'
    when exists (select from jsonb_object_keys(case jsonb_typeof(p_config -> 'headers') when 'object' then p_config -> 'headers' else '{}' end) h
                  where h ~* '(authorization|cookie|token|secret|passw|api[_-]?key|credential|signature)')
      then 'headers seem to carry a secret; let p_secret_ref name where the driver finds it.'
    when p_kind = 'webhook' and p_secret_ref is null then 'A webhook is signed: p_secret_ref must name where the driver finds the secret.'
  end
$$;
