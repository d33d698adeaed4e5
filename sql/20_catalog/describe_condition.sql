-- What a condition looks at and what it saw there, for the detail of an incident, as describe_tree says it.
create or replace function bpm_core.describe_condition(p_condition_source text, p_variables jsonb)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$ select bpm_core.describe_tree(r.tree, p_variables) from bpm_core.read_expression(p_condition_source, null) r $$;
