-- Turns the outcome of a set-based command into the error of its single form.
-- Returns:  nothing when the outcome is the one hoped for.
-- Raises:   BP404, BP409, BP410, BP422, BP423.
create or replace function bpm_core.raise_outcome(p_what text, p_id uuid, p_outcome bpm.outcome, p_hoped bpm.outcome, p_reason text default null)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_detail jsonb := jsonb_build_object('id', p_id, 'outcome', p_outcome);
begin
  case p_outcome
    when p_hoped then
      return;
    when 'NotFound' then
      perform bpm_core.fail('BP404', format('There is no %s %s.', p_what, p_id), v_detail);
    when 'LeaseLost' then
      perform bpm_core.fail('BP410', format('The lease of %s %s is lost: it ran out, or another claim holds it.', p_what, p_id), v_detail,
        'Do not apply the work; claim again. Extend the lease in time for long work.');
    when 'Conflict' then
      perform bpm_core.fail('BP409', coalesce(p_reason, format('The %s %s was answered before, with something else.', p_what, p_id)), v_detail);
    when 'Rejected' then
      perform bpm_core.fail('BP422', coalesce(p_reason, format('The answer for %s %s was refused.', p_what, p_id)), v_detail);
    when 'Suspended' then
      perform bpm_core.fail('BP423', format('The instance of %s %s is suspended.', p_what, p_id), v_detail);
    else
      perform bpm_core.fail('BP409', format('The %s %s is not in a state for this: %s.', p_what, p_id, p_outcome), v_detail);
  end case;
end
$$;
