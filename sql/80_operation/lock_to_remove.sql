-- Locks what is to be removed, whole instances only, waiting for nobody: with everything that could still be done to them shut out, it is asked again whether
-- they may go. For update, unlike everywhere else: the row is deleted next, and a foreign key to it may be written just now.
-- Returns:  removable[], of p_chosen in order, with the reason why one has to stay: busy, unfinished, command, dead_letter, incident, decision, review, message.
-- Locks:    workflow_instance, process_instance, task_instance, for update, skip locked.
create or replace function bpm_core.lock_to_remove(p_tenant_id text, p_chosen uuid[], p_now timestamptz)
returns bpm_core.removable[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_workflows uuid[];
  v_processes uuid[];
  v_busy      uuid[];
  v_all       bpm_core.removable[];
begin
  v_workflows := array(
    select w.id
      from (
        select p_tenant_id as tenant_id, i.id
          from unnest(p_chosen) p(id)
         cross join lateral (select w.id, w.tenant_id from bpm_core.workflow_instance w where w.process_instance_id = p.id offset 0) i
         where i.tenant_id = p_tenant_id
         order by i.id
        offset 0) k
     cross join lateral (select w.id from bpm_core.workflow_instance w where w.tenant_id = k.tenant_id and w.id = k.id for update skip locked) w);
  v_processes := array(
    select p.id
      from (select p_tenant_id as tenant_id, k.id from unnest(p_chosen) k(id) order by k.id offset 0) k
     cross join lateral (select p.id from bpm_core.process_instance p where p.tenant_id = k.tenant_id and p.id = k.id for update skip locked) p);
  v_busy := array(
    select i.id
      from unnest(v_workflows) i(id)
     cross join lateral (select count(*) as n from (select from bpm_core.task_instance t where t.workflow_instance_id = i.id offset 0) t) a
     cross join lateral (select count(*) as n
                           from (select from bpm_core.task_instance t where t.workflow_instance_id = i.id for update skip locked) t) l
     where a.n <> l.n);
  select array_agg(row(p.id, w.ids, case when p.id <> all (v_processes) or not w.ids <@ v_workflows or w.ids && v_busy then 'busy'
                                         else bpm_core.reason_to_keep(p_tenant_id, p.id, w.ids, p_now) end)::bpm_core.removable order by p.n)
    into v_all
    from unnest(p_chosen) with ordinality p(id, n)
   cross join lateral (select coalesce(array_agg(w.id), '{}') as ids
                         from (select w.id, w.tenant_id from bpm_core.workflow_instance w where w.process_instance_id = p.id offset 0) w
                        where w.tenant_id = p_tenant_id) w;
  return coalesce(v_all, '{}');
end
$$;
