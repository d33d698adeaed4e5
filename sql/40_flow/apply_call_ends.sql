-- Under the instance locks: called processes have completed, their callers go on. The outputs map what the called one has; without outputs it is the keys
-- its steps wrote. A caller that no longer waits for it hears nothing. Outputs that cannot be evaluated bury the row: resolving that incident tries them
-- again, and nothing is called twice.
-- Writes:   workflow_instance, scope, history_event, timer, subscription, and what bury_inbox and the paths ahead write.
create or replace function bpm_core.apply_call_ends(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_failed   uuid[];
  v_problems text;
  v_leaving  bpm_core.moving[];
begin
  with ended as materialized (
    select h.host, (h.payload ->> 'child')::uuid as child_id, h.inbox_id, o.mapped, o.problem
      from bpm_core.waiting_hosts(p_tenant_id, p_rows) h
     cross join lateral (select c.inputs, c.variables from bpm_core.workflow_instance c
                          where c.tenant_id = p_tenant_id and c.id = (h.payload ->> 'child')::uuid offset 0) c
     cross join lateral (select n.expressions -> 'call' as spec from bpm_core.workflow_node n
                          where n.tenant_id = p_tenant_id and n.workflow_version_id = (h.host).version_id and n.node_id = (h.host).node_id offset 0) n
     cross join lateral (
       select case when not n.spec ? 'outputs' then c.variables when n.spec ? 'all_out' then c.variables || m.mapped else m.mapped end as mapped, m.problem
         from bpm_core.map_values(coalesce(n.spec -> 'outputs', '[]'), c.inputs || c.variables) m) o),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p_tenant_id, (e.host).instance_id, bpm_core.now(), 'CallCompleted', (e.host).token_id, (e.host).node_id,
           jsonb_build_object('child', e.child_id, 'variables', e.mapped) || bpm_core.local_names(p_tenant_id, (e.host).scope_id, e.mapped)
      from ended e
     where e.mapped is not null),
  patched as (
    update bpm_core.workflow_instance w
       set lock_version = w.lock_version + 1, variables = w.variables || bpm_core.patch_scopes(p_tenant_id, (e.host).scope_id, e.mapped)
      from ended e
     where w.tenant_id = (e.host).tenant_id and w.id = (e.host).instance_id and e.mapped is not null)
  select array_agg(row(p_tenant_id, (e.host).instance_id, (e.host).version_id, (e.host).scope_id, (e.host).token_id, (e.host).node_id, null, null)::bpm_core.moving)
           filter (where e.mapped is not null),
         array_agg(e.inbox_id) filter (where e.mapped is null), string_agg(e.problem, '; ') filter (where e.mapped is null)
    into v_leaving, v_failed, v_problems
    from ended e;
  if v_failed is not null then
    perform bpm_core.bury_inbox(p_tenant_id, array(select r from unnest(p_rows) r where r.id = any (v_failed)), v_problems);
  end if;
  if v_leaving is not null then
    perform bpm_core.close_events(p_tenant_id, array(select l.token_id from unnest(v_leaving) l));
    perform bpm_core.advance_isolated(v_leaving);
  end if;
end
$$;
