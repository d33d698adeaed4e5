-- Publishes a process that runs several workflows (or one): which versions, in which order, and when each starts. An identical version that is not
-- deprecated becomes the current one again. What runs stays with the version it was started with.
-- p_bindings: [{"binding_key", "workflow" (code), "version" (null: the published one), "position" (default: as they stand), "depends_on": [binding keys],
-- "start_condition": expression over the variables of the process}], 1 to 100. A binding without depends_on starts with the process, the others when all
-- they depend on are completed or skipped; one whose condition is false is skipped. Keys that start with call: are reserved.
-- A workflow with a message, signal or timer start can only be the one workflow of a process, without a condition.
-- Returns:  version, and whether it is new.
-- Raises:   BP400 no code, name too long, bindings not of that form. BP422 what they say does not hold: unknown or archived workflow, unknown key,
--           cycle, unreadable condition, …; detail {"faults": [{code, binding_key, message}]} has all of them. BP403. BP503 it was deleted meanwhile.
-- Writes:   process_definition, what store_process_version writes, audit_event.
-- Locks:    the process_definition row.
create or replace function bpm.publish_process(
  p_code text, p_bindings jsonb, p_name text default null, p_actor text default null, p_tenant_id text default '')
returns table (version integer, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor    text;
  v_code     text := btrim(p_code);
  v_drafts   bpm_core.draft_binding[];
  v_bindings bpm_core.process_workflow_binding[];
  v_moved    boolean;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if not bpm_core.is_code(p_code) or length(btrim(p_name)) not between 1 and 200 then
    perform bpm_core.fail('BP400', 'publish_process needs a code of 1 to 200 characters, and a name of at most 200 characters if any.');
  end if;
  perform bpm_core.check_bindings(p_bindings);
  perform bpm_core.lock_processes(p_tenant_id, array[v_code]);
  v_drafts := bpm_core.draft_bindings(p_tenant_id, p_bindings);
  perform bpm_core.refuse_bindings(v_code, v_drafts);
  v_bindings := array(
    select row(null, null, b.binding_key, b.workflow_version_id, b.position, b.depends_on, b.start_condition, b.start_tree, b.start_source)::bpm_core.process_workflow_binding
      from unnest(v_drafts) b
     order by b.position);
  select s.version, s.is_new, s.moved into version, is_new, v_moved
    from bpm_core.store_process_version(p_tenant_id, v_code, p_name, v_bindings, v_actor) s;
  if v_moved then
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'PublishProcess', 'process', v_code, version, null,
      jsonb_build_object('is_new', is_new, 'bindings', array(select b.binding_key from unnest(v_drafts) b order by b.position)));
  end if;
  return next;
end
$$;
