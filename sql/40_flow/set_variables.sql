-- Patches variables of a running process by hand, for instance before resolving an incident. Only the keys named change.
-- p_expected: what some variables must be now, as the token sees them (null: missing or null); else nothing is changed.
-- p_token_id: a live token of it. Then each name goes where a step at that token would write it: into the nearest scope around it that declares the name,
-- else into the workflow of the token, which may be a called one. Without a token it is the workflow of the process; where it has several, the process itself.
-- Returns:  jsonb, the variables as they are now, as the token sees them, or as bpm.get_variables gives them.
-- Raises:   BP403, BP404 no such process or no such token in it, BP409 it has ended, or a variable is not as expected, BP422 variables refused.
-- Writes:   workflow_instance, process_instance, scope, history_event, audit_event, and what conditions that have become true write.
create or replace function bpm.set_variables(p_process_instance_id uuid, p_variables jsonb, p_actor text default null, p_token_id uuid default null,
                                              p_expected jsonb default null, p_tenant_id text default '')
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor     text;
  v_variables jsonb;
  v_instance  uuid;
  v_scope     uuid := bpm_core.root_scope();
  v_local     jsonb;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if bpm_core.variables_fault(p_variables) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_variables));
  end if;
  v_variables := bpm_core.decode_variables(p_variables);
  perform bpm_core.lock_instances_of_process(p_tenant_id, p_process_instance_id);
  select w.id into v_instance
    from (select w.tenant_id, w.id, w.ends_process, w.status from bpm_core.workflow_instance w where w.process_instance_id = p_process_instance_id offset 0) w
   where w.tenant_id = p_tenant_id and w.ends_process and w.status in ('Running', 'Suspended');
  if p_token_id is not null then
    select p.instance_id, p.scope_id into v_instance, v_scope from bpm_core.place_of(p_tenant_id, p_process_instance_id, p_token_id) p;
  end if;
  if v_instance is null and bpm_core.patch_process(p_tenant_id, p_process_instance_id, v_variables, p_expected, v_actor) then
    return bpm.get_variables(p_process_instance_id, p_tenant_id => p_tenant_id);
  elsif v_instance is null then
    perform bpm_core.fail('BP409', format('Process instance %s has ended; its variables stay as they are.', p_process_instance_id));
  end if;
  if p_expected is not null then
    perform bpm_core.check_expected((select v.variables from bpm_core.token_variables(p_tenant_id, v_instance, v_scope) v), p_expected);
  end if;
  v_local := bpm_core.local_names(p_tenant_id, v_scope, v_variables);
  update bpm_core.workflow_instance w
     set variables = w.variables || bpm_core.patch_scopes(p_tenant_id, v_scope, v_variables), lock_version = w.lock_version + 1
   where w.tenant_id = p_tenant_id and w.id = v_instance;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, actor, detail)
  values (p_tenant_id, v_instance, bpm_core.now(), 'VariablesSet', v_actor, jsonb_build_object('variables', v_variables) || v_local);
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'SetVariables', 'process_instance', p_process_instance_id::text, null, null,
    jsonb_build_object('names', (select jsonb_agg(k.name) from jsonb_object_keys(v_variables) k(name))));
  perform bpm_core.recheck_conditions(p_tenant_id, array[v_instance]);
  return (select v.variables from bpm_core.token_variables(p_tenant_id, v_instance, v_scope) v);
end
$$;
