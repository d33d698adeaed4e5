-- The scope_id of tokens that are in no sub-process.
create or replace function bpm_core.root_scope()
returns uuid
language sql immutable parallel safe
as $$ select '00000000-0000-0000-0000-000000000000'::uuid $$;
