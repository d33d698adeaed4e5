-- Under the instance locks: applies answers that were parked while their instance was suspended. One whose token no longer stands there
-- (the instance was cancelled) is void; the result is kept all the same. The node is the token's: the instance may have been migrated.
-- Writes:   history_event, and what continue_accepted or apply_error write.
create or replace function bpm_core.apply_answers(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_accepted bpm_core.accepted[];
  v_unmapped bpm_core.unmapped[];
begin
  with answer as materialized (
    select row_number() over (order by r.id, a.n)::integer as n, (a.answer ->> 'task')::uuid as task_id, a.answer -> 'variables' as variables
      from unnest(p_rows) r
     cross join lateral jsonb_array_elements(r.payload -> 'answers') with ordinality a(answer, n)),
  standing as materialized (
    select a.n, a.variables, t.id, t.workflow_instance_id, t.token_id, t.attempt, t.worker_id, t.scope_id, t.outputs, t.input, k.node_id
      from answer a
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = a.task_id offset 0) t
     cross join lateral (select k.state, k.visit, k.node_id from bpm_core.token k where k.tenant_id = t.tenant_id and k.id = t.token_id offset 0) k
     where k.state = 'Waiting' and k.visit = t.visit),
  mapped as materialized (
    select s.*, coalesce(m.patch, case when m.problem is null then s.variables else '{}' end) as patch, m.problem, m.detail
      from standing s
      left join lateral (select m.* from bpm_core.mapped_outputs(p_tenant_id, s.workflow_instance_id, s.scope_id, s.outputs, s.input, s.variables) m
                          where s.outputs is not null offset 0) m on true),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
    select p_tenant_id, s.workflow_instance_id, bpm_core.now(), 'TaskCompleted', s.token_id, s.node_id, s.worker_id,
           jsonb_build_object('task', s.id, 'attempt', s.attempt, 'variables', s.patch)
           || case when s.scope_id is null then '{}' else bpm_core.local_names(p_tenant_id, s.scope_id, s.patch) end
      from mapped s
     order by s.n)
  select array_agg(row(s.n, s.id, s.workflow_instance_id, s.token_id, s.node_id, s.attempt, s.patch, s.scope_id)::bpm_core.accepted order by s.n) filter (where s.problem is null),
         array_agg(row(row(s.n, s.id, s.workflow_instance_id, s.token_id, s.node_id, s.attempt, s.patch, s.scope_id), s.problem, s.detail)::bpm_core.unmapped)
           filter (where s.problem is not null)
    into v_accepted, v_unmapped
    from mapped s;
  if v_unmapped is not null then
    perform bpm_core.stop_unmapped(p_tenant_id, v_unmapped);
  end if;
  if v_accepted is not null then
    perform bpm_core.continue_accepted(p_tenant_id, v_accepted);
  end if;
  perform bpm_core.apply_error(p_tenant_id, r.payload) from unnest(p_rows) r where r.payload ? 'error';
end
$$;
