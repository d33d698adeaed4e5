-- A tie to a table of the host, by its name.
-- Returns:  identity_tie. Raises: BP404.
create or replace function bpm_core.known_tie(p_identity text)
returns bpm_core.identity_tie
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  r_tie bpm_core.identity_tie;
begin
  select t.* into r_tie from bpm_core.identity_ties() t where t.identity = p_identity;
  if r_tie.identity is null then
    perform bpm_core.fail('BP404', format('There is no identity %L tied to the host.', left(p_identity, 200)), null, 'bpm.identity_report() lists them.');
  end if;
  return r_tie;
end
$$;
