-- jsonpath: is there a value at this path that meets a test on @? True or false, never unknown: a filter swallows what cannot be said.
-- p_test may be empty: is the key there at all (null counts)?
create or replace function bpm_core.write_typed(p_path jsonb, p_test text)
returns text
language sql immutable
as $$ select 'exists($ ? (exists(' || bpm_core.write_path('@', p_path) || case when p_test <> '' then ' ? (' || p_test || ')' else '' end || ')))' $$;
