-- The definition a publisher has just locked, unless it was deleted while it waited for the lock.
-- Raises:   BP503 it was.
create or replace function bpm_core.kept_definition(p_id uuid, p_kind text, p_code text)
returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_id is null then
    perform bpm_core.fail('BP503', format('The %s %L was deleted at this moment.', p_kind, p_code), null, 'Call again: it is published anew.');
  end if;
  return p_id;
end
$$;
