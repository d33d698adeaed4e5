-- Says something about a user task, open or not. Whoever holds it keeps their form.
-- Returns:  one row: comment_id, is_new (false: the same key gave it before).
-- Raises:   BP400 a key out of range; BP403, BP404; BP409 the key was used for another comment; BP422 not of 1 to 4,000 characters.
-- Writes:   task_comment, audit_event, idempotency_key.
create or replace function bpm.comment_user_task(
  p_task_id uuid, p_text text, p_idempotency_key text default null, p_actor text default null, p_tenant_id text default '')
returns table (comment_id uuid, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(length(btrim(p_text)), 0) = 0 or length(p_text) > 4000 then
    perform bpm_core.fail('BP422', 'A comment has 1 to 4000 characters.', jsonb_build_object('length', length(p_text)));
  elsif not exists (select from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = p_task_id and t.task_type = 'bpm:user') then
    perform bpm_core.fail('BP404', format('There is no user task %s.', p_task_id));
  end if;
  if p_idempotency_key is not null then
    comment_id := (bpm_core.claim_key(p_tenant_id, 'comment_user_task', p_idempotency_key,
      bpm_core.request_hash(p_task_id::text, p_text, v_actor), bpm_core.now()) ->> 'comment_id')::uuid;
  end if;
  is_new := comment_id is null;
  if is_new then
    comment_id := bpm_core.store_comment(p_tenant_id, p_task_id, p_text, v_actor);
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'CommentUserTask', 'task_instance', p_task_id::text);
    if p_idempotency_key is not null then
      perform bpm_core.answer_key(p_tenant_id, 'comment_user_task', p_idempotency_key, jsonb_build_object('comment_id', comment_id));
    end if;
  end if;
  return next;
end
$$;
