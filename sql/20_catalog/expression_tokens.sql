-- Cuts an expression into tokens. JUEL and FEEL share everything but their words and the meaning of a single =.
-- Letters beyond ASCII are letters of a name whatever the locale of the database says.
-- Returns:  expression_token[], the last of kind end. What is no token has kind bad.
create or replace function bpm_core.expression_tokens(p_source text, p_feel boolean, p_offset integer)
returns bpm_core.expression_token[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with piece as (
    select m.ord, m.word[1] as word, p_offset + 1 + coalesce(sum(length(m.word[1])) over (order by m.ord rows between unbounded preceding and 1 preceding), 0)::integer as at
      from regexp_matches(p_source,
             '(\s+|"(?:[^"\\]|\\.)*"|''(?:[^''\\]|\\.)*''|\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?|(?:[A-Za-z_$]|[^\u0001-\u007f])(?:[A-Za-z0-9_$]|[^\u0001-\u007f])*|&&|\|\||==|!=|<=|>=|.)',
             'g') with ordinality m (word, ord)
  ),
  token as (
    select p.ord, p.at,
           case
             when p.word ~ '^\d' then 'number'
             when p.word ~ '^".*"$' or (p.word ~ '^''.*''$' and not p_feel) then 'string'
             when p.word in ('true', 'false', 'null', 'and', 'or', 'not') then p.word
             when not p_feel and p.word in ('empty', 'eq', 'ne', 'lt', 'le', 'gt', 'ge') then p.word
             when p.word ~ '^([A-Za-z_$]|[^\u0001-\u007f])' then 'name'
             when p.word in ('!=', '<', '<=', '>', '>=') then ('{"!=":"ne","<":"lt","<=":"le",">":"gt",">=":"ge"}'::jsonb) ->> p.word
             when p.word = case when p_feel then '=' else '==' end then 'eq'
             when not p_feel and p.word in ('&&', '||', '!') then ('{"&&":"and","||":"or","!":"not"}'::jsonb) ->> p.word
             when p.word in ('(', ')', '.', '-', ',', '[') then p.word
             else 'bad'
           end as kind, p.word
      from piece p
     where p.word !~ '^\s+$'
  )
  select array_agg(x.token order by x.ord)
    from (select row(t.kind, case t.kind when 'string' then regexp_replace(substr(t.word, 2, length(t.word) - 2), '\\(.)', '\1', 'g') else t.word end, t.at)::bpm_core.expression_token as token, t.ord
            from token t
          union all
          select row('end', '', p_offset + length(p_source) + 1)::bpm_core.expression_token, 9223372036854775807) x
$$;
