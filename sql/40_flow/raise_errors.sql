-- Raises BPMN errors at the activities tokens rest on. Caught ones leave by the boundary; what else waited on the token is closed.
-- Returns:  thrown[], those nobody caught, untouched. The instances are locked and written.
-- Writes:   history_event, what close_waits and the path ahead write.
create or replace function bpm_core.raise_errors(p_thrown bpm_core.thrown[])
returns bpm_core.thrown[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_uncaught bpm_core.thrown[];
  v_hosts    bpm_core.moving[];
  v_leaving  bpm_core.moving[];
begin
  with raised as materialized (
    select x::bpm_core.thrown as thrown, bpm_core.error_boundary(x.token, x.code) as boundary
      from unnest(p_thrown) x),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select ((r.thrown).token).tenant_id, ((r.thrown).token).instance_id, bpm_core.now(), 'ErrorCaught', ((r.thrown).token).token_id, r.boundary,
           jsonb_build_object('host', ((r.thrown).token).node_id, 'code', (r.thrown).code, 'message', (r.thrown).message)
      from raised r
     where r.boundary is not null)
  select array_agg(r.thrown) filter (where r.boundary is null),
         array_agg((r.thrown).token) filter (where r.boundary is not null),
         array_agg(row(((r.thrown).token).tenant_id, ((r.thrown).token).instance_id, ((r.thrown).token).version_id, ((r.thrown).token).scope_id,
                       ((r.thrown).token).token_id, r.boundary, null, null)::bpm_core.moving) filter (where r.boundary is not null)
    into v_uncaught, v_hosts, v_leaving
    from raised r;
  perform bpm_core.close_waits(v_hosts);
  perform bpm_core.advance_isolated(v_leaving);
  return coalesce(v_uncaught, '{}');
end
$$;
