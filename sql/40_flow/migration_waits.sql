-- What becomes of the open waits and timers of an instance in another version, and what speaks against it. Those of a boundary event that the
-- mapping gives up are closed; timers keep their due time.
-- Returns:  migration_item rows of kind wait or timer.
create or replace function bpm_core.migration_waits(p_tenant_id text, p_instance_id uuid, p_from uuid, p_to uuid, p_mapping jsonb)
returns setof bpm_core.migration_item
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  with resting as materialized (
    select t.id
      from (select t.tenant_id, t.id, t.state from bpm_core.token t where t.workflow_instance_id = p_instance_id offset 0) t
     where t.tenant_id = p_tenant_id and t.state in ('Waiting', 'Failed')),
  armed as materialized (
    select 'wait' as kind, s.id, s.token_id, s.node_id
      from resting r
     cross join lateral (select s.tenant_id, s.id, s.token_id, s.node_id, s.state from bpm_core.subscription s where s.token_id = r.id offset 0) s
     where s.tenant_id = p_tenant_id and s.state = 'Open'
    union all
    select 'timer', m.id, m.token_id, m.node_id
      from resting r
     cross join lateral (select m.tenant_id, m.id, m.token_id, m.node_id, m.status from bpm_core.timer m where m.token_id = r.id offset 0) m
     where m.tenant_id = p_tenant_id and m.status in ('Scheduled', 'Held'))
  select a.kind, a.id, a.token_id, a.node_id, n.node_id,
         case when o.attached_to is not null and i.image is null then 'close' when n.node_id <> a.node_id then 'rename' else 'keep' end,
         case
           when o.attached_to is not null and i.image is null then null
           when n.node_id is null then 'NodeMissing'
           when (n.kind, n.element) is distinct from (o.kind, o.element) then 'KindDiffers'
           when bpm_core.image_of(p_mapping, o.attached_to) is distinct from n.attached_to then 'HostDiffers'
           when n.message_name is distinct from o.message_name then 'NameDiffers'
           when (n.correlation_path, n.expressions -> 'correlation') is distinct from (o.correlation_path, o.expressions -> 'correlation') then 'KeyDiffers' end,
         case when i.image is null then 'the mapping gives it up' end
    from armed a
   cross join lateral (select bpm_core.image_of(p_mapping, a.node_id) as image) i
   cross join lateral (select o.* from bpm_core.workflow_node o
                        where o.tenant_id = p_tenant_id and o.workflow_version_id = p_from and o.node_id = a.node_id offset 0) o
    left join lateral (select n.* from bpm_core.workflow_node n
                        where n.tenant_id = p_tenant_id and n.workflow_version_id = p_to and n.node_id = i.image offset 0) n on true;
end
$$;
