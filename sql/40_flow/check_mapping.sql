-- Is this a mapping of nodes of one version to those of another?
-- Raises:   BP422 no object; a node that one of the versions does not have; two nodes mapped to one.
create or replace function bpm_core.check_mapping(p_tenant_id text, p_from uuid, p_to uuid, p_mapping jsonb)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_why text;
begin
  if jsonb_typeof(p_mapping) is distinct from 'object' then
    perform bpm_core.fail('BP422', 'The mapping must be an object {"node": "node of the new version" or null}.');
  end if;
  select case
           when jsonb_typeof(m.value) not in ('string', 'null') then format('%s is mapped to %s, which is no node', m.key, m.value)
           when o.node_id is null then format('the old version has no node %s', m.key)
           when jsonb_typeof(m.value) = 'string' and n.node_id is null then format('the new version has no node %s', m.value #>> '{}')
           when jsonb_typeof(m.value) = 'string' and count(*) over (partition by m.value) > 1 then format('two nodes are mapped to %s', m.value #>> '{}') end
    into v_why
    from jsonb_each(p_mapping) m
    left join lateral (select o.node_id from bpm_core.workflow_node o
                        where o.tenant_id = p_tenant_id and o.workflow_version_id = p_from and o.node_id = m.key offset 0) o on true
    left join lateral (select n.node_id from bpm_core.workflow_node n
                        where n.tenant_id = p_tenant_id and n.workflow_version_id = p_to and n.node_id = m.value #>> '{}' offset 0) n on true
   order by 1
   limit 1;
  if v_why is not null then
    perform bpm_core.fail('BP422', format('The mapping is wrong: %s.', v_why), jsonb_build_object('mapping', p_mapping));
  end if;
end
$$;
