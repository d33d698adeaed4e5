-- The inside of a string literal without its escapes: quotes and backslashes, line breaks and tabs, \uXXXX. Any other backslash stands for
-- itself, as patterns have them: "\d+".
create or replace function bpm_core.unescape(p_text text)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if position('\' in p_text) = 0 then
    return p_text;
  end if;
  return (
    select string_agg(case
             when m[1] ~ '^\\u' and m[1] !~* '^\\u(0000|d[89a-f])' then chr(('x' || lpad(substr(m[1], 3), 8, '0'))::bit(32)::integer)
             when m[1] = '\n' then E'\n' when m[1] = '\r' then E'\r' when m[1] = '\t' then E'\t'
             when m[1] in ('\\', '\"', '\''') then substr(m[1], 2)
             else m[1] end, '' order by ord)
      from regexp_matches(p_text, '(\\u[0-9a-fA-F]{4}|\\.|[^\\]+|\\)', 'g') with ordinality r(m, ord));
end
$$;
