-- The table a caller means, "schema.table" as SQL spells it. Looked up in the catalog by its names, so that it matters to nobody what the search path and the rights are.
-- Returns:  regclass.
-- Raises:   BP404 there is none, or the text is no such name.
create or replace function bpm_core.host_table(p_name text)
returns regclass
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names text[];
  v_table regclass;
begin
  begin
    v_names := parse_ident(p_name);
  exception
    when invalid_parameter_value then null;
  end;
  select c.oid::regclass into v_table
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
   where n.nspname = v_names[1] and c.relname = v_names[2] and cardinality(v_names) = 2;
  if v_table is null then
    perform bpm_core.fail('BP404', format('There is no table %s.', left(coalesce(p_name, 'null'), 200)), null, 'Write schema.table, in quotes where SQL needs them.');
  end if;
  return v_table;
end
$$;
