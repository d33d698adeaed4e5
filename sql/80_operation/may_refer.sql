-- May this role make a foreign key to these columns, and read them?
-- Returns:  boolean.
create or replace function bpm_core.may_refer(p_role name, p_table regclass, p_columns text[])
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select has_schema_privilege(p_role, c.relnamespace, 'usage')
         and not exists (
           select
             from unnest(p_columns) w(name)
            where not has_column_privilege(p_role, p_table, w.name, 'references') or not has_column_privilege(p_role, p_table, w.name, 'select'))
    from pg_class c
   where c.oid = p_table
$$;
