-- What is wrong with the configuration of a mail server. Who gets what can stand in the payload (to, cc, subject, text, html), too.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.smtp_fault(p_config jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with known(name, kind) as (values
    ('host', 'string'), ('port', 'number'), ('security', 'string'), ('user', 'string'), ('from', 'string'), ('to', 'string'), ('cc', 'string'),
    ('subject', 'string'), ('timeout_seconds', 'number'), ('connect_timeout_seconds', 'number'))
  select case
    when exists (select from jsonb_object_keys(p_config) k where k not in (select n.name from known n))
      then format('p_config of a mail server knows %s, not %s.', (select string_agg(n.name, ', ') from known n),
                  (select string_agg(k, ', ' order by k) from jsonb_object_keys(p_config) k where k not in (select n.name from known n)))
    when exists (select from known n where jsonb_typeof(p_config -> n.name) <> n.kind)
      then (select min(format('%s must be a %s.', n.name, n.kind)) from known n where jsonb_typeof(p_config -> n.name) <> n.kind)
    when coalesce(p_config ->> 'host' !~ '^[A-Za-z0-9._:-]{1,253}$', true) then 'host must be the name or address of a mail server.'
    when p_config ? 'port' and not p_config @? '$.port ? (@ >= 1 && @ <= 65535 && @ == @.floor())' then 'port must be a whole number from 1 to 65535.'
    when p_config ->> 'security' not in ('starttls', 'tls', 'none') then 'security must be starttls, tls or none.'
    when coalesce(p_config ->> 'from' !~ '^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$', true) then 'from must be a mail address.'
    when exists (select from known n where n.kind = 'string' and (p_config ->> n.name ~ '[\r\n]' or length(p_config ->> n.name) > 1000))
      then 'Values must be one line of at most 1000 characters.'
    else bpm_core.seconds_fault(p_config)
  end
$$;
