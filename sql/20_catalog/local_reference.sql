-- The local part of a qualified name: BPMN writes references as QNames, with any prefix or none.
create or replace function bpm_core.local_reference(p_reference text)
returns text
language sql immutable parallel safe
as $$ select nullif(regexp_replace(btrim(p_reference), '^[^:]*:', ''), '') $$;
