-- The roles a role is a member of, directly or not, itself left out. In PL/pgSQL for its plan, like bpm_core.is_granted.
-- Returns:  setof text, names. A superuser gets those it was made a member of.
create or replace function bpm_core.roles_of(p_role text)
returns setof text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  with recursive member_of (oid) as (
    select m.roleid
      from pg_auth_members m
     where m.member = quote_ident(p_role)::regrole
    union
    select m.roleid
      from member_of o
      join pg_auth_members m on m.member = o.oid)
  select pg_get_userbyid(o.oid)::text
    from member_of o;
end
$$;
