-- What becomes of a workflow of several when its turn comes: its start condition over the process variables says so. What cannot be decided is never taken
-- as false (law 6).
-- p_node_id: its plain start event, if it has one.
-- Returns:  fate Begin, Skip or Stop; of the last the incident: code StartUndecidable or WorkflowNotStartable, message, detail with the values seen.
create or replace function bpm_core.judge_start(
  p_binding bpm_core.process_workflow_binding, p_node_id text, p_variables jsonb, out fate text, out code text, out message text, out detail jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_verdict boolean := true;
begin
  if p_binding.start_condition is not null then
    v_verdict := jsonb_path_match(p_variables, p_binding.start_condition, '{}', true);
  elsif p_binding.start_tree is not null then
    v_verdict := bpm_core.evaluate_condition(p_binding.start_tree, p_variables);
  end if;
  fate := case when not v_verdict then 'Skip' when v_verdict and p_node_id is not null then 'Begin' else 'Stop' end;
  if v_verdict is null then
    code := 'StartUndecidable';
    message := format('Workflow %s: the condition %s of its start cannot be decided.', p_binding.binding_key, p_binding.start_source);
    detail := jsonb_build_object('binding', p_binding.binding_key, 'condition', p_binding.start_source,
                                 'seen', bpm_core.describe_condition(p_binding.start_source, p_variables));
  elsif fate = 'Stop' then
    code := 'WorkflowNotStartable';
    message := format('Workflow %s has no plain start event, so it can only be the first of its process.', p_binding.binding_key);
    detail := jsonb_build_object('binding', p_binding.binding_key);
  end if;
end
$$;
