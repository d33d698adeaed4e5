-- The yardstick: a bare PL/pgSQL script that writes the same rows as the engine, in the same batches and with as many commits, and does
-- nothing else. Same tables, partitions, keys, indexes and foreign keys; no guards, no locks taken ahead, no graph, no outcomes, no checks.
-- The nodes of line.bpmn are known to it. Plans are pinned as the engine's are, and key columns come from the driving set for the same reason:
-- a constant tenant lets the planner walk the whole tenant while the tables are small. Its functions run as the engine's do, as definer, by the same owner: a
-- superuser would be spared every look at rights.
create schema bare authorization bpm_owner;
set role bpm_owner;

do $$
declare
  r_table     record;
  r_partition record;
begin
  for r_table in
    select c.oid, c.relname, case c.relkind when 'p' then ' partition by ' || pg_get_partkeydef(c.oid) else '' end as partitioned,
           coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '') as options
      from unnest('{process_instance,workflow_instance,token,task_instance,execution,result,history_event}'::text[]) t(name)
      join pg_class c on c.oid = format('bpm_core.%I', t.name)::regclass
  loop
    execute format('create table bare.%I (like bpm_core.%1$I including defaults including identity including indexes including storage)', r_table.relname)
            || r_table.partitioned || r_table.options;
    for r_partition in
      select c.relname, pg_get_expr(c.relpartbound, c.oid) as bound, coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '') as options
        from pg_inherits i
        join pg_class c on c.oid = i.inhrelid
       where i.inhparent = r_table.oid
    loop
      execute format('create table bare.%I partition of bare.%I ', r_partition.relname, r_table.relname) || r_partition.bound || r_partition.options;
    end loop;
  end loop;
end
$$;
alter table bare.workflow_instance add foreign key (tenant_id, process_instance_id) references bare.process_instance;
alter table bare.token add foreign key (tenant_id, workflow_instance_id) references bare.workflow_instance (tenant_id, id);

create function bare.start(p_count integer, p_variables jsonb)
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now  timestamptz := clock_timestamp();
  v_zero constant uuid := '00000000-0000-0000-0000-000000000000';
  v_count integer;
begin
  with born as materialized (
    select bpm_core.new_id() as process_id, bpm_core.new_id() as workflow_id, bpm_core.new_id() as token_id
      from generate_series(1, p_count)),
  process as (
    insert into bare.process_instance (tenant_id, id, process_version_id, variables, started_by, created_at, updated_at)
    select '', b.process_id, v_zero, p_variables, 'bare', v_now, v_now from born b),
  workflow as (
    insert into bare.workflow_instance (tenant_id, id, process_instance_id, workflow_version_id, role_version_id, live_tokens, created_at)
    select '', b.workflow_id, b.process_id, v_zero, v_zero, 1, v_now from born b),
  token as (
    insert into bare.token (tenant_id, id, workflow_instance_id, node_id, visit, version, state, updated_at)
    select '', b.token_id, b.workflow_id, 'first', 1, 1, 'Waiting', v_now from born b),
  task as (
    insert into bare.task_instance (
      tenant_id, id, workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, available_at, max_attempts, lease)
    select '', bpm_core.new_id(), b.workflow_id, b.token_id, 1, 'first', v_zero, 'first', clock_timestamp(), 3, interval '5 minutes' from born b),
  noted as (
    insert into bare.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, actor, detail)
    select '', b.workflow_id, v_now, 'InstanceStarted', b.token_id, 'begin', 'Running', 'bare', jsonb_build_object('workflow_version', v_zero)
      from born b)
  select count(*) into v_count from born b;
  return v_count;
end
$$;

