-- The values of a tie to the host that have no row there. Dynamic, but nothing in it comes from a caller: names are those of the catalog, quoted.
-- p_limit: how many samples.
-- Returns:  missing: how many different ones, at most 100,001; samples: jsonb array of arrays, in order of the columns.
-- Raises:   BP422 row level security of the host hides rows: what looks missing might be there.
create or replace function bpm_core.missing_at_host(p_key bpm_core.identity_tie, p_limit integer, out missing integer, out samples jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if row_security_active(p_key.host_table) then
    perform bpm_core.fail('BP422', format('Row level security hides rows of %s from bpm_owner.', p_key.host_table), null, 'Give bpm_owner a policy that lets it see all rows.');
  end if;
  execute format(
    'select count(*), coalesce(jsonb_agg(m.told order by m.told) filter (where m.n <= $1), ''[]'') from ('
    'select jsonb_build_array(%1$s) as told, row_number() over () as n from (select distinct %1$s from %2$s l '
    'where %3$s and not exists (select from %4$s h where %5$s) limit 100001) l) m',
    (select string_agg(format('l.%I', c.name), ', ' order by c.n) from unnest(p_key.columns) with ordinality c(name, n)),
    p_key.bound_table,
    (select string_agg(format('l.%I is not null', c.name), ' and ') from unnest(p_key.columns) c(name)),
    p_key.host_table,
    -- Compared by the collation of the host's column, as the foreign key does.
    (select string_agg(format('h.%I = l.%I collate %I.%I', a.attname, c.name, n.nspname, l.collname), ' and ')
       from unnest(p_key.columns, p_key.host_columns) c(name, host_name)
       join pg_attribute a on a.attrelid = p_key.host_table and a.attname = c.host_name
       join pg_collation l on l.oid = a.attcollation
       join pg_namespace n on n.oid = l.collnamespace))
    into missing, samples using p_limit;
end
$$;
