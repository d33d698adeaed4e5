-- Who decided what, on which version, and what went out with which receipt: one process instance, or all of a business key, oldest first.
-- Of an instance that retention removed only the last row is left, InstanceRemoved: when and by whom, how it had ended, and the workflow instances under which
-- bpm.history still shows it as long as its months are kept.
-- p_after_seq: the seq of the last row of the page before.
-- Returns:  rows: at, process_instance_id, seq, kind, actor, what (in words), node_id, node_name, version (code and number of the workflow it was pinned to
--           then), note, evidence [{evidence_id, object_key, sha256}], facts [{subject, name, value}], command {command_id, destination, state, attempt,
--           receipt, error}, detail.
-- Raises:   BP400 neither or both of instance and key, BP403, BP404, BP422 limit (1..10000).
create or replace function bpm.get_trail(
  p_process_instance_id uuid default null, p_business_key text default null, p_limit integer default 1000, p_after_seq bigint default 0, p_tenant_id text default '')
returns table (at timestamptz, process_instance_id uuid, seq bigint, kind text, actor text, what text, node_id text, node_name text, version text, note text,
               evidence jsonb, facts jsonb, command jsonb, detail jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_instances uuid[];
  v_workflows uuid[];
  v_removed   uuid[];
  v_since     timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  if num_nonnulls(p_process_instance_id, p_business_key) <> 1 then
    perform bpm_core.fail('BP400', 'Name a process instance or a business key.');
  elsif p_limit is null or p_limit not between 1 and 10000 then
    perform bpm_core.fail('BP422', format('The limit must be 1 to 10000, not %s.', coalesce(p_limit::text, 'null')), jsonb_build_object('limit', p_limit));
  end if;
  v_instances := array(
    select p.id
      from (select p.tenant_id, p.id from bpm_core.process_instance p where p.business_key = p_business_key offset 0) p
     where p.tenant_id = p_tenant_id
    union all
    select p.id from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id);
  v_removed := array(
    select r.id
      from (select r.tenant_id, r.id from bpm_core.removed_instance r where r.business_key = p_business_key offset 0) r
     where r.tenant_id = p_tenant_id
    union all
    select r.id from bpm_core.removed_instance r where r.tenant_id = p_tenant_id and r.id = p_process_instance_id);
  if v_instances = '{}' and v_removed = '{}' then
    perform bpm_core.fail('BP404', format('There is no process instance %s.', coalesce(p_process_instance_id::text, 'with the key ' || p_business_key)), null,
      'The view bpm.instance lists those you may see.');
  end if;
  v_workflows := array(
    select w.id
      from unnest(v_instances) i(id)
     cross join lateral (select w.tenant_id, w.id from bpm_core.workflow_instance w where w.process_instance_id = i.id offset 0) w
     where w.tenant_id = p_tenant_id);
  v_since := (select min(p.created_at) - interval '1 day'
                from (select p_tenant_id as tenant_id, i.id from unnest(v_instances) i(id) offset 0) i
               cross join lateral (select p.created_at from bpm_core.process_instance p where p.tenant_id = i.tenant_id and p.id = i.id offset 0) p);
  return query
  select t.*
    from (
      select h.at, h.process_instance_id, h.seq, h.kind, h.actor, bpm_core.trail_words(h.kind, h.to_state, h.detail), h.node_id, n.name, d.code || ' ' || v.version,
             coalesce(h.detail ->> 'note', h.detail ->> 'reason', h.detail #>> '{detail,reason}'), x.evidence, x.facts, x.command, h.detail
        from (select h.* from bpm_core.trail_step h
               where h.tenant_id = p_tenant_id and h.workflow_instance_id = any (v_workflows) and h.at >= v_since and h.seq > coalesce(p_after_seq, 0)
               order by h.seq
               limit p_limit
              offset 0) h
       cross join lateral (select v.version, v.definition_id from bpm_core.workflow_version v
                            where v.tenant_id = h.tenant_id and v.id = h.workflow_version_id offset 0) v
       cross join lateral (select d.code from bpm_core.workflow_definition d where d.tenant_id = h.tenant_id and d.id = v.definition_id offset 0) d
        left join lateral (select n.name from bpm_core.workflow_node n
                            where n.tenant_id = h.tenant_id and n.workflow_version_id = h.workflow_version_id and n.node_id = h.node_id offset 0) n on true
       cross join lateral bpm_core.trail_proof(h.tenant_id, h.kind, h.actor, h.detail) x
      union all
      select r.* from bpm_core.removals_told(p_tenant_id, v_removed, coalesce(p_after_seq, 0)) r) t
   order by t.seq
   limit p_limit;
end
$$;
