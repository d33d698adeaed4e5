-- The arguments every claim of tasks shares.
-- A type named twice would have two positions for one scan.
-- Returns:  true, as enter_call.
-- Raises:   BP422 worker, types, limit, lease or request id out of range, a type named twice, or the reserved type of user tasks.
create or replace function bpm_core.check_claim(p_worker text, p_types text[], p_limit integer, p_lease interval, p_request_id text)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if bpm_core.is_usual_claim(p_worker, p_types, p_limit, p_lease, p_request_id) then
    return true;
  end if;
  perform bpm_core.check_picker(p_worker, p_limit, p_lease);
  if not (coalesce(cardinality(p_types), 0) between 1 and 100 and (select count(distinct y.task_type) from unnest(p_types) y(task_type)) = cardinality(p_types)) then
    perform bpm_core.fail('BP422', 'Name 1 to 100 task types, each once.', jsonb_build_object('types', p_types));
  end if;
  if length(p_request_id) > 300 then
    perform bpm_core.fail('BP422', 'A request id has at most 300 characters.', jsonb_build_object('length', length(p_request_id)));
  end if;
  if 'bpm:user' = any (p_types) then
    perform bpm_core.fail('BP422', 'Tasks of type bpm:user are for people.', null, 'Use bpm.claim_user_task and bpm.complete_user_task.');
  end if;
  return true;
end
$$;
