-- Translates a regular expression as Java and XPath write it into one of PostgreSQL. It has to be a literal, so that it can be tried here,
-- and is matched in time linear in the text: no back references and no looking around, no counts beyond 100, at most 300 characters.
-- Returns:  pattern, or problem.
create or replace function bpm_core.read_pattern(p_tree jsonb, p_flags jsonb, p_whole boolean, out pattern text, out problem text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text    text := p_tree ->> 'value';
  v_inline  text[] := regexp_match(v_text, '^\(\?([ismx]+)\)(.*)$');
  v_flags   text := coalesce(p_flags ->> 'value', '') || coalesce(v_inline[1], '');
begin
  v_text := coalesce(v_inline[2], v_text);
  if v_text is null or jsonb_typeof(p_tree -> 'value') <> 'string' or p_flags ->> 'op' <> 'value' then
    problem := 'a pattern has to be a literal text';
  elsif v_flags !~ '^[ismx]*$' then
    problem := format('the flags %s of a pattern are not understood', left(v_flags, 20));
  elsif length(v_text) > 300 then
    problem := 'a pattern may have 300 characters';
  elsif v_text ~ '^\*\*\*' or v_text ~ '^(\\\\|\\?[^\\])*\\[1-9BpPkQEG]' or v_text ~ '\(\?[<P>=!]' or exists (
          select from regexp_matches(v_text, '\{(\d+)(?:,(\d*))?\}', 'g') m where length(m[1]) > 3 or length(m[2]) > 3 or m[1]::integer > 100 or nullif(m[2], '')::integer > 100)
        or (select count(*) from regexp_matches(v_text, '\{\d', 'g')) > 5 then
    problem := 'the pattern has forms that are not understood';
  else
    pattern := (select string_agg(case m[1] when '\b' then '\y' when '\z' then '\Z' else m[1] end, '' order by ord)
                  from regexp_matches(v_text, '(\\.|[^\\]+|\\$)', 'gs') with ordinality r(m, ord));
    pattern := case when p_whole then '^(?:' || pattern || ')$' else coalesce(pattern, '') end;
    v_flags := case when v_flags ~ 'i' then 'i' else '' end || case when v_flags ~ 'x' then 'x' else '' end
               || case when v_flags ~ 's' then case when v_flags ~ 'm' then 'w' else 's' end when v_flags ~ 'm' then 'n' else 'p' end;
    pattern := '(?' || v_flags || ')' || pattern;
    begin
      if '' ~ pattern then
        return;
      end if;
    exception
      when data_exception or program_limit_exceeded or internal_error then
        pattern := null;
        problem := 'the pattern is no regular expression';
    end;
  end if;
end
$$;
