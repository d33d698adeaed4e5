-- I-07: a live task has exactly one live token, resting where the task stands; a token has at most one live task. The other way round:
-- a token that rests at a task node has its task, or the answer to it is parked or reviewed.
create or replace function bpm_core.invariant_i_07(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-07', t.tenant_id, 'task', t.id::text, 'a live task without a live token at its node and visit',
           jsonb_build_object('state', t.state, 'node', t.node_id, 'visit', t.visit, 'token_state', k.state, 'token_node', k.node_id, 'token_visit', k.visit))
    from bpm_core.task_instance t
    left join bpm_core.token k on k.tenant_id = t.tenant_id and k.id = t.token_id
   where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Held')
     and (k.id is null or k.state in ('Completed', 'Terminated') or k.node_id <> t.node_id or k.visit <> t.visit)
  union all
  select bpm_core.violation_of('I-07', p_tenant_id, 'token', t.token_id::text, 'a token with several live tasks',
           jsonb_build_object('tasks', array_agg(t.id order by t.id)))
    from bpm_core.task_instance t
   where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Held')
   group by t.token_id
  having count(*) > 1
  union all
  select bpm_core.violation_of('I-07', k.tenant_id, 'token', k.id::text, 'a token waits at a task node without a task',
           jsonb_build_object('node', k.node_id, 'visit', k.visit))
    from bpm_core.token k
    join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id
    join bpm_core.workflow_node n on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = k.node_id
   where k.tenant_id = p_tenant_id and k.state = 'Waiting' and n.kind in ('ServiceTask', 'UserTask')
     and not exists (select
                       from bpm_core.task_instance t
                      where t.tenant_id = k.tenant_id and t.workflow_instance_id = k.workflow_instance_id and t.token_id = k.id
                        and t.visit = k.visit and t.state in ('Ready', 'Executing', 'Held'))
     and not exists (select
                       from bpm_core.inbox i
                      where i.tenant_id = k.tenant_id and i.target_id = k.workflow_instance_id and i.kind = 'Answer'
                        and (i.payload ->> 'token' = k.id::text
                             or i.payload -> 'answers' @> jsonb_build_array(jsonb_build_object('token', k.id))))
     and not exists (select
                       from bpm_core.review r
                       join bpm_core.task_instance t on t.tenant_id = r.tenant_id and t.id = r.task_instance_id
                      where r.tenant_id = k.tenant_id and r.token_id = k.id and r.state = 'Open' and t.visit = k.visit)
  ) q(v);
end
$$;
