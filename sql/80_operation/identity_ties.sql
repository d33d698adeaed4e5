-- The foreign keys that tie columns of ours to tables of the host.
-- Returns:  setof identity_tie.
create or replace function bpm_core.identity_ties()
returns setof bpm_core.identity_tie
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select k.conname::text, k.conrelid::regclass, c.names, k.confrelid::regclass, h.names, k.convalidated
    from pg_constraint k
   cross join lateral (select array_agg(a.attname::text order by u.n) as names
                         from unnest(k.conkey) with ordinality u(attnum, n) join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.attnum) c
   cross join lateral (select array_agg(a.attname::text order by u.n) as names
                         from unnest(k.confkey) with ordinality u(attnum, n) join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.attnum) h
   where k.contype = 'f' and k.conrelid in ('bpm_core.tenant'::regclass, 'bpm_core.session_scope_link'::regclass) and starts_with(k.conname, 'host_')
     and k.conparentid = 0
   order by 1
$$;
