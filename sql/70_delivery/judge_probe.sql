-- What a receiver's answer to a probe means for the command. One that cannot be sent any more, or whose key the receiver may have forgotten, is
-- never Pending because it is absent, but where absence is a proof.
-- Returns:  state; arrived (null: it is proved that it never did); failure, the incident's code when the state is Failed.
create or replace function bpm_core.judge_probe(
  p_seen text, p_receipt jsonb, p_command bpm_core.outbox, p_now timestamptz,
  out state bpm_core.command_state, out arrived boolean, out failure text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_profile jsonb := p_command.destination_snapshot;
  v_left    boolean := p_command.attempt < p_command.max_attempts;
begin
  arrived := true;
  state := 'Unknown';
  if p_seen = 'Found' then
    if v_profile ->> 'receipt_path' is null
       or coalesce(jsonb_typeof(bpm_core.path_value(p_receipt, v_profile ->> 'receipt_path')), 'null') <> 'null' then
      state := 'Sent';
    end if;
  elsif p_seen = 'Absent' and v_profile ->> 'absent_means' = 'Pending' then
    arrived := null;
    state := (case when v_left then 'Pending' else 'Failed' end)::bpm_core.command_state;
    failure := case when not v_left then 'DeliveryExhausted' end;
  elsif p_seen = 'Absent' and v_left and (v_profile ->> 'resend_allowed')::boolean
        and bpm_core.resend_until(p_command.first_sent_at, v_profile) > p_now then
    state := 'Pending';
  end if;
end
$$;
