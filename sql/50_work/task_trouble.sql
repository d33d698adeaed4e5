-- Says why a task could not be offered, or what it brought not be taken over.
-- Returns:  trouble, code ExpressionUndecidable; InputInvalid when it is the input schema that is not met.
create or replace function bpm_core.task_trouble(p_token bpm_core.moving, p_problem text, p_detail jsonb)
returns bpm_core.trouble
language sql immutable
as $$
  select row(p_token, case when p_detail ? 'invalid' then 'InputInvalid' else 'ExpressionUndecidable' end, format('Task %s: %s.', p_token.node_id, p_problem), p_detail)::bpm_core.trouble
$$;
