-- Is this the name of somebody: 1 to 200 characters, no blanks around it and no control characters? Else 'ann ' would be another person than 'ann':
-- one whom no rule excludes, and who may vote once more.
-- Returns:  boolean, null of null.
create or replace function bpm_core.is_name(p_name text)
returns boolean
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select length(p_name) between 1 and 200 and p_name !~ '^\s|\s$|[[:cntrl:]]|^[\u00a0\u200b\u2060\ufeff]|[\u00a0\u200b\u2060\ufeff]$'
$$;
