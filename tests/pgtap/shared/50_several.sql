-- Processes of several workflows, for tests.

-- Deploys workflows of one service task each: w_a with the task a.
create or replace function test.single_steps(variadic p_types text[])
returns void
language sql
as $$ select bpm.deploy_bpmn(test.linear('w_' || x.type, x.type)) from unnest(p_types) x(type) $$;

-- Publishes a process that runs workflows deployed before. p_bindings: [{"key", "workflow" (else w_ and the key), "depends_on": […], "condition"}, …], in order
-- of position. Returns its version.
create or replace function test.several(p_code text, p_bindings jsonb)
returns integer
language sql
as $$
  select p.version
    from bpm.publish_process(p_code, (
           select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                    'binding_key', b.item -> 'key', 'workflow', coalesce(b.item ->> 'workflow', 'w_' || (b.item ->> 'key')),
                    'depends_on', b.item -> 'depends_on', 'start_condition', b.item -> 'condition')) order by b.n)
             from jsonb_array_elements(p_bindings) with ordinality b(item, n))) p
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
