-- Is this person, or a group they are in, among those an approval asks? One that names neither asks everybody.
create or replace function bpm_core.is_asked(p_approval bpm_core.approval_record, p_actor text, p_groups text[])
returns boolean
language sql immutable parallel safe
as $$
  select p_approval.approvers is null and p_approval.approver_groups is null
         or coalesce(p_actor = any (p_approval.approvers), false) or coalesce(p_approval.approver_groups && p_groups, false)
$$;
