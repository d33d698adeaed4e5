-- I-16, of the votes: each person once, and enough of them exactly when it is decided so.
create or replace function bpm_core.uneven_votes(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-16', a.tenant_id, 'approval', a.id::text, x.rule,
           jsonb_build_object('status', a.status, 'required', a.required_approvals, 'for', v.votes_for, 'against', v.votes_against, 'decided_by', a.decided_by))
    from bpm_core.approval_record a
   cross join lateral (
     select count(*) filter (where v.vote = 'Approve') as votes_for, count(*) filter (where v.vote = 'Reject') as votes_against, max(v.at) as last_at,
            coalesce(bool_or(v.actor = a.decided_by and v.vote = case a.status when 'Approved' then 'Approve' else 'Reject' end), false) as has_decider,
            coalesce(bool_or(v.actor = any (a.excluded_actors)
                             or not bpm_core.is_asked(a, v.actor, v.groups) and (a.escalated_at is null or v.actor <> a.escalate_to)), false) as has_stranger,
            coalesce(bool_or(v.actor = any (a.claimed_by)), false) as has_claimant
       from bpm_core.approval_vote v
      where v.tenant_id = a.tenant_id and v.approval_id = a.id) v
   cross join lateral (values
     ('approved, but not by the number it takes', a.status = 'Approved' and v.votes_for <> a.required_approvals),
     ('enough have approved, but it is not approved', a.status in ('Pending', 'Rejected', 'Expired') and v.votes_for >= a.required_approvals),
     ('approved against a veto', a.status = 'Approved' and a.veto and v.votes_against > 0),
     ('one refused, but it is not', a.status = 'Pending' and a.veto and v.votes_against > 0),
     ('decided by somebody who did not vote so', a.status in ('Approved', 'Rejected') and not v.has_decider),
     ('a vote after the decision', v.last_at > a.decided_at),
     ('a vote of somebody who may not', v.has_stranger),
     ('somebody who has voted is still at it', v.has_claimant),
     ('expired before its time', a.status = 'Expired' and coalesce(a.expires_at > a.decided_at, true))) x(rule, broken)
   where a.tenant_id = p_tenant_id and x.broken
$$;
