-- What an attempt's outcome means for the command: the table "what happened / goes to" of the model, with the receiver's profile.
-- p_tries_left: attempts are left. p_arrived: an earlier attempt may have arrived; then a command that cannot be tried again is Unknown, not Failed.
-- Returns:  command_verdict.
create or replace function bpm_core.judge_delivery(
  p_reported text, p_receipt jsonb, p_profile bpm_core.destination, p_tries_left boolean, p_arrived boolean)
returns bpm_core.command_verdict
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
  case v_meaning
    when 'Sent', 'AlreadyDone' then
      return row('Sent', true, null);
    when 'Unknown' then
      return row('Unknown', true, null);
    when 'InProgress' then
      return row(case when p_tries_left then 'Pending' else 'Unknown' end, true, null);
    when 'NotSent', 'Throttled' then
      if p_tries_left then
        return row('Pending', p_arrived, null);
      elsif p_arrived then
        return row('Unknown', true, null);
      end if;
      return row('Failed', false, 'DeliveryExhausted');
    when 'Refused' then
      return row('Failed', p_arrived, 'DeliveryRefused');
    when 'KeyReused' then
      return row('Failed', p_arrived, 'KeyReused');
  end case;
end
$$;
