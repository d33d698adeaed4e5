-- Under the instance locks: called processes have failed. With an error code it is a BPMN error at the call activity, which its boundary events, or those
-- further out, may catch; else, or if nobody does, an incident there: resolving it calls anew.
-- Writes:   history_event, incident, and what raise_errors writes.
create or replace function bpm_core.apply_call_failures(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_failed   bpm_core.thrown[];
  v_uncaught bpm_core.thrown[];
begin
  with failed as materialized (
    select row_number() over (order by h.inbox_id) as n, h.host, h.payload from bpm_core.waiting_hosts(p_tenant_id, p_rows) h),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p_tenant_id, (f.host).instance_id, bpm_core.now(), 'CallFailed', (f.host).token_id, (f.host).node_id,
           jsonb_build_object('child', f.payload -> 'child', 'status', f.payload -> 'status', 'code', f.payload #> '{detail,code}')
      from failed f)
  select array_agg(row(f.n, f.host, f.payload #>> '{detail,code}', f.payload #>> '{detail,message}')::bpm_core.thrown) into v_failed
    from failed f;
  if v_failed is null then
    return;
  end if;
  perform bpm_core.bump_instances(p_tenant_id, array(select (f.token).instance_id from unnest(v_failed) f));
  v_uncaught := array(select f from unnest(v_failed) f where f.code is null)
                || bpm_core.raise_errors(array(select f from unnest(v_failed) f where f.code is not null));
  perform bpm_core.close_waits(array(select u.token from unnest(v_uncaught) u));
  perform bpm_core.open_incidents(array(
    select row(u.token, 'CalledProcessFailed', format('What call activity %s called has failed%s.', (u.token).node_id, ' with the error ' || u.code),
               jsonb_build_object('code', u.code, 'message', u.message))::bpm_core.trouble
      from unnest(v_uncaught) u));
end
$$;
