-- Makes the privileges of the database equal to bpm_core.function_grant: nobody but the four roles may do anything, each what the list says. And
-- row level security on every table, for whoever is granted one all the same.
-- Run at the end of every migration that creates a table, or creates or replaces a function or a view. Not hot, so dynamic SQL is fine here.
-- Writes:   privileges, row security and policies only. Run by the owner.
create or replace function bpm_core.apply_grants()
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  r_object record;
begin
  -- Only the global form can take from PUBLIC what PostgreSQL gives it by default on functions.
  alter default privileges revoke execute on functions from public;
  revoke all on schema bpm, bpm_core from public;
  revoke all on all tables in schema bpm_core from public, bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  revoke all on all tables in schema bpm from public, bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  revoke all on all sequences in schema bpm_core from public, bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  revoke all on all routines in schema bpm, bpm_core from public, bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  grant usage on schema bpm to bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  grant select on all tables in schema bpm to bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  -- The private functions that run with the rights of whoever reads a view.
  grant execute on function bpm_core.visible_tenants(), bpm_core.administered_tenants() to bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  for r_object in
    select p.oid::regprocedure as signature, r.role_name
      from pg_proc p
      left join bpm_core.function_grant g on g.function_name = p.proname
     cross join lateral (values
       ('bpm_reader', g.reader), ('bpm_worker', g.worker), ('bpm_operator', g.operator), ('bpm_admin', true)) r(role_name, may)
     where p.pronamespace = 'bpm'::regnamespace and r.may
  loop
    execute format('grant execute on function %s to %I', r_object.signature, r_object.role_name);
  end loop;
  for r_object in
    select c.oid::regclass as table_name
      from pg_class c
     where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p') and c.relowner = current_user::regrole
     order by c.oid
  loop
    perform bpm_core.protect_table(r_object.table_name);
  end loop;
end
$$;
