-- Reads an expression that is nothing but a dotted path (correlation keys, timers): ${a.b}, =a.b or a.b.
-- Returns:  text a.b, null when it is anything else.
create or replace function bpm_core.expression_path(p_source text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when r.tree ->> 'op' = 'path' and not exists (select from jsonb_array_elements_text(r.tree -> 'path') n where position('.' in n) > 0)
    then (select string_agg(n, '.') from jsonb_array_elements_text(r.tree -> 'path') n) end
    from bpm_core.read_expression(p_source, null) r
$$;
