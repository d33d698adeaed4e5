-- The evidence and facts of a result that was approved; the reviewer confirms them. Subjects are locked, purged evidence was looked for.
-- Writes:   evidence, result_evidence, subject, fact.
create or replace function bpm_core.keep_reviewed(p_review bpm_core.review, p_actor text, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_pieces uuid[];
begin
  if p_review.record is null then
    return;
  end if;
  v_pieces := bpm_core.store_evidence(p_review.tenant_id, p_review.record -> 'evidence',
    (select r.created_by from bpm_core.result r
      where r.tenant_id = p_review.tenant_id and r.task_instance_id = p_review.task_instance_id and r.attempt = p_review.attempt));
  if array_position(v_pieces, null) is not null then
    perform bpm_core.fail('BP503', 'Evidence was purged at the same moment.', null, 'Repeat the call; nothing was changed.');
  end if;
  insert into bpm_core.result_evidence (tenant_id, task_instance_id, attempt, evidence_id)
  select distinct p_review.tenant_id, p_review.task_instance_id, p_review.attempt, e.id from unnest(v_pieces) e(id);
  perform bpm_core.store_facts(p_review.tenant_id, array(
    select row(1, f.fact ->> 'subject_type', f.fact ->> 'subject_key', f.fact ->> 'name', bpm_core.decode_variables(jsonb_build_object('v', f.fact -> 'value')) -> 'v', null,
               array(select distinct v_pieces[1 + e::integer] from jsonb_array_elements_text(nullif(f.fact -> 'evidence', 'null')) e),
               p_review.task_instance_id, p_review.attempt, p_review.id, p_actor)::bpm_core.told_fact
      from jsonb_array_elements(p_review.record -> 'facts') with ordinality f(fact, n)
     order by f.n), p_now);
end
$$;
