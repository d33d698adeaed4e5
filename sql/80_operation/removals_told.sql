-- What a trail tells of process instances that retention removed.
-- Returns:  one row each, as get_trail: kind InstanceRemoved; detail {status, created_at, ended_at, workflow_instances} and, as the audit has it, the batch it went with.
create or replace function bpm_core.removals_told(p_tenant_id text, p_removed uuid[], p_after_seq bigint)
returns table (at timestamptz, process_instance_id uuid, seq bigint, kind text, actor text, what text, node_id text, node_name text, version text, note text,
               evidence jsonb, facts jsonb, command jsonb, detail jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select r.removed_at, r.id, r.seq, 'InstanceRemoved', a.actor,
         format('removed with all its rows, %s days after it ended (%s)', floor(extract(epoch from r.removed_at - r.ended_at) / 86400), r.status),
         null, null, d.code || ' ' || v.version, null, null::jsonb, null::jsonb, null::jsonb,
         jsonb_build_object('status', r.status, 'created_at', r.created_at, 'ended_at', r.ended_at, 'workflow_instances', r.workflow_instances,
                            'audit_id', r.audit_id, 'batch', a.detail)
    from (select p_tenant_id as tenant_id, k.id from unnest(p_removed) k(id) offset 0) k
   cross join lateral (select r.* from bpm_core.removed_instance r where r.tenant_id = k.tenant_id and r.id = k.id offset 0) r
    left join lateral (select a.actor, a.detail from bpm_core.audit_event a where a.tenant_id = r.tenant_id and a.id = r.audit_id offset 0) a on true
    left join lateral (select v.definition_id, v.version from bpm_core.process_version v where v.tenant_id = r.tenant_id and v.id = r.process_version_id offset 0) v on true
    left join lateral (select d.code from bpm_core.process_definition d where d.tenant_id = r.tenant_id and d.id = v.definition_id offset 0) d on true
   where r.seq > p_after_seq;
end
$$;
