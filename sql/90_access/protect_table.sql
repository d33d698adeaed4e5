-- Row level security for one table: whoever is granted the table itself sees the rows of the tenants he is granted, and changes none. A table without
-- tenants gets no policy, so that nobody but the owner sees a row of it.
-- Not forced: the functions run as the owner, for whom nothing is added to any statement; a forced policy would be planned into each of them, and
-- `set row_security = off` in a session would make every call fail. Not hot, so dynamic SQL is fine here: the name comes from the catalog.
-- Writes:   row security and policy of p_table, where they are missing. Locks: then p_table, access exclusive, for an instant. Run by the owner.
create or replace function bpm_core.protect_table(p_table regclass)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if not (select c.relrowsecurity from pg_class c where c.oid = p_table) then
    execute format('alter table %s enable row level security', p_table);
  end if;
  if exists (select from pg_attribute a where a.attrelid = p_table and a.attname = 'tenant_id' and a.attnum > 0 and not a.attisdropped)
     and not exists (select from pg_policy y where y.polrelid = p_table and y.polname = 'visible_tenants') then
    execute format('create policy visible_tenants on %s for select using (tenant_id = any (array(select bpm_core.visible_tenants())))', p_table);
  end if;
end
$$;
