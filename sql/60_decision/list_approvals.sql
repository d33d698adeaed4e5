-- Which decisions can this person take: open, not too late, not voted on by them, and nothing bars them. Oldest first. Those others have claimed are among
-- them: whoever is at it keeps nobody else from it. p_after: the last approval of the page before. p_groups: the groups the person is in, as the caller knows.
-- Returns:  rows: approval_id, process_instance_id, business_key, node_id, node_name, task_type, required_approvals, approvals (so far), expires_at,
--           is_escalated (that is why they may), created_at, claimed_by (who is at it), approver_groups.
-- Raises:   BP403, BP422 limit not 1 to 1000, or groups refused.
create or replace function bpm.list_approvals(
  p_actor text default null, p_limit integer default 100, p_after uuid default null, p_groups text[] default '{}', p_tenant_id text default '')
returns table (approval_id uuid, process_instance_id uuid, business_key text, node_id text, node_name text, task_type text, required_approvals integer,
               approvals integer, expires_at timestamptz, is_escalated boolean, created_at timestamptz, claimed_by text[], approver_groups text[])
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
  perform bpm_core.check_groups(p_groups);
  return query
  select a.id, w.process_instance_id, p.business_key, a.node_id, n.name, a.task_type, a.required_approvals,
         (select count(*)::integer from bpm_core.approval_vote v where v.tenant_id = a.tenant_id and v.approval_id = a.id and v.vote = 'Approve'),
         a.expires_at, coalesce(a.escalated_at is not null and a.escalate_to = v_actor and not bpm_core.is_asked(a, v_actor, p_groups), false), a.created_at,
         a.claimed_by, a.approver_groups
    from bpm_core.approval_record a
   cross join lateral (select w.process_instance_id, w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id offset 0) w
   cross join lateral (select p.business_key from bpm_core.process_instance p where p.tenant_id = a.tenant_id and p.id = w.process_instance_id offset 0) p
   cross join lateral (select n.name from bpm_core.workflow_node n
                        where n.tenant_id = a.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = a.node_id offset 0) n
   where a.status = 'Pending' and a.tenant_id = p_tenant_id
     and (p_after is null or (a.created_at, a.id) > (select l.created_at, l.id from bpm_core.approval_record l where l.tenant_id = p_tenant_id and l.id = p_after))
     and (a.expires_at is null or a.expires_at > bpm_core.now())
     and not exists (select from bpm_core.approval_vote v where v.tenant_id = a.tenant_id and v.approval_id = a.id and v.actor = v_actor)
     and bpm_core.approval_bar(a, v_actor, p_groups) is null
   order by a.created_at, a.id
   limit p_limit;
end
$$;
