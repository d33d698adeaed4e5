-- Reads a decision about an event: one action, or {"actions": […]}.
-- Returns:  jsonb array of actions, as routing_decision keeps them; wire forms are taken off variables.
-- Raises:   BP400 not of this form, BP422 what an action needs is missing, or what it has no use for is given.
create or replace function bpm_core.read_decision(p_decision jsonb)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys    constant text[] := array['action', 'process_code', 'version', 'business_key', 'variables', 'message_name', 'correlation_key', 'ttl_seconds',
                                     'process_instance_ids', 'task_ids'];
  v_actions jsonb := case when jsonb_typeof(p_decision) = 'object' and p_decision ? 'actions' and p_decision - 'actions' = '{}' then p_decision -> 'actions'
                          else jsonb_build_array(p_decision) end;
  v_action  jsonb;
  v_fault   text;
begin
  if jsonb_typeof(v_actions) is distinct from 'array' or jsonb_array_length(v_actions) not between 1 and 20
     or jsonb_path_exists(v_actions, 'strict $[*] ? (@.type() != "object")') then
    perform bpm_core.fail('BP400', 'A decision is an action, or {"actions": [1 to 20 of them]}.', null, 'For instance {"action": "StartProcess", "process_code": "order"}.');
  end if;
  v_actions := (select jsonb_agg(jsonb_strip_nulls(a.item - 'variables') || case when jsonb_typeof(a.item -> 'variables') <> 'null'
                                 then jsonb_build_object('variables', a.item -> 'variables') else '{}' end order by a.n)
                  from jsonb_array_elements(v_actions) with ordinality a(item, n));
  for v_action in select a.item from jsonb_array_elements(v_actions) a(item) loop
    if v_action - v_keys <> '{}' or bpm_core.action_shape_fault(v_action) then
      perform bpm_core.fail('BP400', 'An action of the decision is not of the form this call takes.', jsonb_build_object('keys', v_keys),
        'version and ttl_seconds are numbers, process_instance_ids and task_ids arrays of ids, variables an object, the others texts of 1 to 300 characters.');
    end if;
    v_fault := bpm_core.action_fault(v_action);
    if v_fault is not null then
      perform bpm_core.fail('BP422', v_fault, jsonb_build_object('action', v_action -> 'action'));
    end if;
  end loop;
  return (select jsonb_agg(a.item || case when a.item ? 'variables' then jsonb_build_object('variables', bpm_core.decode_variables(a.item -> 'variables')) else '{}' end
                           order by a.n)
            from jsonb_array_elements(v_actions) with ordinality a(item, n));
end
$$;
