-- Under the instance locks: begins the next items of parallel multi-instances, 1,000 of all together, and leaves the rest to tick again. One that has ended
-- meanwhile is passed over.
-- Writes:   multi_instance, inbox, workflow_instance, and what open_items and the paths ahead write.
create or replace function bpm_core.continue_loops(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_chunk constant integer := 1000;
  v_plans bpm_core.loop_plan[];
  v_more  bpm_core.loop_plan[];
begin
  v_plans := array(
    select row(row(r.tenant_id, m.workflow_instance_id, w.workflow_version_id, t.scope_id, m.host_token_id, m.node_id, null, null)::bpm_core.moving,
               m.visit, t.steps, m.mode, n.spec, m.declared, m.total, m.created, null, null)::bpm_core.loop_plan
      from unnest(p_rows) r
     cross join lateral (select m.* from bpm_core.multi_instance m
                          where m.tenant_id = r.tenant_id and m.host_token_id = (r.payload ->> 'host')::uuid offset 0) m
     cross join lateral (select t.scope_id, t.steps, t.state from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = m.host_token_id offset 0) t
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = r.tenant_id and w.id = m.workflow_instance_id offset 0) w
     cross join lateral (select n.expressions -> 'loop' as spec from bpm_core.workflow_node n
                          where n.tenant_id = r.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = m.node_id offset 0) n
     where m.visit = (r.payload ->> 'visit')::integer and m.created < m.total and t.state = 'Waiting');
  if cardinality(v_plans) = 0 then
    return;
  end if;
  -- items: how many of each begin now.
  v_plans := array(
    select row(p.host, p.visit, p.steps, p.mode, p.spec, p.declared, p.total, p.created,
               to_jsonb(greatest(0, least(p.total - p.created, v_chunk - (p.upto - (p.total - p.created))))), null)::bpm_core.loop_plan
      from (select p.*, sum(p.total - p.created) over (order by p.ordinality) as upto from unnest(v_plans) with ordinality p) p);
  perform bpm_core.bump_instances(p_tenant_id, array(select (p.host).instance_id from unnest(v_plans) p));
  -- As in count_items: by key, whatever the statistics say.
  insert into bpm_core.multi_instance as m (tenant_id, host_token_id, workflow_instance_id, visit, node_id, mode, total, created)
  select p_tenant_id, (p.host).token_id, (p.host).instance_id, p.visit, (p.host).node_id, p.mode, p.total, p.created + p.items::integer
    from unnest(v_plans) p
      on conflict (tenant_id, host_token_id) do update
     set created = excluded.created;
  v_more := array(select p from unnest(v_plans) p where p.created + p.items::integer < p.total);
  if cardinality(v_more) > 0 then
    perform bpm_core.continue_later(v_more);
  end if;
  perform bpm_core.advance_isolated(bpm_core.open_items(array(
    select row(p.host, p.visit, p.steps, e.index, p.total,
               bpm_core.loop_variables(p.spec, p.declared, e.index, bpm_core.loop_element((p.host).tenant_id, (p.host).token_id, e.index, p.spec)))::bpm_core.loop_item
      from unnest(v_plans) p
     cross join lateral (select g.i as index from generate_series(p.created, p.created + p.items::integer - 1) g(i)) e)));
end
$$;
