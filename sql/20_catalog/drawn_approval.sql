-- What a node says about how it is approved. What is no number or truth value stays a text, which approval_problem then names.
-- Returns:  jsonb, a policy; empty when it says nothing.
create or replace function bpm_core.drawn_approval(p_attributes jsonb)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_object_agg(s.name, case
           when s.name in ('approvers', 'approver_groups', 'exclude') then to_jsonb(coalesce(bpm_core.name_list(to_jsonb(s.said)), '{}'))
           when s.name = 'required' and s.said ~ '^\d{1,4}$' or s.name = 'veto' and s.said in ('true', 'false') then s.said::jsonb
           else to_jsonb(s.said) end), '{}')
    from (values
      ('required', btrim(p_attributes ->> 'bpm:requiredApprovals')),
      ('approvers', p_attributes ->> 'bpm:approvers'),
      ('approver_groups', p_attributes ->> 'bpm:approverGroups'),
      ('veto', btrim(p_attributes ->> 'bpm:approvalVeto')),
      ('exclude', p_attributes ->> 'bpm:approvalExclude'),
      ('expires_in', btrim(p_attributes ->> 'bpm:approvalExpires')),
      ('remind_every', btrim(p_attributes ->> 'bpm:approvalReminds')),
      ('escalate_in', btrim(p_attributes ->> 'bpm:approvalEscalates')),
      ('escalate_to', btrim(p_attributes ->> 'bpm:escalateTo'))) s(name, said)
   where s.said is not null
$$;
