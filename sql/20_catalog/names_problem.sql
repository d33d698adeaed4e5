-- What is wrong with names of people in a rule? One that looks like a symbol is meant as one; somebody who is called so is written person:NAME.
-- p_symbols: those that may stand there as well.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.names_problem(p_names text[], p_symbols text[])
returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case
    when bpm_core.near_symbol(n.name) is null then format('%s is no name of 1 to 200 characters, without blanks around it', quote_literal(left(n.name, 50)))
    when p_symbols = '{}' then format('%s stands for people by their part in the process, and here are names; somebody who is called so is person:%s', n.name, n.name)
    else format('%s is nobody''s name: is %s meant? Somebody who is called so is person:%s', n.name, bpm_core.near_symbol(n.name), n.name) end
    from unnest(p_names) with ordinality n(name, k)
   where n.name is not null and n.name <> all (p_symbols) and (bpm_core.near_symbol(n.name) is not null or not coalesce(bpm_core.is_name(bpm_core.person_of(n.name)), false))
   order by n.k
   limit 1
$$;
