-- Cuts an expression into tokens. JUEL and FEEL share everything but their words and the meaning of a single =.
-- Letters beyond ASCII are letters of a name whatever the locale of the database says.
-- Returns:  expression_token[], the last of kind end. What is no token has kind bad.
create or replace function bpm_core.expression_tokens(p_source text, p_feel boolean, p_offset integer)
returns bpm_core.expression_token[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens bpm_core.expression_token[] := array[]::bpm_core.expression_token[];
  v_token  bpm_core.expression_token;
  v_words  text[];
  v_word   text;
  v_at     integer := p_offset + 1;
begin
  for v_words in
    select m
      from regexp_matches(p_source,
             '(\s+|"(?:[^"\\]|\\.)*"|''(?:[^''\\]|\\.)*''|\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?|(?:[A-Za-z_$]|[^\u0001-\u007f])(?:[A-Za-z0-9_$]|[^\u0001-\u007f])*|&&|\|\||==|!=|<=|>=|\.\.|\*\*|.)',
             'g') m
  loop
    v_word := v_words[1];
    if btrim(v_word, E' \t\r\n\f\v') <> '' then
      v_token := row(bpm_core.token_kind(v_word, p_feel), v_word, v_at);
      if v_token.kind = 'string' then
        v_token.value := bpm_core.unescape(substr(v_word, 2, length(v_word) - 2));
      end if;
      v_tokens := v_tokens || v_token;
    end if;
    v_at := v_at + length(v_word);
  end loop;
  return v_tokens || row('end', '', v_at)::bpm_core.expression_token;
end
$$;
