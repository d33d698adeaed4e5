-- Compiles an attribute that may be an expression: ${…} or #{…} (JUEL), = … (FEEL), a text with ${…} in it (a template), or plain text,
-- which is itself unless p_bare_is_text is false: then it is an expression, too.
-- Returns:  tree for evaluate ({"op": "value", "value": "…"} of plain text), or problem and its position.
create or replace function bpm_core.compile_expression(p_source text, p_bare_is_text boolean default true, out tree jsonb, out problem text, out at integer)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_bare_is_text and p_source !~ '^\s*=(?!=)' and p_source !~ '[$#]\{' then
    tree := jsonb_build_object('op', 'value', 'value', p_source);
  elsif p_bare_is_text and p_source ~ '[$#]\{' and p_source !~ '^\s*=(?!=)' and (p_source !~ '^\s*[$#]\{' or p_source ~ '\}.*[$#]\{' or p_source !~ '\}\s*$') then
    select t.tree, t.problem, t.at into tree, problem, at from bpm_core.read_template(p_source) t;
  else
    select r.tree, r.problem, r.at into tree, problem, at from bpm_core.read_expression(p_source, null) r;
  end if;
  tree := bpm_core.timed_tree(tree);
end
$$;
