-- What a word of an expression is; operators by their canonical spelling.
create or replace function bpm_core.token_kind(p_word text, p_feel boolean)
returns text
language sql immutable parallel safe
as $$
  select case
    when ascii(p_word) between 48 and 57 then 'number'
    when p_word in ('true', 'false', 'null', 'and', 'or', 'not', '(', ')', '.', '-', '+', '*', '/', ',', '[', ']', ':') then p_word
    when not p_feel and p_word in ('empty', 'eq', 'ne', 'lt', 'le', 'gt', 'ge', '%', '?') then p_word
    when not p_feel and p_word in ('div', 'mod') then case p_word when 'div' then '/' else '%' end
    when ascii(p_word) between 65 and 90 or ascii(p_word) between 97 and 122 or ascii(p_word) in (36, 95) or ascii(p_word) > 127 then 'name'
    when length(p_word) > 1 and (ascii(p_word) = 34 or (ascii(p_word) = 39 and not p_feel)) then 'string'
    when p_word = '>' then 'gt'
    when p_word = '<' then 'lt'
    when p_word = '>=' then 'ge'
    when p_word = '<=' then 'le'
    when p_word = '!=' then 'ne'
    when p_word = case when p_feel then '=' else '==' end then 'eq'
    when p_feel then case when p_word in ('{', '}', '..', '**', '@') then p_word else 'bad' end
    when p_word = '&&' then 'and'
    when p_word = '||' then 'or'
    when p_word = '!' then 'not'
    else 'bad'
  end
$$;
