-- What is wrong with a destination. The configuration is frozen into every command and readable by operators, so it must not carry a secret:
-- no user info in the address, no header or query parameter that looks like one.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.destination_fault(p_kind text, p_config jsonb, p_secret_ref text, p_key_header text, p_receipt_path text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_kind is distinct from 'http' then format('There is no kind of destination %L; known is http.', p_kind)
    when jsonb_typeof(p_config) is distinct from 'object' then 'p_config must be an object.'
    when octet_length(p_config::text) > 20000 then 'p_config is longer than 20,000 bytes.'
    when exists (select from jsonb_object_keys(p_config) k where k not in ('url', 'method', 'headers', 'timeout_seconds'))
      then format('p_config knows url, method, headers and timeout_seconds, not %s.',
                  (select string_agg(k, ', ' order by k) from jsonb_object_keys(p_config) k where k not in ('url', 'method', 'headers', 'timeout_seconds')))
    when jsonb_typeof(p_config -> 'url') is distinct from 'string' or p_config ->> 'url' !~* '^https?://[^/\s@?#]+([/?][^\s#]*)?$'
      then 'url must be an http or https address, without user name, password and fragment.'
    when p_config ->> 'url' ~* '[?&;][^=&]*(token|secret|passw|api[_-]?key|signature)[^=&]*='
      then 'url seems to carry a secret; let p_secret_ref name where the driver finds it.'
    when coalesce(p_config ->> 'method', 'POST') !~ '^(POST|PUT|PATCH|DELETE)$' then 'method must be POST, PUT, PATCH or DELETE.'
    when p_config ? 'timeout_seconds' and (jsonb_typeof(p_config -> 'timeout_seconds') <> 'number'
         or not p_config @? '$.timeout_seconds ? (@ > 0 && @ <= 600)') then 'timeout_seconds must be a number above 0, at most 600.'
    when p_config ? 'headers' and (jsonb_typeof(p_config -> 'headers') <> 'object'
         or exists (select from jsonb_each(case jsonb_typeof(p_config -> 'headers') when 'object' then p_config -> 'headers' else '{}' end) h
                     where jsonb_typeof(h.value) <> 'string' or h.key !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,100}$' or h.value #>> '{}' ~ '[\r\n]'))
      then 'headers must be an object of names and one-line texts.'
    when exists (select from jsonb_object_keys(case jsonb_typeof(p_config -> 'headers') when 'object' then p_config -> 'headers' else '{}' end) h
                  where h ~* '(authorization|cookie|token|secret|passw|api[_-]?key|credential|signature)')
      then 'headers seem to carry a secret; let p_secret_ref name where the driver finds it.'
    when p_secret_ref !~ '^(env:[A-Za-z_][A-Za-z0-9_]{0,199}|file:/.+)$' or length(p_secret_ref) > 500 then 'p_secret_ref must be env:NAME or file:/PATH, never the secret itself.'
    when coalesce(p_key_header, '') !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,100}$' then 'p_key_header must be the name of a header.'
    when btrim(p_receipt_path) = '' or length(p_receipt_path) > 500 then 'p_receipt_path must be a dotted path into the receipt.'
  end
$$;