create function bare.claim(p_worker text, p_types text[], p_limit integer)
returns table (task_id uuid, task_type text, fencing_token bigint, variables jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  return query
  with picked as materialized (
    select '' as tenant_id, c.id
      from unnest(p_types) y(task_type)
     cross join lateral (
       select t.id
         from bare.task_instance t
        where t.state = 'Ready' and t.tenant_id = '' and t.task_type = y.task_type and t.priority_level = 1 and t.available_at <= v_now
        order by t.available_at, t.id
        limit p_limit
          for no key update skip locked) c
     limit p_limit),
  leased as (
    update bare.task_instance t
       set state = 'Executing', attempt = t.attempt + 1, fencing_token = t.fencing_token + 1, worker_id = p_worker, claimed_at = v_now,
           lease_until = v_now + t.lease
      from picked p
     where t.tenant_id = p.tenant_id and t.id = p.id
    returning t.tenant_id, t.id, t.task_type, t.fencing_token, t.workflow_instance_id)
  select l.id, l.task_type, l.fencing_token, p.variables || w.variables
    from leased l
    join bare.workflow_instance w on w.tenant_id = l.tenant_id and w.id = l.workflow_instance_id
    join bare.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id;
end
$$;

create function bare.complete(p_tasks uuid[], p_patch jsonb)
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now       timestamptz := clock_timestamp();
  v_zero      constant uuid := '00000000-0000-0000-0000-000000000000';
  v_hash      constant bytea := '\x0000000000000000000000000000000000000000000000000000000000000000';
  v_instances uuid[];
  v_tokens    uuid[];
  v_count     integer;
begin
  with task as materialized (
    select '' as tenant_id, k.id from unnest(p_tasks) k(id)),
  done as (
    update bare.task_instance t
       set state = 'Completed'
      from task k
     where t.tenant_id = k.tenant_id and t.id = k.id
    returning t.tenant_id, t.id, t.workflow_instance_id, t.token_id, t.node_id, t.attempt, t.worker_id, t.fencing_token, t.claimed_at, t.lease_until,
              case t.node_id when 'first' then 'second' when 'second' then 'third' end as next_node),
  executed as (
    insert into bare.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
    select '', d.id, d.attempt, d.worker_id, d.fencing_token, d.claimed_at, d.lease_until, v_now, 'Succeeded', 'Completed' from done d),
  kept as (
    insert into bare.result (tenant_id, task_instance_id, attempt, output, content_hash, created_by, created_at)
    select '', d.id, d.attempt, p_patch, v_hash, d.worker_id, v_now from done d),
  noted as (
    insert into bare.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
    select '', d.workflow_instance_id, v_now, 'TaskCompleted', d.token_id, d.node_id, d.worker_id,
           jsonb_build_object('task', d.id, 'attempt', d.attempt, 'variables', p_patch)
      from done d),
  patched as (
    update bare.workflow_instance w
       set lock_version = w.lock_version + 1, variables = w.variables || p_patch, live_tokens = (d.next_node is not null)::integer,
           status = case when d.next_node is null then 'Completed' else w.status end, ended_at = case when d.next_node is null then v_now end
      from done d
     where w.tenant_id = d.tenant_id and w.id = d.workflow_instance_id),
  moved as (
    update bare.token t
       set node_id = coalesce(d.next_node, 'end'), visit = t.visit + 1, version = t.version + 1, updated_at = v_now,
           state = case when d.next_node is null then 'Completed' else 'Waiting' end::bpm_core.token_state
      from done d
     where t.tenant_id = d.tenant_id and t.id = d.token_id),
  offered as (
    insert into bare.task_instance (
      tenant_id, id, workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, available_at, max_attempts, lease)
    select '', bpm_core.new_id(), d.workflow_instance_id, d.token_id, 1, d.next_node, v_zero, d.next_node, clock_timestamp(), 3, interval '5 minutes'
      from done d
     where d.next_node is not null)
  select count(*), array_agg(d.workflow_instance_id) filter (where d.next_node is null), array_agg(d.token_id) filter (where d.next_node is null)
    into v_count, v_instances, v_tokens
    from done d;
  if v_instances is not null then
    with instance as materialized (
      select '' as tenant_id, e.id from unnest(v_instances) e(id)),
    ended as (
      update bare.process_instance p
         set status = 'Completed', version = p.version + 1, updated_at = v_now, ended_at = v_now
        from instance e
       cross join lateral (select w.tenant_id, w.process_instance_id from bare.workflow_instance w
                            where w.tenant_id = e.tenant_id and w.id = e.id offset 0) w
       where p.tenant_id = w.tenant_id and p.id = w.process_instance_id)
    insert into bare.history_event (tenant_id, workflow_instance_id, at, kind, token_id, to_state)
    select '', e.instance_id, v_now, k.kind, case when k.kind = 'TokenCompleted' then e.token_id end, 'Completed'
      from unnest(v_instances, v_tokens) e(instance_id, token_id)
     cross join unnest('{TokenCompleted,InstanceCompleted}'::bpm_core.history_kind[]) k(kind);
  end if;
  return v_count;
end
$$;
reset role;
