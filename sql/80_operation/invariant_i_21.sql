-- I-21: the version an instance is pinned to never changes under it, but by an audited migration: neither which one it is, nor what it says.
create or replace function bpm_core.invariant_i_21(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-21', w.tenant_id, 'workflow_instance', w.id::text, 'pinned to another version than at its start or by a migration',
           jsonb_build_object('started_with', h.detail ->> 'workflow_version', 'migrated_to', m.to_version_id, 'is', w.workflow_version_id))
    from bpm_core.workflow_instance w
    join bpm_core.history_event h on h.tenant_id = w.tenant_id and h.workflow_instance_id = w.id and h.kind = 'InstanceStarted'
    left join lateral (select m.to_version_id from bpm_core.instance_migration m
                        where m.tenant_id = w.tenant_id and m.workflow_instance_id = w.id
                        order by m.seq desc
                        limit 1) m on true
   where w.tenant_id = p_tenant_id and coalesce(m.to_version_id, (h.detail ->> 'workflow_version')::uuid) <> w.workflow_version_id
  union all
  select bpm_core.violation_of('I-21', m.tenant_id, 'workflow_instance', m.workflow_instance_id::text, 'a migration that history or the audit does not tell of',
           jsonb_build_object('seq', m.seq, 'from', m.from_version_id, 'to', m.to_version_id))
    from bpm_core.instance_migration m
    join bpm_core.workflow_instance w on w.tenant_id = m.tenant_id and w.id = m.workflow_instance_id
    left join bpm_core.history_event h on h.tenant_id = m.tenant_id and h.workflow_instance_id = m.workflow_instance_id and h.seq = m.seq
   where m.tenant_id = p_tenant_id and w.created_at >= (select bpm_core.history_since())
     and (h.kind is distinct from 'InstanceMigrated' or h.detail ->> 'from' is distinct from m.from_version_id::text
          or h.detail ->> 'to' is distinct from m.to_version_id::text
          or not exists (select
                           from bpm_core.audit_event e
                          where e.tenant_id = m.tenant_id and e.aggregate_type = 'process_instance' and e.aggregate_id = w.process_instance_id::text
                            and e.action = 'MigrateProcess'))
  union all
  select bpm_core.violation_of('I-21', w.tenant_id, 'workflow_instance', w.id::text, 'its workflow version is not the one its process version binds',
           jsonb_build_object('bound', b.workflow_version_id, 'is', w.workflow_version_id))
    from bpm_core.workflow_instance w
    join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
    left join bpm_core.process_workflow_binding b
      on b.tenant_id = w.tenant_id and b.process_version_id = p.process_version_id and b.binding_key = w.binding_key
   where w.tenant_id = p_tenant_id and w.parent_token_id is null and b.workflow_version_id is distinct from w.workflow_version_id
  union all
  select bpm_core.violation_of('I-21', v.tenant_id, 'workflow_version', v.id::text, x.rule, jsonb_build_object('version', v.version, 'status', v.status))
    from bpm_core.workflow_version v
   cross join lateral (values
     ('its rows are not the graph that was published',
      v.graph is distinct from bpm_core.graph_of(
        array(select n from bpm_core.workflow_node n where n.tenant_id = v.tenant_id and n.workflow_version_id = v.id),
        array(select f from bpm_core.workflow_flow f where f.tenant_id = v.tenant_id and f.workflow_version_id = v.id),
        array(select b from bpm_core.workflow_task_binding b where b.tenant_id = v.tenant_id and b.workflow_version_id = v.id))),
     ('its start event is not the one of its graph',
      v.start_node_id is distinct from (select min(n.node_id) from bpm_core.workflow_node n
                                         where n.tenant_id = v.tenant_id and n.workflow_version_id = v.id and n.kind = 'StartEvent' and n.scope_node_id is null)),
     ('its file is not the one that was published', v.checksum <> sha256(convert_to(v.bpmn_xml, 'UTF8')))) x(rule, broken)
   where v.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-21', v.tenant_id, 'process_version', v.id::text, 'its bindings are not those that were published', jsonb_build_object('version', v.version, 'status', v.status))
    from bpm_core.process_version v
   where v.tenant_id = p_tenant_id
     and v.content_hash <> bpm_core.process_content_hash(v.name, array(
           select b from bpm_core.process_workflow_binding b where b.tenant_id = v.tenant_id and b.process_version_id = v.id))
  union all
  select bpm_core.violation_of('I-21', v.tenant_id, 'process_version', v.id::text, 'what it says of its bindings is not so', jsonb_build_object('version', v.version, 'status', v.status))
    from bpm_core.process_version v
   cross join lateral (
     select (array_agg(b.workflow_version_id order by b.depends_on <> '{}', b.position))[1] as first_one, bool_or(b.binding_key <> 'main' or b.start_source is not null) as is_several
       from bpm_core.process_workflow_binding b
      where b.tenant_id = v.tenant_id and b.process_version_id = v.id) b
   where v.tenant_id = p_tenant_id and (v.first_workflow_version_id is distinct from b.first_one or v.is_several is distinct from b.is_several)
  union all
  select bpm_core.violation_of('I-21', v.tenant_id, 'task_version', v.id::text, 'it is not what was published', jsonb_build_object('task_type', v.task_type, 'version', v.version))
    from bpm_core.task_version v
   where v.tenant_id = p_tenant_id and v.content_hash <> bpm_core.task_content_hash(v)
  union all
  select bpm_core.violation_of('I-21', v.tenant_id, 'role_version', v.id::text, 'it is not what was published', jsonb_build_object('version', v.version))
    from bpm_core.role_version v
   where v.tenant_id = p_tenant_id
     and v.content_hash <> sha256(convert_to(jsonb_build_object('responsibilities', v.responsibilities, 'policy', v.policy, 'capabilities', v.capabilities,
                                                                'context_profile', v.context_profile)::text, 'UTF8'))
  ) q(v);
end
$$;
