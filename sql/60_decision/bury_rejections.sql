-- Rejections nobody caught: a dead letter each, which cannot be requeued, and the instances fail with everything in them.
-- No incident: nothing could resolve it.
-- Writes:   dead_letter, and what fail_instances writes.
create or replace function bpm_core.bury_rejections(p_tenant_id text, p_rejected bpm_core.decided_approval[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  if cardinality(p_rejected) = 0 then
    return;
  end if;
  insert into bpm_core.dead_letter (tenant_id, id, workflow_instance_id, token_id, kind, error, variables, created_at)
  select (r.token).tenant_id, bpm_core.new_id(), (r.token).instance_id, (r.token).token_id, 'Approval',
         jsonb_build_object('code', 'ApprovalRejected', 'approval', r.approval_id, 'node', (r.token).node_id, 'status', r.status,
                            'decided_by', r.decided_by, 'message', r.note),
         v.variables, v_now
    from unnest(p_rejected) r
   cross join lateral bpm_core.token_variables((r.token).tenant_id, (r.token).instance_id, (r.token).scope_id) v;
  perform bpm_core.fail_instances(p_tenant_id, array(select (r.token).instance_id from unnest(p_rejected) r),
                                  jsonb_build_object('code', 'ApprovalRejected'));
end
$$;
