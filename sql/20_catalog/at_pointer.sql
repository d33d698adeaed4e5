-- What is wrong, with the pointer to where: that of the whole is empty, so it is called root.
create or replace function bpm_core.at_pointer(p_fault text)
returns text
language sql immutable parallel safe
as $$ select case when p_fault like ': %' then 'root' || p_fault else p_fault end $$;
