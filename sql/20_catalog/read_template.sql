-- Reads a text with expressions in it: Order ${id} of ${customer.name}. Each is an expression of its own; a brace inside a string literal ends none.
-- Returns:  tree, or problem and its position.
create or replace function bpm_core.read_template(p_source text, out tree jsonb, out problem text, out at integer)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_args jsonb := '[]'::jsonb;
  v_from integer := 1;
  v_part text;
  r_inner record;
begin
  at := 1;
  if length(p_source) > 4000 then
    problem := 'it is longer than 4000 characters';
    return;
  end if;
  for v_part in
    select m[1] from regexp_matches(p_source, '([$#]\{(?:"(?:[^"\\]|\\.)*"|''(?:[^''\\]|\\.)*''|[^"''}])*\}|[$#]\{(?!(?:"(?:[^"\\]|\\.)*"|''(?:[^''\\]|\\.)*''|[^"''}])*\}).*|(?:[^$#]|[$#](?!\{))+)', 'g') m
  loop
    if v_part ~ '^[$#]\{' then
      if v_part !~ '\}$' then
        problem := 'a closing brace is missing';
        at := v_from;
        return;
      end if;
      select r.tree, r.problem, r.at into r_inner from bpm_core.read_expression(v_part, null) r;
      if r_inner.problem is not null then
        problem := r_inner.problem;
        at := v_from + r_inner.at - 1;
        return;
      end if;
      v_args := v_args || jsonb_build_array(r_inner.tree);
    else
      v_args := v_args || jsonb_build_array(jsonb_build_object('op', 'value', 'value', v_part));
    end if;
    v_from := v_from + length(v_part);
  end loop;
  tree := case when jsonb_array_length(v_args) = 1 then v_args -> 0 else jsonb_build_object('op', 'call', 'name', 'template', 'args', v_args) end;
end
$$;
