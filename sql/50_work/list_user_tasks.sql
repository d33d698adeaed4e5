-- What can this person do: open user tasks that are theirs, or nobody's and meant for them, one of their groups or everybody. The engine does not know who is
-- in a group, so the caller says. Who is excluded sees none; what is to be looked at later comes later, unless it is theirs. Most urgent first, then oldest.
-- p_after: the last task of the page before.
-- Returns:  rows: task_id, process_instance_id, business_key, node_id, node_name, assignee, owner, delegation, candidate_groups, candidate_users,
--           priority_level, due_at, follow_up_at, fencing_token, available_at.
-- Raises:   BP403, BP422 limit not 1 to 1000.
create or replace function bpm.list_user_tasks(
  p_actor text default null, p_groups text[] default '{}', p_limit integer default 100, p_after uuid default null, p_tenant_id text default '')
returns table (task_id uuid, process_instance_id uuid, business_key text, node_id text, node_name text, assignee text, owner text, delegation text,
               candidate_groups text[], candidate_users text[], priority_level smallint, due_at timestamptz, follow_up_at timestamptz, fencing_token bigint,
               available_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_actor text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_limit(p_limit);
  return query
  select t.id, w.process_instance_id, p.business_key, t.node_id, n.name, t.assignee, t.owner, t.delegation::text, t.candidate_groups, t.candidate_users,
         t.priority_level, t.due_at, t.follow_up_at, t.fencing_token, t.available_at
    from bpm_core.task_instance t
   cross join lateral (select w.process_instance_id, w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   cross join lateral (select p.business_key from bpm_core.process_instance p where p.tenant_id = t.tenant_id and p.id = w.process_instance_id offset 0) p
   cross join lateral (select n.name from bpm_core.workflow_node n
                        where n.tenant_id = t.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = t.node_id offset 0) n
   where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = 'bpm:user'
     and (t.assignee = v_actor
          or t.assignee is null and (t.follow_up_at is null or t.follow_up_at <= bpm_core.now())
             and (coalesce(cardinality(t.candidate_users), 0) = 0 and coalesce(cardinality(t.candidate_groups), 0) = 0
                  or v_actor = any (t.candidate_users) or t.candidate_groups && p_groups))
     and (p_after is null or (t.priority_level, t.available_at, t.id)
            > (select l.priority_level, l.available_at, l.id from bpm_core.task_instance l where l.tenant_id = p_tenant_id and l.id = p_after))
     and bpm_core.exclusion_of(t, v_actor) is null
   order by t.priority_level, t.available_at, t.id
   limit p_limit;
end
$$;
