-- Deploys a BPMN file: every executable process in it becomes a workflow version, and a version of the process of that code that runs it alone (binding
-- main) and can be started.
-- Returns:  one row per process; is_new is false when the current or an older published version is identical. Warnings are those of the
--           whole file: [{code, message, node_id, flow_id, line, hint}].
-- Raises:   BP422 the file has faults; nothing is stored; detail {"faults": […], "warnings": […]} has all of them. BP400 null, or no text
--           for p_name. BP403.
-- Writes:   what store_workflow_version and store_process_version write (publish_workflow and publish_process store by the same), task and role
--           versions that are missing, audit_event.
-- Locks:    process_definition, workflow_definition and then task_definition rows, each sorted by code.
create or replace function bpm.deploy_bpmn(p_xml text, p_name text default null, p_actor text default null, p_strict boolean default false, p_tenant_id text default '')
returns table (code text, version integer, is_new boolean, warnings jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor     text;
  v_processes bpm_core.draft_process[];
  v_process   bpm_core.draft_process;
  v_nodes     bpm_core.draft_node[];
  v_flows     bpm_core.draft_flow[];
  v_findings  bpm_core.finding[];
  v_role      uuid;
  v_codes     text[];
  v_moved     boolean;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if p_xml is null or length(btrim(p_name)) not between 1 and 200 then
    perform bpm_core.fail('BP400', 'deploy_bpmn needs the text of a BPMN file, and a name of at most 200 characters if any.');
  end if;
  select c.processes, c.nodes, c.flows, c.findings into v_processes, v_nodes, v_flows, v_findings
    from bpm_core.compile_text(p_xml, p_strict, p_tenant_id) c;
  perform bpm_core.refuse_faults(v_findings);
  warnings := bpm_core.findings_json(v_findings, 'warning');

  v_codes := array(select p.process_id from unnest(v_processes) p where p.deployed);
  perform bpm_core.lock_processes(p_tenant_id, v_codes);
  perform bpm_core.lock_workflows(p_tenant_id, v_codes);
  perform bpm_core.ensure_tasks(p_tenant_id, array(select distinct n.task_type from unnest(v_nodes) n where n.task_type is not null), v_actor);
  foreach v_process in array v_processes loop
    continue when not v_process.deployed;
    v_process.name := coalesce(p_name, v_process.name);
    code := v_process.process_id;
    v_role := bpm_core.ensure_role(p_tenant_id, coalesce(v_process.owner_role, 'default'), v_actor);
    select s.version, s.is_new, s.moved into version, is_new, v_moved
      from bpm_core.store_workflow_version(p_tenant_id, code, v_process, v_nodes, v_flows, p_xml, v_role, '{}', v_actor) w
     cross join lateral bpm_core.store_process_version(p_tenant_id, code, v_process.name, bpm_core.main_binding(w.version_id), v_actor) s;
    if v_moved then
      perform bpm_core.write_audit(p_tenant_id, v_actor, 'DeployProcess', 'process', code, version, null,
        jsonb_build_object('is_new', is_new, 'warnings', jsonb_array_length(warnings)));
    end if;
    return next;
  end loop;
end
$$;
