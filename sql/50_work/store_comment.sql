-- Writes a comment. Returns: its id. Writes: task_comment.
create or replace function bpm_core.store_comment(p_tenant_id text, p_task_id uuid, p_said text, p_actor text)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_id uuid := bpm_core.new_id();
begin
  insert into bpm_core.task_comment (tenant_id, id, task_instance_id, author, said, created_at)
  values (p_tenant_id, v_id, p_task_id, p_actor, p_said, bpm_core.now());
  return v_id;
end
$$;
