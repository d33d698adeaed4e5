-- Begins the next handler of a thrower; when there is none left, the thrower moves on.
-- p_below: the position done last; null: none yet. Returns: moving[], the token in the handler, or the thrower, leaving.
-- Writes:   what open_handler writes; history_event.
create or replace function bpm_core.run_compensation(p_thrower bpm_core.moving, p_below integer)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_record bpm_core.compensation_record;
begin
  select r.* into v_record
    from bpm_core.compensation_record r
   where r.thrower_token_id = p_thrower.token_id and r.position < coalesce(p_below, 2147483647) and r.status = 'Pending'
   order by r.position desc
   limit 1;
  if found then
    return bpm_core.open_handler(v_record, p_thrower);
  end if;
  if p_below is null then
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id)
    values (p_thrower.tenant_id, p_thrower.instance_id, bpm_core.now(), 'TokenMoved', p_thrower.token_id, p_thrower.node_id);
  end if;
  return array[row(p_thrower.tenant_id, p_thrower.instance_id, p_thrower.version_id, p_thrower.scope_id, p_thrower.token_id, p_thrower.node_id,
                   null, null)::bpm_core.moving];
end
$$;
