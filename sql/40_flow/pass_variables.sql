-- Under the locks of the processes: workflows of several have ended well. Their variables become those of the process, in the order of their ends, the later
-- winning; other workflows of the process that wait for conditions ask them again. What a process has heard of already it does not hear again.
-- Writes:   process_instance, history_event (of the workflow that ended), inbox.
create or replace function bpm_core.pass_variables(p_tenant_id text, p_rows bpm_core.inbox[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_passed uuid[];
begin
  with ended as materialized (
    select r.id as row_id, w.process_instance_id, w.id, w.binding_key, case w.status when 'Completed' then w.variables else '{}' end as variables
      from unnest(p_rows) r
     cross join lateral (select w.* from bpm_core.workflow_instance w
                          where w.tenant_id = p_tenant_id and w.id = (r.payload ->> 'workflow')::uuid offset 0) w
     cross join lateral (select p.status, p.ended_bindings from bpm_core.process_instance p
                          where p.tenant_id = p_tenant_id and p.id = w.process_instance_id offset 0) p
     where p.status = 'Running' and w.status in ('Completed', 'Skipped') and w.binding_key <> all (p.ended_bindings collate "C")),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, detail)
    select p_tenant_id, e.id, p_now, 'VariablesPassed', jsonb_build_object('process_variables', e.variables)
      from ended e
     where e.variables <> '{}'
     order by e.row_id),
  patched as (
    update bpm_core.process_instance p
       set variables = p.variables || m.variables, ended_bindings = p.ended_bindings || m.keys, version = p.version + 1, updated_at = p_now
      from (select p_tenant_id as tenant_id, e.process_instance_id, bpm_core.jsonb_merge(e.variables order by e.row_id) as variables,
                   array_agg(e.binding_key order by e.row_id) as keys
              from ended e group by e.process_instance_id offset 0) m
     where p.tenant_id = m.tenant_id and p.id = m.process_instance_id)
  select array_agg(distinct e.process_instance_id) into v_passed from ended e where e.variables <> '{}';
  if v_passed is not null then
    perform bpm_core.recheck_workflows(p_tenant_id, v_passed);
  end if;
end
$$;
