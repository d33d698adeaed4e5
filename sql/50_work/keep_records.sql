-- Keeps the evidence and facts of answers that were admitted and then accepted: what an answer brought counts only with its result.
-- Raises:   BP503 evidence was brought in and purged by others since it was looked at.
-- Writes:   evidence, result_evidence, subject, fact.
create or replace function bpm_core.keep_records(p_tenant_id text, p_answers bpm_core.answer[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_kept   bpm_core.kept_record[];
  v_pieces uuid[];
begin
  -- Accepted: its result is there. first: where its evidence begins among that of all.
  v_kept := array(
    select row(a.item, a.task_id, r.attempt, r.created_by, a.record,
               sum(jsonb_array_length(a.record -> 'evidence')) over (order by a.item) - jsonb_array_length(a.record -> 'evidence'))::bpm_core.kept_record
      from (select p_tenant_id as tenant_id, a.* from unnest(p_answers) a where a.record is not null and a.refusal is null and a.variables is not null offset 0) a
     cross join lateral (select t.tenant_id, t.id, t.attempt, t.state, t.fencing_token from bpm_core.task_instance t
                          where t.tenant_id = a.tenant_id and t.id = a.task_id offset 0) t
     cross join lateral (select r.attempt, r.content_hash, r.verdict, r.created_by from bpm_core.result r
                          where r.tenant_id = t.tenant_id and r.task_instance_id = t.id and r.attempt = t.attempt offset 0) r
     where t.state = 'Completed' and t.fencing_token = a.fencing_token and r.verdict = 'Accepted' and r.content_hash = a.content_hash
     order by a.item);
  v_pieces := bpm_core.store_evidence(p_tenant_id, (
    select coalesce(jsonb_agg(e.piece order by k.item, e.n), '[]')
      from unnest(v_kept) k
     cross join lateral jsonb_array_elements(k.record -> 'evidence') with ordinality e(piece, n)));
  if array_position(v_pieces, null) is not null then
    perform bpm_core.fail('BP503', 'Evidence was purged at the same moment.', null, 'Repeat the call; nothing was changed.');
  end if;
  insert into bpm_core.result_evidence (tenant_id, task_instance_id, attempt, evidence_id)
  select distinct p_tenant_id, k.task_id, k.attempt, v_pieces[k.first + n]
    from unnest(v_kept) k
   cross join lateral generate_series(1, jsonb_array_length(k.record -> 'evidence')) n;
  perform bpm_core.store_facts(p_tenant_id, array(
    select row(k.item, f.fact ->> 'subject_type', f.fact ->> 'subject_key', f.fact ->> 'name', bpm_core.decode_variables(jsonb_build_object('v', f.fact -> 'value')) -> 'v', null,
               array(select distinct v_pieces[k.first + 1 + e::integer] from jsonb_array_elements_text(nullif(f.fact -> 'evidence', 'null')) e),
               k.task_id, k.attempt, null, k.confirmed_by)::bpm_core.told_fact
      from unnest(v_kept) k
     cross join lateral jsonb_array_elements(k.record -> 'facts') with ordinality f(fact, n)
     order by k.item, f.n), p_now);
end
$$;
