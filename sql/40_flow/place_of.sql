-- Where a live token of a process is: its workflow instance and the scope it is in; the host of an open scope counts as inside that, for what is wrong
-- there is mostly about what the scope declares.
-- Raises:   BP404 no such live token in this process.
create or replace function bpm_core.place_of(p_tenant_id text, p_process_instance_id uuid, p_token_id uuid)
returns table (instance_id uuid, scope_id uuid)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  select t.workflow_instance_id, coalesce(s.id, t.scope_id) into instance_id, scope_id
    from bpm_core.token t
   cross join lateral (select w.process_instance_id, w.status from bpm_core.workflow_instance w
                        where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
    left join lateral (
      select (array_agg(x.id))[1] as id
        from (select s.id, s.state from bpm_core.scope s where s.host_token_id = t.id offset 0) x
       where x.state = 'Open'
      having count(*) = 1) s on true  -- the items of a multi-instance are several, and none of them is meant
   where t.tenant_id = p_tenant_id and t.id = p_token_id and t.state not in ('Completed', 'Terminated')
     and w.process_instance_id = p_process_instance_id and w.status in ('Running', 'Suspended');
  if instance_id is null then
    perform bpm_core.fail('BP404', format('There is no live token %s in process instance %s.', p_token_id, p_process_instance_id), null,
      'bpm.get_process lists the tokens of a process.');
  end if;
  return next;
end
$$;
