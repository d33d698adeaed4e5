-- What an expression of a rule looks at that no event has: all there is are payload and event, besides what its own loops name.
-- Returns:  text, null when it can be read.
create or replace function bpm_core.rule_root_problem(p_tree jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select format('%s is nothing an event has; write payload.%s for what it brings', x.name, x.name)
    from jsonb_path_query(p_tree, 'strict $.** ? (@.op == "path").path[0]') q(root)
   cross join lateral (select q.root #>> '{}' as name) x
   where x.name not in ('payload', 'event')
     and not jsonb_path_exists(p_tree, 'strict $.** ? (@.var == $name)', jsonb_build_object('name', x.name))
     and not jsonb_path_exists(p_tree, 'strict $.** ? (@.op == "filter")')
   limit 1
$$;
