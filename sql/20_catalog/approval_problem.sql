-- What is wrong with a rule about how approvals are decided: {required: 1 to 100, approvers: names, approver_groups: names, veto: true or false (does one refusal refuse? true),
-- exclude: of requester, earlier_actors, delegates and names, expires_in, remind_every, escalate_in: ISO 8601 durations, escalate_to: a name}.
-- Returns:  text, null when nothing is, or there is no rule.
create or replace function bpm_core.approval_problem(p_policy jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_policy is null then null
    when jsonb_typeof(p_policy) <> 'object'
         or p_policy - '{required,approvers,approver_groups,veto,exclude,expires_in,remind_every,escalate_in,escalate_to}'::text[] <> '{}'
      then 'it is an object of required, approvers, approver_groups, veto, exclude, expires_in, remind_every, escalate_in and escalate_to'
    when p_policy ? 'required' and not coalesce(jsonb_typeof(p_policy -> 'required') = 'number' and (p_policy ->> 'required') ~ '^\d{1,3}$'
                                                and (p_policy ->> 'required')::integer between 1 and 100, false)
      then format('%s is no number of approvals from 1 to 100', left(p_policy ->> 'required', 50))
    when p_policy ? 'approvers' and (not bpm_core.is_text_list(p_policy -> 'approvers') or p_policy -> 'approvers' = '[]')
      then 'the approvers are 1 to 100 names, none twice'
    when p_policy ? 'approver_groups' and (not bpm_core.is_text_list(p_policy -> 'approver_groups') or p_policy -> 'approver_groups' = '[]')
      then 'the approver groups are 1 to 100 names, none twice'
    when not p_policy ? 'approver_groups' and jsonb_array_length(p_policy -> 'approvers') < (p_policy ->> 'required')::integer
      then format('it takes %s approvals and names %s approvers', p_policy ->> 'required', jsonb_array_length(p_policy -> 'approvers'))
    when p_policy ? 'veto' and jsonb_typeof(p_policy -> 'veto') <> 'boolean' then format('veto is true or false, not %s', left(p_policy ->> 'veto', 50))
    when p_policy ? 'exclude' and not bpm_core.is_text_list(p_policy -> 'exclude') then 'excluded are requester, earlier_actors, delegates or at most 100 names, none twice'
    when (p_policy ? 'escalate_in') <> (p_policy ? 'escalate_to') then 'escalation has a time and a name'
    when p_policy ? 'escalate_to' and not coalesce(jsonb_typeof(p_policy -> 'escalate_to') = 'string'
                                                   and length(btrim(p_policy ->> 'escalate_to')) between 1 and 200, false)
      then 'escalate_to is the name of somebody'
    when bpm_core.names_problem(bpm_core.name_list(p_policy -> 'exclude'), bpm_core.symbols()) is not null
      then 'excluded: ' || bpm_core.names_problem(bpm_core.name_list(p_policy -> 'exclude'), bpm_core.symbols())
    when bpm_core.names_problem(bpm_core.name_list(p_policy -> 'approvers') || btrim(p_policy ->> 'escalate_to'), '{}') is not null
      then 'who decides: ' || bpm_core.names_problem(bpm_core.name_list(p_policy -> 'approvers') || btrim(p_policy ->> 'escalate_to'), '{}')
    else (
      select format('%s is no ISO 8601 duration from PT1S to P10Y', left(d.said, 50))
        from (values (p_policy ->> 'expires_in'), (p_policy ->> 'remind_every'), (p_policy ->> 'escalate_in')) d(said)
       where d.said is not null and coalesce(bpm_core.parse_duration(d.said) not between interval '1 second' and interval '10 years', true)
       limit 1) end
$$;
