-- Moves process instances of one version to another, at most p_limit of them, in the order of their ids after p_after; for many: call again with the
-- last id until fewer come back. Those that are refused stay as they are and say why; the others are moved, all in one transaction.
-- Returns:  one row per instance looked at: process_instance_id, outcome (Done, Rejected), changes, refusals.
-- Raises:   BP403, BP404 no such process or version, BP422 limit not 1 to 1000, a wrong mapping, a reason too long.
-- Writes:   as migrate_process. Locks: all workflow instances of these processes, waited for.
create or replace function bpm.migrate_processes(
  p_code text, p_from_version integer, p_to_version integer, p_mapping jsonb default '{}', p_limit integer default 100, p_after uuid default null,
  p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (process_instance_id uuid, outcome bpm.outcome, changes jsonb, refusals jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor     text;
  v_version   uuid;
  v_processes uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  perform bpm_core.check_limit(p_limit);
  select v.id into v_version
    from bpm_core.process_definition d
    join bpm_core.process_version v on v.definition_id = d.id and v.version = p_from_version and v.tenant_id = d.tenant_id
   where d.code = p_code and d.tenant_id = p_tenant_id;
  if v_version is null then
    perform bpm_core.fail('BP404', format('Process %s has no version %s.', coalesce(p_code, 'null'), coalesce(p_from_version::text, 'null')), null,
      'See the view bpm.definition.');
  end if;
  v_processes := array(
    select p.id
      from bpm_core.process_instance p
     where p.tenant_id = p_tenant_id and p.id > coalesce(p_after, '00000000-0000-0000-0000-000000000000') and p.process_version_id = v_version
       and p.status in ('Running', 'Suspended')
     order by p.id
     limit p_limit);
  perform bpm_core.lock_instances(p_tenant_id, array(
    select w.id
      from unnest(v_processes) k(id)
     cross join lateral (select w.id, w.tenant_id from bpm_core.workflow_instance w where w.process_instance_id = k.id offset 0) w
     where w.tenant_id = p_tenant_id));
  -- Some may have ended, or been moved, while they were waited for.
  for process_instance_id in
    select p.id
      from unnest(v_processes) k(id)
     cross join lateral (select p.id, p.status, p.process_version_id from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = k.id offset 0) p
     where p.status in ('Running', 'Suspended') and p.process_version_id = v_version
     order by p.id
  loop
    select m.changes, m.refusals into changes, refusals
      from bpm_core.migrate_locked(p_tenant_id, process_instance_id, p_to_version, p_mapping, v_actor, p_reason) m;
    outcome := case when refusals is null then 'Done' else 'Rejected' end::bpm.outcome;
    return next;
  end loop;
end
$$;
