-- The workflows of processes of several whose turn has come: not begun, and all they depend on has ended. What becomes of each its start condition says.
-- p_starts: processes; those just being started (p_first) carry the ids drawn for the workflow that begins first.
-- Returns:  due_binding[], per process in order of position. The processes are locked, or nobody knows them yet.
create or replace function bpm_core.due_bindings(p_tenant_id text, p_starts bpm_core.start[], p_first boolean)
returns bpm_core.due_binding[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select row(s.process_instance_id, (b.binding).binding_key, (b.binding).position, (b.binding).workflow_version_id, v.owner_role_version_id,
               case when f.is_first then s.workflow_instance_id else bpm_core.new_id() end,
               case when f.is_first then s.token_id else bpm_core.new_id() end,
               n.node_id, t.fate, t.code, t.message, t.detail, case when f.is_first then s.cause end)::bpm_core.due_binding
      from unnest(p_starts) s
     cross join lateral (
       select p.process_version_id, p.status, p.variables, p.ended_bindings
         from bpm_core.process_instance p
        where p.tenant_id = p_tenant_id and p.id = s.process_instance_id
       offset 0) p
     cross join lateral (
       select q.binding, row_number() over (order by (q.binding).position) as place
         from (select b as binding from bpm_core.process_workflow_binding b
                where b.tenant_id = p_tenant_id and b.process_version_id = p.process_version_id offset 0) q
        where (q.binding).depends_on <@ (p.ended_bindings collate "C")
          and not exists (
            select from (select w.tenant_id from bpm_core.workflow_instance w
                          where w.process_instance_id = s.process_instance_id and w.binding_key = (q.binding).binding_key and w.trigger_key = '' offset 0) w
             where w.tenant_id = p_tenant_id)) b
     cross join lateral (select p_first and b.place = 1 as is_first) f
     cross join lateral (select v.owner_role_version_id from bpm_core.workflow_version v
                          where v.tenant_id = p_tenant_id and v.id = (b.binding).workflow_version_id offset 0) v
     cross join lateral (
       select coalesce(case when f.is_first then s.start_node_id end, bpm_core.plain_start(p_tenant_id, (b.binding).workflow_version_id)) as node_id offset 0) n
     cross join lateral bpm_core.judge_start(b.binding, n.node_id, p.variables) t
     where p.status = 'Running'
     order by s.item, s.process_instance_id, (b.binding).position);
end
$$;
