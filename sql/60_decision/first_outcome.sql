-- What somebody is told who comes too late: how an approval stands.
create or replace function bpm_core.first_outcome(p_approval bpm_core.approval_record)
returns jsonb
language sql immutable parallel safe
as $$
  select jsonb_build_object('approval_id', p_approval.id, 'status', p_approval.status, 'effect', p_approval.effect,
                            'decided_by', p_approval.decided_by, 'decided_at', p_approval.decided_at, 'note', p_approval.note)
$$;
