-- Reads one whole expression: JUEL in ${…} or #{…}, FEEL after =, or bare text, which is read as JUEL (as FEEL when the language says so).
-- Marks win over the language stated: many files say XPath over a JUEL text.
-- Returns:  tree, or problem and the position of it in the source; bare: it had no marks.
create or replace function bpm_core.read_expression(
  p_source text, p_language text, out tree jsonb, out problem text, out at integer, out bare boolean)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_juel   text[] := regexp_match(p_source, '^(\s*[$#]\{)(.*)\}\s*$');
  v_equals text[] := regexp_match(p_source, '^(\s*=)(?!=)(.*)$');
  v_feel   boolean := v_equals is not null or (v_juel is null and coalesce(p_language ~* 'feel', false));
  v_marks  text[] := coalesce(v_juel, v_equals, array['', p_source]);
  v_tokens bpm_core.expression_token[];
  v_step   bpm_core.expression_step;
begin
  bare := v_juel is null and v_equals is null;
  at := 1;
  if length(p_source) > 4000 then
    problem := 'it is longer than 4000 characters';
    return;
  elsif bare and p_language !~* '(juel|feel|xpath|/el$|^el$)' then
    problem := format('the language %s is not understood', left(p_language, 100));
    return;
  end if;
  v_tokens := bpm_core.expression_tokens(v_marks[2], v_feel, length(v_marks[1]));
  v_step := bpm_core.parse_expression(v_tokens, 1, 0, v_feel, 0);
  if v_step.problem is null and (v_tokens[v_step.next]).kind <> 'end' then
    v_step.problem := format('%s is not understood here', left((v_tokens[v_step.next]).value, 40));
    v_step.at := (v_tokens[v_step.next]).at;
  end if;
  -- Evaluation nests as deeply as the tree, also where the text did not: a - b - c …
  if v_step.problem is null and jsonb_path_exists(v_step.tree, 'strict $.**{120}') then
    v_step.problem := 'nested too deeply';
    v_step.at := 1;
  end if;
  problem := v_step.problem;
  at := v_step.at;
  tree := case when problem is null then v_step.tree end;
end
$$;
