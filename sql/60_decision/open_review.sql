-- The review of the same step that is open now, if that is another: what somebody who comes with an old one has to look at.
-- Returns:  jsonb {now: {review_id, expected_version, content_hash}}, or {}.
create or replace function bpm_core.open_review(p_review bpm_core.review)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return coalesce((
    select jsonb_build_object('now', jsonb_build_object('review_id', r.id, 'expected_version', r.expected_version, 'content_hash', encode(r.content_hash, 'hex')))
      from (select r.* from bpm_core.review r where r.workflow_instance_id = p_review.workflow_instance_id offset 0) r
     where r.tenant_id = p_review.tenant_id and r.token_id = p_review.token_id and r.state = 'Open' and r.id <> p_review.id), '{}');
end
$$;
