-- The answer to one mark, after those that counted were taken: an unchanged repeat gets the first answer.
-- Returns:  outcome and state.
create or replace function bpm_core.mark_outcome(p_tenant_id text, p_mark bpm_core.mark, out outcome bpm.outcome, out state text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_outbox_id uuid;
  r_attempt   record;
begin
  select o.id, o.state::text into v_outbox_id, state
    from bpm_core.outbox o
   where o.tenant_id = p_tenant_id and o.command_id = p_mark.command_id;
  if not found then
    outcome := 'NotFound';
    return;
  end if;
  select a.outcome, a.content_hash = p_mark.content_hash as repeated
    into r_attempt
    from bpm_core.delivery_attempt a
   where a.tenant_id = p_tenant_id and a.outbox_id = v_outbox_id and a.fencing_token = p_mark.fencing_token and a.content_hash is not null
   order by a.content_hash = p_mark.content_hash desc
   limit 1;
  if found and r_attempt.repeated then
    outcome := r_attempt.outcome::text::bpm.outcome;
    state := r_attempt.outcome::text;
  else
    outcome := (case when found then 'Conflict' when state = 'Cancelled' then 'Cancelled' else 'LeaseLost' end)::bpm.outcome;
  end if;
end
$$;
