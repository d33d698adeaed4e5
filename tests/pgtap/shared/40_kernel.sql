-- Helpers of the tests of flow and work. Loaded once into the test database; tests roll back everything they do with them.

-- Deploys one process: start → the elements and flows of p_body, which says where start leads.
create or replace function test.deploy(p_code text, p_body text, p_outside text default '')
returns void
language sql
as $$ select from bpm.deploy_bpmn(test.bpmn(p_code, '<startEvent id="start"/>' || p_body, p_outside)) $$;

-- A service task whose type is its id, with attributes of ours ('bpm:retries="2"').
create or replace function test.service(p_id text, p_attributes text default '')
returns text
language sql
as $$ select format('<serviceTask id="%1$s" bpm:type="%1$s" %2$s/>', p_id, p_attributes) $$;

-- An exclusive gateway's flow with a condition; its id is source_target.
create or replace function test.when(p_pair text, p_condition text)
returns text
language sql
as $$
  select format('<sequenceFlow id="%1$s_%2$s" sourceRef="%1$s" targetRef="%2$s"><conditionExpression>%3$s</conditionExpression></sequenceFlow>',
                split_part(p_pair, '>', 1), split_part(p_pair, '>', 2), replace(replace(p_condition, '&', '&amp;'), '<', '&lt;'))
$$;

-- A timer event: boundary of p_host, or intermediate when p_host is null. p_rule: '<timeDuration>PT1S</timeDuration>'.
create or replace function test.timer(p_id text, p_rule text, p_host text default null, p_interrupting boolean default true)
returns text
language sql
as $$
  select case when p_host is null then format('<intermediateCatchEvent id="%s"><timerEventDefinition>%s</timerEventDefinition></intermediateCatchEvent>', p_id, p_rule)
              else format('<boundaryEvent id="%s" attachedToRef="%s" cancelActivity="%s"><timerEventDefinition>%s</timerEventDefinition></boundaryEvent>',
                          p_id, p_host, p_interrupting::text, p_rule) end
$$;

-- The items of a set-based command on claimed tasks: their ids and fences, each with what p_more says.
create or replace function test.items(p_tasks jsonb, p_more jsonb default '{}')
returns jsonb
language sql
as $$
  select coalesce(jsonb_agg(jsonb_build_object('task_id', t.task -> 'task_id', 'fencing_token', t.task -> 'fencing_token') || p_more order by t.n), '[]')
    from jsonb_array_elements(p_tasks) with ordinality t(task, n)
$$;

-- What one picker of a tick did; 'all' for everything.
create or replace function test.tick(p_kind text default 'all', p_limit integer default 100)
returns integer
language sql
as $$
  select sum(d.value::integer)::integer
    from bpm.tick(p_limit) k
   cross join lateral jsonb_each_text(k.done) d
   where p_kind in (d.key, 'all')
$$;

-- How often each kind of history was written for a process instance, as one line in order of first appearance: {TaskRetried 2,TaskCompleted 1}.
create or replace function test.history(p_process_instance_id uuid, p_pattern text default '%')
returns text[]
language sql
as $$
  select coalesce(array_agg(h.kind || ' ' || h.times order by h.first), '{}')
    from (select h.kind, count(*) as times, min(h.seq) as first
            from bpm.get_history(p_process_instance_id, 10000) h
           where h.kind like p_pattern
           group by h.kind) h
$$;

-- The open incidents of a process instance, as "code node".
create or replace function test.incidents(p_process_instance_id uuid)
returns text[]
language sql
as $$
  select coalesce(array_agg(concat_ws(' ', i.code, i.node_id) order by i.incident_id), '{}')
    from bpm.incident i
   where i.process_instance_id = p_process_instance_id and i.state = 'Open'
$$;

-- How many tokens went through each node, as {a 2,b 1} in order of node; nodes that tokens only leave count as well.
create or replace function test.visits(p_process_instance_id uuid, p_node text)
returns bigint
language sql
as $$ select count(*) from bpm.get_history(p_process_instance_id, 10000) h where h.node_id = p_node and h.kind in ('TaskCompleted', 'TokenMoved', 'FlowChosen', 'JoinFired', 'TokenCompleted', 'TokenForked') $$;
