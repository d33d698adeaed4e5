-- Marks the records a throw event compensates as its own: of the activity it names, or of all that was completed in its scope; those of a saga and of a
-- cancelled transaction also what was completed in a part that was interrupted. What another thrower that is still there has taken stays with that.
-- Writes:   compensation_record.
create or replace function bpm_core.claim_compensations(p_thrower bpm_core.moving)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_drawn    jsonb;
  v_activity text;
  v_whole    boolean;
  v_scopes   uuid[];
  v_inside   uuid[] := '{}'::uuid[];
begin
  v_drawn := (select n.attributes -> 'drawn' from bpm_core.workflow_node n
               where n.tenant_id = p_thrower.tenant_id and n.workflow_version_id = p_thrower.version_id and n.node_id = p_thrower.node_id);
  v_activity := v_drawn ->> 'activity';
  v_whole := coalesce(v_drawn ? 'whole', false);
  v_scopes := bpm_core.completed_scopes(p_thrower.tenant_id, p_thrower.instance_id, bpm_core.compensated_scopes(p_thrower), v_whole);
  if v_activity is not null then
    -- Of a sub-process without a handler of its own, what is inside.
    v_inside := bpm_core.completed_scopes(p_thrower.tenant_id, p_thrower.instance_id, array(
      select k.id
        from unnest(v_scopes) k(id)
       cross join lateral (select s.node_id from bpm_core.scope s where s.tenant_id = p_thrower.tenant_id and s.id = k.id offset 0) s
       where s.node_id in (v_activity, v_activity || ':multi', v_activity || ':loop')), false);
  end if;
  update bpm_core.compensation_record r
     set thrower_token_id = p_thrower.token_id
    from (select c.tenant_id, c.id, c.status, c.scope_id, c.node_id, c.thrower_token_id from bpm_core.compensation_record c
           where c.workflow_instance_id = p_thrower.instance_id offset 0) c
   where r.tenant_id = c.tenant_id and r.id = c.id and c.status = 'Pending'
     and (c.scope_id = any (v_scopes) and (v_activity is null or c.node_id = v_activity) or c.scope_id = any (v_inside))
     -- A thrower at work hosts a handler at any time.
     and not exists (select from (select h.state, h.is_copy from bpm_core.scope h where h.host_token_id = c.thrower_token_id offset 0) h
                      where h.state = 'Open' and h.is_copy);
end
$$;
