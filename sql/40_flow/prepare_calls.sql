-- Finds what call activities call: which version, with which variables; or why it cannot be called.
-- p_hosts rest at their call activities. Returns: call[], one per host that is not stopped yet.
create or replace function bpm_core.prepare_calls(p_hosts bpm_core.moving[])
returns bpm_core.call[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_depth integer := (bpm_core.setting_value('engine.max_call_depth', '100'))::integer;
begin
  return array(
    select row(h, w.process_instance_id, c.code, s.process_version_id, s.workflow_version_id, s.role_version_id, s.start_node_id, bpm_core.new_id(),
               bpm_core.new_id(), t.visit, w.depth + 1, i.mapped,
               row(h,
               case when c.code is null then 'CalledProcessMissing' when w.depth >= v_depth then 'CallTooDeep'
                    when s.workflow_version_id is null then 'CalledProcessMissing' when s.is_several then 'CalledProcessOfSeveral' when i.mapped is null then 'ExpressionUndecidable' end,
               case when c.code is null then format('Call activity %s: its expression gives no process.', h.node_id)
                    when w.depth >= v_depth then format('Call activity %s would be call number %s, one in the other; the limit is %s.', h.node_id, w.depth + 1, v_depth)
                    when s.workflow_version_id is null
                      then format('Call activity %s calls %s, which has no version that can be started (binding %s).', h.node_id, c.code, n.spec ->> 'binding')
                    when s.is_several then format('Call activity %s calls %s, a process of several workflows; only one of a single workflow can be called.', h.node_id, c.code)
                    when i.mapped is null then format('Call activity %s: the input %s cannot be decided.', h.node_id, i.failed ->> 'target') end,
               jsonb_strip_nulls(jsonb_build_object('process', c.code, 'binding', n.spec ->> 'binding', 'version', n.spec -> 'version', 'depth', w.depth + 1, 'mapping', i.failed)))::bpm_core.trouble
             )::bpm_core.call
      from unnest(p_hosts) h
     cross join lateral (select t.visit, t.state from bpm_core.token t where t.tenant_id = h.tenant_id and t.id = h.token_id offset 0) t
     cross join lateral (select n.expressions -> 'call' as spec from bpm_core.workflow_node n
                          where n.tenant_id = h.tenant_id and n.workflow_version_id = h.version_id and n.node_id = h.node_id offset 0) n
     cross join lateral (select w.process_instance_id, w.depth from bpm_core.workflow_instance w
                          where w.tenant_id = h.tenant_id and w.id = h.instance_id offset 0) w
     cross join lateral bpm_core.token_variables(h.tenant_id, h.instance_id, h.scope_id) v
     cross join lateral (select bpm_core.evaluate_text(n.spec -> 'code', v.variables) as code offset 0) c
      left join lateral bpm_core.called_version(h.tenant_id, c.code, n.spec ->> 'binding', (n.spec ->> 'version')::integer, h.version_id) s on true
     cross join lateral (
       select case when not n.spec ? 'inputs' then v.variables when n.spec ? 'all_in' then v.variables || m.mapped else m.mapped end as mapped, m.failed
         from bpm_core.map_values(coalesce(n.spec -> 'inputs', '[]'), v.variables) m) i
     where t.state = 'Waiting');
end
$$;
