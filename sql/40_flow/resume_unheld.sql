-- Goes on with parked tokens of locked instances, as resume_tokens does, but waits for nobody longer than a second: those of instances of which somebody
-- holds a task in a transaction that lasts are left for the next tick.
-- Returns:  integer, tokens resumed. Writes: as resume_tokens.
create or replace function bpm_core.resume_unheld(p_tenant_id text, p_tokens uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '1s'
as $$
declare
  v_free uuid[];
begin
  if cardinality(p_tokens) = 0 then
    return 0;
  end if;
  begin
    return bpm_core.resume_tokens(p_tenant_id, p_tokens);
  exception
    when lock_not_available then
      v_free := bpm_core.unheld_instances(p_tenant_id, array(
        select t.workflow_instance_id
          from unnest(p_tokens) k(id)
         cross join lateral (select t.workflow_instance_id from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t));
  end;
  v_free := array(
    select k.id
      from unnest(p_tokens) k(id)
     cross join lateral (select t.workflow_instance_id from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t
     where t.workflow_instance_id = any (v_free));
  if cardinality(v_free) < cardinality(p_tokens) then
    return bpm_core.resume_unheld(p_tenant_id, v_free);
  end if;
  -- It was something else, or has been let go meanwhile.
  return case when cardinality(p_tokens) = 1 then 0 else (select sum(bpm_core.resume_unheld(p_tenant_id, array[k.id]))::integer from unnest(p_tokens) k(id)) end;
end
$$;
