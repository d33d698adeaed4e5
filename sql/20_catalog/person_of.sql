-- A name without the person: it may be written with, so that it is not taken for one of the symbols.
create or replace function bpm_core.person_of(p_name text)
returns text
language sql immutable parallel safe
as $$
  select case when starts_with(p_name, 'person:') then btrim(substr(p_name, 8)) else p_name end
$$;
