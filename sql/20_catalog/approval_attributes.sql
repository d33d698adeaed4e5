-- The attributes of our own namespace that say how a gated node is approved.
create or replace function bpm_core.approval_attributes()
returns text[]
language sql immutable parallel safe
as $$
  select array['bpm:requiredApprovals', 'bpm:approvers', 'bpm:approverGroups', 'bpm:approvalVeto', 'bpm:approvalExclude', 'bpm:approvalExpires', 'bpm:approvalReminds',
               'bpm:approvalEscalates', 'bpm:escalateTo']
$$;
