-- Makes the foreign key of a tie, not validated. Names come from the catalog and are quoted: the tables as regclass, the columns checked to be there.
-- Writes:   a constraint.
create or replace function bpm_core.tie_identity(p_tie bpm_core.identity_tie)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('alter table %s add constraint %I foreign key (%s) references %s (%s) not valid',
    p_tie.bound_table, p_tie.identity, (select string_agg(format('%I', c.name), ', ' order by c.n) from unnest(p_tie.columns) with ordinality c(name, n)),
    p_tie.host_table, (select string_agg(format('%I', a.attname), ', ' order by c.n)
                         from unnest(p_tie.host_columns) with ordinality c(name, n)
                         join pg_attribute a on a.attrelid = p_tie.host_table and a.attname = c.name));
end
$$;
