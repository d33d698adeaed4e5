-- What an attempt's outcome means for the command: the table "what happened / goes to" of the model, with the receiver's profile.
-- p_tries_left: attempts are left. p_arrived: an earlier attempt may have arrived; then a command that cannot be tried again is Unknown, not Failed.
-- Returns:  state; arrived, whether the receiver may have seen the command by now; failure, the incident's code when the state is Failed.
create or replace function bpm_core.judge_delivery(
  p_reported text, p_receipt jsonb, p_profile bpm_core.destination, p_tries_left boolean, p_arrived boolean,
  out state bpm_core.command_state, out arrived boolean, out failure text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_meaning text := p_reported;
begin
  if p_reported = 'Conflict' then
    v_meaning := case p_profile.conflict_means when 'Sent' then 'AlreadyDone' when 'Pending' then 'InProgress' else 'KeyReused' end;
  elsif p_reported = 'ReceiverError' then
    v_meaning := case when p_profile.server_error_safe then 'NotSent' else 'Unknown' end;
  elsif p_reported = 'Sent' and p_profile.receipt_path is not null
        and coalesce(jsonb_typeof(bpm_core.path_value(p_receipt, p_profile.receipt_path)), 'null') = 'null' then
    v_meaning := 'Unknown';
  end if;
  arrived := p_arrived or v_meaning in ('Sent', 'AlreadyDone', 'Unknown', 'InProgress');
  case v_meaning
    when 'Sent', 'AlreadyDone' then
      state := 'Sent';
    when 'Unknown' then
      state := 'Unknown';
    when 'InProgress', 'NotSent', 'Throttled' then
      state := (case when p_tries_left then 'Pending' when arrived then 'Unknown' else 'Failed' end)::bpm_core.command_state;
      failure := case when state = 'Failed' then 'DeliveryExhausted' end;
    when 'Refused', 'KeyReused' then
      state := 'Failed';
      failure := case v_meaning when 'Refused' then 'DeliveryRefused' else 'KeyReused' end;
  end case;
end
$$;
