-- A result that was rejected: the BPMN error ReviewRejected is raised where the token rests; where nobody catches it, an incident. Resolving that does the step anew.
-- Writes:   workflow_instance, history_event, and what the path ahead writes.
create or replace function bpm_core.refuse_result(p_review bpm_core.review, p_reason text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_token    bpm_core.moving := (
    select row(t.tenant_id, t.workflow_instance_id, w.workflow_version_id, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
      from bpm_core.token t
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     where t.tenant_id = p_review.tenant_id and t.id = p_review.token_id);
begin
  perform bpm_core.bump_instances(p_review.tenant_id, array[p_review.workflow_instance_id]);
  if cardinality(bpm_core.raise_errors(array[row(1, v_token, 'ReviewRejected', p_reason)::bpm_core.thrown])) > 0 then
    perform bpm_core.close_waits(array[v_token]);
    perform bpm_core.open_incidents(array[
      row(v_token, 'ReviewRejected', format('The result of %s was rejected: %s', v_token.node_id, p_reason),
          jsonb_build_object('review', p_review.id, 'rejected', p_review.task_instance_id))::bpm_core.trouble]);
  end if;
end
$$;
