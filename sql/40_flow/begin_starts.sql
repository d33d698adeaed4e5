-- Creates the instances of starts that stand and moves their tokens on: those whose start event leads straight to a service task in the statement that
-- creates them, the others, and all where that raises, the general way, where what cannot go on is an incident on its token.
-- Returns:  boolean: have tokens moved on the general way? Else all stand at the task they were offered, or their process has several workflows.
-- Raises:   as drive_isolated. Writes: as insert_starts, and whatever the nodes ahead write.
create or replace function bpm_core.begin_starts(p_tenant_id text, p_starts bpm_core.start[], p_actor text, p_now timestamptz)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[];
begin
  begin
    v_leaving := bpm_core.insert_starts(p_tenant_id, p_starts, p_actor, p_now, true);
  exception
    when transaction_rollback or lock_not_available or operator_intervention or insufficient_resources or system_error then
      raise;
    when others then
      raise warning 'The direct way raised %: %. The general way was taken.', sqlstate, sqlerrm;
      v_leaving := bpm_core.insert_starts(p_tenant_id, p_starts, p_actor, p_now, false);
  end;
  if v_leaving is not null then
    perform bpm_core.advance_isolated(v_leaving);
  end if;
  return v_leaving is not null;
end
$$;
