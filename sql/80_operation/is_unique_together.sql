-- Are these columns, and no others, the key of a unique index a foreign key can lead to?
-- Returns:  boolean.
create or replace function bpm_core.is_unique_together(p_table regclass, p_columns text[])
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select
      from pg_index i
     where i.indrelid = p_table and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null
       and array(select a.attname::text
                   from unnest(i.indkey::int2[]) with ordinality k(attnum, n)
                   join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
                  where k.n <= i.indnkeyatts
                  order by 1) = array(select w from unnest(p_columns) w order by 1))
$$;
