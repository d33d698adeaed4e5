-- Processes of several workflows, for tests.

-- Deploys workflows of one service task each: w_a with the task a.
create or replace function test.single_steps(variadic p_types text[])
returns void
language sql
as $$ select bpm.deploy_bpmn(test.linear('w_' || x.type, x.type)) from unnest(p_types) x(type) $$;

-- Publishes a process that runs workflows deployed before. p_bindings: [{"key", "workflow" (else w_ and the key), "depends_on": […], "condition"}, …], in order of
-- position. Returns its version.
create or replace function test.several(p_code text, p_bindings jsonb)
returns integer
language plpgsql
as $$
declare
  v_definition uuid := (select d.id from bpm_core.process_definition d where d.tenant_id = '' and d.code = p_code);
  v_before     uuid := (select d.published_version_id from bpm_core.process_definition d where d.tenant_id = '' and d.code = p_code);
  v_version    uuid := bpm_core.new_id();
  v_number     integer;
begin
  if v_definition is null then
    v_definition := bpm_core.new_id();
    insert into bpm_core.process_definition (id, code, created_at) values (v_definition, p_code, bpm_core.now());
  end if;
  select coalesce(max(v.version), 0) + 1 into v_number from bpm_core.process_version v where v.definition_id = v_definition;
  insert into bpm_core.process_version (id, definition_id, version, status, content_hash, created_by, published_at)
  values (v_version, v_definition, v_number, 'Published', sha256(convert_to(p_bindings::text || v_number, 'UTF8')), 'test', bpm_core.now());
  insert into bpm_core.process_workflow_binding (process_version_id, binding_key, workflow_version_id, position, depends_on, start_condition, condition_tree, condition_source)
  select v_version, b.item ->> 'key', d.published_version_id, b.n, array(select jsonb_array_elements_text(b.item -> 'depends_on')), c.condition, c.tree, b.item ->> 'condition'
    from jsonb_array_elements(p_bindings) with ordinality b(item, n)
    join bpm_core.workflow_definition d on d.tenant_id = '' and d.code = coalesce(b.item ->> 'workflow', 'w_' || (b.item ->> 'key'))
    left join lateral bpm_core.compile_condition(b.item ->> 'condition', null) c on true;
  update bpm_core.process_definition d set published_version_id = v_version where d.id = v_definition;
  perform bpm_core.publish_starts('', v_definition, v_before, v_version);
  return v_number;
end
$$;

-- The workflows of a process, called ones left out, as "key status" in order of position.
create or replace function test.workflows(p_process_instance_id uuid)
returns text[]
language sql
as $$
  select coalesce(array_agg(w.binding_key || ' ' || w.status order by w.position), '{}')
    from bpm.workflow w
   where w.process_instance_id = p_process_instance_id and w.parent_token_id is null
$$;

-- The workflow instance of one binding.
create or replace function test.workflow_of(p_process_instance_id uuid, p_key text)
returns uuid
language sql
as $$
  select w.workflow_instance_id from bpm.workflow w where w.process_instance_id = p_process_instance_id and w.binding_key = p_key and w.parent_token_id is null
$$;
