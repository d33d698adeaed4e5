-- Under the lock: is there still time, and may this person decide?
-- Raises:   BP403 the actor is excluded or not asked; BP409 the time to decide is over.
create or replace function bpm_core.check_asked(p_approval bpm_core.approval_record, p_actor text, p_groups text[])
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bar text;
begin
  if p_approval.expires_at <= bpm_core.now() then
    perform bpm_core.fail('BP409', format('The time to decide approval %s is over.', p_approval.id),
      bpm_core.first_outcome(p_approval) || jsonb_build_object('expires_at', p_approval.expires_at));
  end if;
  v_bar := bpm_core.approval_bar(p_approval, p_actor, p_groups);
  if v_bar is not null then
    perform bpm_core.fail('BP403', format('%s may not decide approval %s.', p_actor, p_approval.id),
      jsonb_strip_nulls(jsonb_build_object('approval_id', p_approval.id, 'actor', p_actor, 'reason', v_bar,
        'approvers', case v_bar when 'NotAsked' then p_approval.approvers end, 'approver_groups', case v_bar when 'NotAsked' then p_approval.approver_groups end)),
      case when v_bar <> 'NotAsked' then 'Let somebody decide who had no part in it.'
           when p_approval.approver_groups is null then 'It names those who may.'
           else 'It names those who may, and groups; say with p_groups which of them the person is in.' end);
  end if;
end
$$;
