-- Under the lock: may this review be decided so by this person, or was it?
-- Returns:  boolean: it is to be decided. False: it was, in the same way.
-- Raises:   BP403 barred; BP409 decided otherwise, superseded (detail: by which), closed, or another version or content than it expects; BP409, BP423 its
--           instance is not running. The detail of BP409 has its content hash, and the review of its step that is open now if that is another.
create or replace function bpm_core.check_reviewable(p_review bpm_core.review, p_decision text, p_expected_version integer, p_content_hash text, p_actor text)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first jsonb := jsonb_strip_nulls(jsonb_build_object('review_id', p_review.id, 'state', p_review.state, 'decision', p_review.decision, 'decided_by', p_review.actor,
                     'decided_at', p_review.decided_at, 'expected_version', p_review.expected_version, 'superseded_by', p_review.superseded_by,
                     'content_hash', encode(p_review.content_hash, 'hex'))) || bpm_core.open_review(p_review);
  v_bar   text;
begin
  if p_review.state = 'Decided' and p_review.decision = p_decision and p_content_hash <> encode(p_review.content_hash, 'hex') is not true then
    return false;
  elsif p_review.state = 'Decided' then
    perform bpm_core.fail('BP409', format('Review %s was decided by %s before: %s.', p_review.id, p_review.actor, p_review.decision), v_first, 'A decision is taken once.');
  elsif p_review.state <> 'Open' then
    perform bpm_core.fail('BP409', format('Review %s is %s.', p_review.id, lower(p_review.state::text)), v_first,
      case p_review.state when 'Superseded' then 'Look at the one that supersedes it.' else 'Its step was left, or its instance ended.' end);
  end if;
  perform bpm_core.check_running(p_review.tenant_id, p_review.workflow_instance_id);
  if p_expected_version is distinct from p_review.expected_version then
    perform bpm_core.fail('BP409', format('Review %s is of version %s, not %s.', p_review.id, p_review.expected_version, coalesce(p_expected_version::text, 'null')), v_first,
      'Look at it again.');
  end if;
  if p_content_hash <> encode(p_review.content_hash, 'hex') then
    perform bpm_core.fail('BP409', format('Review %s is of a result with another content.', p_review.id), v_first, 'Look at it again.');
  end if;
  v_bar := bpm_core.review_bar(p_review, p_actor);
  if v_bar is not null then
    perform bpm_core.fail('BP403', format('%s may not decide review %s.', p_actor, p_review.id),
      jsonb_build_object('review_id', p_review.id, 'actor', p_actor, 'reason', v_bar), 'Let somebody decide who had no part in it.');
  end if;
  return true;
end
$$;
