-- I-21: the version an instance is pinned to never changes under it: neither which one it is, nor what it says.
create or replace function bpm_core.invariant_i_21(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-21', w.tenant_id, 'workflow_instance', w.id::text, 'pinned to another version than at its start',
           jsonb_build_object('started_with', h.detail ->> 'workflow_version', 'is', w.workflow_version_id))
    from bpm_core.workflow_instance w
    join bpm_core.history_event h on h.tenant_id = w.tenant_id and h.workflow_instance_id = w.id and h.kind = 'InstanceStarted'
   where w.tenant_id = p_tenant_id and (h.detail ->> 'workflow_version')::uuid <> w.workflow_version_id
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
     ('its file is not the one that was published', v.checksum <> sha256(convert_to(v.bpmn_xml, 'UTF8')))) x(rule, broken)
   where v.tenant_id = p_tenant_id and v.status <> 'Draft' and x.broken
$$;
