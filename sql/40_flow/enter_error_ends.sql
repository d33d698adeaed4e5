-- KIND error end event: at the root of a process nobody is left to catch it, so it is an incident on the token.
create or replace function bpm_core.enter_error_ends(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.open_incidents(array(
    select row(a, 'UncaughtError', format('Error %s was thrown at %s and nothing catches it.', coalesce(n.error_code, 'without a code'), a.node_id),
               jsonb_build_object('code', n.error_code))::bpm_core.trouble
      from unnest(p_arriving) a
     cross join lateral (select n.error_code from bpm_core.workflow_node n
                          where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n));
  return '{}'::bpm_core.moving[];
end
$$;
