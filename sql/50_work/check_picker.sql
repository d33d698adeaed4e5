-- The arguments every claim shares, of tasks and of commands.
-- Raises:   BP422 worker name, limit or lease out of range.
create or replace function bpm_core.check_picker(p_worker text, p_limit integer, p_lease interval)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(length(btrim(p_worker)), 0) not between 1 and 200 then
    perform bpm_core.fail('BP422', 'The worker needs a name of 1 to 200 characters.', jsonb_build_object('worker', p_worker));
  end if;
  perform bpm_core.check_limit(p_limit);
  if p_lease is not null and p_lease not between interval '1 second' and interval '1 day' then
    perform bpm_core.fail('BP422', format('The lease must be 1 second to 1 day, not %s.', p_lease), jsonb_build_object('lease', p_lease));
  end if;
end
$$;
