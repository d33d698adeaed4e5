-- The tree of a member of a value: a longer path where it is one.
create or replace function bpm_core.member_tree(p_tree jsonb, p_name text)
returns jsonb
language sql immutable parallel safe
as $$
  select case when p_tree ->> 'op' = 'path' then jsonb_set(p_tree, '{path}', (p_tree -> 'path') || to_jsonb(p_name))
              else jsonb_build_object('op', 'member', 'arg', p_tree, 'name', p_name) end
$$;
