-- KIND error end event: the error goes to the nearest scope outwards that catches it, and the token ends; or the instance fails and its
-- caller catches it. Nobody does: an incident on the token. At the end of the compensation of a saga it is the error that began that; when nobody
-- catches what a process that is a saga throws, the instance is Failed.
-- Returns:  moving[], what goes on from where errors are caught. Writes: what catch_thrown, open_incidents and fail_instances write.
create or replace function bpm_core.enter_error_ends(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving  bpm_core.moving[];
  v_uncaught bpm_core.thrown[];
begin
  select c.leaving, c.uncaught into v_leaving, v_uncaught
    from bpm_core.catch_thrown(array(
      select row(case when n.attributes @> '{"drawn": {"saga": "process"}}' then 1 else 0 end, a, coalesce(n.error_code, s.error ->> 'code'),
                 s.error ->> 'message')::bpm_core.thrown
        from unnest(p_arriving) a
       cross join lateral (select n.error_code, n.attributes from bpm_core.workflow_node n
                            where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n
        left join lateral (select s.error from bpm_core.scope s where s.tenant_id = a.tenant_id and s.id = a.scope_id offset 0) s on true), true) c;
  if v_uncaught <> '{}' then
    v_uncaught := bpm_core.throw_to_callers(v_uncaught, true);
  end if;
  perform bpm_core.fail_instances((u.token).tenant_id, array[(u.token).instance_id], jsonb_build_object('code', u.code, 'message', u.message))
     from unnest(v_uncaught) u
    where u.handle = 1;
  perform bpm_core.open_incidents(array(
    select row(u.token, 'UncaughtError', format('Error %s was thrown at %s and nothing catches it.', coalesce(u.code, 'without a code'), (u.token).node_id),
               jsonb_build_object('code', u.code))::bpm_core.trouble
      from unnest(v_uncaught) u where u.handle = 0));
  return v_leaving;
end
$$;
