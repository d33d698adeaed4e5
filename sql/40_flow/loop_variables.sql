-- What is declared in the scope of one item: its counter, its element, and the names its output is made of.
create or replace function bpm_core.loop_variables(p_spec jsonb, p_declared jsonb, p_index integer, p_element jsonb)
returns jsonb
language sql immutable
as $$
  select p_declared || jsonb_build_object(p_spec ->> 'counter', p_index + (p_spec ->> 'base')::integer)
         || case when p_spec ? 'element' and p_element is not null then jsonb_build_object(p_spec ->> 'element', p_element) else '{}'::jsonb end
$$;
