-- Whether a tree says true or false by its form, so that it is no value to compare.
create or replace function bpm_core.is_condition(p_tree jsonb)
returns boolean
language sql immutable parallel safe
as $$ select p_tree ->> 'op' in ('and', 'or', 'not', 'empty', 'eq', 'ne', 'lt', 'le', 'gt', 'ge', 'defined', 'some', 'every', 'let') $$;
