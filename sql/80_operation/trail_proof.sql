-- What a row of history rests on: the evidence of a vote or an accepted result, the facts that came with it, the command as it is now with its receipt.
-- Returns:  one row; null where there is none.
create or replace function bpm_core.trail_proof(
  p_tenant_id text, p_kind text, p_actor text, p_detail jsonb, out evidence jsonb, out facts jsonb, out command jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_evidence uuid[];
begin
  case
    when p_kind in ('ApprovalDecided', 'ApprovalVoted') then
      select v.evidence_ids into v_evidence
        from bpm_core.approval_vote v
       where v.tenant_id = p_tenant_id and v.approval_id = (p_detail ->> 'approval')::uuid and v.actor = p_actor;
    when p_kind = 'TaskCompleted' then
      v_evidence := array(
        select e.evidence_id from bpm_core.result_evidence e
         where e.tenant_id = p_tenant_id and e.task_instance_id = (p_detail ->> 'task')::uuid and e.attempt = (p_detail ->> 'attempt')::integer
         order by e.evidence_id);
      select jsonb_agg(jsonb_build_object('subject', s.subject_type || ' ' || s.subject_key, 'name', f.name, 'value', f.value) order by s.subject_type, s.subject_key, f.name)
        into facts
        from (select f.tenant_id, f.subject_id, f.name, f.value from bpm_core.fact f
               where f.task_instance_id = (p_detail ->> 'task')::uuid and f.attempt = (p_detail ->> 'attempt')::integer offset 0) f
       cross join lateral (select s.subject_type, s.subject_key from bpm_core.subject s where s.tenant_id = f.tenant_id and s.id = f.subject_id offset 0) s
       where f.tenant_id = p_tenant_id;
    when p_detail ? 'command' then
      select jsonb_build_object('command_id', o.command_id, 'destination', o.destination_code, 'state', o.state, 'attempt', o.attempt,
                                'receipt', o.receipt, 'error', o.last_error)
        into command
        from bpm_core.outbox o
       where o.command_id = (p_detail ->> 'command')::uuid and o.tenant_id = p_tenant_id;
    else
      null;
  end case;
  select jsonb_agg(jsonb_build_object('evidence_id', e.id, 'object_key', e.object_key, 'sha256', encode(e.sha256, 'hex')) order by k.n) into evidence
    from (select p_tenant_id as tenant_id, k.* from unnest(v_evidence) with ordinality k(id, n) offset 0) k
   cross join lateral (select e.* from bpm_core.evidence e where e.tenant_id = k.tenant_id and e.id = k.id offset 0) e;
end
$$;
