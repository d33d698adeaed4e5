-- Writes facts: each supersedes what was said before under its name of its subject, also by an earlier item of this call. The subjects grow by one version
-- per item that speaks of them. They are locked (lock_subjects).
-- Writes:   subject, fact.
create or replace function bpm_core.store_facts(p_tenant_id text, p_facts bpm_core.told_fact[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with told as materialized (
    select f.*, bpm_core.new_id() as id, s.id as subject_id,
           s.lock_version + dense_rank() over (partition by s.id order by f.item) as version
      from (select p_tenant_id as tenant_id, f.* from unnest(p_facts) f offset 0) f
     cross join lateral (select s.id, s.lock_version from bpm_core.subject s
                          where s.subject_key = f.subject_key and s.subject_type = f.subject_type and s.tenant_id = f.tenant_id offset 0) s),
  ordered as materialized (
    select t.*, lead(t.id) over w as superseded_by, row_number() over w as nth
      from told t
    window w as (partition by t.subject_id, t.name order by t.item)),
  grown as (
    update bpm_core.subject s
       set lock_version = t.version, updated_at = p_now
      from (select t.tenant_id, t.subject_id, max(t.version)::integer as version from told t group by 1, 2) t
     where s.tenant_id = t.tenant_id and s.id = t.subject_id),
  old as materialized (
    select o.tenant_id, f.id, o.id as superseded_by
      from ordered o
     cross join lateral (select f.id from bpm_core.fact f
                          where f.subject_id = o.subject_id and f.name = o.name and f.tenant_id = o.tenant_id and f.superseded_by is null offset 0) f
     where o.nth = 1),
  superseded as (
    update bpm_core.fact f
       set superseded_by = o.superseded_by
      from old o
     where f.tenant_id = o.tenant_id and f.id = o.id
    returning f.id)
  insert into bpm_core.fact (
    tenant_id, id, subject_id, subject_version, name, value, task_instance_id, attempt, review_id, evidence_ids, confirmed_by, superseded_by, at)
  select o.tenant_id, o.id, o.subject_id, o.version, o.name, o.value, o.task_instance_id, o.attempt, o.review_id, o.evidence_ids, o.confirmed_by, o.superseded_by, p_now
    from ordered o
     -- The old ones make room in the index of current facts before the new ones come.
   cross join (select count(*) from superseded) s
   order by o.item, o.id;
end
$$;
