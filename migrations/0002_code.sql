-- Functions, views, grants.
-- Written from sql/ by `make baseline` until the first release; from then on it never changes.

-- from 00_foundation/acting_as.sql
-- The actor a human or administrative call is recorded under.
-- Returns:  text, p_actor or the caller's role.
-- Raises:   BP400 empty or over-long name. BP403 asserting somebody else without being operator or admin of the tenant.
create or replace function bpm_core.acting_as(p_tenant_id text, p_actor text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller text := bpm_core.caller();
begin
  if p_actor is null or p_actor = v_caller then
    return v_caller;
  end if;
  if length(btrim(p_actor)) not between 1 and 200 then
    perform bpm_core.fail('BP400', 'The actor must be a name of 1 to 200 characters.');
  end if;
  if not bpm_core.is_granted(v_caller, p_tenant_id, 'operator') then
    perform bpm_core.fail('BP403', format('Role %s may not act as %L.', v_caller, p_actor), null,
      'Leave p_actor out, or let an admin grant operator for this tenant.');
  end if;
  return p_actor;
end
$$;

-- from 00_foundation/caller.sql
-- Who calls: the role set with SET ROLE, else the login. Inside definer functions too, since neither changes there.
create or replace function bpm_core.caller()
returns text
language sql stable parallel safe
as $$ select coalesce(nullif(current_setting('role'), 'none'), session_user::text) $$;

-- from 00_foundation/create_tenant.sql
-- Creates a tenant, or changes its name; its creator becomes its admin.
-- Returns:  text, the tenant id.
-- Raises:   BP400 bad id or name. BP403 the caller is not admin of the tenant without a name.
-- Writes:   tenant, tenant_grant, audit_event.
create or replace function bpm.create_tenant(p_name text, p_new_tenant_id text, p_actor text default null, p_tenant_id text default '')
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call('', 'admin');
  if p_new_tenant_id is null or p_new_tenant_id !~ '^[^%[:cntrl:]]{1,200}$' then
    perform bpm_core.fail('BP400', 'A tenant id is 1 to 200 characters, without % and control characters.',
      jsonb_build_object('tenant_id', p_new_tenant_id));
  end if;
  if length(p_name) > 200 then
    perform bpm_core.fail('BP400', 'The name of a tenant has at most 200 characters.');
  end if;
  insert into bpm_core.tenant as t (tenant_id, name, created_at)
  values (p_new_tenant_id, coalesce(p_name, p_new_tenant_id), bpm_core.now())
  on conflict (tenant_id) do update set name = excluded.name;
  insert into bpm_core.tenant_grant (role_name, tenant_pattern, capability, granted_by, granted_at)
  values (bpm_core.caller(), p_new_tenant_id, 'admin', bpm_core.caller(), bpm_core.now())
  on conflict do nothing;
  perform bpm_core.write_audit('', bpm_core.acting_as('', p_actor), 'CreateTenant', 'tenant', p_new_tenant_id);
  return p_new_tenant_id;
end
$$;

-- from 00_foundation/enter_call.sql
-- The door of every public function: may this caller do this for this tenant, and is the transaction of a kind we can be right in?
-- Looks nothing else up before; an unknown tenant and one that is not granted get the same answer.
-- Raises:   BP400 null tenant or isolation level other than READ COMMITTED. BP403 not granted. BP423 tenant suspended (unless only reading).
create or replace function bpm_core.enter_call(p_tenant_id text, p_capability bpm_core.capability)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller text := bpm_core.caller();
  v_state  text;
begin
  if p_tenant_id is null then
    perform bpm_core.fail('BP400', 'The tenant is null.', null, 'Pass p_tenant_id, or leave it out for the tenant without a name.');
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform bpm_core.fail('BP400', format('Isolation level %s is not supported.', current_setting('transaction_isolation')),
      null, 'Call in READ COMMITTED: the engine locks first and looks afterwards.');
  end if;
  select t.state into v_state
    from bpm_core.tenant t
   where t.tenant_id = p_tenant_id
     and bpm_core.is_granted(v_caller, p_tenant_id, p_capability);
  if v_state is null then
    perform bpm_core.fail('BP403', format('Role %s has no %s grant for tenant %L.', v_caller, p_capability, p_tenant_id),
      jsonb_build_object('role', v_caller, 'tenant_id', p_tenant_id, 'capability', p_capability),
      'An admin creates the tenant with bpm.create_tenant and grants it with bpm.grant_access.');
  elsif v_state = 'Suspended' and p_capability <> 'reader' then
    perform bpm_core.fail('BP423', format('Tenant %L is suspended.', p_tenant_id));
  end if;
end
$$;

-- from 00_foundation/fail.sql
-- Raises an error of the BP class. The one place where the engine raises on purpose.
-- Raises:   p_code (five characters, BP and three digits that echo HTTP), with machine-readable detail and a hint what to do next.
create or replace function bpm_core.fail(p_code text, p_message text, p_detail jsonb default null, p_hint text default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  -- An option that is null is an error of its own, and an empty one prints as an empty line.
  if p_detail is null and p_hint is null then
    raise exception using errcode = p_code, message = p_message;
  elsif p_hint is null then
    raise exception using errcode = p_code, message = p_message, detail = p_detail::text;
  elsif p_detail is null then
    raise exception using errcode = p_code, message = p_message, hint = p_hint;
  end if;
  raise exception using errcode = p_code, message = p_message, detail = p_detail::text, hint = p_hint;
end
$$;

-- from 00_foundation/grant_access.sql
-- Grants a database role a capability for the tenants a pattern covers.
-- Returns:  nothing. Granting twice changes nothing.
-- Raises:   BP400 unknown capability, no pattern or no tenant. BP403 the caller is not admin: of the tenant for a grant of that very tenant, else of
--           the tenant without a name. BP404 no such role.
-- Writes:   tenant_grant, audit_event.
create or replace function bpm.grant_access(p_role text, p_tenant_pattern text, p_capability text, p_actor text default null, p_tenant_id text default '')
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- The tenant whose admin the caller has to be; what is done is recorded there.
  v_tenant text := case when p_tenant_id is null or (p_tenant_pattern = p_tenant_id and right(p_tenant_id, 1) <> '%') then p_tenant_id else '' end;
  v_actor  text;
begin
  perform bpm_core.enter_call(v_tenant, 'admin');
  v_actor := bpm_core.acting_as(v_tenant, p_actor);
  if p_tenant_pattern is null or length(p_tenant_pattern) > 201 then
    perform bpm_core.fail('BP400', 'A tenant pattern is a text of at most 201 characters.');
  elsif p_capability is null or p_capability not in ('reader', 'worker', 'operator', 'admin') then
    perform bpm_core.fail('BP400', format('Unknown capability %L.', p_capability), null, 'Use reader, worker, operator or admin.');
  elsif not exists (select from pg_roles r where r.rolname = p_role) then
    perform bpm_core.fail('BP404', format('There is no database role %L.', p_role), null, 'Create the role first.');
  end if;
  insert into bpm_core.tenant_grant (role_name, tenant_pattern, capability, granted_by, granted_at)
  values (p_role, p_tenant_pattern, p_capability::bpm_core.capability, v_actor, bpm_core.now())
  on conflict do nothing;
  perform bpm_core.write_audit(v_tenant, v_actor, 'GrantAccess', 'role', p_role, null, null,
    jsonb_build_object('tenant_pattern', p_tenant_pattern, 'capability', p_capability));
end
$$;

-- from 00_foundation/is_granted.sql
-- Does a grant give this role this capability for this tenant? Grants to roles the caller is a member of count.
-- In PL/pgSQL because a SQL function would be planned anew with every call of every public function.
-- Returns:  boolean. Each capability includes those before it: reader, worker, operator, admin.
create or replace function bpm_core.is_granted(p_role text, p_tenant_id text, p_capability bpm_core.capability)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
           select
             from bpm_core.tenant_grant g
            where g.role_name = p_role and g.tenant_pattern = p_tenant_id and g.capability >= p_capability)
      or exists (
           select
             from bpm_core.tenant_grant g
            where g.capability >= p_capability
              and (g.tenant_pattern = p_tenant_id
                   or (right(g.tenant_pattern, 1) = '%' and starts_with(p_tenant_id, left(g.tenant_pattern, -1))))
              and (g.role_name = p_role
                   or exists (select from pg_roles r where r.rolname = g.role_name and pg_has_role(p_role, r.oid, 'member'))));
end
$$;

-- from 00_foundation/new_id.sql
-- A fresh identifier: uuid version 7, so that keys arrive in the order of time and indexes grow at their right edge. What is drawn one after the other
-- sorts so, if a microsecond lies between: the inbox is applied in this order.
-- Returns:  uuid; the first 48 bits are milliseconds of the clock, the 12 after the version their fraction (RFC 9562, 6.2, method 3).
create or replace function bpm_core.new_id()
returns uuid
language sql volatile parallel safe
as $$
  -- The clock is read once: milliseconds and their fraction are one number, twelve and four hexadecimal digits.
  select overlay(
    replace(gen_random_uuid()::text, '-', '')
    placing left(overlay(lpad(to_hex((extract(epoch from clock_timestamp()) * 65536000)::bigint), 16, '0') placing '7' from 13 for 0), 16)
    from 1 for 16)::uuid
$$;

-- from 00_foundation/now.sql
-- The engine's clock: the wall clock, not the start of the transaction. Test kits replace this function to move time.
-- Returns:  timestamptz, now. Volatile: read it once into a local, after the lock (a volatile call cannot be an index condition).
create or replace function bpm_core.now()
returns timestamptz
language sql volatile parallel safe
as $$ select clock_timestamp() $$;

-- from 00_foundation/set_setting.sql
-- Sets an engine setting; null puts it back to its default. Settings hold for every tenant.
-- Returns:  jsonb, the value now set; null when it is the default.
-- Raises:   BP400 unknown name or a value of another kind or range. BP403 not admin of the tenant without a name.
-- Writes:   setting, audit_event.
create or replace function bpm.set_setting(p_name text, p_value jsonb, p_actor text default null, p_tenant_id text default '')
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_value jsonb := nullif(p_value, 'null');
  v_actor text;
  v_fault text;
  v_old   jsonb;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_tenant_id <> '' then
    perform bpm_core.fail('BP403', 'Settings hold for all tenants; only an admin of the tenant without a name sets them.', null,
      'Leave p_tenant_id out.');
  end if;
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  v_fault := bpm_core.setting_fault(p_name, v_value);
  if v_fault is not null then
    perform bpm_core.fail('BP400', v_fault, jsonb_build_object('name', p_name, 'value', p_value), 'docs/reference lists the settings.');
  end if;
  v_old := bpm_core.setting_value(p_name, null);
  if v_value is null then
    delete from bpm_core.setting s where s.name = p_name;
  else
    insert into bpm_core.setting as s (name, value, updated_at, updated_by)
    values (p_name, v_value, bpm_core.now(), v_actor)
    on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at, updated_by = excluded.updated_by;
  end if;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'SetSetting', 'setting', p_name, null, null,
    jsonb_build_object('from', v_old, 'to', v_value));
  return v_value;
end
$$;

-- from 00_foundation/setting_fault.sql
-- Is this a setting we know, with a value it can have? The list of all settings.
-- Returns:  text, what is wrong; null when nothing is. A null value (back to the default) is never wrong.
create or replace function bpm_core.setting_fault(p_name text, p_value jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  r_known record;
begin
  select k.lowest, k.highest into r_known
    from (values
      ('engine.approval_required_task_types', null::bigint, null::bigint),
      ('engine.loop_budget', 1, 1000000000),
      ('engine.max_call_depth', 1, 1000),
      ('engine.max_value_bytes', 65536, 100000000),
      ('engine.max_variables_bytes', 65536, 100000000),
      ('engine.sweep_batch_size', 1, 100000),
      ('engine.timer_batch_size', 1, 1000),
      ('engine.timer_poll_interval_ms', 10, 3600000),
      ('catalog.max_bpmn_bytes', 1024, 100000000)) k(name, lowest, highest)
   where k.name = p_name;
  if not found then
    return format('There is no setting %L.', p_name);
  elsif p_value is null then
    return null;
  elsif r_known.lowest is null then
    if jsonb_typeof(p_value) <> 'array'
       or jsonb_path_exists(p_value, '$[*] ? (@.type() != "string" || @ == "")')
       or exists (select from jsonb_array_elements_text(p_value) t(task_type) where length(t.task_type) > 200) then
      return format('%s takes an array of task types, not %s.', p_name, p_value);
    end if;
  elsif jsonb_typeof(p_value) <> 'number' or (p_value)::numeric % 1 <> 0
        or (p_value)::numeric not between r_known.lowest and r_known.highest then
    return format('%s takes a whole number from %s to %s, not %s.', p_name, r_known.lowest, r_known.highest, p_value);
  end if;
  return null;
end
$$;

-- from 00_foundation/setting_value.sql
-- Reads an engine setting.
-- Returns:  jsonb, the value set or p_default.
create or replace function bpm_core.setting_value(p_name text, p_default jsonb)
returns jsonb
language sql stable parallel safe
as $$ select coalesce((select s.value from bpm_core.setting s where s.name = p_name), p_default) $$;

-- from 00_foundation/visible_tenants.sql
-- The tenants the caller may read; views filter by it once per query (an InitPlan), not once per row.
-- Security definer, and executable by the four roles: the functions of a view run with the rights of its reader, its tables with the owner's.
-- Returns:  setof text, tenant ids.
create or replace function bpm_core.visible_tenants()
returns setof text
language sql stable security definer parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select t.tenant_id
    from bpm_core.tenant t
   where bpm_core.is_granted(bpm_core.caller(), t.tenant_id, 'reader')
$$;

-- from 10_record/decode_variables.sql
-- Takes the wire form off values: __var:1: + JSON becomes that JSON. Encrypted values stay as they are, opaque. Call variables_fault first.
-- Returns:  jsonb object.
create or replace function bpm_core.decode_variables(p_variables jsonb)
returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not jsonb_path_exists(p_variables, '$.* ? (@.type() == "string" && @ starts with "__var:1:")') then
    return p_variables;
  end if;
  return (
    select jsonb_object_agg(v.key, case when starts_with(v.value #>> '{}', '__var:1:') then substr(v.value #>> '{}', 9)::jsonb else v.value end)
      from jsonb_each(p_variables) v);
end
$$;

-- from 10_record/is_plain.sql
-- Variables that need no closer look: an object, small, without texts that begin like a wire form. Inlined into its caller.
-- The size is that of the value itself: concatenated with nothing, since one that comes from a table may arrive compressed.
-- Returns:  boolean. False says only that variables_fault and decode_variables have to look.
create or replace function bpm_core.is_plain(p_variables jsonb)
returns boolean
language sql stable parallel safe
as $$
  select jsonb_typeof(p_variables) = 'object'
         and case when pg_column_size(p_variables || '{}') <= 4000 then true  -- too small to be nested 500 levels
                  else pg_column_size(p_variables || '{}') <= 65536 and not jsonb_path_exists(p_variables, '$.**{501}') end
         and not jsonb_path_exists(p_variables, '$.* ? (@.type() == "string" && @ starts with "__")')
$$;

-- from 10_record/is_wire_json.sql
-- Is this text the wire form __var:1: followed by JSON, not nested deeper than variables may be?
-- Returns:  boolean.
create or replace function bpm_core.is_wire_json(p_text text)
returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return starts_with(p_text, '__var:1:') and not jsonb_path_exists(substr(p_text, 9)::jsonb, '$.**{499}');
exception
  -- Nested beyond what the parser's stack holds is too complex a statement to PostgreSQL.
  when data_exception or statement_too_complex then
    return false;
end
$$;

-- from 10_record/variables_fault.sql
-- Is this a map of variables we take? An object, within the caps, no text that forges a wire form of ours.
-- Nesting is capped because what parses at the top of the stack may not be copied any more deep inside a command.
-- Returns:  text, what is wrong; null when nothing is.
create or replace function bpm_core.variables_fault(p_variables jsonb)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_size  integer;
  v_limit integer;
  v_name  text;
begin
  if jsonb_typeof(p_variables) is distinct from 'object' then
    return format('Variables must be a JSON object, not %s.', coalesce(jsonb_typeof(p_variables), 'missing'));
  end if;
  v_size := pg_column_size(p_variables || '{}');  -- concatenated with nothing: a value from a table may arrive compressed
  if v_size > 65536 then
    v_limit := (bpm_core.setting_value('engine.max_variables_bytes', '1048576'))::integer;
    if v_size > v_limit then
      return format('Variables of %s bytes exceed the limit of %s bytes.', v_size, v_limit);
    end if;
    v_limit := (bpm_core.setting_value('engine.max_value_bytes', '262144'))::integer;
    select v.key into v_name
      from jsonb_each(p_variables) v
     where pg_column_size(v.value) > v_limit
     order by v.key
     limit 1;
    if v_name is not null then
      return format('Variable %s exceeds the limit of %s bytes for one value.', v_name, v_limit);
    end if;
  end if;
  if v_size > 4000 and jsonb_path_exists(p_variables, '$.**{501}') then
    return 'Variables are nested deeper than 500 levels.';
  end if;
  if jsonb_path_exists(p_variables, '$.* ? (@.type() == "string" && @ starts with "__")') then
    select v.key into v_name
      from jsonb_each_text(p_variables) v
     where v.value ~ '^__[a-z]+:' and v.value !~ '^__encrypted:' and not bpm_core.is_wire_json(v.value)
     order by v.key
     limit 1;
    if v_name is not null then
      return format('Variable %s starts with a reserved prefix but is no wire form.', v_name);
    end if;
  end if;
  return null;
end
$$;

-- from 10_record/write_audit.sql
-- Records one administrative or human action, in the transaction that does it.
-- Returns:  nothing. Writes audit_event. The trace id is the caller's setting bpm.trace_id, if any.
create or replace function bpm_core.write_audit(
  p_tenant_id text, p_actor text, p_action text, p_aggregate_type text, p_aggregate_id text,
  p_aggregate_version integer default null, p_reason text default null, p_detail jsonb default '{}')
returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  insert into bpm_core.audit_event (tenant_id, id, actor, action, aggregate_type, aggregate_id, aggregate_version, trace_id, reason, detail, at)
  values (p_tenant_id, bpm_core.new_id(), p_actor, p_action, p_aggregate_type, p_aggregate_id, p_aggregate_version,
          nullif(current_setting('bpm.trace_id', true), ''), p_reason, coalesce(p_detail, '{}'), bpm_core.now())
$$;

-- from 20_catalog/approval_types.sql
-- The task types whose steps need approval before they become work: listed in the setting, or published so. Read at deploy only.
create or replace function bpm_core.approval_types(p_tenant_id text)
returns text[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(x.task_type), '{}')
    from (select jsonb_array_elements_text(bpm_core.setting_value('engine.approval_required_task_types', '[]')) as task_type
          union
          select v.task_type
            from bpm_core.task_definition d
            join bpm_core.task_version v on v.tenant_id = d.tenant_id and v.id = d.published_version_id
           where d.tenant_id = p_tenant_id and v.approval_required) x
$$;

-- from 20_catalog/binding_rows.sql
-- The rows of workflow_task_binding for one compiled process: every task pinned to a task version, the node's own wishes resolved.
create or replace function bpm_core.binding_rows(p_tenant_id text, p_version_id uuid, p_process_pos integer, p_nodes bpm_core.draft_node[])
returns setof bpm_core.workflow_task_binding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p_tenant_id, p_version_id, n.node_id, t.task_version_id, n.task_type, coalesce(b.max_attempts, t.max_attempts), coalesce(b.lease, t.lease),
         coalesce(b.priority_level, 1::smallint), b.assignee, b.candidate_groups,
         case when n.kind = 'SendTask' then coalesce(nullif(btrim(n.attributes ->> 'bpm:destination'), ''), n.task_type) end,
         b.expressions, b.headers
    from unnest(p_nodes) n
    cross join lateral bpm_core.drawn_binding(n.attributes, n.extensions, n.lane) b
    join bpm_core.pinned_tasks(p_tenant_id, array(select distinct m.task_type from unnest(p_nodes) m where m.task_type is not null)) t on t.task_type = n.task_type
   where n.process_pos = p_process_pos and n.kind in ('ServiceTask', 'ApprovalTask', 'UserTask', 'SendTask')
$$;

-- from 20_catalog/bpmn_definitions.sql
-- What stands beside the processes and is referred to: messages, errors, signals, escalations.
-- Returns:  one row per such element with an id.
create or replace function bpm_core.bpmn_definitions(p_elements bpm_core.bpmn_element[])
returns table (id text, tag text, name text, attributes jsonb, extensions jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select distinct on (e.id) e.id, e.tag, nullif(btrim(e.attributes ->> 'name'), ''), e.attributes, coalesce(x.extensions, '{}')
    from unnest(p_elements) e
    left join bpm_core.bpmn_extensions(p_elements) x on x.owner_pos = e.pos
   where e.space = 'bpmn' and e.parent = 0 and e.tag in ('message', 'error', 'signal', 'escalation') and e.id is not null
   order by e.id, e.pos
$$;

-- from 20_catalog/bpmn_elements.sql
-- Shreds a BPMN document into rows: everything below definitions but the diagram and what stands in namespaces we do not know.
-- xmltable has no element identity, so an attribute finds its element by counting (both come in document order), and a parent
-- is the last element one level up.
-- Returns:  bpmn_element[], in document order.
-- Raises:   what xmltable raises on malformed input; read_bpmn turns it into a fault.
create or replace function bpm_core.bpmn_elements(p_document xml)
returns bpm_core.bpmn_element[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_elements bpm_core.bpmn_element[] := array[]::bpm_core.bpmn_element[];
  v_above    integer[] := array[]::integer[];
  v_element  bpm_core.bpmn_element;
  r_row      record;
begin
  for r_row in
    with element as materialized (
      select x.*
        from xmltable(
               xmlnamespaces('http://www.omg.org/spec/BPMN/20100524/MODEL' as b, 'http://www.omg.org/spec/BPMN/20100524/DI' as d),
               '/b:definitions/descendant::*[not(ancestor-or-self::d:BPMNDiagram)]'
               passing p_document
               columns pos for ordinality, uri text path 'namespace-uri()', tag text path 'local-name()', depth integer path 'count(ancestor::*)',
                       attributes integer path 'count(@*)', body text path 'string(self::*[not(*)])') x
    ),
    attribute as materialized (
      select a.k, bpm_core.bpmn_namespace(a.uri) as space, a.name, a.value
        from xmltable(
               xmlnamespaces('http://www.omg.org/spec/BPMN/20100524/MODEL' as b, 'http://www.omg.org/spec/BPMN/20100524/DI' as d),
               '/b:definitions/descendant::*[not(ancestor-or-self::d:BPMNDiagram)]/@*'
               passing p_document
               columns k for ordinality, uri text path 'namespace-uri()', name text path 'local-name()', value text path 'string(.)') a
    ),
    slot as (
      select e.pos, row_number() over (order by e.pos, g.i) as k
        from element e cross join lateral generate_series(1, e.attributes) g (i)
    ),
    object as (
      select s.pos, jsonb_object_agg(case a.space when '' then a.name else a.space || ':' || a.name end, a.value) as attributes
        from slot s join attribute a on a.k = s.k
       where a.space is not null
       group by s.pos
    )
    select e.pos, e.depth, bpm_core.bpmn_namespace(e.uri) as space, e.tag, coalesce(o.attributes, '{}') as attributes, e.body
      from element e left join object o on o.pos = e.pos
     order by e.pos
  loop
    v_above[r_row.depth] := r_row.pos;
    if r_row.space <> '' then
      v_element := row(r_row.pos, case when r_row.depth > 1 then v_above[r_row.depth - 1] else 0 end, r_row.space, r_row.tag,
                       nullif(btrim(r_row.attributes ->> 'id'), ''), r_row.attributes, btrim(r_row.body, E' \t\r\n'));
      v_elements := v_elements || v_element;
    end if;
  end loop;
  return v_elements;
end
$$;

-- from 20_catalog/bpmn_events.sql
-- The event definitions of all events, those by reference resolved.
-- Returns:  one row per event that has any: its pos, the kind (timer, message, …; several), and its attributes (of several an array definitions, each with its event),
--           with the timer's rule as timer_kind and timer_rule, and ref, the local id it points to.
create or replace function bpm_core.bpmn_events(p_elements bpm_core.bpmn_element[])
returns table (node_pos integer, event text, definition jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with element as materialized (select e.* from unnest(p_elements) e where e.space = 'bpmn'),
  drawn as (
    select d.parent as node_pos, d.pos, d.tag, d.attributes, d.pos as at
      from element d
     where d.tag like '%EventDefinition' and d.parent > 0
    union all
    select r.parent, d.pos, coalesce(d.tag, 'missingEventDefinition'), coalesce(d.attributes, jsonb_build_object('missing', r.body)), r.pos
      from element r
      left join element d on d.parent = 0 and d.tag like '%EventDefinition'
                         and (d.id = r.body or d.id = regexp_replace(r.body, '^[^:]*:', ''))
     where r.tag = 'eventDefinitionRef'
  ),
  timer as (
    select t.parent as pos, min(t.tag) as tag, min(t.body) as rule
      from element t
     where t.tag in ('timeDuration', 'timeDate', 'timeCycle')
     group by t.parent
  ),
  condition as (select c.parent as pos, min(c.body) as source from element c where c.tag = 'condition' group by c.parent),
  single as (
    select d.node_pos, d.at, regexp_replace(d.tag, 'EventDefinition$', '') as event,
           d.attributes || jsonb_strip_nulls(jsonb_build_object(
             'timer_kind', case t.tag when 'timeDuration' then 'Duration' when 'timeDate' then 'Date' when 'timeCycle' then 'Cycle' end,
             'timer_rule', t.rule,
             'condition', c.source,
             'definition_pos', d.pos)) as definition
      from drawn d
      left join timer t on t.pos = d.pos
      left join condition c on c.pos = d.pos
  )
  select s.node_pos,
         case when count(*) > 1 then 'several' else min(s.event) end,
         case when count(*) > 1 then jsonb_build_object('definitions', jsonb_agg(jsonb_build_object('event', s.event, 'definition', s.definition) order by s.at))
              else (array_agg(s.definition))[1] end
    from single s
   group by s.node_pos
$$;

-- from 20_catalog/bpmn_extensions.sql
-- The extension elements of every element that has some.
-- Returns:  one row per owner: an object keyed alias:tag (the first of each), with the attributes and, as body, the text; mappings and headers as
--           bpmn_mappings reads them, where there are any.
create or replace function bpm_core.bpmn_extensions(p_elements bpm_core.bpmn_element[])
returns table (owner_pos integer, extensions jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select o.owner_pos, o.extensions || coalesce(m.mappings, '{}')
    from (select h.parent as owner_pos, jsonb_object_agg(e.space || ':' || e.tag, e.attributes || jsonb_build_object('body', e.body) order by e.pos desc) as extensions
            from unnest(p_elements) h
            join unnest(p_elements) e on e.parent = h.pos
           where h.space = 'bpmn' and h.tag = 'extensionElements'
           group by h.parent) o
    left join bpm_core.bpmn_mappings(p_elements) m on m.owner_pos = o.owner_pos
$$;

-- from 20_catalog/bpmn_flow_node_tags.sql
-- The BPMN elements that are nodes of the flow, executed here or not.
create or replace function bpm_core.bpmn_flow_node_tags()
returns text[]
language sql immutable parallel safe
as $$
  select array['startEvent', 'endEvent', 'intermediateCatchEvent', 'intermediateThrowEvent', 'implicitThrowEvent', 'boundaryEvent',
    'task', 'serviceTask', 'sendTask', 'receiveTask', 'userTask', 'manualTask', 'scriptTask', 'businessRuleTask', 'callActivity',
    'subProcess', 'transaction', 'adHocSubProcess', 'choreographyTask', 'subChoreography', 'callChoreography',
    'exclusiveGateway', 'parallelGateway', 'inclusiveGateway', 'eventBasedGateway', 'complexGateway']
$$;

-- from 20_catalog/bpmn_lanes.sql
-- The innermost lane of every flow node that stands in one.
-- Returns:  node id as referred to, and the lane's name (its id when it has none).
create or replace function bpm_core.bpmn_lanes(p_elements bpm_core.bpmn_element[])
returns table (node_id text, lane text)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select distinct on (r.body) r.body, coalesce(nullif(btrim(l.attributes ->> 'name'), ''), l.id)
    from unnest(p_elements) r
    join unnest(p_elements) l on l.pos = r.parent
   where r.space = 'bpmn' and r.tag = 'flowNodeRef' and l.tag = 'lane'
   order by r.body, l.pos desc
$$;

-- from 20_catalog/bpmn_mappings.sql
-- Input and output mappings of Camunda 7 and Zeebe, and what is said to workers besides: Zeebe's task headers, Camunda's extension properties.
-- Returns:  one row per owner: {"mappings": [{direction in|out, target, source | list | map | script}], "headers": {name: text}}, each where there is one.
create or replace function bpm_core.bpmn_mappings(p_elements bpm_core.bpmn_element[])
returns table (owner_pos integer, mappings jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with element as materialized (
    select e.* from unnest(p_elements) e where e.space in ('camunda', 'zeebe') or (e.space = 'bpmn' and e.tag = 'extensionElements')
  ),
  part as materialized (
    select h.parent as owner_pos, p.pos, p.tag, p.body, p.attributes
      from element h
      join element i on i.parent = h.pos and i.tag in ('inputOutput', 'ioMapping', 'taskHeaders', 'properties')
      join element p on p.parent = i.pos
     where h.tag = 'extensionElements'
  ),
  inner_part as (
    select c.parent, min(c.tag) as tag, jsonb_agg(g.body order by g.pos) filter (where g.pos is not null) as list,
           jsonb_object_agg(coalesce(g.attributes ->> 'key', ''), g.body) filter (where g.pos is not null) as map, bool_or(g.tag = 'script' or d.pos is not null) as deep
      from part p
      join element c on c.parent = p.pos
      left join element g on g.parent = c.pos
      left join element d on d.parent = g.pos
     group by c.parent
  )
  select p.owner_pos, jsonb_strip_nulls(jsonb_build_object(
           'mappings', jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
              'direction', case when p.tag in ('input', 'inputParameter') then 'in' else 'out' end,
              'target', coalesce(p.attributes ->> 'target', p.attributes ->> 'name'),
              'source', case when i.tag is null then coalesce(p.attributes ->> 'source', p.body) end,
              'list', case when i.tag = 'list' and not i.deep then coalesce(i.list, '[]') end,
              'map', case when i.tag = 'map' and not i.deep then coalesce(i.map, '{}') end,
              'script', case when i.tag not in ('list', 'map') or i.deep then true end)) order by p.pos)
             filter (where p.tag in ('input', 'inputParameter', 'output', 'outputParameter')),
           'headers', jsonb_object_agg(coalesce(p.attributes ->> 'key', p.attributes ->> 'name', ''), coalesce(p.attributes ->> 'value', p.body))
             filter (where p.tag in ('header', 'property'))))
    from part p
    left join inner_part i on i.parent = p.pos
   group by p.owner_pos
$$;

-- from 20_catalog/bpmn_namespace.sql
-- The short name under which the compiler knows an XML namespace; Operaton speaks Camunda 7's dialect, Activiti Flowable's.
-- Returns:  text: bpmn, bpm (ours), bpm? (meant to be ours), camunda, flowable, zeebe, '' (none); null for every other namespace.
create or replace function bpm_core.bpmn_namespace(p_uri text)
returns text
language sql immutable parallel safe
as $$
  select case p_uri
    when 'http://www.omg.org/spec/BPMN/20100524/MODEL' then 'bpmn'
    when 'urn:pgbpm:bpmn:1' then 'bpm'
    when 'http://camunda.org/schema/1.0/bpmn' then 'camunda'
    when 'http://operaton.org/schema/1.0/bpmn' then 'camunda'
    when 'http://flowable.org/bpmn' then 'flowable'
    when 'http://activiti.org/bpmn' then 'flowable'
    when 'http://camunda.org/schema/zeebe/1.0' then 'zeebe'
    when '' then ''
    else case when p_uri like '%pgbpm%' then 'bpm?' end
  end
$$;

-- from 20_catalog/bpmn_node_kind.sql
-- Which node kind executes an element, from its tag, its event, the number of its flows, whether approval gates it and whether it sends a command.
-- Returns:  node_kind; null: not executed.
create or replace function bpm_core.bpmn_node_kind(
  p_tag text, p_event text, p_incoming integer, p_outgoing integer, p_conditional integer, p_gated boolean, p_sends boolean)
returns bpm_core.node_kind
language sql immutable parallel safe
as $$
  select (case p_tag
    when 'startEvent' then case p_event when 'none' then 'StartEvent' end
    when 'endEvent' then
      case p_event when 'none' then 'EndEvent' when 'terminate' then 'TerminateEnd' when 'error' then 'ErrorEnd' when 'signal' then 'SignalThrow'
                   when 'escalation' then 'EscalationThrow' when 'message' then case when p_sends then 'SendTask' else 'EndEvent' end end
    when 'intermediateThrowEvent' then
      case p_event when 'none' then 'PassThrough' when 'link' then 'PassThrough' when 'signal' then 'SignalThrow' when 'escalation' then 'EscalationThrow'
                   when 'message' then case when p_sends then 'SendTask' else 'PassThrough' end end
    when 'intermediateCatchEvent' then
      case p_event when 'timer' then 'TimerCatch' when 'message' then 'MessageCatch' when 'signal' then 'SignalCatch' when 'conditional' then 'ConditionalCatch' when 'link' then 'PassThrough' end
    when 'boundaryEvent' then
      case p_event when 'timer' then 'TimerBoundary' when 'message' then 'MessageBoundary' when 'signal' then 'SignalBoundary'
                   when 'error' then 'ErrorBoundary' when 'escalation' then 'EscalationBoundary' when 'conditional' then 'ConditionalBoundary' end
    when 'task' then 'PassThrough'
    when 'manualTask' then 'PassThrough'
    when 'receiveTask' then 'MessageCatch'
    when 'userTask' then 'UserTask'
    when 'sendTask' then 'SendTask'
    when 'serviceTask' then case when p_gated then 'ApprovalTask' else 'ServiceTask' end
    when 'scriptTask' then case when p_gated then 'ApprovalTask' else 'ServiceTask' end
    when 'businessRuleTask' then case when p_gated then 'ApprovalTask' else 'ServiceTask' end
    when 'callActivity' then 'CallActivity'
    when 'subProcess' then 'SubProcess'
    when 'transaction' then 'SubProcess'
    when 'exclusiveGateway' then case when p_outgoing <= 1 and p_conditional = 0 then 'PassThrough' else 'ExclusiveGateway' end
    when 'inclusiveGateway' then
      case when p_incoming > 1 then 'InclusiveJoin' when p_outgoing <= 1 and p_conditional = 0 then 'PassThrough' else 'InclusiveSplit' end
    when 'eventBasedGateway' then 'EventGateway'
    when 'parallelGateway' then
      case when p_incoming > 1 then 'ParallelJoin' when p_outgoing > 1 then 'ParallelFork' else 'PassThrough' end
  end)::bpm_core.node_kind
$$;

-- from 20_catalog/bpmn_processes.sql
-- The processes of a file. Those marked executable, or not marked at all, are deployed; when there is none of them, those marked
-- isExecutable="false" are, with a warning: many modelers write it unasked. A process without a flow node is a black-box pool.
-- Returns:  one row per process element.
create or replace function bpm_core.bpmn_processes(p_elements bpm_core.bpmn_element[])
returns setof bpm_core.draft_process
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with pool as (
    select regexp_replace(e.attributes ->> 'processRef', '^[^:]*:', '') as process_id, min(nullif(btrim(e.attributes ->> 'name'), '')) as name
      from unnest(p_elements) e
     where e.space = 'bpmn' and e.tag = 'participant'
     group by 1
  ),
  filled as (select distinct e.parent as pos from unnest(p_elements) e where e.space = 'bpmn' and e.tag = any (bpm_core.bpmn_flow_node_tags())),
  process as (
    select e.pos, coalesce(e.id, 'process:' || e.pos) as process_id, coalesce(nullif(btrim(e.attributes ->> 'name'), ''), p.name) as name,
           case when lower(btrim(e.attributes ->> 'isExecutable')) in ('false', '0') then false when e.attributes ? 'isExecutable' then true end as executable,
           f.pos is not null as filled
      from unnest(p_elements) e
      left join pool p on p.process_id = e.id
      left join filled f on f.pos = e.pos
     where e.parent = 0 and e.space = 'bpmn' and e.tag = 'process'
  )
  select p.pos, p.process_id, p.name, p.executable,
         p.filled and (coalesce(p.executable, true) or not bool_or(p.filled and coalesce(p.executable, true)) over ())
    from process p
   order by p.pos
$$;

-- from 20_catalog/bpmn_scopes.sql
-- The elements that hold flow nodes: processes and the sub-processes in them, however deep.
-- Returns:  one row per container: pos, the process it belongs to, its id (null for the process itself: the root scope), its tag.
create or replace function bpm_core.bpmn_scopes(p_elements bpm_core.bpmn_element[])
returns table (pos integer, process_pos integer, scope_id text, tag text, event_started boolean)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with recursive container as materialized (
    select e.pos, e.parent, e.id, e.tag, e.attributes
      from unnest(p_elements) e
     where e.space = 'bpmn' and e.tag in ('process', 'subProcess', 'transaction', 'adHocSubProcess')
  ),
  nested (pos, process_pos, scope_id, tag, event_started) as (
    select c.pos, c.pos, null::text, c.tag, false
      from container c
     where c.tag = 'process' and c.parent = 0
    union all
    select c.pos, n.process_pos, coalesce(c.id, c.tag || ':' || c.pos), c.tag, c.attributes ->> 'triggeredByEvent' = 'true'
      from nested n join container c on c.parent = n.pos
     where c.tag <> 'process'
  )
  select n.pos, n.process_pos, n.scope_id, n.tag, coalesce(n.event_started, false) from nested n
$$;

-- from 20_catalog/bpmn_text_fault.sql
-- What can be said against a BPMN text before anything parses it: too large, or a document type declaration, which could name
-- entities on disk or net. The declaration can only stand before the root element, so only the prolog is walked. A prolog of more
-- than 64 kB or 100 comments and instructions is refused too: walking it would cost more than the rest.
-- Returns:  finding, null when there is nothing.
create or replace function bpm_core.bpmn_text_fault(p_xml text)
returns bpm_core.finding
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cap    integer := bpm_core.setting_value('catalog.max_bpmn_bytes', '4194304')::integer;
  v_rest   text := ltrim(left(p_xml, 65536), E' \t\r\n\ufeff');
  v_pieces integer := 0;
  v_end    integer;
  v_before text;
  v_fault  bpm_core.finding;
begin
  if octet_length(p_xml) > v_cap then
    return bpm_core.fault('TooLarge', format('The file has %s bytes; the limit is %s.', octet_length(p_xml), v_cap), null, null,
      'Split the file, or raise the setting catalog.max_bpmn_bytes.');
  end if;
  while v_pieces < 100 and (starts_with(v_rest, '<?') or starts_with(v_rest, '<!--')) loop
    v_end := case when starts_with(v_rest, '<?') then position('?>' in v_rest) + 2
                  else position('-->' in substr(v_rest, 5)) + 7 end;
    exit when v_end in (2, 7);
    v_rest := ltrim(substr(v_rest, v_end), E' \t\r\n');
    v_pieces := v_pieces + 1;
  end loop;
  if starts_with(v_rest, '<!--') or starts_with(v_rest, '<?') or (v_rest = '' and length(p_xml) >= 65536) then
    return bpm_core.fault('InvalidXml', 'No root element within 64 kB and 100 comments.', null, null,
      'Close or shorten the comments at the top of the file.');
  elsif starts_with(v_rest, '<!') then
    v_before := left(p_xml, length(left(p_xml, 65536)) - length(v_rest));
    v_fault := bpm_core.fault('InvalidXml',
      format('The file carries a document type declaration (<!DOCTYPE …>), which is never read (line %s, column %s).',
             regexp_count(v_before, E'\n') + 1, length(regexp_replace(v_before, E'^.*\n|\ufeff', '', 'g')) + 1), null, null,
      'Remove it: BPMN needs none, and it could name files or addresses.');
    v_fault.line := regexp_count(v_before, E'\n') + 1;
  end if;
  return v_fault;
end
$$;

-- from 20_catalog/call_aggregate.sql
-- The sum, least, greatest or mean of a list of numbers (least and greatest also of texts), or whether all or any of it are true.
create or replace function bpm_core.call_aggregate(p_name text, p_list jsonb)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_name in ('all', 'any') then
    return (select to_jsonb(case when bool_or(v.verdict = (p_name = 'any')) then p_name = 'any' when bool_or(v.verdict is null) then null else p_name = 'all' end)
              from (select case when jsonb_typeof(e) = 'boolean' then e::boolean end as verdict from jsonb_array_elements(p_list) e) v);
  elsif jsonb_array_length(p_list) = 0 then
    return case p_name when 'sum' then '0'::jsonb end;
  elsif not jsonb_path_exists(p_list, 'strict $[*] ? (@.type() != "number" || @ > 1e200 || @ < -1e200)') then
    return (select to_jsonb(trim_scale(case p_name when 'sum' then sum(e::numeric) when 'min' then min(e::numeric) when 'max' then max(e::numeric) else avg(e::numeric) end))
              from jsonb_array_elements(p_list) e);
  elsif p_name in ('min', 'max') and not jsonb_path_exists(p_list, 'strict $[*] ? (@.type() != "string" || @ starts with "__")') then
    return (select to_jsonb(case p_name when 'min' then min(e collate "C") else max(e collate "C") end) from jsonb_array_elements_text(p_list) e);
  end if;
  return null;
end
$$;

-- from 20_catalog/call_list.sql
-- Functions of lists and objects. Places in lists count from 1; only get, the method of JUEL, counts from 0.
create or replace function bpm_core.call_list(p_name text, p_args jsonb[])
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_type constant text := jsonb_typeof(p_args[1]);
  v_from integer;  -- a place, or a number of elements
begin
  if p_name = 'in' then
    return case when jsonb_typeof(p_args[2]) = 'array' then to_jsonb(bpm_core.list_contains(p_args[2], p_args[1]))
                else to_jsonb(bpm_core.compare_values('eq', p_args[1], p_args[2], true)) end;
  elsif p_name = 'or else' then
    return case when p_args[1] = 'null' then p_args[2] else p_args[1] end;
  elsif p_name in ('get', 'get or default', 'contains key') then
    return case
      when v_type = 'array' and p_name = 'get' then bpm_core.index_value(p_args[1], p_args[2], 0)
      when v_type = 'object' and jsonb_typeof(p_args[2]) = 'string' then case p_name
        when 'contains key' then to_jsonb(p_args[1] ? (p_args[2] #>> '{}')) else coalesce(p_args[1] -> (p_args[2] #>> '{}'), p_args[3], 'null') end end;
  elsif p_name in ('count', 'is empty') then
    v_from := case v_type when 'array' then jsonb_array_length(p_args[1]) when 'object' then (select count(*)::integer from jsonb_object_keys(p_args[1]))
                          when 'string' then case p_name when 'is empty' then length(p_args[1] #>> '{}') end end;
    return case p_name when 'count' then to_jsonb(v_from) else to_jsonb(v_from = 0) end;
  elsif p_name = 'range' then
    return case when bpm_core.is_range(p_args[1], p_args[2]) then
      coalesce((select jsonb_agg(i) from generate_series(p_args[1]::integer, p_args[2]::integer) i), '[]') end;
  elsif v_type is distinct from 'array' then
    return null;
  elsif p_name = 'sublist' then
    v_from := case when jsonb_typeof(p_args[2]) = 'number' and abs(p_args[2]::numeric) <= jsonb_array_length(p_args[1]) then p_args[2]::numeric::integer end;
    v_from := case when v_from < 0 then jsonb_array_length(p_args[1]) + v_from + 1 when v_from > 0 then v_from end;
    return case when v_from is not null and coalesce(jsonb_typeof(p_args[3]) = 'number' and p_args[3]::numeric between 0 and 1000000, true) then
      coalesce((select jsonb_agg(e order by n) from jsonb_array_elements(p_args[1]) with ordinality l(e, n)
                 where n >= v_from and (p_args[3] is null or n < v_from + p_args[3]::numeric)), '[]') end;
  end if;
  return case p_name
    when 'list contains' then to_jsonb(bpm_core.list_contains(p_args[1], p_args[2])) when 'holds' then to_jsonb(bpm_core.list_contains(p_args[1], p_args[2]))
    when 'append' then p_args[1] || to_jsonb(p_args[2:])
    when 'concatenate' then case when not exists (select from unnest(p_args) a where jsonb_typeof(a) <> 'array')
      then (select coalesce(jsonb_agg(e order by n, m), '[]') from unnest(p_args) with ordinality a(l, n) cross join lateral jsonb_array_elements(a.l) with ordinality x(e, m)) end
    when 'reverse' then (select coalesce(jsonb_agg(e order by n desc), '[]') from jsonb_array_elements(p_args[1]) with ordinality l(e, n))
    when 'distinct values' then (select coalesce(jsonb_agg(d.e order by d.n), '[]') from (
      select e, min(n) as n from jsonb_array_elements(p_args[1]) with ordinality l(e, n) group by e) d)
    when 'index of' then (select coalesce(jsonb_agg(n order by n), '[]') from jsonb_array_elements(p_args[1]) with ordinality l(e, n) where e = p_args[2])
    when 'string join' then case when not jsonb_path_exists(p_args[1], '$[*] ? (@.type() != "string")') and coalesce(jsonb_typeof(p_args[2]) = 'string', true)
      then to_jsonb(coalesce((select string_agg(e, coalesce(p_args[2] #>> '{}', '') order by n) from jsonb_array_elements_text(p_args[1]) with ordinality l(e, n)), '')) end
  end;
end
$$;

-- from 20_catalog/call_number.sql
-- Arithmetic, exact. Undecidable: a division by zero, numbers beyond 10^200, a power beyond 99.
create or replace function bpm_core.call_number(p_name text, p_args jsonb[])
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit constant numeric := 1e200;
  v_a     numeric := p_args[1]::numeric;
  v_b     numeric := case when jsonb_typeof(p_args[2]) = 'number' then p_args[2]::numeric end;
begin
  if cardinality(p_args) > 1 and v_b is null then
    return null;
  elsif abs(v_a) > v_limit or abs(v_b) > v_limit or scale(v_a) > 200 or scale(v_b) > 200 then
    return null;
  elsif (p_name in ('divide', 'remainder', 'modulo') and v_b = 0) or (p_name = 'power' and (v_b <> trunc(v_b) or abs(v_b) > 99 or abs(v_a) > 1e20 or (v_a = 0 and v_b < 0)))
        or (p_name in ('round', 'decimal') and (v_b <> trunc(v_b) or abs(v_b) > 100)) then
    return null;
  elsif p_name in ('even', 'odd') then
    return to_jsonb((mod(v_a, 2) = 0) = (p_name = 'even'));
  end if;
  return to_jsonb(trim_scale(case p_name
    when 'plus' then v_a + v_b when 'add' then v_a + v_b when 'subtract' then v_a - v_b when 'multiply' then v_a * v_b when 'divide' then v_a / v_b
    when 'remainder' then mod(v_a, v_b) when 'modulo' then v_a - v_b * floor(v_a / v_b) when 'power' then v_a ^ v_b when 'negate' then -v_a
    when 'floor' then floor(v_a) when 'ceiling' then ceil(v_a) when 'abs' then abs(v_a) when 'number' then v_a
    when 'round' then round(v_a, coalesce(v_b::integer, 0)) when 'decimal' then bpm_core.round_half_even(v_a, v_b::integer) end));
end
$$;

-- from 20_catalog/call_text.sql
-- Functions of texts. A text that is none is undecidable. Matching is done over at most 10,000 characters; a text made may have a million.
create or replace function bpm_core.call_text(p_name text, p_args jsonb[], p_pattern text)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_texts  constant boolean := jsonb_typeof(p_args[1]) = 'string' and coalesce(jsonb_typeof(p_args[2]) = 'string', true);
  v_a      constant text := p_args[1] #>> '{}';
  v_b      constant text := p_args[2] #>> '{}';
begin
  if p_name = 'string' then
    return case when jsonb_typeof(p_args[1]) in ('string', 'number', 'boolean') then to_jsonb(v_a) end;
  elsif p_name = 'template' then
    return case when not exists (select from unnest(p_args) a where jsonb_typeof(a) not in ('string', 'number', 'boolean'))
      then to_jsonb((select string_agg(a #>> '{}', '' order by n) from unnest(p_args) with ordinality x(a, n))) end;
  elsif p_name like 'substring%' and jsonb_typeof(p_args[1]) = 'string' and jsonb_typeof(p_args[2]) = 'number' then
    return to_jsonb(bpm_core.part_of_text(v_a, p_args[2]::numeric, p_args[3], p_name = 'substring from 0'));
  elsif p_name = 'equals ignore case' then
    return case when v_texts then to_jsonb(lower(v_a) = lower(v_b)) when p_args[1] = 'null' or p_args[2] = 'null' then to_jsonb(p_args[1] = p_args[2]) end;
  elsif not v_texts or length(v_a) + coalesce(length(v_b), 0) > 1000000 then
    return null;
  elsif p_pattern is not null then
    return case when length(v_a) <= 10000 then to_jsonb(v_a ~ p_pattern) end;
  elsif p_name = 'number' then
    return case when v_a ~ '^\s*[+-]?(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,2})?\s*$' then to_jsonb(v_a::numeric) end;
  end if;
  return case p_name
    when 'plus' then to_jsonb(v_a || v_b)
    when 'contains' then to_jsonb(position(v_b in v_a) > 0) when 'holds' then to_jsonb(position(v_b in v_a) > 0)
    when 'starts with' then to_jsonb(starts_with(v_a, v_b)) when 'ends with' then to_jsonb(right(v_a, length(v_b)) = v_b or v_b = '')
    when 'length' then to_jsonb(length(v_a)) when 'trim' then to_jsonb(btrim(v_a, E' \t\r\n'))
    when 'upper case' then to_jsonb(upper(v_a)) when 'lower case' then to_jsonb(lower(v_a))
    when 'substring before' then to_jsonb(case when position(v_b in v_a) > 0 then left(v_a, position(v_b in v_a) - 1) else '' end)
    when 'substring after' then to_jsonb(case when position(v_b in v_a) > 0 then substr(v_a, position(v_b in v_a) + length(v_b)) else '' end) end;
end
$$;

-- from 20_catalog/call_time.sql
-- Functions of times, and arithmetic with them. Undecidable beyond the years 1 to 9999.
create or replace function bpm_core.call_time(p_name text, p_args jsonb[])
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_a     constant text := p_args[1] #>> '{}';
  v_b     constant text := p_args[2] #>> '{}';
  v_count constant numeric := case when jsonb_typeof(p_args[2]) = 'number' then p_args[2]::numeric end;
begin
  if p_name = 'literal time' then
    return p_args[1];
  elsif p_name = 'string' then
    return to_jsonb(regexp_replace(v_a, '^__[a-z]+:', ''));
  elsif p_name = 'date' and cardinality(p_args) = 3 then
    return case when v_a ~ '^\d{1,4}$' and v_b ~ '^\d\d?$' and p_args[3] #>> '{}' ~ '^\d\d?$'
      then bpm_core.time_value(format('%s-%s-%s', lpad(v_a, 4, '0'), lpad(v_b, 2, '0'), lpad(p_args[3] #>> '{}', 2, '0')), 'date') end;
  elsif p_name = 'date and time' and cardinality(p_args) = 2 then
    return case when bpm_core.time_value(v_a, 'date') is not null and bpm_core.time_value(v_b, 'time') is not null
      then bpm_core.time_value(substr(bpm_core.time_value(v_a, 'date') #>> '{}', 8) || 'T' || substr(bpm_core.time_value(v_b, 'time') #>> '{}', 8) || 'Z', 'instant') end;
  elsif p_name in ('date', 'time', 'date and time', 'duration') then
    return case when jsonb_typeof(p_args[1]) = 'string' then bpm_core.time_value(v_a, case p_name when 'date and time' then 'instant' else p_name end) end;
  elsif p_name ~ '^(plus|minus) ' then
    return case when v_count = trunc(v_count) and abs(v_count) < 1000000 then bpm_core.shift_time(
      split_part(p_name, ' ', 1), v_a,
      '__duration:' || case when p_name ~ '(hours|minutes|seconds)$' then 'PT' else 'P' end || v_count || upper(substr(split_part(p_name, ' ', 2), 1, 1))) end;
  elsif v_count is not null and p_name in ('multiply', 'divide') then
    return bpm_core.scale_duration(v_a, case p_name when 'multiply' then v_count when 'divide' then 1 / nullif(v_count, 0) end);
  elsif p_name = 'negate' then
    return bpm_core.scale_duration(v_a, -1);
  elsif p_name = 'multiply' and jsonb_typeof(p_args[1]) = 'number' then
    return bpm_core.scale_duration(v_b, p_args[1]::numeric);
  elsif p_name in ('add', 'plus', 'subtract') and jsonb_typeof(p_args[1]) = 'string' and jsonb_typeof(p_args[2]) = 'string' then
    return bpm_core.shift_time(case p_name when 'subtract' then 'minus' else 'plus' end, v_a, v_b);
  end if;
  return null;
end
$$;

-- from 20_catalog/call_tree.sql
-- The tree of a call with its arguments: those that are operators in other words become the operators; patterns are checked and translated
-- here, once, and for that have to be literals.
-- Returns:  tree, or problem.
create or replace function bpm_core.call_tree(p_name text, p_args jsonb, out tree jsonb, out problem text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pattern text;
begin
  if p_name = 'not' then
    problem := bpm_core.condition_problem(p_args -> 0);
    tree := jsonb_build_object('op', 'not', 'arg', p_args -> 0);
  elsif p_name = 'defined' then
    problem := case when p_args -> 0 ->> 'op' <> 'path' then 'is defined asks about a path' end;
    tree := jsonb_build_object('op', 'defined', 'arg', p_args -> 0);
  elsif p_name = 'itself' then
    tree := p_args -> 0;
  elsif p_name in ('equals', 'is after', 'is before') then
    tree := jsonb_build_object('op', case p_name when 'equals' then 'eq' when 'is after' then 'gt' else 'lt' end, 'left', p_args -> 0, 'right', p_args -> 1);
    problem := bpm_core.operator_problem(tree ->> 'op', p_args -> 0, p_args -> 1, false);
  elsif p_name in ('matches', 'matches whole') then
    select r.pattern, r.problem into v_pattern, problem
      from bpm_core.read_pattern(p_args -> 1, p_args -> 2, p_name = 'matches whole') r;
    tree := jsonb_build_object('op', 'call', 'name', 'matches', 'args', jsonb_build_array(p_args -> 0), 'pattern', v_pattern);
  else
    tree := jsonb_build_object('op', 'call', 'name', p_name, 'args', p_args);
  end if;
end
$$;

-- from 20_catalog/check_bpmn.sql
-- Says what deploy_bpmn would say of a file, and stores nothing.
-- Returns:  one row per fault and warning, faults first; none when the file is fine.
-- Raises:   BP400 null. BP403.
create or replace function bpm.check_bpmn(p_xml text, p_strict boolean default false, p_tenant_id text default '')
returns table (severity text, code text, message text, node_id text, flow_id text, line integer, hint text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  if p_xml is null then
    perform bpm_core.fail('BP400', 'check_bpmn needs the text of a BPMN file.');
  end if;
  return query
    select f.severity, f.code, f.message, f.node_id, f.flow_id, f.line, f.hint
      from unnest((select c.findings from bpm_core.compile_text(p_xml, p_strict, p_tenant_id) c)) f;
end
$$;

-- from 20_catalog/compare_times.sql
-- Compares two times: dates and points in time with each other, times of day, durations. A text beside a time is read as one.
-- Returns:  -1, 0, 1; null when they are not of a kind, or one is none.
create or replace function bpm_core.compare_times(p_left text, p_right text)
returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  r_left  record;
  r_right record;
begin
  select t.kind, t.at, t.span into r_left from bpm_core.read_time(p_left) t;
  select t.kind, t.at, t.span into r_right from bpm_core.read_time(p_right) t;
  return case
    when r_left.kind in ('date', 'instant') and r_right.kind in ('date', 'instant') then sign(extract(epoch from r_left.at) - extract(epoch from r_right.at))::integer
    when r_left.kind = r_right.kind then sign(extract(epoch from r_left.span) - extract(epoch from r_right.span))::integer end;
end
$$;

-- from 20_catalog/compare_values.sql
-- Compares two values. Equality: null equals null and differs from everything else; otherwise values of different types are undecidable, and so
-- are lists and objects unless p_deep, and encrypted texts. Ordering needs two numbers, two texts or two times.
-- Returns:  boolean; null: undecidable.
create or replace function bpm_core.compare_values(p_operator text, p_left jsonb, p_right jsonb, p_deep boolean)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_type constant text := jsonb_typeof(p_left);
  v_sign integer;
begin
  if p_left is null or p_right is null then
    return null;
  elsif p_operator in ('eq', 'ne') and (p_left = 'null' or p_right = 'null') then
    return (p_left = p_right) = (p_operator = 'eq');
  elsif v_type <> jsonb_typeof(p_right) then
    return null;
  elsif v_type = 'number' then
    v_sign := case when p_left < p_right then -1 when p_left > p_right then 1 else 0 end;
  elsif v_type = 'string' then
    v_sign := case
      when bpm_core.is_hidden(p_left) or bpm_core.is_hidden(p_right) then null
      when starts_with(p_left #>> '{}', '__') or starts_with(p_right #>> '{}', '__') then bpm_core.compare_times(p_left #>> '{}', p_right #>> '{}')
      when p_left = p_right then 0
      when (p_left #>> '{}') collate "C" < (p_right #>> '{}') collate "C" then -1
      else 1 end;
  elsif p_operator in ('eq', 'ne') and (v_type = 'boolean' or p_deep) then
    return (p_left = p_right) = (p_operator = 'eq');
  end if;
  return case p_operator when 'eq' then v_sign = 0 when 'ne' then v_sign <> 0 when 'lt' then v_sign < 0 when 'le' then v_sign <= 0
                         when 'gt' then v_sign > 0 when 'ge' then v_sign >= 0 end;
end
$$;

-- from 20_catalog/compile_bpmn.sql
-- The compiler: element rows to the graph, with everything that is wrong or odd. Knows BPMN, not XML; writes nothing.
-- Returns:  processes, nodes and flows (lowered, ready to be stored when no finding is a fault), findings without lines.
create or replace function bpm_core.compile_bpmn(
  p_elements bpm_core.bpmn_element[], p_strict boolean, p_tenant_id text,
  out processes bpm_core.draft_process[], out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[], out findings bpm_core.finding[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
as $$
declare
  v_drawn bpm_core.draft_node[];
  v_lines bpm_core.draft_flow[];
begin
  processes := coalesce(array(select p from bpm_core.bpmn_processes(p_elements) p), '{}');
  v_drawn := bpm_core.draft_nodes(p_elements);
  select x.nodes, x.flows into v_drawn, v_lines from bpm_core.expand_events(v_drawn, bpm_core.draft_flows(p_elements, v_drawn)) x;
  v_lines := bpm_core.compile_conditions(v_lines);
  v_drawn := bpm_core.resolve_nodes(p_elements, v_drawn, v_lines, bpm_core.approval_types(p_tenant_id));
  select l.nodes, l.flows into nodes, flows
    from bpm_core.wrap_bodies(processes, v_drawn, v_lines) b
   cross join lateral bpm_core.wrap_loops(p_elements, b.nodes, b.flows) m
   cross join lateral bpm_core.lower_graph(m.nodes, m.flows) l;
  findings := array(
    select f
      from (select f from bpm_core.find_process_faults(processes, v_drawn) f
            union all select f from bpm_core.find_too_large(processes, nodes, flows) f
            union all select f from bpm_core.find_duplicate_ids(p_elements, nodes, flows) f
            union all select f from bpm_core.find_unsupported(p_elements, v_drawn) f
            union all select f from bpm_core.find_flow_faults(v_drawn, v_lines) f
            union all select f from bpm_core.find_shape_faults(v_drawn, v_lines) f
            union all select f from bpm_core.find_gateway_faults(v_drawn, v_lines) f
            union all select f from bpm_core.find_link_faults(v_drawn, v_lines) f
            union all select f from bpm_core.find_scope_faults(v_drawn) f
            union all select f from bpm_core.find_loop_faults(p_elements, v_drawn) f
            union all select f from bpm_core.find_call_faults(p_elements, v_drawn) f
            union all select f from bpm_core.find_unreachable(v_drawn, v_lines) f
            union all select f from bpm_core.find_unknown_references(p_elements, v_drawn) f
            union all select f from bpm_core.find_event_faults(p_elements, v_drawn) f
            union all select f from bpm_core.find_task_faults(v_drawn, p_tenant_id) f
            union all select f from bpm_core.find_own_misused(p_elements) f
            union all select f from bpm_core.find_ignored(p_elements, v_drawn, p_strict) f) x);
end
$$;

-- from 20_catalog/compile_condition.sql
-- Compiles the text of a condition. Nothing of it reaches SQL: what jsonpath can say is written out as a jsonpath made of quoted keys and
-- literals, which is fast; anything beyond it stays a tree for evaluate_condition.
-- Returns:  condition (strict jsonpath) or tree, or problem with its position; bare: the text had no ${…} and no =.
create or replace function bpm_core.compile_condition(p_source text, p_language text, out condition jsonpath, out tree jsonb, out problem text, out bare boolean)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tree jsonb;
  v_at   integer;
begin
  select r.tree, r.problem, r.at, r.bare into v_tree, problem, v_at, bare from bpm_core.read_expression(p_source, p_language) r;
  if problem is null and bpm_core.condition_problem(v_tree) is not null then
    problem := bpm_core.condition_problem(v_tree);
    v_at := 1;
  end if;
  if problem is not null then
    problem := format('%s (position %s)', problem, v_at);
  elsif bpm_core.is_plain_condition(v_tree) then
    condition := ('strict ' || bpm_core.write_condition(v_tree))::jsonpath;
  else
    tree := bpm_core.timed_tree(v_tree);
  end if;
end
$$;

-- from 20_catalog/compile_conditions.sql
-- Compiles the conditions of all flows, each distinct text once.
-- Returns:  draft_flow[], in the order given, with condition or condition_tree or problem filled in.
create or replace function bpm_core.compile_conditions(p_flows bpm_core.draft_flow[])
returns bpm_core.draft_flow[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with text as materialized (select distinct f.condition_source as source, f.language from unnest(p_flows) f where f.condition_source is not null),
  compiled as materialized (
    select t.source, t.language, c.condition, c.tree, c.problem, c.bare from text t cross join lateral bpm_core.compile_condition(t.source, t.language) c
  )
  select coalesce(array_agg(row(
           f.pos, f.process_pos, f.scope_pos, f.flow_id, f.name, f.source_ref, f.target_ref, f.source_id, f.target_id, f.is_default,
           f.condition_source, case when c.bare then coalesce(f.language, 'bare') end, c.condition, c.problem, f.ord, c.tree)::bpm_core.draft_flow order by f.pos), '{}')
    from unnest(p_flows) f
    left join compiled c on c.source = f.condition_source and c.language is not distinct from f.language
$$;

-- from 20_catalog/compile_expression.sql
-- Compiles an attribute that may be an expression: ${…} or #{…} (JUEL), = … (FEEL), a text with ${…} in it (a template), or plain text,
-- which is itself unless p_bare_is_text is false: then it is an expression, too.
-- Returns:  tree for evaluate ({"op": "value", "value": "…"} of plain text), or problem and its position.
create or replace function bpm_core.compile_expression(p_source text, p_bare_is_text boolean default true, out tree jsonb, out problem text, out at integer)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_bare_is_text and p_source !~ '^\s*=(?!=)' and p_source !~ '[$#]\{' then
    tree := jsonb_build_object('op', 'value', 'value', p_source);
  elsif p_bare_is_text and p_source ~ '[$#]\{' and p_source !~ '^\s*=(?!=)' and (p_source !~ '^\s*[$#]\{' or p_source ~ '\}.*[$#]\{' or p_source !~ '\}\s*$') then
    select t.tree, t.problem, t.at into tree, problem, at from bpm_core.read_template(p_source) t;
  else
    select r.tree, r.problem, r.at into tree, problem, at from bpm_core.read_expression(p_source, null) r;
  end if;
  tree := bpm_core.timed_tree(tree);
end
$$;

-- from 20_catalog/compile_text.sql
-- Reader and compiler in a row, for a whole file.
-- Returns:  what compile_bpmn returns, findings with lines, faults first, in the order of the file.
create or replace function bpm_core.compile_text(
  p_xml text, p_strict boolean, p_tenant_id text,
  out processes bpm_core.draft_process[], out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[], out findings bpm_core.finding[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
as $$
declare
  v_elements bpm_core.bpmn_element[];
begin
  processes := '{}';
  nodes := '{}';
  flows := '{}';
  select r.elements, r.findings into v_elements, findings from bpm_core.read_bpmn(p_xml) r;
  if cardinality(findings) > 0 then
    return;
  end if;
  select c.processes, c.nodes, c.flows, c.findings into processes, nodes, flows, findings
    from bpm_core.compile_bpmn(v_elements, coalesce(p_strict, false), p_tenant_id) c;
  if cardinality(findings) > 0 then
    findings := bpm_core.locate_findings(p_xml, findings);
  end if;
end
$$;

-- from 20_catalog/condition_problem.sql
-- Whether a tree can be asked for true or false.
-- Returns:  text, null when it can.
create or replace function bpm_core.condition_problem(p_tree jsonb)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_tree ->> 'op' = 'value' and jsonb_typeof(p_tree -> 'value') <> 'boolean' then (p_tree -> 'value')::text || ' is neither true nor false'
    when p_tree ->> 'op' in ('list', 'context', 'for', 'filter') then 'a list is neither true nor false'
    when p_tree ->> 'name' in ('plus', 'add', 'subtract', 'multiply', 'divide', 'remainder', 'power', 'negate', 'count', 'sum', 'now', 'today', 'template')
         and p_tree ->> 'op' = 'call' then 'the result of a calculation is neither true nor false' end
$$;

-- from 20_catalog/default_task_version.sql
-- A task version that says nothing but its type; bpm:user is the type of all user tasks, done by people.
create or replace function bpm_core.default_task_version(p_task_type text)
returns bpm_core.task_version
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_draft bpm_core.task_version;
begin
  v_draft.task_type := p_task_type;
  v_draft.executor_kind := (case when p_task_type = 'bpm:user' then 'Human' else 'Service' end)::bpm_core.executor_kind;
  v_draft.max_attempts := 3;
  v_draft.backoff := interval '1 second';
  v_draft.backoff_factor := 2;
  v_draft.backoff_cap := interval '5 minutes';
  v_draft.jitter := 0.1;
  v_draft.lease := interval '30 seconds';
  v_draft.approval_required := false;
  return v_draft;
end
$$;

-- from 20_catalog/deploy_bpmn.sql
-- Deploys a BPMN file: every executable process in it becomes a version that can be started.
-- Returns:  one row per process; is_new is false when the current or an older published version is identical. Warnings are those of the
--           whole file: [{code, message, node_id, flow_id, line, hint}].
-- Raises:   BP422 the file has faults; nothing is stored; detail {"faults": […], "warnings": […]} has all of them. BP400 null, or no text
--           for p_name. BP403.
-- Writes:   definitions, versions, graph, bindings (publish_workflow), task and role versions that are missing, audit_event.
-- Locks:    process_definition rows sorted by code, then task_definition rows sorted by code.
create or replace function bpm.deploy_bpmn(p_xml text, p_name text default null, p_actor text default null, p_strict boolean default false, p_tenant_id text default '')
returns table (code text, version integer, is_new boolean, warnings jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor     text;
  v_processes bpm_core.draft_process[];
  v_process   bpm_core.draft_process;
  v_nodes     bpm_core.draft_node[];
  v_flows     bpm_core.draft_flow[];
  v_findings  bpm_core.finding[];
  v_role      uuid;
  v_moved     boolean;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if p_xml is null or length(btrim(p_name)) not between 1 and 200 then
    perform bpm_core.fail('BP400', 'deploy_bpmn needs the text of a BPMN file, and a name of at most 200 characters if any.');
  end if;
  select c.processes, c.nodes, c.flows, c.findings into v_processes, v_nodes, v_flows, v_findings
    from bpm_core.compile_text(p_xml, p_strict, p_tenant_id) c;
  perform bpm_core.refuse_faults(v_findings);
  warnings := bpm_core.findings_json(v_findings, 'warning');

  perform bpm_core.lock_processes(p_tenant_id, array(select p.process_id from unnest(v_processes) p where p.deployed));
  v_role := bpm_core.ensure_role(p_tenant_id, 'default', v_actor);
  perform bpm_core.ensure_tasks(p_tenant_id, array(select distinct n.task_type from unnest(v_nodes) n where n.task_type is not null), v_actor);
  foreach v_process in array v_processes loop
    continue when not v_process.deployed;
    v_process.name := coalesce(p_name, v_process.name);
    code := v_process.process_id;
    select w.version, w.is_new, w.moved into version, is_new, v_moved
      from bpm_core.publish_workflow(
             p_tenant_id,
             (select d.id from bpm_core.process_definition d where d.tenant_id = p_tenant_id and d.code = v_process.process_id),
             v_process, v_nodes, v_flows, p_xml, v_role, v_actor) w;
    if v_moved then
      perform bpm_core.write_audit(p_tenant_id, v_actor, 'DeployProcess', 'process', code, version, null,
        jsonb_build_object('is_new', is_new, 'warnings', jsonb_array_length(warnings)));
    end if;
    return next;
  end loop;
end
$$;

-- from 20_catalog/describe_condition.sql
-- What a condition looks at and what it saw there, for the detail of an incident, as describe_tree says it.
create or replace function bpm_core.describe_condition(p_condition_source text, p_variables jsonb)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$ select bpm_core.describe_tree(r.tree, p_variables) from bpm_core.read_expression(p_condition_source, null) r $$;

-- from 20_catalog/describe_tree.sql
-- What an expression looks at and what it saw there, for the detail of an incident: every path in it with its value and type.
-- What loops name is left out. Values longer than 1,000 characters are cut, encrypted ones left out.
-- Returns:  jsonb array of {path, value, type}; type is missing, null, boolean, number, string, array, object or encrypted.
create or replace function bpm_core.describe_tree(p_tree jsonb, p_variables jsonb)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'path', array_to_string(x.path, '.'),
           'value', case when x.value #>> '{}' like '\_\_encrypted:%' then null
                         when length(x.value::text) > 1000 then to_jsonb(left(x.value::text, 1000) || '…') else x.value end,
           'type', case when x.value is null then 'missing' when x.value #>> '{}' like '\_\_encrypted:%' then 'encrypted' else jsonb_typeof(x.value) end)
           order by x.ord), '[]')
    from (select min(q.ord) as ord, p.path, p_variables #> p.path as value
            from jsonb_path_query(p_tree, 'strict $.** ? (@.op == "path").path') with ordinality q (path, ord)
           cross join lateral (select array(select jsonb_array_elements_text(q.path)) as path) p
           where not jsonb_path_exists(p_tree, 'strict $.** ? (@.var == $name)', jsonb_build_object('name', p.path[1]))
           group by p.path) x
$$;

-- from 20_catalog/destination_fault.sql
-- What is wrong with a destination. The configuration is frozen into every command and readable by operators, so it must not carry a secret:
-- no user info in the address, no header or query parameter that looks like one.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.destination_fault(p_kind text, p_config jsonb, p_secret_ref text, p_key_header text, p_receipt_path text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_kind is distinct from 'http' then format('There is no kind of destination %L; known is http.', p_kind)
    when jsonb_typeof(p_config) is distinct from 'object' then 'p_config must be an object.'
    when octet_length(p_config::text) > 20000 then 'p_config is longer than 20,000 bytes.'
    when exists (select from jsonb_object_keys(p_config) k where k not in ('url', 'method', 'headers', 'timeout_seconds'))
      then format('p_config knows url, method, headers and timeout_seconds, not %s.',
                  (select string_agg(k, ', ' order by k) from jsonb_object_keys(p_config) k where k not in ('url', 'method', 'headers', 'timeout_seconds')))
    when jsonb_typeof(p_config -> 'url') is distinct from 'string' or p_config ->> 'url' !~* '^https?://[^/\s@?#]+([/?][^\s#]*)?$'
      then 'url must be an http or https address, without user name, password and fragment.'
    when p_config ->> 'url' ~* '[?&;][^=&]*(token|secret|passw|api[_-]?key|signature)[^=&]*='
      then 'url seems to carry a secret; let p_secret_ref name where the driver finds it.'
    when coalesce(p_config ->> 'method', 'POST') !~ '^(POST|PUT|PATCH|DELETE)$' then 'method must be POST, PUT, PATCH or DELETE.'
    when p_config ? 'timeout_seconds' and (jsonb_typeof(p_config -> 'timeout_seconds') <> 'number'
         or not p_config @? '$.timeout_seconds ? (@ > 0 && @ <= 600)') then 'timeout_seconds must be a number above 0, at most 600.'
    when p_config ? 'headers' and (jsonb_typeof(p_config -> 'headers') <> 'object'
         or exists (select from jsonb_each(case jsonb_typeof(p_config -> 'headers') when 'object' then p_config -> 'headers' else '{}' end) h
                     where jsonb_typeof(h.value) <> 'string' or h.key !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,100}$' or h.value #>> '{}' ~ '[\r\n]'))
      then 'headers must be an object of names and one-line texts.'
    when exists (select from jsonb_object_keys(case jsonb_typeof(p_config -> 'headers') when 'object' then p_config -> 'headers' else '{}' end) h
                  where h ~* '(authorization|cookie|token|secret|passw|api[_-]?key|credential|signature)')
      then 'headers seem to carry a secret; let p_secret_ref name where the driver finds it.'
    when p_secret_ref !~ '^(env:[A-Za-z_][A-Za-z0-9_]{0,199}|file:/.+)$' or length(p_secret_ref) > 500 then 'p_secret_ref must be env:NAME or file:/PATH, never the secret itself.'
    when coalesce(p_key_header, '') !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,100}$' then 'p_key_header must be the name of a header.'
    when btrim(p_receipt_path) = '' or length(p_receipt_path) > 500 then 'p_receipt_path must be a dotted path into the receipt.'
  end
$$;

-- from 20_catalog/draft_flows.sql
-- All sequence flows of the processes that are deployed, their ends looked up among the nodes of the same scope; and for every link throw event
-- the flow it stands for, <id>:link, to the catch event of the same name.
-- Returns:  draft_flow[], in document order. A flow without an id gets one from its place among the flows of its process.
create or replace function bpm_core.draft_flows(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns bpm_core.draft_flow[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with flow as materialized (
    select s.process_pos, s.pos as scope_pos, e.pos, nullif(btrim(e.attributes ->> 'name'), '') as name,
           coalesce(e.id, 'flow:' || row_number() over (partition by s.process_pos order by e.pos)) as flow_id,
           btrim(e.attributes ->> 'sourceRef') as source_ref, btrim(e.attributes ->> 'targetRef') as target_ref
      from unnest(p_elements) e
      join bpm_core.bpmn_scopes(p_elements) s on s.pos = e.parent
      join bpm_core.bpmn_processes(p_elements) p on p.pos = s.process_pos and p.deployed
     where e.space = 'bpmn' and e.tag = 'sequenceFlow'
  ),
  link as materialized (
    select distinct on (t.pos) t.process_pos, t.scope_pos, t.pos, t.node_id || ':link' as flow_id, t.node_id as source_id, c.node_id as target_id
      from unnest(p_nodes) t
      join unnest(p_nodes) c on c.scope_pos = t.scope_pos and c.tag = 'intermediateCatchEvent' and c.event = 'link'
                            and btrim(c.definition ->> 'name') = btrim(t.definition ->> 'name')
     where t.tag = 'intermediateThrowEvent' and t.event = 'link'
     order by t.pos, c.pos
  ),
  node as materialized (
    select distinct on (n.scope_pos, n.node_id) n.scope_pos, n.node_id, n.default_ref from unnest(p_nodes) n order by n.scope_pos, n.node_id, n.pos
  ),
  condition as materialized (
    select distinct on (c.parent) c.parent, nullif(c.body, '') as source, nullif(btrim(c.attributes ->> 'language'), '') as language
      from unnest(p_elements) c
     where c.space = 'bpmn' and c.tag = 'conditionExpression'
     order by c.parent, c.pos
  )
  select coalesce(array_agg(d.flow order by (d.flow).pos), '{}')
    from (
  select row(
           f.pos, f.process_pos, f.scope_pos, f.flow_id, f.name, f.source_ref, f.target_ref, s.node_id, t.node_id,
           coalesce(s.default_ref = f.flow_id, false),
           case when s.default_ref = f.flow_id then null else c.source end, c.language, null, null, 0, null)::bpm_core.draft_flow as flow
    from flow f
    left join node s on s.scope_pos = f.scope_pos and s.node_id = f.source_ref
    left join node t on t.scope_pos = f.scope_pos and t.node_id = f.target_ref
    left join condition c on c.parent = f.pos
      union all
      select row(l.pos, l.process_pos, l.scope_pos, l.flow_id, null, l.source_id, l.target_id, l.source_id, l.target_id, false, null, null, null, null, 0, null)::bpm_core.draft_flow
        from link l) d
$$;

-- from 20_catalog/draft_nodes.sql
-- All flow nodes of the processes that are deployed, as drawn: nothing judged yet.
-- Returns:  draft_node[], in document order. Nodes without an id get one from tag and position.
create or replace function bpm_core.draft_nodes(p_elements bpm_core.bpmn_element[])
returns bpm_core.draft_node[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with scope as materialized (
    select s.*
      from bpm_core.bpmn_scopes(p_elements) s
      join bpm_core.bpmn_processes(p_elements) p on p.pos = s.process_pos and p.deployed
  ),
  node as materialized (
    select s.process_pos, s.pos as scope_pos, s.scope_id, s.tag as scope_tag, coalesce(e.id, e.tag || ':' || e.pos) as node_id, e.*
      from unnest(p_elements) e
      join scope s on s.pos = e.parent
     where e.space = 'bpmn' and e.tag = any (bpm_core.bpmn_flow_node_tags())
  ),
  child as (
    select c.parent, min(c.tag) filter (where c.tag like '%LoopCharacteristics') as loop,
           min(left(c.body, 2000)) filter (where c.tag = 'documentation') as documentation, min(left(c.body, 65536)) filter (where c.tag = 'script') as script
      from unnest(p_elements) c
     where c.space = 'bpmn' and (c.tag in ('documentation', 'script') or c.tag like '%LoopCharacteristics')
     group by c.parent
  )
  select coalesce(array_agg(row(
           n.pos, n.process_pos, n.scope_pos, n.scope_id, n.scope_tag, n.node_id, n.tag, nullif(btrim(n.attributes ->> 'name'), ''),
           n.attributes, coalesce(x.extensions, '{}') || case when c.script <> '' then jsonb_build_object('script', c.script) else '{}' end,
           case when n.tag ~ 'Event$' then coalesce(v.event, 'none') end, v.definition,
           nullif(btrim(n.attributes ->> 'default'), ''), nullif(btrim(n.attributes ->> 'attachedToRef'), ''),
           coalesce(lower(btrim(n.attributes ->> case n.tag when 'boundaryEvent' then 'cancelActivity' when 'startEvent' then 'isInterrupting' end)), 'true') not in ('false', '0'),
           c.loop, l.lane, nullif(c.documentation, ''),
           0, 0, 0, null, null, null, null, null, null, null, null, '{}')::bpm_core.draft_node order by n.pos), '{}')
    from node n
    left join bpm_core.bpmn_extensions(p_elements) x on x.owner_pos = n.pos
    left join bpm_core.bpmn_events(p_elements) v on v.node_pos = n.pos
    left join bpm_core.bpmn_lanes(p_elements) l on l.node_id = n.node_id
    left join child c on c.parent = n.pos
$$;

-- from 20_catalog/drawn_binding.sql
-- What a node says about its own execution, over the task version's defaults. What depends on variables is compiled into expressions
-- (assignee, groups, users, due, follow_up, priority, inputs, outputs), which task_settings evaluates when the task is offered.
-- Returns:  each null or empty when the node does not say it; problem: a value that cannot be used; unread: expressions that cannot be read.
create or replace function bpm_core.drawn_binding(
  p_attributes jsonb, p_extensions jsonb, p_lane text,
  out max_attempts integer, out lease interval, out priority_level smallint, out assignee text, out candidate_groups text[],
  out expressions jsonb, out headers jsonb, out problem text, out unread text[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_retries text := coalesce(nullif(btrim(p_attributes ->> 'bpm:retries'), ''), nullif(btrim(p_extensions #>> '{zeebe:taskDefinition,retries}'), ''),
                             p_extensions #>> '{camunda:failedJobRetryTimeCycle,body}', p_extensions #>> '{flowable:failedJobRetryTimeCycle,body}');
  v_lease   text := nullif(btrim(p_attributes ->> 'bpm:lease'), '');
  r_said    record;
  r_tree    record;
begin
  v_retries := coalesce((regexp_match(v_retries, '^R(\d+)/'))[1], v_retries);
  if v_retries ~ '^\d{1,4}$' and v_retries::integer between 1 and 1000 then
    max_attempts := v_retries::integer;
  elsif v_retries is not null then
    problem := format('retries %s is not a number from 1 to 1000', quote_literal(left(v_retries, 50)));
  end if;
  lease := bpm_core.parse_duration(v_lease);
  if v_lease is not null and coalesce(lease not between interval '1 second' and interval '1 day', true) then
    lease := null;
    problem := concat_ws('; ', problem, format('lease %s is not an ISO 8601 duration from PT1S to P1D', quote_literal(left(v_lease, 50))));
  end if;
  expressions := '{}';
  for r_said in
    select s.name, s.source, s.middle
      from bpm_core.drawn_wishes(p_attributes, p_extensions) s
     -- Asked before the function is called: most nodes say none of it.
     where p_attributes::text ~ 'ssignee|andidate|ueDate|followUp|riority' or p_extensions ?| '{zeebe:assignmentDefinition,zeebe:taskSchedule,zeebe:priorityDefinition}'
  loop
    select c.tree, c.problem, c.at into r_tree from bpm_core.compile_expression(r_said.source) c;
    if r_tree.problem is not null then
      unread := unread || format('%s %s: %s (position %s)', replace(r_said.name, '_', ' '), left(r_said.source, 200), r_tree.problem, r_tree.at);
    elsif r_tree.tree ->> 'op' = 'value' and bpm_core.wish_problem(r_said.name, r_said.source) is not null then
      problem := concat_ws('; ', problem, bpm_core.wish_problem(r_said.name, r_said.source));
    elsif r_tree.tree ->> 'op' = 'value' and r_said.name in ('assignee', 'groups', 'priority') then
      case r_said.name
        when 'assignee' then assignee := r_said.source;
        when 'groups' then candidate_groups := bpm_core.name_list(to_jsonb(r_said.source));
        else priority_level := bpm_core.priority_level(to_jsonb(r_said.source), r_said.middle);
      end case;
    else
      expressions := expressions || jsonb_build_object(r_said.name, jsonb_build_object('tree', r_tree.tree, 'source', left(r_said.source, 1000), 'middle', r_said.middle));
    end if;
  end loop;
  -- Nulls are not stripped: a tree may hold one.
  if p_extensions ? 'mappings' then
    expressions := expressions || (
      select coalesce(jsonb_object_agg(d.name, m.mappings), '{}')
        from (values ('inputs', 'in'), ('outputs', 'out')) d(name, direction)
       cross join lateral bpm_core.drawn_mappings(p_extensions, d.direction) m
       where m.mappings is not null);
  end if;
  expressions := nullif(expressions, '{}');
  headers := bpm_core.drawn_headers(p_attributes, p_extensions);
  candidate_groups := coalesce(candidate_groups, case when p_lane is not null and not coalesce(expressions, '{}') ? 'groups' then array[p_lane] end, '{}');
end
$$;

-- from 20_catalog/drawn_calls.sql
-- What call activities call and what they hand over: the called element and its binding, the mappings in and out, as Camunda, Flowable and Zeebe write them.
-- Without mappings in, all is handed over; without mappings out, what the called steps wrote comes back.
-- Returns:  one row per call activity: node_pos, spec {code, binding, version, inputs, all_in, outputs, all_out} for the node's expressions, and problem.
create or replace function bpm_core.drawn_calls(p_elements bpm_core.bpmn_element[])
returns table (node_pos integer, spec jsonb, problem text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with activity as materialized (
    select e.pos, e.attributes from unnest(p_elements) e where e.space = 'bpmn' and e.tag = 'callActivity'),
  extension as materialized (
    select a.pos as node_pos, x.pos, x.space, x.tag, x.attributes
      from activity a
      join unnest(p_elements) h on h.parent = a.pos and h.space = 'bpmn' and h.tag = 'extensionElements'
      join unnest(p_elements) x on x.parent = h.pos),
  mapping as materialized (
    select m.node_pos, m.pos, m.direction, m.target, m.source, c.tree, c.problem
      from (
        select x.node_pos, x.pos, x.tag as direction, btrim(x.attributes ->> 'target') as target,
               coalesce('${' || btrim(x.attributes ->> 'source') || '}', x.attributes ->> 'sourceExpression') as source
          from extension x
         where x.space in ('camunda', 'flowable') and x.tag in ('in', 'out') and x.attributes ->> 'target' <> ''
        union all
        select x.node_pos, y.pos, case y.tag when 'input' then 'in' else 'out' end, btrim(y.attributes ->> 'target'), btrim(y.attributes ->> 'source')
          from extension x
          join unnest(p_elements) y on y.parent = x.pos
         where x.space = 'zeebe' and x.tag = 'ioMapping' and y.tag in ('input', 'output')) m
     cross join lateral bpm_core.compile_expression(m.source) c),
  mapped as (
    select m.node_pos,
           jsonb_agg(jsonb_build_object('target', m.target, 'source', m.source, 'tree', m.tree) order by m.pos) filter (where m.direction = 'in') as inputs,
           jsonb_agg(jsonb_build_object('target', m.target, 'source', m.source, 'tree', m.tree) order by m.pos) filter (where m.direction = 'out') as outputs,
           min('its mapping to ' || m.target || ' cannot be read: ' || m.problem) as problem
      from mapping m
     group by m.node_pos),
  said as (
    select x.node_pos,
           bool_or(x.tag = 'in' and x.attributes ->> 'variables' = 'all') as all_in, bool_or(x.tag = 'out' and x.attributes ->> 'variables' = 'all') as all_out,
           bool_or(x.tag = 'calledElement') as zeebe,
           min(btrim(x.attributes ->> 'processId')) filter (where x.tag = 'calledElement') as process_id,
           min(x.attributes ->> 'bindingType') filter (where x.tag = 'calledElement') as binding,
           coalesce(bool_and(x.attributes ->> 'propagateAllParentVariables' = 'false') filter (where x.tag = 'calledElement'), false) as none_in,
           coalesce(bool_and(x.attributes ->> 'propagateAllChildVariables' = 'false') filter (where x.tag = 'calledElement'), false) as none_out
      from extension x
     group by x.node_pos),
  call as (
    select a.pos, coalesce(s.process_id, nullif(btrim(a.attributes ->> 'calledElement'), '')) as code, m.inputs, m.outputs, m.problem,
           lower(coalesce(a.attributes ->> 'camunda:calledElementBinding', s.binding,
                          case when a.attributes ->> 'flowable:sameDeployment' = 'true' then 'deployment' end, 'latest')) as binding,
           a.attributes ->> 'camunda:calledElementVersion' as version, coalesce(s.zeebe, false) as zeebe,
           coalesce(s.all_in, false) as all_in, coalesce(s.all_out, false) as all_out, coalesce(s.none_in, false) as none_in, coalesce(s.none_out, false) as none_out
      from activity a
      left join mapped m on m.node_pos = a.pos
      left join said s on s.node_pos = a.pos)
  select c.pos,
         jsonb_strip_nulls(jsonb_build_object(
           'code', e.tree, 'source', c.code, 'binding', c.binding, 'version', case when c.version ~ '^\d{1,9}$' then c.version::integer end,
           'inputs', coalesce(c.inputs, case when c.none_in then '[]'::jsonb end),
           'all_in', case when c.all_in or (c.zeebe and not c.none_in and c.inputs is not null) then true end,
           'outputs', coalesce(c.outputs, case when c.none_out then '[]'::jsonb end), 'all_out', case when c.all_out then true end)),
         case when c.code is null then 'it names no process to call'
              when e.problem is not null then format('what it calls cannot be read: %s', e.problem)
              when c.binding not in ('latest', 'deployment', 'version') then format('its binding %s is not known', quote_literal(left(c.binding, 50)))
              when c.binding = 'version' and coalesce(c.version, '') !~ '^\d{1,9}$' then 'it is bound to a version without naming its number'
              else c.problem end
    from call c
   cross join lateral bpm_core.compile_expression(case when c.code ~ '^(=|.*[$#]\{)' then c.code else regexp_replace(c.code, '^[^:]*:', '') end) e
$$;

-- from 20_catalog/drawn_headers.sql
-- What a drawing tells the worker besides the variables: Zeebe's task headers, Camunda's extension properties, the decision of a business rule
-- task, the script of a script task.
-- Returns:  jsonb object of texts; null when there is nothing.
create or replace function bpm_core.drawn_headers(p_attributes jsonb, p_extensions jsonb)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select nullif(coalesce(p_extensions -> 'headers', '{}') || jsonb_strip_nulls(jsonb_build_object(
    'decision', coalesce(bpm_core.vendor_attribute(p_attributes, 'decisionRef'), nullif(btrim(p_extensions #>> '{zeebe:calledDecision,decisionId}'), '')),
    'resultVariable', coalesce(bpm_core.vendor_attribute(p_attributes, 'resultVariable'), nullif(btrim(p_extensions #>> '{zeebe:calledDecision,resultVariable}'), ''),
                               nullif(btrim(p_extensions #>> '{zeebe:script,resultVariable}'), '')),
    'scriptFormat', coalesce(nullif(btrim(p_attributes ->> 'scriptFormat'), ''), case when p_extensions ? 'zeebe:script' then 'feel' end),
    'script', coalesce(nullif(btrim(p_extensions ->> 'script'), ''), nullif(btrim(p_extensions #>> '{zeebe:script,expression}'), '')))), '{}')
$$;

-- from 20_catalog/drawn_loop.sql
-- Compiles loop characteristics, in the words of the standard, of ours, and of Camunda 7, Flowable and Zeebe.
-- p_children: text or name of the elements inside, by tag. Returns: spec {mode Parallel|Sequential|Loop, base, counter, element, into, before, maximum, and
--           {tree, source} of collection, cardinality, until, while, output; names of what the last three ask}; or problem with hint.
create or replace function bpm_core.drawn_loop(p_tag text, p_attributes jsonb, p_children jsonb, p_extensions jsonb, out spec jsonb, out problem text, out hint text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_zeebe jsonb := p_extensions -> 'zeebe:loopCharacteristics';
  v_part  record;
  v_tree  jsonb;
begin
  if p_tag = 'standardLoopCharacteristics' then
    spec := jsonb_build_object('mode', 'Loop', 'base', 0, 'counter', 'loopCounter', 'maximum', nullif(btrim(p_attributes ->> 'loopMaximum'), ''),
      'before', case when lower(btrim(p_attributes ->> 'testBefore')) in ('true', '1') and p_children ? 'loopCondition' then true end,
      'while', nullif(btrim(p_children ->> 'loopCondition'), ''));
  else
    spec := jsonb_build_object(
      'mode', case when lower(btrim(p_attributes ->> 'isSequential')) in ('true', '1') then 'Sequential' else 'Parallel' end,
      'base', case when v_zeebe is null then 0 else 1 end, 'counter', coalesce(bpm_core.vendor_attribute(p_attributes, 'elementIndexVariable'), 'loopCounter'),
      'collection', coalesce(bpm_core.vendor_attribute(p_attributes, 'collection'), v_zeebe ->> 'inputCollection', p_children ->> 'loopDataInputRef'),
      'cardinality', nullif(btrim(p_children ->> 'loopCardinality'), ''), 'until', nullif(btrim(p_children ->> 'completionCondition'), ''),
      'element', coalesce(bpm_core.vendor_attribute(p_attributes, 'elementVariable'), nullif(btrim(v_zeebe ->> 'inputElement'), ''), p_children ->> 'inputDataItem'),
      'into', coalesce(bpm_core.vendor_attribute(p_attributes, 'outputCollection'), nullif(btrim(v_zeebe ->> 'outputCollection'), ''), p_children ->> 'loopDataOutputRef'),
      'output', coalesce(bpm_core.vendor_attribute(p_attributes, 'outputElement'), nullif(btrim(v_zeebe ->> 'outputElement'), ''), p_children ->> 'outputDataItem'));
  end if;
  spec := jsonb_strip_nulls(spec);
  select l.problem, l.hint into problem, hint from bpm_core.loop_problem(p_tag, spec, p_extensions) l;
  if problem is not null then
    return;
  end if;
  for v_part in
    select k.name, k.drawn, spec ->> k.name as source
      from (values ('collection', 'collection'), ('cardinality', 'loopCardinality'), ('until', 'completionCondition'), ('while', 'loopCondition'),
                   ('output', 'output element')) k(name, drawn)
     where spec ? k.name
  loop
    select e.tree, e.problem || coalesce(format(' (position %s)', e.at), '') into v_tree, problem from bpm_core.compile_expression(v_part.source, false) e;
    if problem is not null then
      problem := format('its %s %s cannot be read: %s', v_part.drawn, quote_literal(left(v_part.source, 200)), problem);
      return;
    end if;
    spec := spec || jsonb_build_object(v_part.name, jsonb_build_object('tree', v_tree, 'source', v_part.source));
  end loop;
  if spec ? 'output' then
    spec := jsonb_set(spec, '{output}', spec -> 'output' || bpm_core.output_names(spec #> '{output,tree}', array[spec ->> 'element', spec ->> 'counter']));
  end if;
  spec := spec || jsonb_build_object('names', bpm_core.output_names(jsonb_build_array(spec -> 'until', spec -> 'while', spec -> 'output'), '{}') -> 'names');
end
$$;

-- from 20_catalog/drawn_loops.sql
-- What the drawing says of every activity that is done more than once.
-- Returns:  one row per element with loop characteristics: its position, the spec for workflow_node.expressions, or problem and hint.
create or replace function bpm_core.drawn_loops(p_elements bpm_core.bpmn_element[])
returns table (owner_pos integer, spec jsonb, problem text, hint text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with loop as materialized (
    select l.pos, l.parent, l.tag, l.attributes from unnest(p_elements) l where l.space = 'bpmn' and l.tag like '%LoopCharacteristics'),
  child as (
    select c.parent, jsonb_object_agg(c.tag, coalesce(nullif(c.body, ''), c.attributes ->> 'name', c.id)) as children
      from unnest(p_elements) c
      join loop l on l.pos = c.parent
     where c.space = 'bpmn'
     group by c.parent)
  select l.parent, case when d.problem is null then d.spec end, d.problem, d.hint
    from (select distinct on (l.parent) l.* from loop l order by l.parent, l.pos) l
    left join child c on c.parent = l.pos
    left join bpm_core.bpmn_extensions(p_elements) x on x.owner_pos = l.pos
   cross join lateral bpm_core.drawn_loop(l.tag, l.attributes, coalesce(c.children, '{}'), coalesce(x.extensions, '{}')) d
$$;

-- from 20_catalog/drawn_mappings.sql
-- The mappings of one direction (in or out), compiled for map_values; scripts are left out, which find_ignored says.
-- Returns:  mappings: [{target: dotted path, source, tree}], null when there are none; problems: what cannot be read.
create or replace function bpm_core.drawn_mappings(p_extensions jsonb, p_direction text, out mappings jsonb, out problems text[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  r_mapping record;
  r_tree    record;
begin
  for r_mapping in
    select m.value ->> 'target' as target, m.value as mapping
      from jsonb_array_elements(p_extensions -> 'mappings') with ordinality m(value, n)
     where m.value ->> 'direction' = p_direction and not m.value ? 'script'
     order by m.n
  loop
    select t.tree, t.problem into r_tree from bpm_core.mapping_tree(r_mapping.mapping) t;
    if regexp_replace(coalesce(r_mapping.target, ''), '^=\s*', '') !~ '^([A-Za-z_$]|[^\u0001-\u007f])[^.]*(\.[^.]+)*$' then
      problems := problems || format('the target %s of a mapping is no name', quote_literal(left(coalesce(r_mapping.target, ''), 100)));
    elsif r_tree.problem is not null then
      problems := problems || format('mapping of %s: %s', left(r_mapping.target, 100), r_tree.problem);
    else
      mappings := coalesce(mappings, '[]') || jsonb_build_array(jsonb_build_object(
        'target', regexp_replace(r_mapping.target, '^=\s*', ''),
        'source', left(coalesce(r_mapping.mapping ->> 'source', (r_mapping.mapping - 'direction')::text), 1000), 'tree', r_tree.tree));
    end if;
  end loop;
end
$$;

-- from 20_catalog/drawn_message.sql
-- The message an element waits for, and its correlation key: on the element or the message (bpm:correlationKey), or Zeebe's subscription;
-- null is the business key. A dotted path is kept as such, which is quick; anything else as a tree.
-- Returns:  message_name, correlation_path (of a tree: its source), correlation (the tree), and problem: what is wrong with the key.
create or replace function bpm_core.drawn_message(
  p_attributes jsonb, p_message_id text, p_message_name text, p_message_attributes jsonb, p_message_extensions jsonb,
  out message_name text, out correlation_path text, out correlation jsonb, out problem text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_source text := coalesce(nullif(btrim(p_attributes ->> 'bpm:correlationKey'), ''), nullif(btrim(p_message_attributes ->> 'bpm:correlationKey'), ''),
                            nullif(btrim(p_message_extensions #>> '{zeebe:subscription,correlationKey}'), ''));
begin
  message_name := coalesce(p_message_name, p_message_id);
  if v_source is not null then
    correlation_path := bpm_core.expression_path(v_source);
    if correlation_path is null then
      select c.tree, format('The correlation key %s cannot be read: %s (position %s).', v_source, c.problem, c.at)
        into correlation, problem
        from bpm_core.compile_expression(v_source, v_source ~ '[$#]\{') c;
      problem := case when correlation is null then problem end;
      correlation_path := v_source;
    end if;
  end if;
end
$$;

-- from 20_catalog/drawn_send_type.sql
-- The task type of a command that a message throw or end event sends, when the drawing says how: as for send tasks, on the event or on its
-- message definition; a destination alone gives it the id of the node.
-- Returns:  text; null: nothing says how it is sent.
create or replace function bpm_core.drawn_send_type(p_node_id text, p_attributes jsonb, p_definition jsonb, p_extensions jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select t.task_type
    from bpm_core.drawn_task_type(p_node_id, coalesce(p_definition, '{}') || p_attributes, p_extensions) t
   where t.task_type <> p_node_id or t.borrowed is not null or btrim(p_attributes ->> 'bpm:destination') <> '' or btrim(p_attributes ->> 'bpm:type') <> ''
$$;

-- from 20_catalog/drawn_task_type.sql
-- The task type a service or send task asks for: our own, Zeebe's, Camunda's topic; else another engine's delegate or class; else its id.
-- Returns:  the type, and whether it was guessed from something that is code in another engine (worth a warning).
create or replace function bpm_core.drawn_task_type(p_node_id text, p_attributes jsonb, p_extensions jsonb, out task_type text, out borrowed text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_vendor text := coalesce(p_attributes ->> 'camunda:type', p_attributes ->> 'flowable:type');
begin
  task_type := coalesce(nullif(btrim(p_attributes ->> 'bpm:type'), ''), nullif(btrim(p_extensions #>> '{zeebe:taskDefinition,type}'), ''),
                        bpm_core.vendor_attribute(p_attributes, 'topic'));
  if task_type is not null then
    return;
  end if;
  borrowed := coalesce(bpm_core.vendor_attribute(p_attributes, 'delegateExpression'), bpm_core.vendor_attribute(p_attributes, 'class'),
                       nullif(v_vendor, 'external'));
  task_type := btrim(regexp_replace(borrowed, '^[$#]\{(.*)\}$', '\1'));
  if nullif(task_type, '') is null then
    borrowed := bpm_core.vendor_attribute(p_attributes, 'expression');
    task_type := p_node_id;
  end if;
end
$$;

-- from 20_catalog/drawn_timer.sql
-- A timer's rule as people write it: plain, in quotes, as a literal in an expression, or as an expression naming a variable.
-- Returns:  kind, rule (a literal without quotes, or ${path}), path (of the variable an expression names), and
--           problem with hint when it is no valid rule of its kind.
create or replace function bpm_core.drawn_timer(p_kind text, p_source text, out kind text, out rule text, out path text, out problem text, out hint text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_inner text := coalesce((regexp_match(btrim(p_source), '^[$#]\{(.*)\}$'))[1], (regexp_match(btrim(p_source), '^=(.*)$'))[1]);
begin
  kind := p_kind;
  rule := btrim(coalesce(v_inner, p_source));
  if rule ~ '^"[^"]*"$' or rule ~ '^''[^'']*''$' then
    rule := btrim(substr(rule, 2, length(rule) - 2));
  elsif v_inner is not null then
    path := bpm_core.expression_path(p_source);
    rule := coalesce('${' || path || '}', btrim(p_source));
    if path is null then
      problem := format('The expression %s is not a dotted path into the variables.', rule);
      hint := 'Write a literal (PT5M), or the path of a variable that holds one: ${order.patience}.';
    end if;
    return;
  end if;
  if coalesce(rule, '') = '' then
    problem := 'It has no duration, date or cycle.';
    hint := 'Add timeDuration (PT5M), timeDate (2030-01-31T12:00:00Z) or timeCycle (R3/PT10M).';
  elsif p_kind = 'Duration' and bpm_core.parse_duration(rule) is null then
    problem := format('%s is not an ISO 8601 duration.', quote_literal(left(rule, 100)));
    hint := 'Examples: PT30S, PT5M, P1DT12H, P2W, P3M.';
  elsif p_kind = 'Date' and bpm_core.parse_timestamp(rule) is null then
    problem := format('%s is not an ISO 8601 date.', quote_literal(left(rule, 100)));
    hint := 'Examples: 2030-01-31, 2030-01-31T12:00:00Z, 2030-01-31T12:00:00+07:00. Without a zone it is UTC.';
  elsif p_kind = 'Cycle' and (select c.step from bpm_core.parse_cycle(rule) c) is null then
    problem := format('%s is not an ISO 8601 repeating interval of at least one second.', quote_literal(left(rule, 100)));
    hint := 'Examples: R/PT10M, R3/PT10M, R3/2030-01-31T12:00:00Z/P1D. Cron rules are not executed yet.';
  end if;
end
$$;

-- from 20_catalog/drawn_wishes.sql
-- What a node wishes for its task in attributes that may be expressions, in whichever dialect.
-- Returns:  name, source; middle: of a priority, the number that means normal there.
create or replace function bpm_core.drawn_wishes(p_attributes jsonb, p_extensions jsonb)
returns table (name text, source text, middle integer)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select w.name, w.source, w.middle
    from (values
      ('assignee', coalesce(bpm_core.vendor_attribute(p_attributes, 'assignee'), nullif(btrim(p_extensions #>> '{zeebe:assignmentDefinition,assignee}'), '')), null::integer),
      ('groups', coalesce(bpm_core.vendor_attribute(p_attributes, 'candidateGroups'), nullif(btrim(p_extensions #>> '{zeebe:assignmentDefinition,candidateGroups}'), '')), null),
      ('users', coalesce(bpm_core.vendor_attribute(p_attributes, 'candidateUsers'), nullif(btrim(p_extensions #>> '{zeebe:assignmentDefinition,candidateUsers}'), '')), null),
      ('due', coalesce(bpm_core.vendor_attribute(p_attributes, 'dueDate'), nullif(btrim(p_extensions #>> '{zeebe:taskSchedule,dueDate}'), '')), null),
      ('follow_up', coalesce(bpm_core.vendor_attribute(p_attributes, 'followUpDate'), nullif(btrim(p_extensions #>> '{zeebe:taskSchedule,followUpDate}'), '')), null),
      ('priority', coalesce(bpm_core.vendor_attribute(p_attributes, 'priority'), nullif(btrim(p_extensions #>> '{zeebe:priorityDefinition,priority}'), ''),
                            nullif(btrim(p_attributes ->> 'camunda:taskPriority'), '')),
       case when bpm_core.vendor_attribute(p_attributes, 'priority') is null and p_extensions #>> '{zeebe:priorityDefinition,priority}' is null then 0 else 50 end)) w(name, source, middle)
   where w.source is not null
$$;

-- from 20_catalog/element_label.sql
-- How messages name an element: serviceTask "charge-card" (Charge the card).
create or replace function bpm_core.element_label(p_tag text, p_id text, p_name text)
returns text
language sql immutable parallel safe
as $$ select p_tag || ' "' || left(p_id, 200) || '"' || coalesce(' (' || left(nullif(regexp_replace(p_name, '\s+', ' ', 'g'), ''), 100) || ')', '') $$;

-- from 20_catalog/ensure_role.sql
-- The published version of an owner role, published empty if there is none yet.
-- Returns:  uuid of the role version.
-- Writes:   role_definition, role_version.
-- Locks:    the role_definition row, only when it has no version yet.
create or replace function bpm_core.ensure_role(p_tenant_id text, p_code text, p_actor text)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_definition uuid;
  v_version    uuid;
begin
  insert into bpm_core.role_definition (tenant_id, id, code, created_at)
  values (p_tenant_id, bpm_core.new_id(), p_code, bpm_core.now())
  on conflict (tenant_id, code) do nothing;
  select d.id, d.published_version_id into v_definition, v_version
    from bpm_core.role_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
  if v_version is not null then
    return v_version;
  end if;
  select d.published_version_id into v_version
    from bpm_core.role_definition d where d.tenant_id = p_tenant_id and d.id = v_definition for no key update;
  if v_version is null then
    v_version := bpm_core.new_id();
    insert into bpm_core.role_version (tenant_id, id, definition_id, version, status, content_hash, created_by, published_at)
    values (p_tenant_id, v_version, v_definition, 1, 'Published', sha256('{}'), p_actor, bpm_core.now());
    update bpm_core.role_definition d set published_version_id = v_version where d.tenant_id = p_tenant_id and d.id = v_definition;
  end if;
  return v_version;
end
$$;

-- from 20_catalog/ensure_tasks.sql
-- Publishes a task definition with the default policy for every task type that has none.
-- Returns:  nothing.
-- Writes:   task_definition, task_version.
-- Locks:    task_definition rows, in the order of their codes, so that two deploys of the same new types take turns.
create or replace function bpm_core.ensure_tasks(p_tenant_id text, p_types text[], p_actor text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_draft bpm_core.task_version;
  v_type  text;
begin
  for v_type in
    select t.task_type
      from (select distinct u.task_type collate "C" as task_type from unnest(p_types) u (task_type)) t
     where t.task_type not in (select p.task_type from bpm_core.pinned_tasks(p_tenant_id, p_types) p)
     order by t.task_type
  loop
    v_draft := bpm_core.default_task_version(v_type);
    perform bpm_core.store_task_version(p_tenant_id, v_type, v_draft, p_actor);
  end loop;
end
$$;

-- from 20_catalog/ensure_workflow.sql
-- The workflow definition of a code, made if absent.
-- Returns:  uuid of the definition. Writes: workflow_definition.
create or replace function bpm_core.ensure_workflow(p_tenant_id text, p_code text)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id uuid;
begin
  insert into bpm_core.workflow_definition (tenant_id, id, code, created_at)
  values (p_tenant_id, bpm_core.new_id(), p_code, bpm_core.now())
  on conflict (tenant_id, code) do nothing;
  select d.id into v_id from bpm_core.workflow_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
  return v_id;
end
$$;

-- from 20_catalog/evaluate.sql
-- The value of a compiled expression over variables, p_locals before them. Numbers stay exact; a time comes out as ISO 8601 text, in UTC.
-- Returns:  jsonb; JSON null is null, SQL NULL is undecidable, also when the work allowed does not suffice.
create or replace function bpm_core.evaluate(p_tree jsonb, p_variables jsonb, p_locals jsonb default '{}')
returns jsonb
language plpgsql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tree ->> 'op' = 'value' then
    return coalesce(p_tree -> 'value', 'null');
  elsif p_tree ? 'timed' then
    return bpm_core.plain_times(bpm_core.evaluate_tree(p_tree, p_variables, p_locals || jsonb_build_object('now()', bpm_core.instant_value(bpm_core.now())), 200000));
  end if;
  return bpm_core.evaluate_tree(p_tree, p_variables, p_locals, 200000);
end
$$;

-- from 20_catalog/evaluate_call.sql
-- A call: its arguments first, then the function. An argument that is undecidable makes the call so; inside loops an argument may not be
-- larger than the share of work allows.
create or replace function bpm_core.evaluate_call(p_tree jsonb, p_variables jsonb, p_locals jsonb, p_budget integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name  constant text := p_tree ->> 'name';
  v_count constant integer := jsonb_array_length(p_tree -> 'args');
  v_args  jsonb[] := '{}'::jsonb[];
  v_value jsonb;
begin
  for v_i in 0 .. v_count - 1 loop
    v_value := bpm_core.evaluate_tree(p_tree -> 'args' -> v_i, p_variables, p_locals, p_budget);
    if v_value is null or bpm_core.is_hidden(v_value) or (p_budget < 200000 and pg_column_size(v_value) > p_budget * 256) then
      return null;
    end if;
    v_args := v_args || v_value;
  end loop;
  if v_name in ('now', 'today') then
    return case v_name when 'now' then p_locals -> 'now()' else bpm_core.call_time('date', array[p_locals -> 'now()']) end;
  elsif v_name in ('in', 'list contains', 'count', 'is empty', 'append', 'concatenate', 'reverse', 'distinct values', 'index of', 'sublist', 'get', 'or else',
                   'contains key', 'get or default', 'string join', 'range') or (v_name = 'holds' and jsonb_typeof(v_args[1]) = 'array') then
    return bpm_core.call_list(v_name, v_args);
  elsif v_name in ('sum', 'min', 'max', 'mean', 'all', 'any') then
    return bpm_core.call_aggregate(v_name, case when v_count = 1 and jsonb_typeof(v_args[1]) = 'array' then v_args[1] else to_jsonb(v_args) end);
  elsif v_name in ('date', 'time', 'date and time', 'duration', 'literal time') or v_name ~ '^(plus|minus) '
        or starts_with(v_args[1] #>> '{}', '__') or starts_with(v_args[2] #>> '{}', '__') then
    return bpm_core.call_time(v_name, v_args);
  elsif jsonb_typeof(v_args[1]) = 'number' and v_name not in ('string', 'template') then
    return bpm_core.call_number(v_name, v_args);
  end if;
  return bpm_core.call_text(v_name, v_args, p_tree ->> 'pattern');
end
$$;

-- from 20_catalog/evaluate_choice.sql
-- And, or and if: three-valued, and no further than needed. What is undecidable stays so, unless another side decides alone.
create or replace function bpm_core.evaluate_choice(p_tree jsonb, p_variables jsonb, p_locals jsonb, p_budget integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op      constant text := p_tree ->> 'op';
  v_args    constant jsonb := p_tree -> 'args';
  v_verdict boolean;
  v_unsure  boolean := false;
begin
  if v_op = 'if' then
    v_verdict := bpm_core.truth(v_args -> 0, bpm_core.evaluate_tree(v_args -> 0, p_variables, p_locals, p_budget));
    return case when v_verdict is not null then bpm_core.evaluate_tree(v_args -> case when v_verdict then 1 else 2 end, p_variables, p_locals, p_budget) end;
  end if;
  for v_i in 0 .. jsonb_array_length(v_args) - 1 loop
    v_verdict := bpm_core.truth(v_args -> v_i, bpm_core.evaluate_tree(v_args -> v_i, p_variables, p_locals, p_budget));
    if v_verdict = (v_op = 'or') then
      return to_jsonb(v_verdict);
    end if;
    v_unsure := v_unsure or v_verdict is null;
  end loop;
  return case when not v_unsure then to_jsonb(v_op = 'and') end;
end
$$;

-- from 20_catalog/evaluate_condition.sql
-- The verdict of a compiled condition. A bare name asks for true; what is missing is not true.
-- Returns:  boolean; null when it is undecidable, as anything is that is neither true nor false.
create or replace function bpm_core.evaluate_condition(p_tree jsonb, p_variables jsonb)
returns boolean
language sql volatile parallel safe
as $$ select bpm_core.truth(p_tree, bpm_core.evaluate(p_tree, p_variables)) $$;

-- from 20_catalog/evaluate_list.sql
-- The values of a list or a context. Undecidable when one is, or when it grows beyond 16 MB.
create or replace function bpm_core.evaluate_list(p_tree jsonb, p_variables jsonb, p_locals jsonb, p_budget integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_args   constant jsonb := p_tree -> 'args';
  v_values jsonb[] := '{}'::jsonb[];
  v_value  jsonb;
  v_size   bigint := 0::bigint;
begin
  for v_i in 0 .. jsonb_array_length(v_args) - 1 loop
    v_value := bpm_core.evaluate_tree(v_args -> v_i, p_variables, p_locals, p_budget);
    v_size := v_size + pg_column_size(v_value);
    if v_value is null or v_size > least(16777216, p_budget::bigint * 256) then
      return null;
    end if;
    v_values := v_values || v_value;
  end loop;
  if p_tree ->> 'op' = 'list' then
    return to_jsonb(v_values);
  end if;
  return coalesce((select jsonb_object_agg(k.name, v_values[k.n]) from jsonb_array_elements_text(p_tree -> 'keys') with ordinality k(name, n)), '{}');
end
$$;

-- from 20_catalog/evaluate_loop.sql
-- Some, every, for and filters. The items share the work allowed; when a share is less than the body needs, or a result larger, nothing
-- is decided. In a filter the names are those of the item, and item itself.
create or replace function bpm_core.evaluate_loop(p_tree jsonb, p_variables jsonb, p_locals jsonb, p_budget integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op      constant text := p_tree ->> 'op';
  v_body    constant jsonb := p_tree -> 'body';
  v_list    constant jsonb := bpm_core.evaluate_tree(p_tree -> 'list', p_variables, p_locals, p_budget);
  v_share   integer;
  v_item    jsonb;
  v_value   jsonb;
  v_verdict boolean;
  v_unsure  boolean := false;
  v_found   jsonb[] := '{}'::jsonb[];
begin
  if jsonb_typeof(v_list) is distinct from 'array' then
    return null;
  end if;
  v_share := p_budget / greatest(jsonb_array_length(v_list), 1);
  if v_share < (p_tree ->> 'weight')::integer then
    return null;
  end if;
  for v_item in select i from jsonb_array_elements(v_list) i loop
    v_value := bpm_core.evaluate_tree(v_body, p_variables,
      p_locals || case when v_op <> 'filter' then jsonb_build_object(p_tree ->> 'var', v_item)
                       when jsonb_typeof(v_item) = 'object' then v_item || jsonb_build_object('item', v_item)
                       else jsonb_build_object('item', v_item) end, v_share);
    if v_op = 'for' then
      if v_value is null or pg_column_size(v_value) > v_share * 256 then
        return null;
      end if;
      v_found := v_found || v_value;
      continue;
    end if;
    v_verdict := bpm_core.truth(v_body, v_value);
    if v_op = 'filter' and v_verdict then
      v_found := v_found || v_item;
    elsif v_op <> 'filter' and v_verdict = (v_op = 'some') then
      return to_jsonb(v_verdict);
    end if;
    v_unsure := v_unsure or v_verdict is null;
  end loop;
  return case when v_unsure then null when v_op in ('for', 'filter') then to_jsonb(v_found) else to_jsonb(v_op = 'every') end;
end
$$;

-- from 20_catalog/evaluate_path.sql
-- Follows a path of names. What leads nowhere is null; what lies behind an encrypted text is undecidable.
create or replace function bpm_core.evaluate_path(p_path jsonb, p_variables jsonb)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_value jsonb := coalesce(p_variables -> (p_path ->> 0), 'null');
begin
  for v_i in 1 .. jsonb_array_length(p_path) - 1 loop
    v_value := bpm_core.member_value(v_value, p_path ->> v_i);
  end loop;
  return v_value;
end
$$;

-- from 20_catalog/evaluate_text.sql
-- The value of a compiled expression as a text: what becomes a key, a name, a date.
-- Returns:  text; null when it is undecidable or no scalar.
create or replace function bpm_core.evaluate_text(p_tree jsonb, p_variables jsonb)
returns text
language plpgsql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_value constant jsonb := bpm_core.evaluate(p_tree, p_variables);
begin
  return case when jsonb_typeof(v_value) in ('string', 'number', 'boolean') then v_value #>> '{}' end;
end
$$;

-- from 20_catalog/evaluate_tree.sql
-- Evaluates one node of an expression tree. p_locals holds what loops have named; p_budget is the work still allowed, about one unit per
-- node: a loop divides it among its items, so that nested loops end as surely as one.
-- Returns:  jsonb; SQL NULL is undecidable.
create or replace function bpm_core.evaluate_tree(p_tree jsonb, p_variables jsonb, p_locals jsonb, p_budget integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op  constant text := p_tree ->> 'op';
  v_arg jsonb;
begin
  if v_op = 'path' then
    return bpm_core.evaluate_path(p_tree -> 'path', case when p_locals ? (p_tree -> 'path' ->> 0) then p_locals else p_variables end);
  elsif v_op = 'value' then
    return coalesce(p_tree -> 'value', 'null');  -- stored trees may have lost their nulls
  elsif v_op in ('eq', 'ne', 'lt', 'le', 'gt', 'ge') then
    return to_jsonb(bpm_core.compare_values(
      v_op, bpm_core.evaluate_tree(p_tree -> 'left', p_variables, p_locals, p_budget), bpm_core.evaluate_tree(p_tree -> 'right', p_variables, p_locals, p_budget),
      p_tree -> 'left' ->> 'op' <> 'path' or p_tree -> 'right' ->> 'op' <> 'path'));
  elsif v_op = 'call' then
    return bpm_core.evaluate_call(p_tree, p_variables, p_locals, p_budget);
  elsif v_op in ('and', 'or', 'if') then
    return bpm_core.evaluate_choice(p_tree, p_variables, p_locals, p_budget);
  elsif v_op in ('some', 'every', 'for', 'filter') then
    return bpm_core.evaluate_loop(p_tree, p_variables, p_locals, p_budget);
  elsif v_op in ('list', 'context') then
    return bpm_core.evaluate_list(p_tree, p_variables, p_locals, p_budget);
  elsif v_op = 'defined' then
    return to_jsonb(bpm_core.path_defined(p_tree -> 'arg' -> 'path', case when p_locals ? (p_tree -> 'arg' -> 'path' ->> 0) then p_locals else p_variables end));
  elsif v_op is null then
    return null;
  end if;
  v_arg := bpm_core.evaluate_tree(p_tree -> 'arg', p_variables, p_locals, p_budget);
  return case v_op
    when 'not' then to_jsonb(not bpm_core.truth(p_tree -> 'arg', v_arg))
    when 'empty' then case when v_arg is not null then to_jsonb(v_arg in ('null', '""', '[]', '{}')) end
    when 'member' then bpm_core.member_value(v_arg, p_tree ->> 'name')
    when 'index' then bpm_core.index_value(v_arg, bpm_core.evaluate_tree(p_tree -> 'index', p_variables, p_locals, p_budget), (p_tree ->> 'first')::integer)
    when 'let' then case when v_arg is not null then
      bpm_core.evaluate_tree(p_tree -> 'body', p_variables, p_locals || jsonb_build_object(p_tree ->> 'var', v_arg), p_budget) end end;
end
$$;

-- from 20_catalog/expand_catch.sql
-- Puts the definitions of one catching event side by side before it (expand_events).
create or replace function bpm_core.expand_catch(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], p_node bpm_core.draft_node, out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gateway constant boolean := p_node.tag = 'intermediateCatchEvent';
  v_behind  text := p_node.node_id || case when v_gateway then ':out' else '' end;
  v_one     bpm_core.draft_node;
  v_number  integer := 0;
  r_one     record;
begin
  nodes := array(select n from unnest(p_nodes) n where n.scope_pos <> p_node.scope_pos or n.node_id <> p_node.node_id);
  flows := array(select bpm_core.leave_from(f, p_node.scope_pos, p_node.node_id, v_behind) from unnest(p_flows) f);
  for r_one in select d.definition from jsonb_array_elements(p_node.definition -> 'definitions') with ordinality d(definition, n) order by d.n loop
    v_number := v_number + 1;
    v_one := bpm_core.one_of_several(p_node, v_number, r_one.definition, p_node.tag);
    nodes := nodes || v_one;
    flows := flows || bpm_core.plain_flow(p_node, v_one.node_id || '-flow', v_one.node_id, v_behind);
    if v_gateway then
      flows := flows || bpm_core.plain_flow(p_node, v_one.node_id || '-wait', p_node.node_id, v_one.node_id);
    end if;
  end loop;
  v_one := p_node;
  v_one.node_id := v_behind;
  v_one.tag := 'intermediateThrowEvent';
  v_one.event := 'none';
  v_one.definition := null;
  v_one.attached_to := null;
  v_one.interrupting := true;
  nodes := nodes || v_one;
  if v_gateway then
    v_one := p_node;
    v_one.tag := 'eventBasedGateway';
    v_one.event := null;
    v_one.definition := null;
    v_one.default_ref := null;
    nodes := nodes || v_one;
  end if;
end
$$;

-- from 20_catalog/expand_events.sql
-- Turns an event with several definitions into events with one each: of what may come (catch, boundary, start) any one counts, so they stand side by
-- side before the node that was drawn, a catch event behind an event-based gateway; what is thrown is thrown in a row, what ends the scope last. The events
-- are <id>:1, <id>:2, …; one that says parallelMultiple is left as it is, and refused.
-- Returns:  nodes and flows as drawn, with these.
create or replace function bpm_core.expand_events(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node;
begin
  nodes := p_nodes;
  flows := p_flows;
  foreach v_node in array p_nodes loop
    continue when v_node.event is distinct from 'several' or lower(v_node.attributes ->> 'parallelMultiple') = 'true';
    if v_node.tag in ('intermediateThrowEvent', 'endEvent') then
      select x.nodes, x.flows into nodes, flows from bpm_core.expand_throw(nodes, flows, v_node) x;
    else
      select x.nodes, x.flows into nodes, flows from bpm_core.expand_catch(nodes, flows, v_node) x;
    end if;
  end loop;
end
$$;

-- from 20_catalog/expand_throw.sql
-- Puts the definitions of one throwing event in a row (expand_events): the first is the event that was drawn, the last is where its flows leave.
create or replace function bpm_core.expand_throw(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], p_node bpm_core.draft_node, out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count  constant integer := jsonb_array_length(p_node.definition -> 'definitions');
  v_last   constant text := p_node.node_id || ':' || v_count;
  v_one    bpm_core.draft_node;
  v_before text;
  v_number integer := 0;
  r_one    record;
begin
  nodes := array(select n from unnest(p_nodes) n where n.scope_pos <> p_node.scope_pos or n.node_id <> p_node.node_id);
  flows := array(select bpm_core.leave_from(f, p_node.scope_pos, p_node.node_id, v_last) from unnest(p_flows) f);
  for r_one in
    select d.definition from jsonb_array_elements(p_node.definition -> 'definitions') with ordinality d(definition, n)
     order by d.definition ->> 'event' in ('terminate', 'error', 'cancel'), d.n
  loop
    v_number := v_number + 1;
    v_one := bpm_core.one_of_several(p_node, v_number, r_one.definition, case when v_number < v_count then 'intermediateThrowEvent' else p_node.tag end);
    if v_number = 1 then
      v_one.node_id := p_node.node_id;
    else
      flows := flows || bpm_core.plain_flow(p_node, v_one.node_id || '-flow', v_before, v_one.node_id);
    end if;
    v_before := v_one.node_id;
    nodes := nodes || v_one;
  end loop;
end
$$;

-- from 20_catalog/expression_path.sql
-- Reads an expression that is nothing but a dotted path (correlation keys, timers): ${a.b}, =a.b or a.b.
-- Returns:  text a.b, null when it is anything else.
create or replace function bpm_core.expression_path(p_source text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when r.tree ->> 'op' = 'path' and not exists (select from jsonb_array_elements_text(r.tree -> 'path') n where position('.' in n) > 0)
    then (select string_agg(n, '.') from jsonb_array_elements_text(r.tree -> 'path') n) end
    from bpm_core.read_expression(p_source, null) r
$$;

-- from 20_catalog/expression_tokens.sql
-- Cuts an expression into tokens. JUEL and FEEL share everything but their words and the meaning of a single =.
-- Letters beyond ASCII are letters of a name whatever the locale of the database says.
-- Returns:  expression_token[], the last of kind end. What is no token has kind bad.
create or replace function bpm_core.expression_tokens(p_source text, p_feel boolean, p_offset integer)
returns bpm_core.expression_token[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens bpm_core.expression_token[] := array[]::bpm_core.expression_token[];
  v_token  bpm_core.expression_token;
  v_words  text[];
  v_word   text;
  v_at     integer := p_offset + 1;
begin
  for v_words in
    select m
      from regexp_matches(p_source,
             '(\s+|"(?:[^"\\]|\\.)*"|''(?:[^''\\]|\\.)*''|\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?|(?:[A-Za-z_$]|[^\u0001-\u007f])(?:[A-Za-z0-9_$]|[^\u0001-\u007f])*|&&|\|\||==|!=|<=|>=|\.\.|\*\*|.)',
             'g') m
  loop
    v_word := v_words[1];
    if btrim(v_word, E' \t\r\n\f\v') <> '' then
      v_token := row(bpm_core.token_kind(v_word, p_feel), v_word, v_at);
      if v_token.kind = 'string' then
        v_token.value := bpm_core.unescape(substr(v_word, 2, length(v_word) - 2));
      end if;
      v_tokens := v_tokens || v_token;
    end if;
    v_at := v_at + length(v_word);
  end loop;
  return v_tokens || row('end', '', v_at)::bpm_core.expression_token;
end
$$;

-- from 20_catalog/fault.sql
-- Makes one fault of a BPMN file. Lines are filled in at the end, from the id, for all findings at once (locate_findings).
create or replace function bpm_core.fault(p_code text, p_message text, p_node_id text default null, p_flow_id text default null, p_hint text default null)
returns bpm_core.finding
language sql immutable parallel safe
as $$ select row('fault', p_code, p_message, p_node_id, p_flow_id, null, p_hint)::bpm_core.finding $$;

-- from 20_catalog/find_call_faults.sql
-- What is wrong about call activities: nothing to call, a binding or a mapping that cannot be read.
create or replace function bpm_core.find_call_faults(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.fault(case when c.problem = 'it names no process to call' then 'UnknownReference' when c.problem like '%binding%' then 'UnsupportedElement' else 'InvalidCondition' end,
           format('%s: %s.', bpm_core.element_label(n.tag, n.node_id, n.name), c.problem), n.node_id, null,
           'Name the id of a process: calledElement="order"; bindings are latest, deployment and version.')
    from unnest(p_nodes) n
    join bpm_core.drawn_calls(p_elements) c on c.node_pos = n.pos
   where n.tag = 'callActivity' and c.problem is not null
$$;

-- from 20_catalog/find_duplicate_ids.sql
-- Ids that occur twice, among the elements or with a node or flow the compiler adds.
create or replace function bpm_core.find_duplicate_ids(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with drawn as (
    select e.id, count(*) as times, min(e.tag) as tag, max(e.tag) as other
      from unnest(p_elements) e
     where e.space = 'bpmn' and e.id is not null
     group by e.id
  ),
  compiled as (
    select x.id, count(*) as times
      from (select n.process_pos, n.node_id as id from unnest(p_nodes) n
            union all select f.process_pos, f.flow_id from unnest(p_flows) f) x
     group by x.process_pos, x.id
  )
  select bpm_core.fault('DuplicateId', format('The id "%s" is used %s times (%s).', left(d.id, 200), d.times, concat_ws(', ', d.tag, nullif(d.other, d.tag))), d.id, null,
           'Give each element an id of its own.')
    from drawn d where d.times > 1
  union all
  select bpm_core.fault('DuplicateId', format('The id "%s" is needed for a node that the compiler adds.', left(c.id, 200)), c.id, null, 'Rename the element.')
    from compiled c
   where c.times > 1 and not exists (select from drawn d where d.id = c.id and d.times > 1)
$$;

-- from 20_catalog/find_event_faults.sql
-- What is wrong or odd about the events: timers, correlation keys, error codes, boundary events that cannot fire.
create or replace function bpm_core.find_event_faults(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label from unnest(p_nodes) n),
  definition as materialized (select d.* from bpm_core.bpmn_definitions(p_elements) d)
  select bpm_core.fault('InvalidTimer', format('Timer of %s: %s', n.label, t.problem), n.node_id, null, t.hint)
    from node n cross join lateral bpm_core.drawn_timer(n.definition ->> 'timer_kind', n.definition ->> 'timer_rule') t
   where n.event = 'timer' and t.problem is not null
  union all
  select bpm_core.fault('InvalidCondition', format('Condition of %s cannot be read: %s.', n.label, coalesce(x.problem || ' (position ' || x.at || ')', 'there is none')), n.node_id, null,
           'Write a condition over variables: ${stock < 10}.')
    from node n cross join lateral bpm_core.compile_expression(coalesce(n.definition ->> 'condition', ''), false) x
   where n.event = 'conditional' and n.kind in ('ConditionalCatch', 'ConditionalBoundary') and (x.problem is not null or coalesce(n.definition ->> 'condition', '') = '')
  union all
  select bpm_core.warning('CycleFiresOnce', format('%s has a cycle, but ends with its first firing.', n.label), n.node_id, null, 'Use timeDuration, or a boundary event that does not interrupt.')
    from node n
   where n.timer_kind = 'Cycle' and (n.tag = 'intermediateCatchEvent' or (n.tag = 'boundaryEvent' and n.interrupting))
  union all
  select bpm_core.fault('InvalidCondition', format('%s: %s', n.label, m.problem), n.node_id, null, 'Write the path of a variable: order.id. Without a key the business key correlates.')
    from node n
    join definition d on d.tag = 'message' and d.id = bpm_core.local_reference(coalesce(n.definition ->> 'messageRef', n.attributes ->> 'messageRef'))
   cross join lateral bpm_core.drawn_message(n.attributes, d.id, d.name, d.attributes, d.extensions) m
   where m.problem is not null
  union all
  select bpm_core.fault('UnsupportedElement', format('%s has a %s whose name is an expression, which is not executed.', n.label, coalesce(n.event, 'message')), n.node_id, null,
           'Give it a fixed name; messages correlate by key.')
    from node n where n.message_name ~ '^(=|.*[$#]\{)'
  union all
  select bpm_core.fault('UnsupportedElement', format('%s has an %s code that is an expression, which is not executed.', n.label, n.event), n.node_id, null, 'Use a fixed code.')
    from node n where n.error_code ~ '^(=|.*[$#]\{)'
  union all
  select bpm_core.warning('ErrorCodeMissing', format('%s names an error without errorCode; it catches every error.', n.label), n.node_id, null, 'Add errorCode to the error, or remove errorRef to say so.')
    from node n where n.kind = 'ErrorBoundary' and n.error_code is null and n.definition ? 'errorRef'
  union all
  select bpm_core.warning('ErrorAlwaysInterrupts', format('%s says cancelActivity="false"; an error ends its activity all the same.', n.label), n.node_id)
    from node n where n.kind = 'ErrorBoundary' and not n.interrupting
  union all
  select bpm_core.warning('BoundaryNeverFires', format('%s is attached to %s, which %s; it never fires.', n.label, bpm_core.element_label(h.tag, h.node_id, h.name),
           case when n.kind = 'EscalationBoundary' then 'throws no escalation' when h.tag = 'receiveTask' then 'throws no error' else 'is passed at once' end), n.node_id)
    from node n join node h on h.scope_pos = n.scope_pos and h.node_id = n.attached_to
   where (n.kind in ('TimerBoundary', 'MessageBoundary', 'SignalBoundary', 'ConditionalBoundary', 'ErrorBoundary') and h.tag in ('task', 'manualTask', 'sendTask'))
      or (n.kind = 'ErrorBoundary' and h.tag = 'receiveTask')
      or (n.kind = 'EscalationBoundary' and h.tag not in ('subProcess', 'transaction', 'callActivity'))
$$;

-- from 20_catalog/find_flow_faults.sql
-- Sequence flows that lead nowhere, cross a border, or carry a condition that cannot be compiled.
create or replace function bpm_core.find_flow_faults(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select distinct on (n.node_id) n.node_id, n.scope_pos, n.tag from unnest(p_nodes) n order by n.node_id, n.pos),
  flow as materialized (
    select f.*, s.tag as source_tag, t.tag as target_tag
      from unnest(p_flows) f left join node s on s.node_id = f.source_ref left join node t on t.node_id = f.target_ref
  )
  select bpm_core.fault('SequenceFlowSourceNotFound', format('Sequence flow "%s" %s.', f.flow_id, case
           when f.source_ref is null then 'has no source'
           when f.source_tag = 'endEvent' then format('leaves the end event "%s"', f.source_ref)
           when f.source_tag is not null then format('comes from "%s", which is in another process or sub-process', f.source_ref)
           else format('comes from "%s", which is no node', f.source_ref) end), null, f.flow_id, 'Connect it again, within one scope.')
    from flow f where f.source_id is null or f.source_tag = 'endEvent'
  union all
  select bpm_core.fault('SequenceFlowTargetNotFound', format('Sequence flow "%s" %s.', f.flow_id, case
           when f.target_ref is null then 'has no target'
           when f.target_id is not null then format('leads into the %s "%s"', case f.target_tag when 'startEvent' then 'start event' else 'boundary event' end, f.target_ref)
           when f.target_tag is not null then format('leads to "%s", which is in another process or sub-process', f.target_ref)
           else format('leads to "%s", which is no node', f.target_ref) end), null, f.flow_id, 'Connect it again, within one scope.')
    from flow f where f.target_id is null or f.target_tag in ('startEvent', 'boundaryEvent')
  union all
  select bpm_core.fault('InvalidCondition', format('Condition of sequence flow "%s" cannot be read: %s.', f.flow_id, f.problem), f.source_id, f.flow_id,
           'Understood are JUEL, ${order.amount > 1000 && !empty customer}, and FEEL, = order.amount > 1000 and customer != null; the documentation lists what they may say.')
    from flow f where f.problem is not null
  union all
  select bpm_core.warning('ConditionWithoutMarks', format('Condition of sequence flow "%s" has no ${…} around it; read as one.', f.flow_id), f.source_id, f.flow_id)
    from flow f where f.problem is null and f.language is not null
$$;

-- from 20_catalog/find_gateway_faults.sql
-- Event-based gateways of a wrong shape: what they wait for has to be an event of its own that only they lead to.
create or replace function bpm_core.find_gateway_faults(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label from unnest(p_nodes) n),
  gateway as materialized (select n.* from node n where n.tag = 'eventBasedGateway'),
  branch as materialized (
    select g.label, g.node_id, t.label as target_label, t.node_id as target_id, t.scope_pos, t.kind, t.tag, t.incoming
      from gateway g
      join unnest(p_flows) f on f.scope_pos = g.scope_pos and f.source_id = g.node_id
      join node t on t.scope_pos = f.scope_pos and t.node_id = f.target_id)
  select bpm_core.fault('EventGatewayInvalidShape', format('%s: %s.', x.label, x.problem), x.node_id, null,
           'Let each of its flows lead to a catch event or a receive task that nothing else leads to.')
    from (
      select g.label, g.node_id, 'it waits for events, so its flows have no condition and none is the default' as problem
        from gateway g where g.conditional > 0 or g.default_ref is not null
      union all
      select b.label, b.node_id, format('it leads to %s, which waits for nothing', b.target_label)
        from branch b where b.tag not in ('intermediateCatchEvent', 'receiveTask')
      union all
      select b.label, b.node_id, format('it leads to %s, which something else leads to as well', b.target_label)
        from branch b where b.tag in ('intermediateCatchEvent', 'receiveTask') and b.incoming > 1
      union all
      select b.label, b.node_id, format('it leads to %s, which has boundary events', b.target_label)
        from branch b
       where b.tag = 'receiveTask' and exists (select from node e where e.scope_pos = b.scope_pos and e.attached_to = b.target_id)) x
  union all
  select bpm_core.fault('UnsupportedElement', g.label || ' starts the process, which only a start event does here.', g.node_id, null,
           'See the table of elements in the documentation for what is executed.')
    from gateway g where g.attributes ->> 'instantiate' = 'true'
$$;

-- from 20_catalog/find_ignored.sql
-- What other engines would run and this one does not: listeners and scripts, mappings, expressions for people. Warnings; faults when strict.
create or replace function bpm_core.find_ignored(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[], p_strict boolean)
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with ignored as (
    select 'ListenerIgnored' as code,
           format('%s has a listener or script of another engine, which is not executed.', bpm_core.element_label(o.tag, coalesce(o.id, ''), o.attributes ->> 'name')) as message,
           case when o.tag <> 'sequenceFlow' then o.id end as node_id, case when o.tag = 'sequenceFlow' then o.id end as flow_id
      from unnest(p_elements) h
      join unnest(p_elements) x on x.parent = h.pos
      join unnest(p_elements) o on o.pos = h.parent
     where h.tag = 'extensionElements' and h.space = 'bpmn' and x.space in ('camunda', 'flowable', 'zeebe')
       and x.tag in ('executionListener', 'taskListener', 'eventListener', 'executionListeners', 'taskListeners', 'script')
       and not (x.tag = 'script' and o.tag = 'scriptTask')
     group by 1, 2, 3, 4
    union all
    select 'MappingIgnored', format('%s has mappings that are not executed: %s.', bpm_core.element_label(n.tag, n.node_id, n.name), m.names), n.node_id, null
      from unnest(p_nodes) n
     cross join lateral (
       select string_agg(coalesce(x.value ->> 'target', '') || case when x.value ? 'script' then ' (a script, or nested)' else '' end, ', ' order by x.n) as names
         from jsonb_array_elements(n.extensions -> 'mappings') with ordinality x(value, n)
        where x.value ? 'script' or x.value ->> 'direction' <> all (bpm_core.mapped_directions(n.tag, case when n.attributes ->> 'triggeredByEvent' = 'true' then 'begun' else n.event end))) m
     where n.extensions ? 'mappings' and m.names is not null and not (n.tag = 'callActivity' and n.extensions ? 'zeebe:ioMapping')  -- drawn_calls reads those
    union all
    select 'ScriptIgnored', format('%s runs no script; it is a task of type %s for a worker, which finds the script in its headers.',
                                   bpm_core.element_label(n.tag, n.node_id, n.name), left(n.task_type, 100)), n.node_id, null
      from unnest(p_nodes) n
     where n.tag = 'scriptTask' and n.task_type = n.node_id and n.attributes ->> 'bpm:type' is null
    union all
    select 'ExpressionIgnored', format('%s has an expression that is not understood: %s.', bpm_core.element_label(n.tag, n.node_id, n.name), u.problem), n.node_id, null
      from unnest(p_nodes) n
     cross join lateral bpm_core.drawn_binding(n.attributes, n.extensions - 'mappings', n.lane) b
     cross join lateral unnest(b.unread) u(problem)
     where n.kind in ('ServiceTask', 'ApprovalTask', 'UserTask') and n.attributes::text || n.extensions::text ~ '[$#]\{|": "\s*='
    union all
    select 'MessageNotSent', format('%s does not say how its message is sent; it sends nothing.', bpm_core.element_label(n.tag, n.node_id, n.name)), n.node_id, null
      from unnest(p_nodes) n
     where n.event = 'message' and n.kind in ('PassThrough', 'EndEvent')
  )
  select case when p_strict then bpm_core.fault(i.code, i.message, i.node_id, i.flow_id, 'Deploy without strict to run the process without it.')
               else bpm_core.warning(i.code, i.message, i.node_id, i.flow_id) end
    from ignored i
  union all
  select bpm_core.warning('DefaultConditionIgnored', format('Sequence flow "%s" is the default of "%s"; its condition is not looked at.', f.id, n.node_id), n.node_id, f.id)
    from unnest(p_nodes) n
    join unnest(p_elements) f on f.parent = n.scope_pos and f.id = n.default_ref and f.tag = 'sequenceFlow'
    join unnest(p_elements) c on c.parent = f.pos and c.tag = 'conditionExpression' and c.body <> ''
$$;

-- from 20_catalog/find_link_faults.sql
-- Link events that lead nowhere, come from nowhere, or are ambiguous.
create or replace function bpm_core.find_link_faults(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with link as materialized (
    select n.scope_pos, n.node_id, n.tag = 'intermediateThrowEvent' as throws, n.incoming, n.outgoing, nullif(btrim(n.definition ->> 'name'), '') as name,
           bpm_core.element_label(n.tag, n.node_id, n.name) as label
      from unnest(p_nodes) n
     where n.event = 'link' and n.tag in ('intermediateThrowEvent', 'intermediateCatchEvent')
  )
  select bpm_core.fault('UnknownReference', l.label || ' is a link without a name.', l.node_id, null, 'Name the link; the events of one name belong together.')
    from link l where l.name is null
  union all
  select bpm_core.fault('UnknownReference', format('%s leads to the link "%s", which %s.', l.label, left(l.name, 200),
             case when c.catches = 0 then 'no event of its scope catches' else 'several events of its scope catch' end), l.node_id, null,
           'Draw exactly one catching link event of that name.')
    from link l
   cross join lateral (select count(*) as catches from link c where not c.throws and c.scope_pos = l.scope_pos and c.name = l.name) c
   where l.throws and l.name is not null and c.catches <> 1
  union all
  select bpm_core.fault('OrphanNode', format('Nothing leads to %s: no event of its scope throws the link "%s".', l.label, left(l.name, 200)), l.node_id, null,
           'Connect or remove it.')
    from link l
   where not l.throws and l.name is not null and l.incoming = 0
  union all
  select bpm_core.fault('DeadEnd', format('%s is a link, so no sequence flow %s it.', l.label, case when l.throws then 'leaves' else 'leads to' end), l.node_id, null,
           'A throwing link has flows that come, a catching one flows that go.')
    from link l
   where exists (select from unnest(p_flows) f where f.scope_pos = l.scope_pos and f.flow_id not like '%:link'
                    and case when l.throws then f.source_id else f.target_id end = l.node_id)
  union all
  select bpm_core.fault(case when l.throws then 'OrphanNode' else 'DeadEnd' end,
           case when l.throws then format('Nothing leads to %s.', l.label) else format('%s has no outgoing flow and is no end event.', l.label) end, l.node_id, null, 'Connect or remove it.')
    from link l
   where case when l.throws then l.incoming else l.outgoing end = 0
$$;

-- from 20_catalog/find_loop_faults.sql
-- What is wrong about multi-instance and loop activities.
create or replace function bpm_core.find_loop_faults(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (
    select n.node_id, n.tag, n.kind, bpm_core.element_label(n.tag, n.node_id, n.name) as label, d.problem, d.hint
      from unnest(p_nodes) n
      join bpm_core.drawn_loops(p_elements) d on d.owner_pos = n.pos
     where n.loop is not null and n.kind is not null)
  select bpm_core.fault('InvalidLoop', format('%s: %s.', n.label, n.problem), n.node_id, null, n.hint)
    from node n where n.problem is not null
  union all
  select bpm_core.fault('InvalidLoop', format('%s can be neither multi-instance nor a loop.', n.label), n.node_id, null, 'Only activities can; put an event sub-process into one.')
    from node n where n.kind = 'EventSubProcess' or n.tag ~ '(Event|Gateway)$'
$$;

-- from 20_catalog/find_own_misused.sql
-- Attributes and elements of our own namespace, or of one that looks like it, that mean nothing where they stand. A fault and not a
-- warning: an approval that was asked for with a slip of the pen and dropped would be worse than a refusal.
create or replace function bpm_core.find_own_misused(p_elements bpm_core.bpmn_element[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.fault('UnsupportedElement',
           format('%s has the attribute %s, which %s.', bpm_core.element_label(e.tag, coalesce(e.id, ''), e.attributes ->> 'name'), replace(a.name, 'bpm?', 'bpm'),
                  case when a.name like 'bpm?:%' then 'is not in the namespace urn:pgbpm:bpmn:1' else 'means nothing there' end),
           case when e.tag <> 'sequenceFlow' then e.id end, case when e.tag = 'sequenceFlow' then e.id end, null)
    from unnest(p_elements) e
   cross join lateral jsonb_object_keys(e.attributes) a (name)
   where (a.name like 'bpm:%' or a.name like 'bpm?:%') and a.name <> 'bpm:await'
     and (a.name like 'bpm?:%' or a.name <> all (bpm_core.own_attributes(e.tag)))
  union all
  select bpm_core.fault('UnsupportedElement', format('%s is no element of the namespace urn:pgbpm:bpmn:1.', bpm_core.element_label('bpm:' || e.tag, coalesce(e.id, ''), null)),
           o.id, null, 'It has attributes only.')
    from unnest(p_elements) e
    join unnest(p_elements) h on h.pos = e.parent
    left join unnest(p_elements) o on o.pos = h.parent
   where e.space in ('bpm', 'bpm?')
$$;

-- from 20_catalog/find_process_faults.sql
-- What is wrong or odd about the processes of a file as wholes: none at all, no or several starts, no end, executable or not.
create or replace function bpm_core.find_process_faults(p_processes bpm_core.draft_process[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with scope as (
    select coalesce(min(n.scope_id), min(p.process_id)) as id, case when min(n.scope_id) is null then 'Process' else 'Sub-process' end as what,
           count(*) filter (where n.tag = 'startEvent') as starts,
           count(*) filter (where n.tag = 'startEvent' and n.event = 'none') as plain_starts,
           count(*) filter (where n.tag = 'endEvent') as ends
      from unnest(p_nodes) n
      join unnest(p_processes) p on p.pos = n.process_pos
     where n.scope_tag <> 'adHocSubProcess'
     group by n.scope_pos
  )
  select bpm_core.fault('NoProcess', 'The file has no process with a flow node in it.', null, null,
           'The root must be definitions in the namespace http://www.omg.org/spec/BPMN/20100524/MODEL, with a process in it.')
   where not exists (select from unnest(p_processes) p where p.deployed)
  union all
  select bpm_core.fault('NoStartEvent', format('%s "%s" has no start event.', s.what, s.id), s.id, null, 'Draw a start event and connect it.')
    from scope s where s.starts = 0
  union all
  select bpm_core.fault('MultipleStartEvents', format('%s "%s" has %s start events without a trigger; a start could mean any of them.', s.what, s.id, s.plain_starts), s.id, null,
           'Keep one plain start event.')
    from scope s where s.plain_starts > 1
  union all
  select bpm_core.fault('NoEndEvent', format('%s "%s" has no end event.', s.what, s.id), s.id, null, 'Draw an end event behind the last step.')
    from scope s where s.ends = 0
  union all
  select bpm_core.warning('ExecutableNotStated', format('Process "%s" does not say isExecutable; taken as true.', p.process_id), p.process_id)
    from unnest(p_processes) p where p.executable is null and p.deployed
  union all
  select bpm_core.warning('NotExecutable', format('Process "%s" says isExecutable="false"; %s.', p.process_id,
           case when p.deployed then 'deployed all the same, since no process of the file says otherwise' else 'not deployed, beside one that is executable' end), p.process_id)
    from unnest(p_processes) p where not p.executable
  union all
  select bpm_core.warning('EmptyProcess', format('Process "%s" has no flow node; not deployed.', p.process_id), p.process_id)
    from unnest(p_processes) p
   where not p.deployed and coalesce(p.executable, true) and exists (select from unnest(p_processes) q where q.deployed)
$$;

-- from 20_catalog/find_scope_faults.sql
-- What is wrong about sub-processes: how they begin, and what is connected to an event sub-process.
create or replace function bpm_core.find_scope_faults(p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (
    select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label,
           n.tag = 'subProcess' and n.attributes @> '{"triggeredByEvent": "true"}' as by_event
      from unnest(p_nodes) n),
  start as materialized (
    select s.label, s.node_id, s.pos, s.event, s.interrupting, p.by_event, p.label as around, p.node_id as around_id
      from node s
      join node p on p.process_pos = s.process_pos and p.node_id = s.scope_id
     where s.tag = 'startEvent' and p.tag <> 'adHocSubProcess')
  select bpm_core.fault('UnsupportedElement', format('%s begins %s, which only a plain start event does.', s.label, s.around), s.node_id, null,
           'A sub-process that an event begins says triggeredByEvent="true".')
    from start s where not s.by_event and s.event <> 'none'
  union all
  select bpm_core.fault('UnsupportedElement', format('%s begins the event sub-process %s, but waits for nothing.', s.label, s.around_id), s.node_id, null,
           'Give it a message, timer, signal, error or escalation definition.')
    from start s where s.by_event and s.event = 'none'
  union all
  select bpm_core.fault('MultipleStartEvents', format('%s has %s start events; an event sub-process has one.', min(s.around), count(distinct s.pos)), s.around_id, null,
           'Draw an event sub-process for each.')
    from start s where s.by_event group by s.around_id having count(distinct s.pos) > 1
  union all
  select bpm_core.warning('ErrorAlwaysInterrupts', format('%s says isInterrupting="false"; an error ends what is around it all the same.', s.label), s.node_id)
    from start s where s.by_event and s.event = 'error' and not s.interrupting
  union all
  select bpm_core.fault('UnsupportedElement', format('%s is begun by an event, so no sequence flow leads to it or leaves it.', n.label), n.node_id, null, 'Remove the flow.')
    from node n where n.by_event and n.incoming + n.outgoing > 0
  union all
  select bpm_core.fault('UnsupportedElement', format('%s is attached to an event sub-process, which has no boundary.', b.label), b.node_id, null,
           'Attach it to the sub-process around.')
    from node b
    join node n on n.by_event and n.scope_pos = b.scope_pos and n.node_id = b.attached_to
   where b.tag = 'boundaryEvent'
$$;

-- from 20_catalog/find_shape_faults.sql
-- Nodes whose flows do not make sense: gateways of a wrong shape, dead ends, nodes nothing leads to.
create or replace function bpm_core.find_shape_faults(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (
    select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label,
           coalesce(n.scope_tag = 'adHocSubProcess' or n.attributes @> '{"isForCompensation": "true"}' or n.attributes @> '{"triggeredByEvent": "true"}'
             or n.event in ('link', 'compensate'), false) as unconnected
      from unnest(p_nodes) n
  ),
  loose as (
    select f.scope_pos, f.source_id as node_id, array_to_string((array_agg('"' || f.flow_id || '"' order by f.pos))[1:5], ', ') as flows
      from unnest(p_flows) f where f.condition_source is null and not f.is_default
     group by f.scope_pos, f.source_id
  )
  select bpm_core.fault('ExclusiveGatewayNoDefault', format('%s has several flows, and %s without a condition that %s.', n.label, l.flows,
             case when n.default_ref is null then 'is not the default: there is none' else 'is not the default either: there can be only one' end), n.node_id, null,
           'Give every flow but one a condition and make that one the default.')
    from node n join loose l on l.scope_pos = n.scope_pos and l.node_id = n.node_id
   where n.tag = 'exclusiveGateway' and n.outgoing > 1
  union all
  select bpm_core.fault('ParallelGatewayInvalidShape', format('%s takes every flow, but %s.', n.label,
             case when n.conditional > 0 then 'has one with a condition' else 'names a default' end), n.node_id, null, 'Remove it, or draw an exclusive gateway.')
    from node n where n.tag = 'parallelGateway' and (n.conditional > 0 or n.default_ref is not null)
  union all
  select bpm_core.fault('DeadEnd', format('%s has no outgoing flow and is no end event.', n.label), n.node_id, null, 'Connect it to an end event.')
    from node n where n.outgoing = 0 and n.tag not in ('endEvent', 'boundaryEvent') and not n.unconnected
  union all
  select bpm_core.warning('ImplicitEnd', format('%s has no outgoing flow: its path ends there.', n.label), n.node_id, null, 'Connect it to an end event.')
    from node n where n.outgoing = 0 and n.tag = 'boundaryEvent' and not n.unconnected
  union all
  select bpm_core.fault('OrphanNode', format('Nothing leads to %s.', n.label), n.node_id, null, 'Connect or remove it.')
    from node n where n.incoming = 0 and n.tag not in ('startEvent', 'boundaryEvent') and not n.unconnected
$$;

-- from 20_catalog/find_task_faults.sql
-- What is wrong or odd about tasks: types, retries and leases, approval, destinations. Our own attributes are taken at their word: an
-- impossible value is a fault. Other engines' attributes that cannot be used are warnings.
create or replace function bpm_core.find_task_faults(p_nodes bpm_core.draft_node[], p_tenant_id text)
returns setof bpm_core.finding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label from unnest(p_nodes) n)
  select bpm_core.fault('UnsupportedElement', format('%s: %s.', n.label, p.problem), n.node_id, null, null)
    from node n
   cross join lateral (
     select format('the task type %s is reserved', n.task_type) as problem where n.task_type like 'bpm:%' and n.kind in ('ServiceTask', 'ApprovalTask', 'SendTask')
     union all select 'its task type is an expression' where n.task_type ~ '^=|[$#]\{'
     union all select format('tasks of type %s need approval, which only a service task can have', n.task_type)
      where n.kind = 'SendTask' and n.task_type = any (bpm_core.approval_types(p_tenant_id))
     union all select 'bpm:type and bpm:destination are for its message, but it throws none'
      where n.tag in ('intermediateThrowEvent', 'endEvent') and n.event <> 'message' and n.attributes ?| array['bpm:type', 'bpm:destination']
     union all select 'bpm:approval can only be "required"' where n.attributes ->> 'bpm:approval' <> 'required'
     union all select 'bpm:await is not executed yet; a send task goes on as soon as its command is written' where n.attributes ? 'bpm:await') p
  union all
  select bpm_core.fault('InvalidCondition', format('%s: %s.', n.label, p.problem), n.node_id)
    from node n
   cross join lateral (
     select unnest(m.problems) as problem from bpm_core.drawn_mappings(n.extensions, 'in') m
     union all select unnest(m.problems) from bpm_core.drawn_mappings(n.extensions, 'out') m) p
   where n.extensions ? 'mappings' and bpm_core.mapped_directions(n.tag, case when n.attributes ->> 'triggeredByEvent' = 'true' then 'begun' else n.event end) <> '{}'
  union all
  select case when n.attributes ?| array['bpm:retries', 'bpm:lease', 'bpm:priority', 'bpm:dueDate', 'bpm:followUpDate']
            then bpm_core.fault('UnsupportedElement', format('%s: %s.', n.label, b.problem), n.node_id)
            else bpm_core.warning('AttributeIgnored', format('%s: %s; the task version''s value holds.', n.label, b.problem), n.node_id) end
    from node n cross join lateral bpm_core.drawn_binding(n.attributes, n.extensions, n.lane) b
   where b.problem is not null and n.kind in ('ServiceTask', 'ApprovalTask', 'SendTask', 'UserTask')
  union all
  select bpm_core.warning('DelegateAsTaskType', format('%s names code of another engine (%s); its task type is %s.', n.label, left(t.borrowed, 100), left(t.task_type, 100)), n.node_id, null,
           'Register a worker for that type, or set bpm:type.')
    from node n cross join lateral bpm_core.drawn_task_type(n.node_id, coalesce(n.definition, '{}') || n.attributes, n.extensions) t
   where n.kind in ('ServiceTask', 'ApprovalTask', 'SendTask') and t.borrowed is not null
  union all
  select bpm_core.warning('UnknownDestination', format('%s sends to the destination %s, which is not registered.', n.label, d.code), n.node_id, null, 'Register it with bpm.register_destination before it is reached.')
    from node n cross join lateral (select coalesce(nullif(btrim(n.attributes ->> 'bpm:destination'), ''), n.task_type) as code) d
   where n.kind = 'SendTask' and not exists (select from bpm_core.destination x where x.tenant_id = p_tenant_id and x.code = d.code)
$$;

-- from 20_catalog/find_too_large.sql
-- Ids, codes and names that become keys and are longer than a key may be.
create or replace function bpm_core.find_too_large(p_processes bpm_core.draft_process[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.fault('TooLarge', format('The %s "%s…" has %s characters; the limit is 200.', x.what, left(x.value, 40), length(x.value)),
           case when x.what not like '%id' then left(x.node_id, 200) end, null, 'Shorten it.')
    from (select 'process id' as what, p.process_id as value, null as node_id from unnest(p_processes) p where p.deployed
          union all select 'flow id', f.flow_id, null from unnest(p_flows) f
          union all
          select v.what, v.value, n.node_id
            from unnest(p_nodes) n
           cross join lateral (values ('node id', n.node_id), ('task type', n.task_type), ('message name', n.message_name), ('error code', n.error_code),
                                      ('destination', n.attributes ->> 'bpm:destination'),
                                      ('assignee', bpm_core.vendor_attribute(n.attributes, 'assignee'))) v (what, value)) x
   where length(x.value) > 200
$$;

-- from 20_catalog/find_unknown_references.sql
-- References that point at nothing, or at something of another kind.
create or replace function bpm_core.find_unknown_references(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label from unnest(p_nodes) n),
  definition as materialized (select d.* from bpm_core.bpmn_definitions(p_elements) d),
  reference as (
    select n.node_id, n.label, r.tag, r.target
      from node n
     cross join lateral (values ('error', n.definition ->> 'errorRef'), ('signal', n.definition ->> 'signalRef'), ('escalation', n.definition ->> 'escalationRef'),
                                ('message', coalesce(n.definition ->> 'messageRef', n.attributes ->> 'messageRef'))) r (tag, target)
     where btrim(r.target) <> ''
  ),
  host as (select distinct on (n.scope_pos, n.node_id) n.scope_pos, n.node_id, n.tag from node n order by n.scope_pos, n.node_id, n.pos)
  select bpm_core.fault('UnknownReference', format('%s refers to the %s "%s", which the file does not define.', r.label, r.tag, left(r.target, 200)), r.node_id, null,
           format('Add <%s id="%s" …/> beside the process.', r.tag, left(bpm_core.local_reference(r.target), 200)))
    from reference r
    left join definition d on d.id = bpm_core.local_reference(r.target) and d.tag = r.tag
   where d.id is null
  union all
  select bpm_core.fault('UnknownReference', n.label || case
           when n.attached_to is null then ' is attached to nothing.'
           when h.node_id is null then format(' is attached to "%s", which is no node of its scope.', left(n.attached_to, 200))
           else format(' is attached to "%s", which is no activity.', left(n.attached_to, 200)) end, n.node_id, null, 'Attach it to the activity it watches.')
    from node n
    left join host h on h.scope_pos = n.scope_pos and h.node_id = n.attached_to
   where n.tag = 'boundaryEvent' and (h.node_id is null or h.tag like '%Event' or h.tag like '%Gateway')
  union all
  select bpm_core.fault('UnknownReference', format('The default flow "%s" of %s is not one of its outgoing flows.', left(n.default_ref, 200), n.label), n.node_id, null,
           'Choose the default among the flows that leave it.')
    from node n
   where n.default_ref is not null
     and not exists (select from unnest(p_elements) e where e.tag = 'sequenceFlow' and e.parent = n.scope_pos and e.id = n.default_ref and btrim(e.attributes ->> 'sourceRef') = n.node_id)
  union all
  select bpm_core.fault('UnknownReference', n.label || ' does not say which message it waits for.', n.node_id, null,
           'Define a message beside the process and refer to it with messageRef.')
    from node n
   where (n.tag = 'receiveTask' or (n.event = 'message' and n.tag in ('startEvent', 'intermediateCatchEvent', 'boundaryEvent')))
     and coalesce(btrim(coalesce(n.definition ->> 'messageRef', n.attributes ->> 'messageRef')), '') = ''
  union all
  select bpm_core.fault('UnknownReference', n.label || ' does not say which signal.', n.node_id, null, 'Define a signal beside the process and refer to it with signalRef.')
    from node n
   where n.event = 'signal' and coalesce(btrim(n.definition ->> 'signalRef'), '') = ''
  union all
  select bpm_core.fault('UnknownReference', n.label || ' throws an error without a code.', n.node_id, null, 'Refer to an error that has an errorCode.')
    from node n
    left join definition d on d.tag = 'error' and d.id = bpm_core.local_reference(n.definition ->> 'errorRef')
   where n.kind = 'ErrorEnd' and n.error_code is null and (d.id is not null or coalesce(btrim(n.definition ->> 'errorRef'), '') = '')
$$;

-- from 20_catalog/find_unreachable.sql
-- Nodes that have incoming flows, but only from a circle that nothing leads into. The walk starts at every node nothing leads to (those
-- that should have incoming flows are reported already) and goes over flows, and from a host to its boundary events.
-- Breadth first over numbered nodes in arrays: a recursive query would scan all flows once per step of the longest path.
create or replace function bpm_core.find_unreachable(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ends   bpm_core.graph_index := bpm_core.index_graph(p_nodes, p_flows);
  v_seen   boolean[] := array_fill(false, array[cardinality(p_nodes)]);
  v_queue  integer[] := v_ends.seeds;
  v_head   integer := 1;
  v_target integer;
begin
  foreach v_target in array v_queue loop
    v_seen[v_target] := true;
  end loop;
  while v_head <= cardinality(v_queue) loop
    for v_place in v_ends.first_place[v_queue[v_head]] .. v_ends.last_place[v_queue[v_head]] loop
      v_target := v_ends.targets[v_place];
      if not v_seen[v_target] then
        v_seen[v_target] := true;
        v_queue := v_queue || v_target;
      end if;
    end loop;
    v_head := v_head + 1;
  end loop;
  return query
    select f.*
      from unnest(p_nodes) with ordinality n
      join unnest(v_seen) with ordinality s (seen, ord) on s.ord = n.ordinality and not s.seen
     cross join lateral bpm_core.fault('OrphanNode', format('Nothing outside its circle leads to %s.', bpm_core.element_label(n.tag, n.node_id, n.name)),
                                       n.node_id, null, 'Connect the circle to what comes before it, or remove it.') f
     where n.scope_tag <> 'adHocSubProcess';
end
$$;

-- from 20_catalog/find_unsupported.sql
-- Elements that are not executed, each by its own id and name.
create or replace function bpm_core.find_unsupported(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.fault('UnsupportedElement',
           bpm_core.element_label(n.tag, n.node_id, n.name) || case
             when n.kind is null and n.event = 'several' then ' has several event definitions that all have to happen, which is not executed.'
             when n.kind is null and n.event = 'none' then ' has no event definition and is not executed.'
             when n.kind is null and n.event = 'missing' then ' refers to an event definition that is not there.'
             when n.kind is null and n.event is not null then format(' of kind %s is not executed.', n.event)
             when n.kind is null then ' is not executed.'
             when n.attributes ->> 'instantiate' = 'true' then ' starts the process, which only a start event does here.'
             else ' is a compensation handler, which is not executed.' end,
           n.node_id, null, 'See the table of elements in the documentation for what is executed.')
    from unnest(p_nodes) n
   where n.kind is null or n.attributes ->> 'isForCompensation' = 'true' or (n.tag = 'receiveTask' and n.attributes ->> 'instantiate' = 'true')
  union all
  select bpm_core.fault('UnsupportedElement', bpm_core.element_label(e.tag, coalesce(e.id, ''), e.attributes ->> 'name') || ' is no element of BPMN that is known here.',
           e.id, null, null)
    from unnest(p_elements) e
    join bpm_core.bpmn_scopes(p_elements) s on s.pos = e.parent
    join bpm_core.bpmn_processes(p_elements) p on p.pos = s.process_pos and p.deployed
   where e.space = 'bpmn' and e.tag <> all (bpm_core.bpmn_flow_node_tags())
     and e.tag <> all (array['sequenceFlow', 'documentation', 'extensionElements', 'incoming', 'outgoing', 'laneSet', 'ioSpecification', 'property',
       'dataObject', 'dataObjectReference', 'dataStoreReference', 'dataInputAssociation', 'dataOutputAssociation', 'association', 'textAnnotation', 'group',
       'artifact', 'auditing', 'monitoring', 'resourceRole', 'performer', 'humanPerformer', 'potentialOwner', 'correlationSubscription', 'supports',
       'supportedInterfaceRef', 'ioBinding', 'multiInstanceLoopCharacteristics', 'standardLoopCharacteristics', 'completionCondition', 'categoryValueRef'])
$$;

-- from 20_catalog/find_version.sql
-- The version of a process by code and number; without a number the current one.
-- Returns:  uuid of the process_version.
-- Raises:   BP404 no such process, or no such version of it.
create or replace function bpm_core.find_version(p_tenant_id text, p_code text, p_version integer)
returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_definition uuid;
  v_version    uuid;
begin
  select d.id, d.published_version_id into v_definition, v_version
    from bpm_core.process_definition d
   where d.tenant_id = p_tenant_id and d.code = p_code;
  if p_version is not null then
    select v.id into v_version
      from bpm_core.process_version v
     where v.tenant_id = p_tenant_id and v.definition_id = v_definition and v.version = p_version;
  end if;
  if v_version is null or v_definition is null then
    perform bpm_core.fail('BP404', format('There is no %sprocess %L.', case when p_version is not null then format('version %s of ', p_version) end, p_code),
      jsonb_build_object('code', p_code, 'version', p_version), 'See the view bpm.definition.');
  end if;
  return v_version;
end
$$;

-- from 20_catalog/findings_json.sql
-- Findings of one severity as the JSON records callers get.
-- Returns:  jsonb array of {code, message, node_id, flow_id, line, hint}.
create or replace function bpm_core.findings_json(p_findings bpm_core.finding[], p_severity text)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(jsonb_build_object('code', f.code, 'message', f.message, 'node_id', f.node_id, 'flow_id', f.flow_id, 'line', f.line, 'hint', f.hint) order by f.ord), '[]')
    from unnest(p_findings) with ordinality f (severity, code, message, node_id, flow_id, line, hint, ord)
   where f.severity = p_severity
$$;

-- from 20_catalog/flow_rows.sql
-- The rows of workflow_flow for one compiled process.
create or replace function bpm_core.flow_rows(p_tenant_id text, p_version_id uuid, p_process_pos integer, p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.workflow_flow
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p_tenant_id, p_version_id, f.source_id, f.ord, f.flow_id, f.target_id, n.kind, f.condition, '{}'::jsonb, f.condition_source, f.is_default, f.name, f.condition_tree
    from unnest(p_flows) f
    join unnest(p_nodes) n on n.process_pos = f.process_pos and n.node_id = f.target_id
   where f.process_pos = p_process_pos
$$;

-- from 20_catalog/get_bpmn.sql
-- The BPMN file a version was deployed from, byte for byte.
-- Returns:  text.
-- Raises:   BP404 no such process or version. BP403.
create or replace function bpm.get_bpmn(p_code text, p_version integer default null, p_tenant_id text default '')
returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return (
    select w.bpmn_xml
      from bpm_core.process_workflow_binding b
      join bpm_core.workflow_version w on w.tenant_id = b.tenant_id and w.id = b.workflow_version_id
     where b.tenant_id = p_tenant_id and b.process_version_id = bpm_core.find_version(p_tenant_id, p_code, p_version) and b.binding_key = 'main');
end
$$;

-- from 20_catalog/get_definition.sql
-- One version of a process, with its graph.
-- Returns:  one row; graph is {nodes, flows, tasks} of its workflow main, content_hash in hex.
-- Raises:   BP404 no such process or version. BP403.
create or replace function bpm.get_definition(p_code text, p_version integer default null, p_tenant_id text default '')
returns table (code text, version integer, status text, name text, is_current boolean, content_hash text, created_by text, published_at timestamptz, graph jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return query
    select d.code, v.version, v.status::text, v.name, d.published_version_id = v.id, encode(v.content_hash, 'hex'), v.created_by, v.published_at, w.graph
      from bpm_core.process_version v
      join bpm_core.process_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
      join bpm_core.process_workflow_binding b on b.tenant_id = v.tenant_id and b.process_version_id = v.id and b.binding_key = 'main'
      join bpm_core.workflow_version w on w.tenant_id = b.tenant_id and w.id = b.workflow_version_id
     where v.tenant_id = p_tenant_id and v.id = bpm_core.find_version(p_tenant_id, p_code, p_version);
end
$$;

-- from 20_catalog/graph_of.sql
-- The validated graph of a version as one document: what content_hash is taken over. Without the ids that differ per version.
-- Returns:  jsonb {nodes, flows, tasks}, each sorted by id.
create or replace function bpm_core.graph_of(p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[], p_tasks bpm_core.workflow_task_binding[])
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
  select jsonb_build_object(
    'nodes', (select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(n) - 'tenant_id' - 'workflow_version_id') order by n.node_id), '[]') from unnest(p_nodes) n),
    'flows', (select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(f) - 'tenant_id' - 'workflow_version_id') order by f.source_id, f.ord), '[]') from unnest(p_flows) f),
    'tasks', (select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(t) - 'tenant_id' - 'workflow_version_id') order by t.node_id), '[]') from unnest(p_tasks) t))
$$;

-- from 20_catalog/implied_node.sql
-- Whether a node needs a plain node behind it (lower_graph): a fork, a choice or an inclusive split, the end of an end event that throws
-- something first, or the end of a path that a boundary event begins and that leads nowhere.
-- Returns:  ':split', ':choice', ':inclusive', ':end', or null.
create or replace function bpm_core.implied_node(
  p_tag text, p_kind bpm_core.node_kind, p_incoming integer, p_outgoing integer, p_conditional integer, p_default_ref text)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_kind = 'EventSubProcess' then ':end'
    when p_tag = 'endEvent' then case when p_kind in ('SendTask', 'SignalThrow', 'EscalationThrow') then ':end' end
    when p_tag = 'boundaryEvent' and p_outgoing = 0 then case when p_kind <> 'CompensationBoundary' then ':end' end
    when p_tag = 'parallelGateway' then case when p_incoming > 1 and p_outgoing > 1 then ':split' end
    when p_tag = 'inclusiveGateway' then case when p_incoming > 1 and (p_outgoing > 1 or p_conditional > 0) then ':split' end
    when p_tag like '%Gateway' then null
    when p_conditional = 1 and (p_outgoing = 1 or (p_outgoing = 2 and p_default_ref is not null)) then ':choice'
    when p_outgoing > 1 and (p_conditional > 0 or p_default_ref is not null) then ':inclusive'
    when p_outgoing > 1 then ':split'
  end
$$;

-- from 20_catalog/inclusive_flow_rows.sql
-- The flows into the inclusive joins of a version, numbered scope by scope.
create or replace function bpm_core.inclusive_flow_rows(p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[])
returns setof bpm_core.inclusive_flow
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select f.tenant_id, f.workflow_version_id, f.target_id, f.flow_id, x.place,
         min(x.place) over (partition by f.target_id), (count(*) over (partition by f.target_id))::integer
    from (select f as flow, (row_number() over (partition by n.scope_node_id order by f.target_id, f.flow_id))::integer - 1 as place
            from unnest(p_flows) f
            join unnest(p_nodes) n on n.node_id = f.target_id
           where f.target_kind = 'InclusiveJoin') x
   cross join lateral (select (x.flow).*) f
$$;

-- from 20_catalog/inclusive_reach_rows.sql
-- For every node the flows into inclusive joins of its scope that a token standing there can reach without passing the join they lead into.
-- A node reaches what its targets reach and the flows to them; through a join goes everything but the flows into it. Swept over all nodes,
-- in turns from the ends and from the starts, until nothing changes: once for a graph without circles, a few times for one with.
create or replace function bpm_core.inclusive_reach_rows(
  p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[], p_places bpm_core.inclusive_flow[])
returns setof bpm_core.inclusive_reach
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  r_index  record;
  v_first  integer[];
  v_last   integer[];
  v_target integer[];
  v_place  integer[];
  v_keep   bit varying[];
  v_reach  bit varying[];
  v_order  integer[];
  v_swept  boolean[];
  v_again  boolean := false;
  v_bits   bit varying;
  v_node   integer;
  v_to     integer;
begin
  select i.* into r_index from bpm_core.index_inclusive(p_nodes, p_flows, p_places) i;
  v_first := (r_index.graph).first_place;
  v_last := (r_index.graph).last_place;
  v_target := (r_index.graph).targets;
  v_place := r_index.flow_place;
  v_keep := r_index.keep;
  v_reach := r_index.nothing;
  v_order := bpm_core.postorder(r_index.graph);
  v_swept := array_fill(false, array[cardinality(v_order)]);
  loop
    foreach v_node in array v_order loop
      v_bits := v_reach[v_node];
      for v_at in v_first[v_node] .. v_last[v_node] loop
        v_to := v_target[v_at];
        v_bits := v_bits | case when v_keep[v_to] is null then v_reach[v_to] else v_reach[v_to] & v_keep[v_to] end;
        if v_place[v_at] is not null then
          v_bits := set_bit(v_bits, v_place[v_at], 1);
        end if;
        -- What is behind a flow backwards may have changed after it was looked at.
        v_again := v_again or not v_swept[v_to];
      end loop;
      if v_bits <> v_reach[v_node] then
        v_reach[v_node] := v_bits;
        v_again := v_again or v_swept[v_node];
      end if;
      v_swept[v_node] := true;
    end loop;
    exit when not v_again;
    v_again := false;
    v_order := array(select o.node from unnest(v_order) with ordinality o(node, ord) order by o.ord desc);
  end loop;
  return query
    select (p_nodes[1]).tenant_id, (p_nodes[1]).workflow_version_id, x.node_id, x.reach
      from unnest(r_index.node_ids, v_reach, r_index.nothing) x(node_id, reach, nothing)
     where x.reach <> x.nothing;
end
$$;

-- from 20_catalog/index_graph.sql
-- The graph as arrays: nodes are numbered in the order given, the targets of node i are targets[first_place[i] .. last_place[i]]
-- (last before first when it has none), seeds are the start events and the nodes nothing leads to. Boundary events count as targets of their host.
create or replace function bpm_core.index_graph(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns bpm_core.graph_index
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (
    select n.scope_pos, n.node_id, n.tag, n.attached_to, n.ordinality::integer as ord from unnest(p_nodes) with ordinality n
  ),
  known as materialized (select n.scope_pos, n.node_id, min(n.ord) as ord from node n group by n.scope_pos, n.node_id),
  edge as materialized (
    select s.ord as source, t.ord as target
      from unnest(p_flows) f
      join known s on s.scope_pos = f.scope_pos and s.node_id = f.source_id
      join known t on t.scope_pos = f.scope_pos and t.node_id = f.target_id
    union all
    select h.ord, b.ord from node b join known h on h.scope_pos = b.scope_pos and h.node_id = b.attached_to
  ),
  sorted as materialized (select e.source, e.target, row_number() over (order by e.source, e.target)::integer as place from edge e),
  span as (select s.source, min(s.place) as first_place, max(s.place) as last_place from sorted s group by s.source)
  select row(
    array(select coalesce(p.first_place, 1) from node n left join span p on p.source = n.ord order by n.ord),
    array(select coalesce(p.last_place, 0) from node n left join span p on p.source = n.ord order by n.ord),
    array(select s.target from sorted s order by s.place),
    array(select n.ord from node n where n.tag = 'startEvent' or n.ord not in (select e.target from edge e) order by n.ord))::bpm_core.graph_index
$$;

-- from 20_catalog/index_inclusive.sql
-- The graph around inclusive joins as arrays: the nodes of every scope that has one, numbered; the targets of node i are
-- targets[first_place[i] .. last_place[i]]. Boundary events count as targets of their host, the start events of event sub-processes do not:
-- they are in a scope of their own.
-- Returns:  one row; flow_place[i] is the place of the flow to targets[i], null of any other; keep[i], of a join, has all bits but those of the flows
--           into it; nothing, of every node, has as many zeros as its scope has such flows.
create or replace function bpm_core.index_inclusive(
  p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[], p_places bpm_core.inclusive_flow[],
  out node_ids text[], out graph bpm_core.graph_index, out flow_place integer[], out keep bit varying[], out nothing bit varying[])
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with here as (select n.node_id, n.attached_to, n.element, coalesce(n.scope_node_id, '') as scope_id from unnest(p_nodes) n),
  entry as materialized (select p.node_id, p.flow_id, p.place, p.first_place, p.flows from unnest(p_places) p),
  scope as materialized (
    select h.scope_id, max(e.place) + 1 as width, repeat('0', max(e.place) + 1)::bit varying as nothing
      from entry e join here h on h.node_id = e.node_id group by h.scope_id),
  own as (select distinct e.node_id, e.first_place, e.flows from entry e),
  node as materialized (
    select h.*, s.width, s.nothing, (row_number() over (order by h.node_id))::integer as ord from here h join scope s on s.scope_id = h.scope_id),
  edge as (
    select s.ord as source, t.ord as target, e.place
      from unnest(p_flows) f
      join node s on s.node_id = f.source_id
      join node t on t.node_id = f.target_id and t.scope_id = s.scope_id
      left join entry e on e.flow_id = f.flow_id
    union all
    select h.ord, b.ord, null from node b join node h on h.node_id = b.attached_to and h.scope_id = b.scope_id where b.element <> 'startEvent'),
  sorted as materialized (select e.*, (row_number() over (order by e.source, e.target))::integer as at from edge e),
  span as (select s.source, min(s.at) as first_place, max(s.at) as last_place from sorted s group by s.source)
  select array_agg(n.node_id order by n.ord),
         row(array_agg(coalesce(p.first_place, 1) order by n.ord), array_agg(coalesce(p.last_place, 0) order by n.ord),
             array(select s.target from sorted s order by s.at), '{}')::bpm_core.graph_index,
         array(select s.place from sorted s order by s.at),
         array_agg(case when o.flows is not null then
                     (repeat('1', o.first_place) || repeat('0', o.flows) || repeat('1', n.width - o.first_place - o.flows))::bit varying end order by n.ord),
         array_agg(n.nothing order by n.ord)
    from node n
    left join span p on p.source = n.ord
    left join own o on o.node_id = n.node_id
$$;

-- from 20_catalog/index_value.sql
-- An element of a list by its place, counted from p_first (in FEEL, from 1, also from the end, by -1), or a member of an object by its name.
-- Where there is none: null.
create or replace function bpm_core.index_value(p_value jsonb, p_index jsonb, p_first integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_index numeric := case when jsonb_typeof(p_index) = 'number' then p_index::numeric end;
begin
  if jsonb_typeof(p_value) = 'array' and v_index is not null then
    return case
      when v_index <> trunc(v_index) then null
      when abs(v_index) > 1000000 or v_index between p_first - 1 and p_first - p_first or (p_first = 0 and v_index < 0) then
        case when p_first = 0 and v_index = 0 then coalesce(p_value -> 0, 'null') else 'null' end
      when v_index < 0 then coalesce(p_value -> v_index::integer, 'null')
      else coalesce(p_value -> (v_index::integer - p_first), 'null') end;
  elsif jsonb_typeof(p_value) = 'object' and jsonb_typeof(p_index) = 'string' then
    return coalesce(p_value -> (p_index #>> '{}'), 'null');
  end if;
  return case when p_value = 'null' and p_index is not null then p_value end;
end
$$;

-- from 20_catalog/inner_start_kind.sql
-- Which node kind the start event of an event sub-process is: armed like a boundary event of the sub-process around it.
-- Returns:  node_kind; null: not executed.
create or replace function bpm_core.inner_start_kind(p_event text)
returns bpm_core.node_kind
language sql immutable parallel safe
as $$
  select (case p_event when 'timer' then 'TimerBoundary' when 'message' then 'MessageBoundary' when 'signal' then 'SignalBoundary' when 'error' then 'ErrorBoundary'
                       when 'escalation' then 'EscalationBoundary' when 'conditional' then 'ConditionalBoundary' end)::bpm_core.node_kind
$$;

-- from 20_catalog/instant_value.sql
-- A point in time inside an evaluation: a text that no variable can be, for variables do not begin like that.
create or replace function bpm_core.instant_value(p_at timestamptz)
returns jsonb
language sql immutable parallel safe
as $$
  select to_jsonb('__instant:' || to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || rtrim(rtrim(to_char(p_at at time zone 'UTC', '.US'), '0'), '.') || 'Z')
$$;

-- from 20_catalog/interval_tree.sql
-- The tree of a value between two ends, each with its comparison.
create or replace function bpm_core.interval_tree(p_value jsonb, p_above text, p_low jsonb, p_below text, p_high jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select jsonb_build_object('op', 'and', 'args', jsonb_build_array(
    jsonb_build_object('op', p_above, 'left', p_value, 'right', p_low), jsonb_build_object('op', p_below, 'left', p_value, 'right', p_high)))
$$;

-- from 20_catalog/is_condition.sql
-- Whether a tree says true or false by its form, so that it is no value to compare.
create or replace function bpm_core.is_condition(p_tree jsonb)
returns boolean
language sql immutable parallel safe
as $$ select p_tree ->> 'op' in ('and', 'or', 'not', 'empty', 'eq', 'ne', 'lt', 'le', 'gt', 'ge', 'defined', 'some', 'every', 'let') $$;

-- from 20_catalog/is_hidden.sql
-- Whether a value is an encrypted text, of which nothing can be said.
create or replace function bpm_core.is_hidden(p_value jsonb)
returns boolean
language sql immutable parallel safe
as $$ select starts_with(p_value #>> '{}', '__encrypted:') $$;

-- from 20_catalog/is_plain_condition.sql
-- Whether jsonpath can say a condition: logic, comparisons of paths and literals, empty and is defined of a path.
create or replace function bpm_core.is_plain_condition(p_tree jsonb)
returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select p_tree::text !~ '"op": "(?!(and|or|not|eq|ne|lt|le|gt|ge|empty|defined|path|value)")'
$$;

-- from 20_catalog/is_range.sql
-- Whether two values are whole numbers, and what lies between them at most 10,000.
create or replace function bpm_core.is_range(p_low jsonb, p_high jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_low) = 'number' and jsonb_typeof(p_high) = 'number'
    then p_low::numeric = trunc(p_low::numeric) and p_high::numeric = trunc(p_high::numeric) and abs(p_low::numeric) < 1000000000
         and abs(p_high::numeric) < 1000000000 and p_high::numeric - p_low::numeric <= 10000 else false end
$$;

-- from 20_catalog/known_call.sql
-- The functions and methods that are understood. Arguments count the value a method hangs on.
-- Returns:  name, under which call_tree and evaluate_call know it; null: not understood; and fewest and most arguments.
create or replace function bpm_core.known_call(p_name text, p_feel boolean, p_method boolean, out name text, out fewest integer, out most integer)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select k.name, k.fewest, k.most
    from (values
      ('feel', 'not', 'not', 1, 1), ('feel', 'is defined', 'defined', 1, 1), ('feel', 'matches', 'matches', 2, 3), ('feel', 'contains', 'contains', 2, 2),
      ('feel', 'starts with', 'starts with', 2, 2), ('feel', 'ends with', 'ends with', 2, 2), ('feel', 'string length', 'length', 1, 1),
      ('feel', 'upper case', 'upper case', 1, 1), ('feel', 'lower case', 'lower case', 1, 1), ('feel', 'trim', 'trim', 1, 1),
      ('feel', 'substring', 'substring', 2, 3), ('feel', 'substring before', 'substring before', 2, 2), ('feel', 'substring after', 'substring after', 2, 2),
      ('feel', 'string join', 'string join', 1, 2), ('feel', 'string', 'string', 1, 1), ('feel', 'number', 'number', 1, 1),
      ('feel', 'list contains', 'list contains', 2, 2), ('feel', 'count', 'count', 1, 1), ('feel', 'is empty', 'is empty', 1, 1),
      ('feel', 'sum', 'sum', 1, 100), ('feel', 'min', 'min', 1, 100), ('feel', 'max', 'max', 1, 100), ('feel', 'mean', 'mean', 1, 100),
      ('feel', 'all', 'all', 1, 1), ('feel', 'any', 'any', 1, 1), ('feel', 'append', 'append', 2, 100), ('feel', 'concatenate', 'concatenate', 1, 100),
      ('feel', 'reverse', 'reverse', 1, 1), ('feel', 'distinct values', 'distinct values', 1, 1), ('feel', 'index of', 'index of', 2, 2),
      ('feel', 'sublist', 'sublist', 2, 3), ('feel', 'get value', 'get', 2, 2), ('feel', 'get or else', 'or else', 2, 2),
      ('feel', 'floor', 'floor', 1, 1), ('feel', 'ceiling', 'ceiling', 1, 1), ('feel', 'round', 'round', 1, 2), ('feel', 'round half up', 'round', 1, 2),
      ('feel', 'decimal', 'decimal', 2, 2), ('feel', 'abs', 'abs', 1, 1), ('feel', 'modulo', 'modulo', 2, 2), ('feel', 'even', 'even', 1, 1), ('feel', 'odd', 'odd', 1, 1),
      ('feel', 'date', 'date', 1, 3), ('feel', 'time', 'time', 1, 1), ('feel', 'date and time', 'date and time', 1, 2), ('feel', 'duration', 'duration', 1, 1),
      ('feel', 'now', 'now', 0, 0), ('feel', 'today', 'today', 0, 0),
      ('juel', 'now', 'now', 0, 0), ('juel', 'dateTime', 'now', 0, 0),
      ('method', 'equals', 'equals', 2, 2), ('method', 'equalsIgnoreCase', 'equals ignore case', 2, 2), ('method', 'matches', 'matches whole', 2, 2),
      ('method', 'contains', 'holds', 2, 2), ('method', 'startsWith', 'starts with', 2, 2), ('method', 'endsWith', 'ends with', 2, 2),
      ('method', 'isEmpty', 'is empty', 1, 1), ('method', 'size', 'count', 1, 1), ('method', 'length', 'length', 1, 1),
      ('method', 'toUpperCase', 'upper case', 1, 1), ('method', 'toLowerCase', 'lower case', 1, 1), ('method', 'trim', 'trim', 1, 1),
      ('method', 'substring', 'substring from 0', 2, 3), ('method', 'toString', 'string', 1, 1), ('method', 'get', 'get', 2, 2),
      ('method', 'containsKey', 'contains key', 2, 2), ('method', 'getOrDefault', 'get or default', 3, 3),
      ('method', 'plusYears', 'plus years', 2, 2), ('method', 'plusMonths', 'plus months', 2, 2), ('method', 'plusWeeks', 'plus weeks', 2, 2),
      ('method', 'plusDays', 'plus days', 2, 2), ('method', 'plusHours', 'plus hours', 2, 2), ('method', 'plusMinutes', 'plus minutes', 2, 2),
      ('method', 'plusSeconds', 'plus seconds', 2, 2), ('method', 'minusYears', 'minus years', 2, 2), ('method', 'minusMonths', 'minus months', 2, 2),
      ('method', 'minusWeeks', 'minus weeks', 2, 2), ('method', 'minusDays', 'minus days', 2, 2), ('method', 'minusHours', 'minus hours', 2, 2),
      ('method', 'minusMinutes', 'minus minutes', 2, 2), ('method', 'minusSeconds', 'minus seconds', 2, 2),
      ('method', 'isAfter', 'is after', 2, 2), ('method', 'isBefore', 'is before', 2, 2), ('method', 'toDate', 'itself', 1, 1)) k(language, word, name, fewest, most)
   where k.word = p_name and k.language = case when p_feel then case when p_method then 'none' else 'feel' end when p_method then 'method' else 'juel' end
  union all
  select null, null, null
   limit 1
$$;

-- from 20_catalog/leave_from.sql
-- A flow as drawn, but for its source when that is the node named: then it leaves from another.
create or replace function bpm_core.leave_from(p_flow bpm_core.draft_flow, p_scope_pos integer, p_from text, p_to text)
returns bpm_core.draft_flow
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow bpm_core.draft_flow := p_flow;
begin
  if v_flow.scope_pos = p_scope_pos and v_flow.source_id = p_from then
    v_flow.source_id := p_to;
  end if;
  return v_flow;
end
$$;

-- from 20_catalog/list_contains.sql
-- Whether a list holds a value: == asked of each element. So a list without the value, but with something that cannot be compared with it,
-- is undecidable.
create or replace function bpm_core.list_contains(p_list jsonb, p_value jsonb)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_list @> jsonb_build_array(p_value) and jsonb_typeof(p_value) not in ('array', 'object') then
    return true;
  end if;
  return (select case when bool_or(e.same) then true when bool_or(e.same is null) then null else false end
            from (select bpm_core.compare_values('eq', i, p_value, true) as same from jsonb_array_elements(p_list) i) e);
end
$$;

-- from 20_catalog/local_reference.sql
-- The local part of a qualified name: BPMN writes references as QNames, with any prefix or none.
create or replace function bpm_core.local_reference(p_reference text)
returns text
language sql immutable parallel safe
as $$ select nullif(regexp_replace(btrim(p_reference), '^[^:]*:', ''), '') $$;

-- from 20_catalog/locate_findings.sql
-- Gives findings their line in the file, by looking for the id they name (for a duplicate the last place, else the first), and sorts
-- them: faults first, then by line.
-- Returns:  finding[].
create or replace function bpm_core.locate_findings(p_xml text, p_findings bpm_core.finding[])
returns bpm_core.finding[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with wanted as (select coalesce(f.flow_id, f.node_id) as id from unnest(p_findings) f),
  place as materialized (
    select btrim(m.found[1]) as id, min(l.ord) as first_line, max(l.ord) as last_line
      from string_to_table(p_xml, E'\n') with ordinality l (line, ord)
     cross join lateral regexp_matches(l.line, '(?:^|\s)id\s*=\s*["'']([^"'']*)["'']', 'g') m (found)
     where cardinality(p_findings) > 0 and l.line like '%id%'
     group by 1
  )
  select coalesce(array_agg(row(f.severity, f.code, f.message, f.node_id, f.flow_id,
                                coalesce(f.line, case f.code when 'DuplicateId' then p.last_line else p.first_line end), f.hint)::bpm_core.finding
                            order by f.severity, coalesce(f.line, p.first_line), f.ordinality), '{}')
    from unnest(p_findings) with ordinality f
    left join place p on p.id = coalesce(f.flow_id, f.node_id) and p.id in (select w.id from wanted w)
$$;

-- from 20_catalog/lock_processes.sql
-- Makes the process definitions of these codes if absent and locks them, in the order of their codes: deploys of one code take turns
-- and get consecutive versions.
-- Writes:   process_definition. Locks: its rows, until the transaction ends.
create or replace function bpm_core.lock_processes(p_tenant_id text, p_codes text[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into bpm_core.process_definition (tenant_id, id, code, created_at)
  select p_tenant_id, bpm_core.new_id(), c.code, bpm_core.now()
    from (select distinct u.code collate "C" as code from unnest(p_codes) u (code) order by 1) c
  on conflict (tenant_id, code) do nothing;
  perform 1
    from bpm_core.process_definition d
   where d.tenant_id = p_tenant_id and d.code = any (p_codes)
   order by d.code
     for no key update;
end
$$;

-- from 20_catalog/loop_node.sql
-- The node around a multi-instance activity or a loop: it stands where the activity was drawn.
create or replace function bpm_core.loop_node(p_activity bpm_core.draft_node, p_node_id text, p_tag text, p_spec jsonb)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node := bpm_core.plain_node(
    p_activity, p_node_id, p_tag, case when p_spec ->> 'mode' = 'Loop' then 'StandardLoop' else 'MultiInstance' end::bpm_core.node_kind,
    p_activity.scope_id, p_activity.incoming, p_activity.outgoing);
begin
  v_node.name := p_activity.name;
  v_node.default_ref := p_activity.default_ref;
  v_node.conditional := p_activity.conditional;
  v_node.expressions := jsonb_build_object('loop', p_spec);
  return v_node;
end
$$;

-- from 20_catalog/loop_problem.sql
-- What is wrong about loop characteristics before their expressions are looked at.
-- p_spec: as in drawn_loop, with the texts as drawn. Returns: problem, to be read behind the name of the activity, and hint; null: nothing.
create or replace function bpm_core.loop_problem(p_tag text, p_spec jsonb, p_extensions jsonb, out problem text, out hint text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := (select n.name from unnest(array['element', 'into', 'counter']) k(key) cross join lateral (select p_spec ->> k.key as name) n
                   where n.name ~ '[$#]\{|^\s*=' limit 1);
begin
  if p_tag = 'standardLoopCharacteristics' then
    if p_spec ->> 'maximum' !~ '^[1-9][0-9]{0,8}$' then
      problem := format('its loopMaximum %s is no number from 1 on', quote_literal(left(p_spec ->> 'maximum', 50)));
    elsif not p_spec ?| array['while', 'maximum'] then
      problem := 'it is a loop with neither a condition nor a maximum, and would never end';
      hint := 'Give it a loopCondition, which goes on while it is true, or a loopMaximum.';
    end if;
  elsif not p_spec ?| array['collection', 'cardinality'] then
    problem := 'it is multi-instance, but says neither over what nor how often';
    hint := 'Give it a collection (bpm:collection="items", camunda:collection, zeebe:loopCharacteristics) or a loopCardinality.';
  elsif p_spec ?& array['collection', 'cardinality'] then
    problem := 'it is multi-instance over a collection and by a number; which of them counts is not said';
    hint := 'Remove one.';
  elsif p_spec ? 'into' <> p_spec ? 'output' then
    problem := 'its output collection and its output element belong together, and one of them is missing';
  elsif p_extensions ? 'flowable:variableAggregation' then
    problem := 'its variable aggregation is not executed';
    hint := 'Use bpm:outputCollection and bpm:outputElement.';
  elsif v_name is not null then
    problem := format('%s must be the name of a variable', quote_literal(left(v_name, 200)));
  end if;
end
$$;

-- from 20_catalog/lower_graph.sql
-- Turns what the drawing implies into plain nodes: an implicit split behind a node (several flows, no conditions), the split half of a
-- parallel or inclusive gateway that joins and splits, and the choice behind an activity with one conditional flow and at most a default beside it,
-- which for a single condition is exactly an exclusive choice; an inclusive split behind one with more; the end behind an end event that
-- throws something, and behind a boundary event that nothing leads away from. The node added is <id>:split, <id>:choice, <id>:inclusive or
-- <id>:end, the flow to it <id>:split-flow, …; the drawn flows start from it.
-- Returns:  nodes and flows, flows numbered per source: document order, the default last.
create or replace function bpm_core.lower_graph(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with drawn as materialized (
    select n.*, n.node_id || bpm_core.implied_node(n.tag, n.kind, n.incoming, n.outgoing, n.conditional, n.default_ref) as implied from unnest(p_nodes) n
  ),
  source as materialized (
    select distinct on (d.scope_pos, d.node_id) d.scope_pos, d.node_id, d.implied from drawn d where d.implied is not null order by d.scope_pos, d.node_id, d.pos
  ),
  node as (
    select n::bpm_core.draft_node as node, n.pos, 0 as added from unnest(p_nodes) n
    union all
    select row(d.pos, d.process_pos, d.scope_pos, d.scope_id, d.scope_tag, d.implied, d.tag, null, '{}', '{}', null, null, null, null, true, null, null, null,
               1, d.outgoing, d.conditional,
               case substring(d.implied from '[^:]*$')
                 when 'choice' then 'ExclusiveGateway' when 'inclusive' then 'InclusiveSplit' when 'end' then 'EndEvent'
                 else case when d.tag = 'inclusiveGateway' then 'InclusiveSplit' else 'ParallelFork' end
               end::bpm_core.node_kind,
               null, null, null, null, null, null, null, '{}')::bpm_core.draft_node, d.pos, 1
      from drawn d where d.implied is not null
  ),
  flow as (
    select f.pos, f.process_pos, f.scope_pos, f.flow_id, f.name, f.source_ref, f.target_ref, coalesce(s.implied, f.source_id) as source_id, f.target_id,
           f.is_default, f.condition_source, f.language, f.condition, f.problem,
           (row_number() over (partition by f.scope_pos, f.source_id order by f.is_default, f.pos))::integer as ord, f.condition_tree
      from unnest(p_flows) f
      left join source s on s.scope_pos = f.scope_pos and s.node_id = f.source_id
    union all
    select d.pos, d.process_pos, d.scope_pos, d.implied || '-flow', null, null, null, d.node_id, d.implied, false, null, null, null, null, 1, null
      from drawn d where d.implied is not null
  )
  select (select coalesce(array_agg(n.node order by n.pos, n.added), '{}') from node n),
         (select coalesce(array_agg(row(f.*)::bpm_core.draft_flow order by f.pos), '{}') from flow f)
$$;

-- from 20_catalog/map_values.sql
-- Applies compiled mappings in their order; a later one sees what an earlier one gave. What is on the way of a dotted target is made.
-- p_mappings: [{"target": name or dotted path, "source": text, "tree": …}].
-- Returns:  mapped, the variables the targets name; null when one is undecidable: then failed is that mapping (target, source), problem says so, and
--           detail shows the values seen.
create or replace function bpm_core.map_values(p_mappings jsonb, p_variables jsonb, out mapped jsonb, out failed jsonb, out problem text, out detail jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mapping jsonb;
  v_value   jsonb;
begin
  mapped := '{}'::jsonb;
  for v_mapping in select m from jsonb_array_elements(p_mappings) m loop
    v_value := bpm_core.evaluate(v_mapping -> 'tree', p_variables, mapped);
    if v_value is null then
      failed := v_mapping - 'tree';
      problem := format('the mapping %s of %s cannot be evaluated', v_mapping ->> 'source', v_mapping ->> 'target');
      detail := jsonb_build_object('expression', v_mapping ->> 'source', 'target', v_mapping -> 'target',
                                   'seen', bpm_core.describe_tree(v_mapping -> 'tree', p_variables || mapped));
      mapped := null;
      return;
    end if;
    mapped := bpm_core.put_value(mapped, string_to_array(v_mapping ->> 'target', '.'), v_value);
  end loop;
  if not bpm_core.is_plain(mapped) and bpm_core.variables_fault(mapped) is not null then
    failed := '{}'::jsonb;
    problem := 'what the mappings give is refused: ' || bpm_core.variables_fault(mapped);
    detail := '{}'::jsonb;
    mapped := null;
  end if;
end
$$;

-- from 20_catalog/mapped_directions.sql
-- The directions of mappings that are executed at an element. p_event: of a sub-process that an event begins, anything; of any other, null.
-- Returns:  {in,out}, {in}, {out} or {}.
create or replace function bpm_core.mapped_directions(p_tag text, p_event text)
returns text[]
language sql immutable parallel safe
as $$
  select case
    when p_tag in ('serviceTask', 'userTask', 'scriptTask', 'businessRuleTask') or (p_tag in ('subProcess', 'transaction') and p_event is null) then '{in,out}'::text[]
    when p_tag = 'sendTask' or (p_tag in ('intermediateThrowEvent', 'endEvent') and p_event = 'message') then '{in}'
    when p_tag = 'receiveTask' or (p_tag in ('intermediateCatchEvent', 'boundaryEvent') and p_event = 'message') then '{out}'
    else '{}' end
$$;

-- from 20_catalog/mapping_tree.sql
-- The tree of what one mapping gives: an expression or text, a list of them, or a map of them. Nothing at all is null.
-- Returns:  tree, or problem with its position.
create or replace function bpm_core.mapping_tree(p_mapping jsonb, out tree jsonb, out problem text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_mapping ? 'source' then
    select case when btrim(p_mapping ->> 'source') = '' then '{"op": "value", "value": null}'::jsonb else c.tree end, c.problem || ' (position ' || c.at || ')'
      into tree, problem
      from bpm_core.compile_expression(p_mapping ->> 'source') c;
    return;
  end if;
  select jsonb_build_object('op', case when p_mapping ? 'map' then 'context' else 'list' end, 'args', coalesce(jsonb_agg(c.tree order by e.n), '[]'),
                            'keys', coalesce(jsonb_agg(e.key order by e.n), '[]')),
         min(c.problem || ' (position ' || c.at || ')')
    into tree, problem
    from (select null as key, l.value, l.n from jsonb_array_elements_text(p_mapping -> 'list') with ordinality l(value, n)
          union all
          select m.key, m.value, m.n from jsonb_each_text(p_mapping -> 'map') with ordinality m(key, value, n)) e
   cross join lateral bpm_core.compile_expression(e.value) c;
  tree := bpm_core.timed_tree(tree);
end
$$;

-- from 20_catalog/member_tree.sql
-- The tree of a member of a value: a longer path where it is one.
create or replace function bpm_core.member_tree(p_tree jsonb, p_name text)
returns jsonb
language sql immutable parallel safe
as $$
  select case when p_tree ->> 'op' = 'path' then jsonb_set(p_tree, '{path}', (p_tree -> 'path') || to_jsonb(p_name))
              else jsonb_build_object('op', 'member', 'arg', p_tree, 'name', p_name) end
$$;

-- from 20_catalog/member_value.sql
-- A member of an object, or a part of a time (year, month, day, hour, minute, second). Of anything else there is none: null.
-- Returns:  jsonb; SQL NULL of an encrypted text, and of what is undecidable itself.
create or replace function bpm_core.member_value(p_value jsonb, p_name text)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(p_value) = 'object' then
    return coalesce(p_value -> p_name, 'null');
  elsif jsonb_typeof(p_value) = 'string' and starts_with(p_value #>> '{}', '__') then
    return case when bpm_core.is_hidden(p_value) then null else bpm_core.time_part(p_value #>> '{}', p_name) end;
  end if;
  return case when p_value is not null then 'null'::jsonb end;
end
$$;

-- from 20_catalog/name_end.sql
-- Where a FEEL name with spaces ends: before the first word that is none, or that means something between values.
-- Such a word is no part of a name: "x in y" read as one name would be missing, and so false, without a sound.
-- Returns:  integer, the token behind the name.
create or replace function bpm_core.name_end(p_tokens bpm_core.expression_token[], p_from integer)
returns integer
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_next integer := p_from;
begin
  while (p_tokens[v_next]).kind = 'name' loop
    exit when v_next > p_from and ((p_tokens[v_next]).value in ('in', 'between', 'then', 'else', 'satisfies', 'return')
                                   or ((p_tokens[v_next]).value = 'of' and (p_tokens[v_next - 1]).value = 'instance')
                                   or ((p_tokens[v_next]).value = 'defined' and (p_tokens[v_next - 1]).value = 'is' and (p_tokens[v_next + 1]).kind <> '('));
    v_next := v_next + 1;
  end loop;
  return v_next;
end
$$;

-- from 20_catalog/name_list.sql
-- Names out of a text with commas between, or a list of texts.
-- Returns:  text[], '{}' of null; null when it is neither.
create or replace function bpm_core.name_list(p_value jsonb)
returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case jsonb_typeof(p_value)
    when 'null' then '{}'::text[]
    when 'string' then array(select btrim(g) from regexp_split_to_table(p_value #>> '{}', ',') g where btrim(g) <> '')
    when 'number' then array[p_value #>> '{}']
    when 'array' then case when not jsonb_path_exists(p_value, '$[*] ? (@.type() != "string" && @.type() != "number")')
      then array(select e from jsonb_array_elements_text(p_value) e) end end
$$;

-- from 20_catalog/node_rows.sql
-- The rows of workflow_node for one compiled process.
create or replace function bpm_core.node_rows(p_tenant_id text, p_version_id uuid, p_process_pos integer, p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.workflow_node
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p_tenant_id, p_version_id, n.node_id, n.kind, n.tag, n.name, n.scope_id, n.attached_to, n.interrupting,
         coalesce(i.flows, 0)::integer, coalesce(o.flows, 0)::integer, n.task_type, n.error_code, n.message_name, n.correlation_path,
         n.timer_kind, n.timer_rule, n.expressions, bpm_core.stored_attributes(n.attributes, n.extensions, n.lane, n.documentation, n.timer_path)
    from unnest(p_nodes) n
    left join (select f.target_id, count(*) as flows from unnest(p_flows) f where f.process_pos = p_process_pos group by f.target_id) i on i.target_id = n.node_id
    left join (select f.source_id, count(*) as flows from unnest(p_flows) f where f.process_pos = p_process_pos group by f.source_id) o on o.source_id = n.node_id
   where n.process_pos = p_process_pos
$$;

-- from 20_catalog/one_of_several.sql
-- One definition of an event with several, as an event of its own.
create or replace function bpm_core.one_of_several(p_node bpm_core.draft_node, p_number integer, p_definition jsonb, p_tag text)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node := p_node;
begin
  v_node.node_id := p_node.node_id || ':' || p_number;
  v_node.tag := p_tag;
  v_node.event := p_definition ->> 'event';
  v_node.definition := p_definition -> 'definition';
  v_node.default_ref := null;
  return v_node;
end
$$;

-- from 20_catalog/operator_problem.sql
-- Whether an operator can stand between two trees: and/or between conditions, comparisons and arithmetic between values, ordering not beside
-- true, false or null, which have no order.
-- Returns:  text, null when it can.
create or replace function bpm_core.operator_problem(p_operator text, p_left jsonb, p_right jsonb, p_feel boolean)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_operator in ('and', 'or') then coalesce(bpm_core.condition_problem(p_left), bpm_core.condition_problem(p_right))
    -- What most are needs no closer look.
    when p_left ->> 'op' = 'path' and (p_right ->> 'op' = 'path' or jsonb_typeof(p_right -> 'value') = 'number') then null
    when p_operator in ('eq', 'ne') and bpm_core.is_condition(p_left) and jsonb_typeof(p_right -> 'value') = 'boolean' then null
    when p_operator in ('eq', 'ne', 'lt', 'le', 'gt', 'ge') and (bpm_core.is_condition(p_left) or bpm_core.is_condition(p_right))
      then 'a comparison stands between two values, not between conditions'
    when bpm_core.is_condition(p_left) or bpm_core.is_condition(p_right) then format('%s stands between two values, not between conditions', p_operator)
    when p_operator in ('lt', 'le', 'gt', 'ge') and (jsonb_typeof(p_left -> 'value') in ('boolean', 'null') or jsonb_typeof(p_right -> 'value') in ('boolean', 'null'))
      then 'true, false and null have no order'
    when p_operator in ('eq', 'ne', 'lt', 'le', 'gt', 'ge') then case
      when p_left ->> 'op' = 'value' and p_right ->> 'op' = 'value' and jsonb_typeof(p_left -> 'value') <> jsonb_typeof(p_right -> 'value')
           and 'null' not in (jsonb_typeof(p_left -> 'value'), jsonb_typeof(p_right -> 'value')) then 'values of different types cannot be compared' end
    when jsonb_typeof(p_left -> 'value') in ('boolean', 'null') or jsonb_typeof(p_right -> 'value') in ('boolean', 'null')
      then format('%s does not calculate with true, false or null', p_operator)
    when (jsonb_typeof(p_left -> 'value') = 'string' or jsonb_typeof(p_right -> 'value') = 'string') and not (p_feel and p_operator = '+')
      then format('%s does not calculate with a text', p_operator)
  end
$$;

-- from 20_catalog/operator_tree.sql
-- The tree of an operator between two trees. Chains of and, of or, stay flat; a condition beside true or false is itself, or its opposite.
create or replace function bpm_core.operator_tree(p_operator text, p_left jsonb, p_right jsonb, p_feel boolean)
returns jsonb
language sql immutable parallel safe
as $$
  select case
    when p_operator in ('and', 'or') and p_left ->> 'op' = p_operator then jsonb_set(p_left, '{args}', (p_left -> 'args') || jsonb_build_array(p_right))
    when p_operator in ('and', 'or') then jsonb_build_object('op', p_operator, 'args', jsonb_build_array(p_left, p_right))
    when p_operator in ('eq', 'ne') and jsonb_typeof(p_right -> 'value') = 'boolean' and bpm_core.is_condition(p_left) then
      case when (p_operator = 'eq') = (p_right -> 'value')::boolean then p_left else jsonb_build_object('op', 'not', 'arg', p_left) end
    when p_operator in ('eq', 'ne', 'lt', 'le', 'gt', 'ge') then jsonb_build_object('op', p_operator, 'left', p_left, 'right', p_right)
    else jsonb_build_object('op', 'call', 'args', jsonb_build_array(p_left, p_right), 'name',
                            case p_operator when '+' then case when p_feel then 'plus' else 'add' end when '-' then 'subtract' when '*' then 'multiply'
                                            when '/' then 'divide' when '%' then 'remainder' else 'power' end) end
$$;

-- from 20_catalog/output_names.sql
-- Which variables the output element of a multi-instance is made of, besides those each item has anyway.
-- Returns:  jsonb {names, simple: it is one path and nothing else}.
create or replace function bpm_core.output_names(p_tree jsonb, p_known text[])
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('simple', p_tree ->> 'op' in ('path', 'member'), 'names', coalesce(jsonb_agg(distinct n.name), '[]'))
    from jsonb_path_query(p_tree, 'strict $.** ? (@.op == "path").path') p(path)
   cross join lateral (select p.path ->> 0 as name) n
   where n.name is not null and n.name <> all (array_remove(p_known, null))
     and not jsonb_path_exists(p_tree, 'strict $.** ? (@.var == $name)', jsonb_build_object('name', n.name))
$$;

-- from 20_catalog/own_attributes.sql
-- The attributes of our own namespace that mean something on an element.
create or replace function bpm_core.own_attributes(p_tag text)
returns text[]
language sql immutable parallel safe
as $$
  select case p_tag
    when 'serviceTask' then array['bpm:type', 'bpm:retries', 'bpm:lease', 'bpm:priority', 'bpm:approval']
    when 'scriptTask' then array['bpm:type', 'bpm:retries', 'bpm:lease', 'bpm:priority', 'bpm:approval']
    when 'businessRuleTask' then array['bpm:type', 'bpm:retries', 'bpm:lease', 'bpm:priority', 'bpm:approval']
    when 'sendTask' then array['bpm:type', 'bpm:destination']
    when 'userTask' then array['bpm:priority', 'bpm:assignee', 'bpm:candidateGroups', 'bpm:candidateUsers', 'bpm:dueDate', 'bpm:followUpDate', 'bpm:formKey']
    when 'intermediateThrowEvent' then array['bpm:type', 'bpm:destination']
    when 'endEvent' then array['bpm:type', 'bpm:destination']
    when 'message' then array['bpm:correlationKey']
    when 'receiveTask' then array['bpm:correlationKey']
    when 'intermediateCatchEvent' then array['bpm:correlationKey']
    when 'boundaryEvent' then array['bpm:correlationKey']
    when 'multiInstanceLoopCharacteristics' then array['bpm:collection', 'bpm:elementVariable', 'bpm:outputCollection', 'bpm:outputElement']
    else '{}'
  end
$$;

-- from 20_catalog/parse_call.sql
-- Reads the arguments of a call whose name was read, p_from at the opening bracket; p_target is what a method of JUEL hangs on.
-- Returns:  expression_step.
create or replace function bpm_core.parse_call(
  p_tokens bpm_core.expression_token[], p_from integer, p_name text, p_target jsonb, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_args jsonb := case when p_target is null then '[]' else jsonb_build_array(p_target) end;
  v_next integer := p_from + 1;
  v_step bpm_core.expression_step;
  v_call record;
begin
  select k.* into v_call from bpm_core.known_call(p_name, p_feel, p_target is not null) k;
  if v_call.name is null then
    return row(null, p_from, format('the call of %s is not understood', left(concat_ws('.', (select string_agg(n, '.') from jsonb_array_elements_text(p_target -> 'path') n), p_name), 80)),
               (p_tokens[p_from]).at)::bpm_core.expression_step;
  end if;
  while (p_tokens[v_next]).kind <> ')' loop
    v_step := bpm_core.parse_expression(p_tokens, v_next, 0, p_feel, p_depth + 1);
    if v_step.problem is not null then
      return v_step;
    end if;
    v_args := v_args || jsonb_build_array(v_step.tree);
    v_next := v_step.next;
    exit when (p_tokens[v_next]).kind <> ',';
    v_next := v_next + 1;
  end loop;
  if (p_tokens[v_next]).kind <> ')' then
    return row(null, v_next, 'a closing bracket is missing', (p_tokens[v_next]).at)::bpm_core.expression_step;
  elsif jsonb_array_length(v_args) not between v_call.fewest and v_call.most then
    return row(null, p_from, format('%s is called with a wrong number of arguments', p_name), (p_tokens[p_from]).at)::bpm_core.expression_step;
  end if;
  select c.tree, v_next + 1, c.problem, (p_tokens[p_from]).at into v_step from bpm_core.call_tree(v_call.name, v_args) c;
  return v_step;
end
$$;

-- from 20_catalog/parse_choice.sql
-- Reads the two branches of a choice whose condition was read: JUEL c ? a : b, FEEL if c then a else b.
-- p_step ends before the first word, p_then; p_else comes between the branches.
-- Returns:  expression_step.
create or replace function bpm_core.parse_choice(
  p_tokens bpm_core.expression_token[], p_step bpm_core.expression_step, p_then text, p_else text, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem text := bpm_core.condition_problem(p_step.tree);
  v_yes     bpm_core.expression_step;
  v_no      bpm_core.expression_step;
begin
  if p_step.problem is not null then
    return p_step;
  elsif v_problem is not null then
    return row(null, p_step.next, v_problem, (p_tokens[p_step.next]).at)::bpm_core.expression_step;
  elsif (p_tokens[p_step.next]).value is distinct from p_then then
    return row(null, p_step.next, format('%s is missing', p_then), (p_tokens[p_step.next]).at)::bpm_core.expression_step;
  end if;
  v_yes := bpm_core.parse_expression(p_tokens, p_step.next + 1, 0, p_feel, p_depth + 1);
  if v_yes.problem is not null then
    return v_yes;
  elsif (p_tokens[v_yes.next]).value is distinct from p_else then
    return row(null, v_yes.next, format('%s is missing', p_else), (p_tokens[v_yes.next]).at)::bpm_core.expression_step;
  end if;
  v_no := bpm_core.parse_expression(p_tokens, v_yes.next + 1, 0, p_feel, p_depth + 1);
  if v_no.problem is null then
    v_no.tree := jsonb_build_object('op', 'if', 'args', jsonb_build_array(p_step.tree, v_yes.tree, v_no.tree));
  end if;
  return v_no;
end
$$;

-- from 20_catalog/parse_cycle.sql
-- Reads an ISO 8601 repeating interval: R[n]/[start/]duration. Without n (or with -1) it repeats for ever.
-- At most once per second: a faster one would keep tick from ever finding nothing to do.
-- Returns:  repeats (null: for ever), starts_at (null: now), step; all null when it is not one.
create or replace function bpm_core.parse_cycle(p_text text, out repeats integer, out starts_at timestamptz, out step interval)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := regexp_match(btrim(p_text), '^R(-1|\d{1,8})?/(?:([^/]+)/)?([^/]+)$');
begin
  starts_at := bpm_core.parse_timestamp(v_parts[2]);
  step := bpm_core.parse_duration(v_parts[3]);
  repeats := nullif(v_parts[1]::integer, -1);
  if (v_parts[2] is not null and starts_at is null) or repeats = 0 or step < interval '1 second' then
    repeats := null;
    starts_at := null;
    step := null;
  end if;
end
$$;

-- from 20_catalog/parse_duration.sql
-- Reads an ISO 8601 duration: years, months, weeks, days, hours, minutes, seconds, each with an optional fraction.
-- The number of digits is limited so that no value overflows an interval, or a date once added to today.
-- Returns:  interval; null when it is not one.
create or replace function bpm_core.parse_duration(p_text text)
returns interval
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case
    when btrim(p_text) ~ ('^P(?=\d|T\d)(\d{1,4}([.,]\d{1,9})?Y)?(\d{1,6}([.,]\d{1,9})?M)?(\d{1,6}([.,]\d{1,9})?W)?(\d{1,7}([.,]\d{1,9})?D)?'
                       || '(T(?=\d)(\d{1,9}([.,]\d{1,9})?H)?(\d{1,9}([.,]\d{1,9})?M)?(\d{1,9}([.,]\d{1,9})?S)?)?$')
    then replace(btrim(p_text), ',', '.')::interval
  end
$$;

-- from 20_catalog/parse_expression.sql
-- Reads an expression by precedence climbing: or 1, and 2, equality 3, ordering 4 (also FEEL's in and between), + and - 5, * and / 6,
-- FEEL's ** 7; p_floor is the precedence that ends it. The choice by ? and : binds least.
-- Comparisons do not chain, and compare values, not conditions. The depth is limited, or brackets alone could exhaust the stack.
-- Returns:  expression_step.
create or replace function bpm_core.parse_expression(p_tokens bpm_core.expression_token[], p_from integer, p_floor integer, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_left  bpm_core.expression_step;
  v_right bpm_core.expression_step;
  v_token bpm_core.expression_token;
  v_power integer;
begin
  if p_depth > 100 then
    return row(null, p_from, 'nested too deeply', (p_tokens[p_from]).at)::bpm_core.expression_step;
  end if;
  v_left := bpm_core.parse_operand(p_tokens, p_from, p_feel, p_depth);
  loop
    exit when v_left.problem is not null;
    v_token := p_tokens[v_left.next];
    if v_token.kind = '?' and p_floor = 0 then
      return bpm_core.parse_choice(p_tokens, v_left, '?', ':', p_feel, p_depth);
    elsif p_feel and v_token.kind = 'name' and v_token.value in ('in', 'between') and p_floor < 4 then
      v_left := bpm_core.parse_test(p_tokens, v_left, p_depth);
      continue;
    end if;
    v_power := case v_token.kind when 'or' then 1 when 'and' then 2 when 'eq' then 3 when 'ne' then 3
                                 when 'lt' then 4 when 'le' then 4 when 'gt' then 4 when 'ge' then 4
                                 when '+' then 5 when '-' then 5 when '*' then 6 when '/' then 6 when '%' then 6 when '**' then 7 end;
    exit when v_power is null or v_power <= p_floor;
    v_right := bpm_core.parse_expression(p_tokens, v_left.next + 1, v_power, p_feel, p_depth + 1);
    if v_right.problem is not null then
      return v_right;
    end if;
    v_left.problem := bpm_core.operator_problem(v_token.kind, v_left.tree, v_right.tree, p_feel);
    v_left.at := case when v_left.problem is not null then v_token.at end;
    v_left.next := v_right.next;
    v_left.tree := bpm_core.operator_tree(v_token.kind, v_left.tree, v_right.tree, p_feel);
  end loop;
  return v_left;
end
$$;

-- from 20_catalog/parse_list.sql
-- Reads a FEEL list, [a, b], or context, {key: a, "other key": b}.
-- Returns:  expression_step, the tree {op: list, args} or {op: context, keys, args}.
create or replace function bpm_core.parse_list(p_tokens bpm_core.expression_token[], p_from integer, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_close constant text := case (p_tokens[p_from]).kind when '[' then ']' else '}' end;
  v_keys  jsonb := '[]'::jsonb;
  v_args  jsonb := '[]'::jsonb;
  v_next  integer := p_from + 1;
  v_key   text;
  v_step  bpm_core.expression_step;
begin
  while (p_tokens[v_next]).kind <> v_close loop
    if v_close = '}' then
      v_key := (p_tokens[v_next]).value;
      while (p_tokens[v_next]).kind = 'name' and (p_tokens[v_next + 1]).kind = 'name' loop
        v_next := v_next + 1;
        v_key := v_key || ' ' || (p_tokens[v_next]).value;
      end loop;
      if (p_tokens[v_next]).kind not in ('name', 'string') or (p_tokens[v_next + 1]).kind <> ':' then
        return row(null, v_next, 'a key and a colon should stand here', (p_tokens[v_next]).at)::bpm_core.expression_step;
      end if;
      v_keys := v_keys || to_jsonb(v_key);
      v_next := v_next + 2;
    end if;
    v_step := bpm_core.parse_expression(p_tokens, v_next, 0, true, p_depth + 1);
    if v_step.problem is not null then
      return v_step;
    end if;
    v_args := v_args || jsonb_build_array(v_step.tree);
    v_next := v_step.next;
    exit when (p_tokens[v_next]).kind <> ',';
    v_next := v_next + 1;
  end loop;
  if (p_tokens[v_next]).kind <> v_close then
    return row(null, v_next, 'a closing bracket is missing', (p_tokens[v_next]).at)::bpm_core.expression_step;
  end if;
  return row(case v_close when ']' then jsonb_build_object('op', 'list', 'args', v_args)
                          else jsonb_build_object('op', 'context', 'keys', v_keys, 'args', v_args) end, v_next + 1, null, null)::bpm_core.expression_step;
end
$$;

-- from 20_catalog/parse_literal.sql
-- Reads a literal: a text, a number, true, false, null; in FEEL also a list, a context and a time (@"2030-01-31").
-- Returns:  expression_step.
create or replace function bpm_core.parse_literal(p_tokens bpm_core.expression_token[], p_from integer, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_token bpm_core.expression_token := p_tokens[p_from];
  v_value jsonb;
  v_next  integer := p_from + 1;
begin
  if v_token.kind = 'string' then
    v_value := to_jsonb(v_token.value);
  elsif v_token.kind = 'number' then
    v_value := to_jsonb(v_token.value::numeric);
  elsif v_token.kind = '-' and (p_tokens[v_next]).kind = 'number' then
    v_value := to_jsonb(-((p_tokens[v_next]).value::numeric));
    v_next := v_next + 1;
  elsif v_token.kind in ('true', 'false', 'null') then
    v_value := v_token.kind::jsonb;
  elsif v_token.kind in ('[', '{') and p_feel then
    return bpm_core.parse_list(p_tokens, p_from, p_depth);
  elsif v_token.kind = '@' and (p_tokens[v_next]).kind = 'string' then
    v_value := bpm_core.time_value((p_tokens[v_next]).value, null);
    if v_value is null then
      return row(null, p_from, format('%s is no date, time or duration', left((p_tokens[v_next]).value, 40)), v_token.at)::bpm_core.expression_step;
    end if;
    return row(jsonb_build_object('op', 'call', 'name', 'literal time', 'args', jsonb_build_array(jsonb_build_object('op', 'value', 'value', v_value))),
               v_next + 1, null, null)::bpm_core.expression_step;
  else
    return row(null, p_from,
      case v_token.kind when 'end' then 'it ends where a value should stand' else format('%s is not understood here', left(v_token.value, 40)) end,
      v_token.at)::bpm_core.expression_step;
  end if;
  return row(jsonb_build_object('op', 'value', 'value', v_value), v_next, null, null)::bpm_core.expression_step;
end
$$;

-- from 20_catalog/parse_loop.sql
-- Reads FEEL's some x in list satisfies …, every x in list satisfies …, for x in list return …, behind their first word. Several
-- iterators stand in each other. The weight of the body, its number of nodes, is kept: evaluation divides what work is allowed by it.
-- Returns:  expression_step, the tree {op: some|every|for, var, list, body, weight}.
create or replace function bpm_core.parse_loop(p_tokens bpm_core.expression_token[], p_from integer, p_op text, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_next integer := bpm_core.name_end(p_tokens, p_from);
  v_var  text := (select string_agg((p_tokens[i]).value, ' ' order by i) from generate_series(p_from, v_next - 1) i);
  v_list bpm_core.expression_step;
  v_body bpm_core.expression_step;
  v_word text := case p_op when 'for' then 'return' else 'satisfies' end;
begin
  if p_depth > 100 then
    return row(null, p_from, 'nested too deeply', (p_tokens[p_from]).at)::bpm_core.expression_step;
  elsif v_next = p_from or (p_tokens[v_next]).value is distinct from 'in' then
    return row(null, v_next, 'in is missing', (p_tokens[v_next]).at)::bpm_core.expression_step;
  end if;
  v_list := bpm_core.parse_expression(p_tokens, v_next + 1, 0, true, p_depth + 1);
  if v_list.problem is null and (p_tokens[v_list.next]).kind = '..' then
    v_body := bpm_core.parse_expression(p_tokens, v_list.next + 1, 0, true, p_depth + 1);
    v_body.tree := jsonb_build_object('op', 'call', 'name', 'range', 'args', jsonb_build_array(v_list.tree, v_body.tree));
    v_list := v_body;
  end if;
  if v_list.problem is not null then
    return v_list;
  elsif (p_tokens[v_list.next]).kind = ',' then
    v_body := bpm_core.parse_loop(p_tokens, v_list.next + 1, p_op, p_depth + 1);
  elsif (p_tokens[v_list.next]).value is distinct from v_word then
    return row(null, v_list.next, format('%s is missing', v_word), (p_tokens[v_list.next]).at)::bpm_core.expression_step;
  else
    v_body := bpm_core.parse_expression(p_tokens, v_list.next + 1, 0, true, p_depth + 1);
    if v_body.problem is null and p_op <> 'for' then
      v_body.problem := bpm_core.condition_problem(v_body.tree);
      v_body.at := (p_tokens[v_list.next]).at;
    end if;
  end if;
  if v_body.problem is null then
    v_body.tree := jsonb_build_object('op', p_op, 'var', v_var, 'list', v_list.tree, 'body', v_body.tree, 'weight', bpm_core.tree_weight(v_body.tree));
  end if;
  return v_body;
end
$$;

-- from 20_catalog/parse_name.sql
-- Reads what begins with a name: FEEL's if, some, every and for, a call, or a dotted path. In FEEL a name may have spaces, until a word
-- that means something.
-- Returns:  expression_step.
create or replace function bpm_core.parse_name(p_tokens bpm_core.expression_token[], p_from integer, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := (p_tokens[p_from]).value;
  v_next integer := p_from + 1;
begin
  if p_feel then
    if v_name = 'if' and (p_tokens[v_next]).kind in ('name', 'string', 'number', 'true', 'false', 'null', 'not', '(', '[', '-', '@') then
      return bpm_core.parse_choice(p_tokens, bpm_core.parse_expression(p_tokens, v_next, 0, true, p_depth + 1), 'then', 'else', true, p_depth);
    elsif v_name in ('some', 'every', 'for') and bpm_core.name_end(p_tokens, v_next) > v_next
          and (p_tokens[bpm_core.name_end(p_tokens, v_next)]).value = 'in' then
      return bpm_core.parse_loop(p_tokens, v_next, v_name, p_depth);
    elsif v_name in ('date', 'get') and (p_tokens[v_next + 2]).kind = '(' then
      -- The only names with an operator in them.
      v_name := concat_ws(' ', v_name, (p_tokens[v_next]).value, (p_tokens[v_next + 1]).value);
      if v_name in ('date and time', 'get or else') then
        return bpm_core.parse_call(p_tokens, v_next + 2, v_name, null, true, p_depth);
      end if;
    end if;
    v_next := bpm_core.name_end(p_tokens, p_from);
    v_name := (select string_agg((p_tokens[i]).value, ' ' order by i) from generate_series(p_from, v_next - 1) i);
  end if;
  if (p_tokens[v_next]).kind = '(' then
    return bpm_core.parse_call(p_tokens, v_next, v_name, null, p_feel, p_depth);
  elsif p_feel and ((p_tokens[v_next - 1]).value, (p_tokens[v_next]).value) in (('instance', 'of'), ('is', 'defined')) then
    return row(null, v_next, format('%s %s is not understood', (p_tokens[v_next - 1]).value, (p_tokens[v_next]).value), (p_tokens[v_next - 1]).at)::bpm_core.expression_step;
  elsif not p_feel and v_name = 'execution' and (p_tokens[v_next]).kind = '.'
        and (p_tokens[v_next + 1]).value in ('id', 'businessKey', 'processBusinessKey', 'processInstanceId', 'processDefinitionId', 'parentId', 'tenantId', 'eventName',
                                             'currentActivityId', 'currentActivityName', 'currentTransitionId', 'activityInstanceId', 'processInstance', 'superExecution') then
    -- No variable of ours: read as a path it would be missing, and so null, without a sound.
    return row(null, v_next, format('execution.%s is not understood', (p_tokens[v_next + 1]).value), (p_tokens[v_next - 1]).at)::bpm_core.expression_step;
  elsif not p_feel and v_name = 'execution' and (p_tokens[v_next]).kind = '.' and (p_tokens[v_next + 1]).value in ('getVariable', 'hasVariable', 'getVariableLocal')
        and (p_tokens[v_next + 2]).kind = '(' and (p_tokens[v_next + 3]).kind = 'string' and (p_tokens[v_next + 4]).kind = ')' then
    return row(case (p_tokens[v_next + 1]).value
                 when 'hasVariable' then jsonb_build_object('op', 'defined', 'arg', jsonb_build_object('op', 'path', 'path', jsonb_build_array((p_tokens[v_next + 3]).value)))
                 else jsonb_build_object('op', 'path', 'path', jsonb_build_array((p_tokens[v_next + 3]).value)) end, v_next + 5, null, null)::bpm_core.expression_step;
  end if;
  return row(jsonb_build_object('op', 'path', 'path', jsonb_build_array(v_name)), v_next, null, null)::bpm_core.expression_step;
end
$$;

-- from 20_catalog/parse_operand.sql
-- Reads one operand: a literal, a name and what hangs on it, an expression in brackets, or not, empty, minus and what follows them.
-- Returns:  expression_step.
create or replace function bpm_core.parse_operand(p_tokens bpm_core.expression_token[], p_from integer, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_token bpm_core.expression_token := p_tokens[p_from];
  v_inner bpm_core.expression_step;
begin
  if p_feel and v_token.kind = 'name' and v_token.value = 'empty' and (p_tokens[p_from + 1]).kind in ('name', '(', 'string', 'null') then
    v_token.kind := 'empty';
  end if;
  if v_token.kind in ('not', 'empty', '-', '[', '{') and p_depth > 100 then
    return row(null, p_from, 'nested too deeply', v_token.at)::bpm_core.expression_step;
  elsif v_token.kind in ('not', 'empty') or (v_token.kind = '-' and (p_tokens[p_from + 1]).kind <> 'number') then
    v_inner := bpm_core.parse_operand(p_tokens, p_from + 1, p_feel, p_depth + 1);
    if v_inner.problem is null then
      v_inner.problem := case
        when v_token.kind = 'not' then bpm_core.condition_problem(v_inner.tree)
        when v_token.kind = '-' then bpm_core.operator_problem('-', v_inner.tree, '{"op": "value", "value": 0}', p_feel)
        when bpm_core.is_condition(v_inner.tree) then 'empty asks about a value, not about a condition' end;
      v_inner.at := case when v_inner.problem is not null then v_token.at end;
      v_inner.tree := case v_token.kind when '-' then jsonb_build_object('op', 'call', 'name', 'negate', 'args', jsonb_build_array(v_inner.tree))
                                        else jsonb_build_object('op', v_token.kind, 'arg', v_inner.tree) end;
    end if;
    return v_inner;
  elsif v_token.kind = 'name' then
    v_inner := bpm_core.parse_name(p_tokens, p_from, p_feel, p_depth);
  elsif v_token.kind = '(' then
    v_inner := bpm_core.parse_expression(p_tokens, p_from + 1, 0, p_feel, p_depth + 1);
    if v_inner.problem is null and (p_tokens[v_inner.next]).kind <> ')' then
      v_inner.problem := 'a closing bracket is missing';
      v_inner.at := (p_tokens[v_inner.next]).at;
    end if;
    v_inner.next := v_inner.next + 1;
  else
    v_inner := bpm_core.parse_literal(p_tokens, p_from, p_feel, p_depth);
  end if;
  if v_inner.problem is null and (p_tokens[v_inner.next]).kind in ('.', '[') and jsonb_typeof(v_inner.tree -> 'value') is distinct from 'number' then
    return bpm_core.parse_suffixes(p_tokens, v_inner, p_feel, p_depth);
  end if;
  return v_inner;
end
$$;

-- from 20_catalog/parse_suffixes.sql
-- Reads what hangs on a value: .name, .method(…) in JUEL, [index], in FEEL also a filter, [condition]. JUEL counts from 0, FEEL from 1.
-- Returns:  expression_step.
create or replace function bpm_core.parse_suffixes(p_tokens bpm_core.expression_token[], p_step bpm_core.expression_step, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_step  bpm_core.expression_step := p_step;
  v_inner bpm_core.expression_step;
  v_name  text;
  v_next  integer;
begin
  while v_step.problem is null and (p_tokens[v_step.next]).kind in ('.', '[') loop
    if (p_tokens[v_step.next]).kind = '.' then
      v_next := v_step.next + 2;
      v_name := (p_tokens[v_step.next + 1]).value;
      if v_name !~ '^([A-Za-z_$]|[^\u0001-\u007f])' then
        return row(null, v_step.next, 'a name is missing after the dot', (p_tokens[v_step.next]).at)::bpm_core.expression_step;
      elsif p_feel and (p_tokens[v_next]).kind = 'name' then
        v_next := bpm_core.name_end(p_tokens, v_step.next + 1);
        v_name := (select string_agg((p_tokens[i]).value, ' ' order by i) from generate_series(v_step.next + 1, v_next - 1) i);
      end if;
      if (p_tokens[v_next]).kind = '(' then
        v_step := bpm_core.parse_call(p_tokens, v_next, v_name, v_step.tree, p_feel, p_depth);
      else
        v_step.tree := bpm_core.member_tree(v_step.tree, v_name);
        v_step.next := v_next;
      end if;
    else
      v_inner := bpm_core.parse_expression(p_tokens, v_step.next + 1, 0, p_feel, p_depth + 1);
      if v_inner.problem is null and (p_tokens[v_inner.next]).kind <> ']' then
        v_inner.problem := 'a closing bracket is missing';
        v_inner.at := (p_tokens[v_inner.next]).at;
      end if;
      if v_inner.problem is not null then
        return v_inner;
      end if;
      v_step.tree := case
        when not p_feel and jsonb_typeof(v_inner.tree -> 'value') = 'string' then bpm_core.member_tree(v_step.tree, v_inner.tree ->> 'value')
        when p_feel and bpm_core.is_condition(v_inner.tree)
          then jsonb_build_object('op', 'filter', 'list', v_step.tree, 'body', v_inner.tree, 'weight', bpm_core.tree_weight(v_inner.tree))
        else jsonb_build_object('op', 'index', 'arg', v_step.tree, 'index', v_inner.tree, 'first', p_feel::integer) end;
      v_step.next := v_inner.next + 1;
    end if;
  end loop;
  return v_step;
end
$$;

-- from 20_catalog/parse_test.sql
-- Reads what follows a value before FEEL's in or between: x between a and b, x in (a, b), x in [1..5], x in (< 5, > 10), x in list.
-- They are written as the comparisons they stand for. What is tested more than once and is no plain value is calculated once, by let.
-- Returns:  expression_step.
create or replace function bpm_core.parse_test(p_tokens bpm_core.expression_token[], p_step bpm_core.expression_step, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_simple constant boolean := p_step.tree ->> 'op' in ('path', 'value');
  v_left   constant jsonb := case when v_simple then p_step.tree else '{"op": "path", "path": ["in()"]}' end;
  v_word   constant bpm_core.expression_token := p_tokens[p_step.next];
  v_low    bpm_core.expression_step;
  v_result bpm_core.expression_step;
begin
  if bpm_core.is_condition(p_step.tree) then
    return row(null, p_step.next, format('%s asks about a value, not about a condition', v_word.value), v_word.at)::bpm_core.expression_step;
  elsif v_word.value = 'in' then
    v_result := bpm_core.parse_tests(p_tokens, p_step.next + 1, v_left, p_depth + 1);
  else
    v_low := bpm_core.parse_expression(p_tokens, p_step.next + 1, 4, true, p_depth + 1);
    if v_low.problem is null and (p_tokens[v_low.next]).kind <> 'and' then
      v_low.problem := 'and is missing after between';
      v_low.at := (p_tokens[v_low.next]).at;
    end if;
    if v_low.problem is not null then
      return v_low;
    end if;
    v_result := bpm_core.parse_expression(p_tokens, v_low.next + 1, 4, true, p_depth + 1);
    if v_result.problem is null then
      v_result.problem := coalesce(bpm_core.operator_problem('ge', v_left, v_low.tree, true), bpm_core.operator_problem('le', v_left, v_result.tree, true));
      v_result.at := case when v_result.problem is not null then v_word.at end;
      v_result.tree := bpm_core.interval_tree(v_left, 'ge', v_low.tree, 'le', v_result.tree);
    end if;
  end if;
  if v_result.problem is null and not v_simple then
    v_result.tree := jsonb_build_object('op', 'let', 'var', 'in()', 'arg', p_step.tree, 'body', v_result.tree);
  end if;
  return v_result;
end
$$;

-- from 20_catalog/parse_tests.sql
-- Reads the tests of FEEL's in: one, or several in brackets with commas between, of which one has to hold.
-- Returns:  expression_step.
create or replace function bpm_core.parse_tests(p_tokens bpm_core.expression_token[], p_from integer, p_left jsonb, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_step  bpm_core.expression_step;
  v_tests jsonb := '[]'::jsonb;
  v_next  integer := p_from;
begin
  v_step := bpm_core.parse_unary(p_tokens, p_from, p_left, p_depth);
  if v_step.problem is null or (p_tokens[p_from]).kind <> '(' then
    return v_step;
  end if;
  loop
    v_step := bpm_core.parse_unary(p_tokens, v_next + 1, p_left, p_depth);
    if v_step.problem is not null then
      return v_step;
    end if;
    v_tests := v_tests || jsonb_build_array(v_step.tree);
    v_next := v_step.next;
    exit when (p_tokens[v_next]).kind <> ',';
  end loop;
  if (p_tokens[v_next]).kind <> ')' then
    return row(null, v_next, 'a closing bracket is missing', (p_tokens[v_next]).at)::bpm_core.expression_step;
  end if;
  return row(case when jsonb_array_length(v_tests) = 1 then v_tests -> 0 else jsonb_build_object('op', 'or', 'args', v_tests) end, v_next + 1, null, null)::bpm_core.expression_step;
end
$$;

-- from 20_catalog/parse_timestamp.sql
-- Reads an ISO 8601 date or date with time; without a zone it is UTC. Checked by arithmetic first, because a failing cast raises.
-- Returns:  timestamptz; null when it is not one.
create or replace function bpm_core.parse_timestamp(p_text text)
returns timestamptz
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO'
as $$
declare
  v_parts text[] := regexp_match(btrim(p_text),
    '^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?(?:Z|[+-](\d\d):?(\d\d)?)?)?$');
begin
  if v_parts is null or v_parts[1]::integer < 1 or v_parts[2]::integer not between 1 and 12
     or v_parts[4]::integer > 23 or v_parts[5]::integer > 59 or v_parts[6]::integer > 59 or v_parts[7]::integer > 14 or v_parts[8]::integer > 59 then
    return null;
  end if;
  if v_parts[3]::integer not between 1
     and extract(day from make_date(v_parts[1]::integer, v_parts[2]::integer, 1) + interval '1 month' - interval '1 day')::integer then
    return null;
  end if;
  return replace(btrim(p_text), ',', '.')::timestamptz;
end
$$;

-- from 20_catalog/parse_unary.sql
-- Reads one test of FEEL's in about p_left: < 5, [1..5], ]1..5[, (1..5), "a", ["a", "b"], or an expression that gives a value or a list.
-- Returns:  expression_step.
create or replace function bpm_core.parse_unary(p_tokens bpm_core.expression_token[], p_from integer, p_left jsonb, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_token  constant bpm_core.expression_token := p_tokens[p_from];
  v_step   bpm_core.expression_step;
  v_low    bpm_core.expression_step;
  v_above  text;
  v_below  text;
begin
  if v_token.kind in ('lt', 'le', 'gt', 'ge', 'ne', 'eq') then
    v_step := bpm_core.parse_expression(p_tokens, p_from + 1, 4, true, p_depth + 1);
    if v_step.problem is null then
      v_step.problem := bpm_core.operator_problem(v_token.kind, p_left, v_step.tree, true);
      v_step.at := case when v_step.problem is not null then v_token.at end;
      v_step.tree := jsonb_build_object('op', v_token.kind, 'left', p_left, 'right', v_step.tree);
    end if;
    return v_step;
  elsif v_token.kind in ('[', '(', ']') then
    v_low := bpm_core.parse_expression(p_tokens, p_from + 1, 4, true, p_depth + 1);
    if v_low.problem is null and (p_tokens[v_low.next]).kind = '..' then
      v_step := bpm_core.parse_expression(p_tokens, v_low.next + 1, 4, true, p_depth + 1);
      v_above := case v_token.kind when '[' then 'ge' else 'gt' end;
      v_below := case (p_tokens[v_step.next]).kind when ']' then 'le' when ')' then 'lt' when '[' then 'lt' end;
      v_step.problem := coalesce(v_step.problem, case when v_below is null then 'a closing bracket is missing' end,
                                 bpm_core.operator_problem(v_above, p_left, v_low.tree, true), bpm_core.operator_problem(v_below, p_left, v_step.tree, true));
      v_step.at := case when v_step.problem is not null then coalesce(v_step.at, (p_tokens[v_step.next]).at) end;
      v_step.tree := bpm_core.interval_tree(p_left, v_above, v_low.tree, v_below, v_step.tree);
      v_step.next := v_step.next + 1;
      return v_step;
    end if;
  end if;
  v_step := bpm_core.parse_expression(p_tokens, p_from, 4, true, p_depth + 1);
  if v_step.problem is null then
    v_step.tree := case
      when v_step.tree ->> 'op' = 'value' then jsonb_build_object('op', 'eq', 'left', p_left, 'right', v_step.tree)
      when v_step.tree ->> 'op' = 'list' and jsonb_array_length(v_step.tree -> 'args') > 0 and not jsonb_path_exists(v_step.tree, '$.args[*] ? (@.op != "value")')
        then jsonb_build_object('op', 'or', 'args', (select jsonb_agg(jsonb_build_object('op', 'eq', 'left', p_left, 'right', a.tree) order by a.n)
                                                       from jsonb_array_elements(v_step.tree -> 'args') with ordinality a(tree, n)))
      else jsonb_build_object('op', 'call', 'name', 'in', 'args', jsonb_build_array(p_left, v_step.tree)) end;
  end if;
  return v_step;
end
$$;

-- from 20_catalog/part_of_text.sql
-- FEEL: the text from a place, counted from 1 or from the end, as long as said. JUEL: from a place counted from 0 up to before another.
-- Returns:  text; null when the places make no sense.
create or replace function bpm_core.part_of_text(p_text text, p_from numeric, p_other jsonb, p_from_0 boolean)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_length constant integer := length(p_text);
  v_other  constant numeric := case when jsonb_typeof(p_other) = 'number' then p_other::numeric end;
  v_start  numeric;
begin
  if (p_other is not null and v_other is null) or p_from <> trunc(p_from) or v_other <> trunc(v_other) or abs(p_from) > v_length or v_other > 1000000 then
    return null;
  elsif p_from_0 then
    return case when p_from >= 0 and coalesce(v_other between p_from and v_length, true)
                then substr(p_text, p_from::integer + 1, (coalesce(v_other, v_length) - p_from)::integer) end;
  end if;
  v_start := case when p_from < 0 then v_length + p_from + 1 else p_from end;
  return case when p_from <> 0 and coalesce(v_other, 1) >= 0 then substr(p_text, v_start::integer, coalesce(v_other, v_length)::integer) end;
end
$$;

-- from 20_catalog/path_defined.sql
-- Whether there is something at a path, be it null.
-- Returns:  boolean; null behind an encrypted text.
create or replace function bpm_core.path_defined(p_path jsonb, p_variables jsonb)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last  constant integer := jsonb_array_length(p_path) - 1;
  v_owner jsonb := case when v_last = 0 then p_variables else bpm_core.evaluate_path(p_path - v_last, p_variables) end;
begin
  return case when bpm_core.is_hidden(v_owner) then null else jsonb_typeof(v_owner) = 'object' and v_owner ? (p_path ->> v_last) end;
end
$$;

-- from 20_catalog/path_value.sql
-- Looks a dotted path up in the variables.
-- Returns:  jsonb; null when missing.
create or replace function bpm_core.path_value(p_variables jsonb, p_path text)
returns jsonb
language sql immutable parallel safe
as $$ select p_variables #> string_to_array(p_path, '.') $$;

-- from 20_catalog/pinned_tasks.sql
-- The published task version each task type is pinned to at deploy: of the definition that carries the type's name, else the youngest.
-- Returns:  one row per type that has one.
create or replace function bpm_core.pinned_tasks(p_tenant_id text, p_types text[])
returns table (task_type text, task_version_id uuid, max_attempts integer, lease interval, approval_required boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select distinct on (v.task_type) v.task_type, v.id, v.max_attempts, v.lease, v.approval_required
    from bpm_core.task_definition d
    join bpm_core.task_version v on v.tenant_id = d.tenant_id and v.id = d.published_version_id
   where d.tenant_id = p_tenant_id and v.task_type = any (p_types) and d.archived_at is null
   order by v.task_type, d.code = v.task_type desc, v.published_at desc, v.id desc
$$;

-- from 20_catalog/plain_flow.sql
-- A flow the compiler adds, in the process and scope of a node.
create or replace function bpm_core.plain_flow(p_beside bpm_core.draft_node, p_flow_id text, p_source_id text, p_target_id text)
returns bpm_core.draft_flow
language sql immutable
as $$
  select row(p_beside.pos, p_beside.process_pos, p_beside.scope_pos, p_flow_id, null, null, null, p_source_id, p_target_id, false, null, null, null, null,
             1, null)::bpm_core.draft_flow
$$;

-- from 20_catalog/plain_node.sql
-- A node the compiler adds beside one that is drawn: in the same process and scope, without attributes.
create or replace function bpm_core.plain_node(
  p_beside bpm_core.draft_node, p_node_id text, p_tag text, p_kind bpm_core.node_kind, p_scope_id text, p_incoming integer, p_outgoing integer)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node;
begin
  v_node.pos := p_beside.pos;
  v_node.process_pos := p_beside.process_pos;
  v_node.scope_pos := p_beside.scope_pos;
  v_node.scope_id := p_scope_id;
  v_node.node_id := p_node_id;
  v_node.tag := p_tag;
  v_node.kind := p_kind;
  v_node.attributes := '{}';
  v_node.extensions := '{}';
  v_node.interrupting := true;
  v_node.incoming := p_incoming;
  v_node.outgoing := p_outgoing;
  v_node.conditional := 0;
  v_node.expressions := '{}';
  return v_node;
end
$$;

-- from 20_catalog/plain_times.sql
-- A value as it leaves an evaluation: times as plain ISO 8601 text, wherever they stand in it.
create or replace function bpm_core.plain_times(p_value jsonb)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(p_value) = 'string' then
    return case when p_value #>> '{}' ~ '^__(date|instant|time|duration):' then to_jsonb(regexp_replace(p_value #>> '{}', '^__[a-z]+:', '')) else p_value end;
  elsif p_value::text !~ '"__(date|instant|time|duration):' then
    return p_value;
  end if;
  return regexp_replace(p_value::text, '"__(date|instant|time|duration):', '"', 'g')::jsonb;
end
$$;

-- from 20_catalog/postorder.sql
-- The nodes of a graph, each after all that it leads to, as far as circles allow.
-- Returns:  integer[], the numbers of the nodes.
create or replace function bpm_core.postorder(p_graph bpm_core.graph_index)
returns integer[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count  integer := coalesce(cardinality(p_graph.first_place), 0);
  v_last   integer[] := p_graph.last_place;
  v_target integer[] := p_graph.targets;
  v_next   integer[] := p_graph.first_place;
  v_seen   boolean[] := array_fill(false, array[v_count]);
  v_stack  integer[] := array_fill(0, array[v_count]);
  v_order  integer[] := '{}'::integer[];
  v_depth  integer;
  v_node   integer;
  v_to     integer;
begin
  for v_root in 1 .. v_count loop
    continue when v_seen[v_root];
    v_seen[v_root] := true;
    v_depth := 1;
    v_stack[1] := v_root;
    while v_depth > 0 loop
      v_node := v_stack[v_depth];
      if v_next[v_node] > v_last[v_node] then
        v_order := v_order || v_node;
        v_depth := v_depth - 1;
      else
        v_to := v_target[v_next[v_node]];
        v_next[v_node] := v_next[v_node] + 1;
        if not v_seen[v_to] then
          v_seen[v_to] := true;
          v_depth := v_depth + 1;
          v_stack[v_depth] := v_to;
        end if;
      end if;
    end loop;
  end loop;
  return v_order;
end
$$;

-- from 20_catalog/priority_level.sql
-- The level of a priority: high, normal and low, or a number, of which p_middle is normal and more is high.
-- Returns:  0 high, 1 normal, 2 low; null when it is none.
create or replace function bpm_core.priority_level(p_value jsonb, p_middle integer)
returns smallint
language sql immutable parallel safe
as $$
  select (case lower(p_value #>> '{}') when 'high' then 0 when 'normal' then 1 when 'low' then 2
          else case when p_value #>> '{}' ~ '^-?\d{1,9}$' then 1 - sign((p_value #>> '{}')::integer - p_middle) end end)::smallint
$$;

-- from 20_catalog/profile_fault.sql
-- What is wrong with the numbers of a receiver profile.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.profile_fault(
  p_key_retention interval, p_conflict_means text, p_max_attempts integer, p_backoff interval, p_backoff_cap interval, p_lease interval)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when coalesce(p_key_retention not between interval '0' and interval '10 years', true) then 'p_key_retention must be from 0 to 10 years.'
    when coalesce(p_conflict_means not in ('Failed', 'Sent', 'Pending'), true) then 'p_conflict_means must be Failed, Sent or Pending.'
    when coalesce(p_max_attempts not between 1 and 1000, true) then 'p_max_attempts must be from 1 to 1000.'
    when coalesce(p_backoff not between interval '0' and interval '1 day', true) then 'p_backoff must be from 0 to 1 day.'
    when coalesce(p_backoff_cap not between p_backoff and interval '30 days', true) then 'p_backoff_cap must be from p_backoff to 30 days.'
    when coalesce(p_lease not between interval '1 second' and interval '1 day', true) then 'p_lease must be from 1 second to 1 day.'
  end
$$;

-- from 20_catalog/publish_task.sql
-- Says how tasks of a type are executed: a new version unless the published one says the same. Files deployed from now on are pinned to it;
-- those deployed before keep theirs until they are deployed again. What is not given is the default.
-- The code of the definition and the type are the same unless both are given.
-- Returns:  version number, and whether it is new.
-- Raises:   BP400 neither code nor type, or too long. BP422 a value out of range, or a reserved type (bpm:…). BP403.
-- Writes:   task_definition, task_version, audit_event.
-- Locks:    the task_definition row.
create or replace function bpm.publish_task(
  p_code text default null, p_task_type text default null, p_executor_kind text default 'Service', p_max_attempts integer default 3,
  p_backoff interval default interval '1 second', p_backoff_factor numeric default 2, p_backoff_cap interval default interval '5 minutes',
  p_jitter numeric default 0.1, p_lease interval default interval '30 seconds', p_approval_required boolean default false,
  p_actor text default null, p_tenant_id text default '')
returns table (version integer, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor text;
  v_code  text := btrim(coalesce(p_code, p_task_type));
  v_draft bpm_core.task_version := bpm_core.default_task_version(btrim(coalesce(p_task_type, p_code)));
  v_fault text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(length(v_code), 0) not between 1 and 200 or length(v_draft.task_type) not between 1 and 200 then
    perform bpm_core.fail('BP400', 'A task needs a type (or code) of 1 to 200 characters.');
  end if;
  v_fault := coalesce(
    case when v_draft.task_type like 'bpm:%' or v_code like 'bpm:%' then 'Types that start with bpm: are reserved.'
         when coalesce(p_executor_kind not in ('Service', 'Human', 'Script', 'Decision'), true) then 'p_executor_kind must be Service, Human, Script or Decision.'
         when coalesce(p_backoff_factor not between 1 and 100, true) then 'p_backoff_factor must be from 1 to 100.'
         when coalesce(p_jitter not between 0 and 1, true) then 'p_jitter must be from 0 to 1.'
         when p_approval_required is null then 'p_approval_required is null.' end,
    bpm_core.profile_fault(interval '0', 'Failed', p_max_attempts, p_backoff, p_backoff_cap, p_lease));
  if v_fault is not null then
    perform bpm_core.fail('BP422', v_fault, jsonb_build_object('task_type', v_draft.task_type), 'See publish_task in the reference.');
  end if;
  v_draft.executor_kind := p_executor_kind::bpm_core.executor_kind;
  v_draft.max_attempts := p_max_attempts;
  v_draft.backoff := p_backoff;
  v_draft.backoff_factor := p_backoff_factor;
  v_draft.backoff_cap := p_backoff_cap;
  v_draft.jitter := p_jitter;
  v_draft.lease := p_lease;
  v_draft.approval_required := p_approval_required;
  select s.version, s.is_new into version, is_new from bpm_core.store_task_version(p_tenant_id, v_code, v_draft, v_actor) s;
  if is_new then
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'PublishTask', 'task', v_code, version, null,
      jsonb_build_object('task_type', v_draft.task_type, 'approval_required', p_approval_required));
  end if;
  return next;
end
$$;

-- from 20_catalog/publish_workflow.sql
-- Stores one compiled process as the next version of its workflow and its process, unless a published version is identical.
-- Identical means: same file but for space at its end (psql's `cat` drops it), same graph, pinned task versions included. An identical older version becomes the current one again.
-- The caller holds the lock of the process_definition row.
-- Returns:  version, whether it is new, and whether the current version changed.
-- Writes:   workflow_definition, workflow_version, workflow_node, workflow_flow, workflow_task_binding, inclusive_flow, inclusive_reach,
--           process_version, process_workflow_binding, process_definition.
create or replace function bpm_core.publish_workflow(
  p_tenant_id text, p_definition_id uuid, p_process bpm_core.draft_process, p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[],
  p_xml text, p_role_version_id uuid, p_actor text, out version integer, out is_new boolean, out moved boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
as $$
declare
  v_id       uuid := bpm_core.new_id();
  v_workflow uuid := bpm_core.new_id();
  v_nodes    bpm_core.workflow_node[] := array(select r from bpm_core.node_rows(p_tenant_id, v_workflow, p_process.pos, p_nodes, p_flows) r);
  v_flows    bpm_core.workflow_flow[] := array(select r from bpm_core.flow_rows(p_tenant_id, v_workflow, p_process.pos, p_nodes, p_flows) r);
  v_tasks    bpm_core.workflow_task_binding[] := array(select r from bpm_core.binding_rows(p_tenant_id, v_workflow, p_process.pos, p_nodes) r);
  v_graph    jsonb := bpm_core.graph_of(v_nodes, v_flows, v_tasks);
  v_hash     bytea := sha256(convert_to(rtrim(p_xml, E' \t\r\n'), 'UTF8') || convert_to(v_graph::text, 'UTF8') || convert_to(coalesce(p_process.name, ''), 'UTF8') || uuid_send(p_role_version_id));
  v_now      timestamptz := bpm_core.now();
  v_known    uuid;
  v_owner    uuid;
begin
  select p.version, p.id into version, v_known
    from bpm_core.process_version p
   where p.tenant_id = p_tenant_id and p.definition_id = p_definition_id and p.content_hash = v_hash and p.status = 'Published'
   order by p.version desc
   limit 1;
  is_new := v_known is null;
  if is_new then
    select coalesce(max(p.version), 0) + 1 into version
      from bpm_core.process_version p where p.tenant_id = p_tenant_id and p.definition_id = p_definition_id;
    v_owner := bpm_core.ensure_workflow(p_tenant_id, p_process.process_id);
    insert into bpm_core.workflow_version (tenant_id, id, definition_id, version, status, content_hash, owner_role_version_id, name, graph, has_conditions, bpmn_xml, checksum, created_by, published_at)
    values (p_tenant_id, v_workflow, v_owner, version, 'Published', v_hash, p_role_version_id, p_process.name, v_graph,
            exists (select from unnest(v_nodes) n where n.kind in ('ConditionalCatch', 'ConditionalBoundary')), p_xml, sha256(convert_to(p_xml, 'UTF8')), p_actor, v_now);
    insert into bpm_core.workflow_node select r.* from unnest(v_nodes) r;
    insert into bpm_core.workflow_flow select r.* from unnest(v_flows) r;
    insert into bpm_core.workflow_task_binding select r.* from unnest(v_tasks) r;
    perform bpm_core.store_inclusive_joins(v_nodes, v_flows);
    insert into bpm_core.process_version (tenant_id, id, definition_id, version, status, content_hash, name, created_by, published_at)
    values (p_tenant_id, v_id, p_definition_id, version, 'Published', v_hash, p_process.name, p_actor, v_now);
    insert into bpm_core.process_workflow_binding (tenant_id, process_version_id, binding_key, workflow_version_id, position)
    values (p_tenant_id, v_id, 'main', v_workflow, 1);
    v_known := v_id;
  end if;
  update bpm_core.process_definition d
     set published_version_id = v_known, archived_at = null
   where d.tenant_id = p_tenant_id and d.id = p_definition_id and (d.published_version_id is distinct from v_known or d.archived_at is not null);
  moved := found;
  update bpm_core.workflow_definition d
     set published_version_id = b.workflow_version_id, archived_at = null
    from bpm_core.process_workflow_binding b
   where moved and b.tenant_id = p_tenant_id and b.process_version_id = v_known and b.binding_key = 'main'
     and d.tenant_id = p_tenant_id and d.code = p_process.process_id;
end
$$;

-- from 20_catalog/put_in_loop.sql
-- A node as it is once loops are wrapped: the activity itself inside, with one way in and one out; a boundary event of one outside.
-- p_around: the node the activity is put into; p_host: the one its host is put into.
create or replace function bpm_core.put_in_loop(p_node bpm_core.draft_node, p_around text, p_host text)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node := p_node;
begin
  if p_around is not null then
    v_node.scope_id := p_around;
    v_node.default_ref := null;
    v_node.incoming := 1;
    v_node.outgoing := 1;
    v_node.conditional := 0;
  end if;
  v_node.attached_to := coalesce(p_host, v_node.attached_to);
  return v_node;
end
$$;

-- from 20_catalog/put_inside.sql
-- A node of a process as it is inside of the body of that (wrap_bodies): what stood at the root stands in the body, but for the start events.
create or replace function bpm_core.put_inside(p_node bpm_core.draft_node, p_process_pos integer, p_body text)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node := p_node;
begin
  if v_node.process_pos <> p_process_pos then
    return v_node;
  elsif v_node.scope_id is null and v_node.tag = 'startEvent' and v_node.node_id not like '%:in' then
    v_node.outgoing := 1;
    v_node.conditional := 0;
    v_node.default_ref := null;
  elsif v_node.scope_id is null then
    v_node.scope_id := p_body;
  elsif v_node.tag = 'startEvent' and v_node.attached_to is null and v_node.kind <> 'StartEvent' then
    v_node.attached_to := p_body;
  end if;
  return v_node;
end
$$;

-- from 20_catalog/put_value.sql
-- Puts a value at a path of names into an object; what is no object on the way becomes one.
create or replace function bpm_core.put_value(p_object jsonb, p_path text[], p_value jsonb)
returns jsonb
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when cardinality(p_path) = 1 then x.object || jsonb_build_object(p_path[1], p_value)
              else x.object || jsonb_build_object(p_path[1], bpm_core.put_value(x.object -> p_path[1], p_path[2:], p_value)) end
    from (select case when jsonb_typeof(p_object) = 'object' then p_object else '{}' end as object) x
$$;

-- from 20_catalog/read_bpmn.sql
-- The reader: BPMN text to element rows. Knows XML, not BPMN; a server without libxml can be fed the same rows by the driver.
-- Returns:  elements, or one fault (TooLarge, InvalidXml) in findings and no elements.
create or replace function bpm_core.read_bpmn(p_xml text, out elements bpm_core.bpmn_element[], out findings bpm_core.finding[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault   bpm_core.finding := bpm_core.bpmn_text_fault(p_xml);
  v_message text;
  v_detail  text;
  v_limit   constant integer := 100000;
  v_xml     xml;
  v_count   integer;
begin
  elements := '{}';
  findings := '{}';
  if v_fault.code is not null then
    findings := array[v_fault];
    return;
  end if;
  begin
    v_xml := xmlparse(document ltrim(p_xml, E'\ufeff'));
    v_count := (xpath('count(//*)', v_xml))[1]::text::integer;
    if v_count > v_limit then
      findings := array[bpm_core.fault('TooLarge', format('The file has %s elements; the limit is %s.', v_count, v_limit), null, null, 'Split the file.')];
    else
      elements := bpm_core.bpmn_elements(v_xml);
    end if;
  exception
    when data_exception or internal_error then
      get stacked diagnostics v_message = message_text, v_detail = pg_exception_detail;
      findings := array[bpm_core.xml_fault(p_xml, v_message, v_detail)];
  end;
end
$$;

-- from 20_catalog/read_expression.sql
-- Reads one whole expression: JUEL in ${…} or #{…}, FEEL after =, or bare text, which is read as JUEL (as FEEL when the language says so).
-- Marks win over the language stated: many files say XPath over a JUEL text.
-- Returns:  tree, or problem and the position of it in the source; bare: it had no marks.
create or replace function bpm_core.read_expression(
  p_source text, p_language text, out tree jsonb, out problem text, out at integer, out bare boolean)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_juel   text[] := regexp_match(p_source, '^(\s*[$#]\{)(.*)\}\s*$');
  v_equals text[] := regexp_match(p_source, '^(\s*=)(?!=)(.*)$');
  v_feel   boolean := v_equals is not null or (v_juel is null and coalesce(p_language ~* 'feel', false));
  v_marks  text[] := coalesce(v_juel, v_equals, array['', p_source]);
  v_tokens bpm_core.expression_token[];
  v_step   bpm_core.expression_step;
begin
  bare := v_juel is null and v_equals is null;
  at := 1;
  if length(p_source) > 4000 then
    problem := 'it is longer than 4000 characters';
    return;
  elsif bare and p_language !~* '(juel|feel|xpath|/el$|^el$)' then
    problem := format('the language %s is not understood', left(p_language, 100));
    return;
  end if;
  v_tokens := bpm_core.expression_tokens(v_marks[2], v_feel, length(v_marks[1]));
  v_step := bpm_core.parse_expression(v_tokens, 1, 0, v_feel, 0);
  if v_step.problem is null and (v_tokens[v_step.next]).kind <> 'end' then
    v_step.problem := format('%s is not understood here', left((v_tokens[v_step.next]).value, 40));
    v_step.at := (v_tokens[v_step.next]).at;
  end if;
  -- Evaluation nests as deeply as the tree, also where the text did not: a - b - c …
  if v_step.problem is null and jsonb_path_exists(v_step.tree, 'strict $.**{120}') then
    v_step.problem := 'nested too deeply';
    v_step.at := 1;
  end if;
  problem := v_step.problem;
  at := v_step.at;
  tree := case when problem is null then v_step.tree end;
end
$$;

-- from 20_catalog/read_pattern.sql
-- Translates a regular expression as Java and XPath write it into one of PostgreSQL. It has to be a literal, so that it can be tried here,
-- and is matched in time linear in the text: no back references and no looking around, no counts beyond 100, at most 300 characters.
-- Returns:  pattern, or problem.
create or replace function bpm_core.read_pattern(p_tree jsonb, p_flags jsonb, p_whole boolean, out pattern text, out problem text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text    text := p_tree ->> 'value';
  v_inline  text[] := regexp_match(v_text, '^\(\?([ismx]+)\)(.*)$');
  v_flags   text := coalesce(p_flags ->> 'value', '') || coalesce(v_inline[1], '');
begin
  v_text := coalesce(v_inline[2], v_text);
  if v_text is null or jsonb_typeof(p_tree -> 'value') <> 'string' or p_flags ->> 'op' <> 'value' then
    problem := 'a pattern has to be a literal text';
  elsif v_flags !~ '^[ismx]*$' then
    problem := format('the flags %s of a pattern are not understood', left(v_flags, 20));
  elsif length(v_text) > 300 then
    problem := 'a pattern may have 300 characters';
  elsif v_text ~ '^\*\*\*' or v_text ~ '^(\\\\|\\?[^\\])*\\[1-9BpPkQEG]' or v_text ~ '\(\?[<P>=!]' or exists (
          select from regexp_matches(v_text, '\{(\d+)(?:,(\d*))?\}', 'g') m where length(m[1]) > 3 or length(m[2]) > 3 or m[1]::integer > 100 or nullif(m[2], '')::integer > 100)
        or (select count(*) from regexp_matches(v_text, '\{\d', 'g')) > 5 then
    problem := 'the pattern has forms that are not understood';
  else
    pattern := (select string_agg(case m[1] when '\b' then '\y' when '\z' then '\Z' else m[1] end, '' order by ord)
                  from regexp_matches(v_text, '(\\.|[^\\]+|\\$)', 'gs') with ordinality r(m, ord));
    pattern := case when p_whole then '^(?:' || pattern || ')$' else coalesce(pattern, '') end;
    v_flags := case when v_flags ~ 'i' then 'i' else '' end || case when v_flags ~ 'x' then 'x' else '' end
               || case when v_flags ~ 's' then case when v_flags ~ 'm' then 'w' else 's' end when v_flags ~ 'm' then 'n' else 'p' end;
    pattern := '(?' || v_flags || ')' || pattern;
    begin
      if '' ~ pattern then
        return;
      end if;
    exception
      when data_exception or program_limit_exceeded or internal_error then
        pattern := null;
        problem := 'the pattern is no regular expression';
    end;
  end if;
end
$$;

-- from 20_catalog/read_template.sql
-- Reads a text with expressions in it: Order ${id} of ${customer.name}. Each is an expression of its own; a brace inside a string literal ends none.
-- Returns:  tree, or problem and its position.
create or replace function bpm_core.read_template(p_source text, out tree jsonb, out problem text, out at integer)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_args jsonb := '[]'::jsonb;
  v_from integer := 1;
  v_part text;
  r_inner record;
begin
  at := 1;
  if length(p_source) > 4000 then
    problem := 'it is longer than 4000 characters';
    return;
  end if;
  for v_part in
    select m[1] from regexp_matches(p_source, '([$#]\{(?:"(?:[^"\\]|\\.)*"|''(?:[^''\\]|\\.)*''|[^"''}])*\}|[$#]\{(?!(?:"(?:[^"\\]|\\.)*"|''(?:[^''\\]|\\.)*''|[^"''}])*\}).*|(?:[^$#]|[$#](?!\{))+)', 'g') m
  loop
    if v_part ~ '^[$#]\{' then
      if v_part !~ '\}$' then
        problem := 'a closing brace is missing';
        at := v_from;
        return;
      end if;
      select r.tree, r.problem, r.at into r_inner from bpm_core.read_expression(v_part, null) r;
      if r_inner.problem is not null then
        problem := r_inner.problem;
        at := v_from + r_inner.at - 1;
        return;
      end if;
      v_args := v_args || jsonb_build_array(r_inner.tree);
    else
      v_args := v_args || jsonb_build_array(jsonb_build_object('op', 'value', 'value', v_part));
    end if;
    v_from := v_from + length(v_part);
  end loop;
  tree := case when jsonb_array_length(v_args) = 1 then v_args -> 0 else jsonb_build_object('op', 'call', 'name', 'template', 'args', v_args) end;
end
$$;

-- from 20_catalog/read_time.sql
-- Reads a time as an evaluation holds it, or as people write it.
-- Returns:  kind (date, instant, time, duration; null: it is none), at of a date or instant, span of a time of day or duration.
create or replace function bpm_core.read_time(p_text text, out kind text, out at timestamptz, out span interval)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text constant text := regexp_replace(btrim(p_text), '^__(date|instant|time|duration):', '');
begin
  if length(v_text) > 60 then
    return;
  elsif v_text ~ '^-?P' then
    span := case when v_text ~ '^P.*-' then v_text::interval when starts_with(v_text, '-') then -bpm_core.parse_duration(substr(v_text, 2)) else bpm_core.parse_duration(v_text) end;
    kind := case when span is not null then 'duration' end;
  elsif v_text ~ '^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$' then
    span := v_text::interval;
    kind := 'time';
  else
    at := bpm_core.parse_timestamp(v_text);
    kind := case when at is null or at not between '0001-01-01Z' and '9999-12-31Z' then null when v_text ~ 'T' then 'instant' else 'date' end;
  end if;
exception
  when data_exception then
    kind := null;
end
$$;

-- from 20_catalog/refuse_faults.sql
-- Refuses a file that has faults.
-- Raises:   BP422 with all of them in the detail (of a file with more than 1,000: the first 1,000), the first in the message.
create or replace function bpm_core.refuse_faults(p_findings bpm_core.finding[])
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_faults jsonb := bpm_core.findings_json(array(select f::bpm_core.finding from unnest(p_findings) f limit 1000), 'fault');
  v_count  integer := (select count(*)::integer from unnest(p_findings) f where f.severity = 'fault');
begin
  if v_count > 0 then
    perform bpm_core.fail('BP422',
      format('The file has %s; nothing was stored. %s: %s', case v_count when 1 then 'a fault' else v_count || ' faults' end,
             v_faults #>> '{0,code}', v_faults #>> '{0,message}'),
      jsonb_build_object('faults', v_faults, 'warnings', case when v_count <= 1000 then bpm_core.findings_json(p_findings, 'warning') else '[]' end, 'count', v_count),
      'bpm.check_bpmn lists every fault with its line.');
  end if;
end
$$;

-- from 20_catalog/register_destination.sql
-- Registers where commands go and how the receiver behaves, or changes it: what is not given falls back to its default. Commands already
-- written keep the destination as it was.
-- p_key_header: the header that carries the command's id. p_key_retention: how long the receiver remembers it. p_conflict_means: what a 409
-- says of our key (Failed: reused; Sent: already done; Pending: in progress). p_resend_allowed: it honours keys. p_server_error_safe: its
-- 5xx mean that nothing was stored. p_receipt_path: what an answer must hold to count as a receipt.
-- Returns:  text, the code.
-- Raises:   BP400 bad code. BP422 configuration or profile refused, with the reason. BP403.
-- Writes:   destination, audit_event.
create or replace function bpm.register_destination(
  p_code text, p_kind text default 'http', p_config jsonb default '{}', p_secret_ref text default null, p_key_header text default 'Idempotency-Key',
  p_key_retention interval default interval '24 hours', p_conflict_means text default 'Failed', p_resend_allowed boolean default false,
  p_server_error_safe boolean default false, p_receipt_path text default null, p_max_attempts integer default 10,
  p_backoff interval default interval '1 second', p_backoff_cap interval default interval '5 minutes', p_lease interval default interval '60 seconds',
  p_ordered boolean default false, p_actor text default null, p_tenant_id text default '')
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor text;
  v_now   timestamptz := bpm_core.now();
  v_fault text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(length(btrim(p_code)), 0) not between 1 and 200 then
    perform bpm_core.fail('BP400', 'The code of a destination has 1 to 200 characters.');
  end if;
  v_fault := coalesce(
    bpm_core.destination_fault(p_kind, p_config, p_secret_ref, p_key_header, p_receipt_path),
    bpm_core.profile_fault(p_key_retention, p_conflict_means, p_max_attempts, p_backoff, p_backoff_cap, p_lease),
    case when p_resend_allowed is null or p_server_error_safe is null or p_ordered is null then 'A flag of the profile is null.' end);
  if v_fault is not null then
    perform bpm_core.fail('BP422', v_fault, jsonb_build_object('code', p_code), 'See register_destination in the reference.');
  end if;
  insert into bpm_core.destination as d (
    tenant_id, id, code, kind, secret_ref, config, key_header, key_retention, conflict_means, resend_allowed, server_error_safe, receipt_path,
    max_attempts, backoff, backoff_cap, lease, ordered, created_by, created_at, updated_at)
  values (
    p_tenant_id, bpm_core.new_id(), p_code, p_kind, p_secret_ref, p_config, p_key_header, p_key_retention, p_conflict_means, p_resend_allowed,
    p_server_error_safe, p_receipt_path, p_max_attempts, p_backoff, p_backoff_cap, p_lease, p_ordered, v_actor, v_now, v_now)
  on conflict (tenant_id, code) do update
     set kind = excluded.kind, secret_ref = excluded.secret_ref, config = excluded.config, key_header = excluded.key_header,
         key_retention = excluded.key_retention, conflict_means = excluded.conflict_means, resend_allowed = excluded.resend_allowed,
         server_error_safe = excluded.server_error_safe, receipt_path = excluded.receipt_path, max_attempts = excluded.max_attempts,
         backoff = excluded.backoff, backoff_cap = excluded.backoff_cap, lease = excluded.lease, ordered = excluded.ordered, updated_at = excluded.updated_at;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'RegisterDestination', 'destination', p_code, null, null,
    jsonb_build_object('kind', p_kind, 'url', p_config ->> 'url', 'resend_allowed', p_resend_allowed));
  return p_code;
end
$$;

-- from 20_catalog/resolve_nodes.sql
-- Fills in what a node needs to run: the number of its flows, task type, error code, message, timer, kind. The start event of an event sub-process
-- is attached to the sub-process around that, as a boundary event is.
-- Conditions on the node stand inside the lateral queries, fenced, so that a function is not even called for a node it does not concern.
-- Returns:  draft_node[], in the order given. What could not be resolved stays null and is judged by the find_… functions.
create or replace function bpm_core.resolve_nodes(
  p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], p_approval_types text[])
returns bpm_core.draft_node[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.* from unnest(p_nodes) n),
  host as (select distinct n.scope_pos, n.node_id from node n),
  leaving as (
    select f.scope_pos, f.source_id as node_id, count(*)::integer as flows, (count(*) filter (where f.condition_source is not null))::integer as conditional
      from unnest(p_flows) f group by f.scope_pos, f.source_id
  ),
  arriving as (select f.scope_pos, f.target_id as node_id, count(*)::integer as flows from unnest(p_flows) f group by f.scope_pos, f.target_id),
  called as materialized (select c.* from bpm_core.drawn_calls(p_elements) c),
  definition as materialized (select d.* from bpm_core.bpmn_definitions(p_elements) d)
  select coalesce(array_agg(row(
           n.pos, n.process_pos, n.scope_pos, n.scope_id, n.scope_tag, n.node_id, n.tag, n.name, n.attributes, n.extensions, n.event, n.definition,
           n.default_ref, case when sub.node_id is not null then sub.scope_id else coalesce(h.node_id, regexp_replace(n.attached_to, '^[^:]*:', '')) end, n.interrupting, n.loop, n.lane, n.documentation,
           coalesce(a.flows, 0), coalesce(l.flows, 0), coalesce(l.conditional, 0),
           case
             when sub.node_id is not null then bpm_core.inner_start_kind(n.event)
             when n.tag = 'startEvent' and n.scope_id is not null then case n.event when 'none' then 'StartEvent'::bpm_core.node_kind end
             when n.tag = 'subProcess' and n.attributes @> '{"triggeredByEvent": "true"}' then 'EventSubProcess'
             else bpm_core.bpmn_node_kind(n.tag, n.event, coalesce(a.flows, 0), coalesce(l.flows, 0), coalesce(l.conditional, 0),
                                          n.attributes ->> 'bpm:approval' = 'required' or tt.task_type = any (p_approval_types),
                                          tt.task_type is not null)
           end,
           case n.tag when 'userTask' then 'bpm:user' else tt.task_type end,
           e.error_code, coalesce(m.message_name, s.name), m.correlation_path, t.kind, t.rule, t.path,
           n.expressions || case when c.spec is null then '{}' else jsonb_build_object('call', c.spec) end
                         || case when x.tree is null then '{}' else jsonb_build_object('condition', x.tree) end
                         || case when m.correlation is null then '{}' else jsonb_build_object('correlation', m.correlation) end
                         || case when o.outputs is null then '{}' else jsonb_build_object('outputs', o.outputs) end
                         || case when i.inputs is null then '{}' else jsonb_build_object('inputs', i.inputs) end)::bpm_core.draft_node order by n.pos), '{}')
    from node n
    left join called c on c.node_pos = n.pos
    left join leaving l on l.scope_pos = n.scope_pos and l.node_id = n.node_id
    left join arriving a on a.scope_pos = n.scope_pos and a.node_id = n.node_id
    left join node sub on n.tag = 'startEvent' and sub.process_pos = n.process_pos and sub.node_id = n.scope_id and sub.tag = 'subProcess'
                      and sub.attributes @> '{"triggeredByEvent": "true"}'
    left join host h on h.scope_pos = n.scope_pos and h.node_id = n.attached_to
    left join lateral (
      select x.task_type from bpm_core.drawn_task_type(n.node_id, n.attributes, n.extensions) x where n.tag in ('serviceTask', 'sendTask', 'scriptTask', 'businessRuleTask')
      union all
      select bpm_core.drawn_send_type(n.node_id, n.attributes, n.definition, n.extensions)
       where n.event = 'message' and n.tag in ('intermediateThrowEvent', 'endEvent')) tt on true
    left join definition d on d.id = bpm_core.local_reference(coalesce(n.definition ->> 'errorRef', n.definition ->> 'messageRef',
                                                                      n.definition ->> 'signalRef', n.definition ->> 'escalationRef', n.attributes ->> 'messageRef'))
                          and d.tag in ('error', 'message', 'signal', 'escalation')
    left join lateral (
      select nullif(btrim(d.attributes ->> (d.tag || 'Code')), '') as error_code where n.event = d.tag and d.tag in ('error', 'escalation') offset 0) e on true
    left join lateral (select coalesce(d.name, d.id) as name where n.event = 'signal' and d.tag = 'signal' offset 0) s on true
    left join lateral (
      select x.* from bpm_core.drawn_message(n.attributes, d.id, d.name, d.attributes, d.extensions) x
       where d.tag = 'message' and (n.event = 'message' or n.tag = 'receiveTask') offset 0) m on true
    left join lateral (
      select x.* from bpm_core.drawn_timer(n.definition ->> 'timer_kind', n.definition ->> 'timer_rule') x where n.event = 'timer' offset 0) t on true
    left join lateral (
      select x.tree from bpm_core.compile_expression(n.definition ->> 'condition', false) x where n.event = 'conditional' and n.definition ? 'condition' offset 0) x on true
    left join lateral (
      select x.mappings as outputs from bpm_core.drawn_mappings(n.extensions, 'out') x
       where n.extensions ? 'mappings' and (n.tag = 'receiveTask' or n.event = 'message'
         or (n.tag in ('subProcess', 'transaction') and coalesce(n.attributes ->> 'triggeredByEvent', 'false') <> 'true')) offset 0) o on true
    left join lateral (
      select x.mappings as inputs from bpm_core.drawn_mappings(n.extensions, 'in') x
       where n.extensions ? 'mappings' and n.tag in ('subProcess', 'transaction')
         and coalesce(n.attributes ->> 'triggeredByEvent', 'false') <> 'true' offset 0) i on true
$$;

-- from 20_catalog/round_half_even.sql
-- A number with p_scale digits after the point; what lies in the middle goes to the even neighbour, as FEEL's decimal says.
create or replace function bpm_core.round_half_even(p_number numeric, p_scale integer)
returns numeric
language sql immutable parallel safe
as $$
  select case when abs(p_number - trunc(p_number, p_scale)) * 2 = 10::numeric ^ (-p_scale) and mod(trunc(p_number, p_scale) * 10::numeric ^ p_scale, 2) = 0
              then trunc(p_number, p_scale) else round(p_number, p_scale) end
$$;

-- from 20_catalog/scale_duration.sql
-- A duration times a number.
-- Returns:  jsonb; null when it is no duration, or the result is out of range.
create or replace function bpm_core.scale_duration(p_text text, p_factor numeric)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
declare
  v_span constant interval := (select t.span from bpm_core.read_time(p_text) t where t.kind = 'duration');
begin
  return case when abs(extract(epoch from v_span)) * abs(p_factor) < 1e11 and abs(p_factor) < 1e11 then to_jsonb('__duration:' || (v_span * p_factor::double precision)::text) end;
end
$$;

-- from 20_catalog/shift_time.sql
-- A time moved by a duration, the sum or difference of two durations, or the duration between two points in time.
-- Returns:  jsonb; null when the two do not go together, or the result is out of range.
create or replace function bpm_core.shift_time(p_direction text, p_left text, p_right text)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
declare
  r_left  record;
  r_right record;
  v_sign  constant integer := case p_direction when 'minus' then -1 else 1 end;
  v_at    timestamp;
begin
  select t.kind, t.at at time zone 'UTC' as at, t.span into r_left from bpm_core.read_time(p_left) t;
  select t.kind, t.at at time zone 'UTC' as at, t.span into r_right from bpm_core.read_time(p_right) t;
  if abs(extract(epoch from r_left.span)) > 1e12 or abs(extract(epoch from r_right.span)) > 1e12 then
    return null;
  elsif r_left.kind = 'duration' and r_right.kind = 'duration' then
    return to_jsonb('__duration:' || (r_left.span + v_sign * r_right.span)::text);
  elsif r_left.kind in ('date', 'instant') and r_right.kind in ('date', 'instant') and v_sign = -1 then
    return to_jsonb('__duration:' || (r_left.at - r_right.at)::text);
  elsif r_left.kind = 'duration' and r_right.kind in ('date', 'instant') and v_sign = 1 then
    return bpm_core.shift_time('plus', p_right, p_left);
  elsif r_left.kind in ('date', 'instant') and r_right.kind = 'duration' then
    v_at := r_left.at + v_sign * r_right.span;
    return case
      when v_at not between '0001-01-01' and '9999-12-31' then null
      when r_left.kind = 'date' and v_at = date_trunc('day', v_at) then to_jsonb('__date:' || to_char(v_at, 'YYYY-MM-DD'))
      else bpm_core.instant_value(v_at at time zone 'UTC') end;
  end if;
  return null;
end
$$;

-- from 20_catalog/store_inclusive_joins.sql
-- Keeps what the inclusive joins of a new version need to know of their graph: nothing when it has none.
-- Writes:   inclusive_flow, inclusive_reach.
create or replace function bpm_core.store_inclusive_joins(p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_places bpm_core.inclusive_flow[];
begin
  if not exists (select from unnest(p_nodes) n where n.kind = 'InclusiveJoin') then
    return;
  end if;
  v_places := array(select r from bpm_core.inclusive_flow_rows(p_nodes, p_flows) r);
  insert into bpm_core.inclusive_flow select r.* from unnest(v_places) r;
  insert into bpm_core.inclusive_reach select r.* from bpm_core.inclusive_reach_rows(p_nodes, p_flows, v_places) r;
end
$$;

-- from 20_catalog/store_task_version.sql
-- Publishes a task version unless the published one says the same already.
-- Returns:  version number, its id, and whether it is new.
-- Writes:   task_definition, task_version.
-- Locks:    the task_definition row: publishers of one task take turns.
create or replace function bpm_core.store_task_version(
  p_tenant_id text, p_code text, p_draft bpm_core.task_version, p_actor text, out version integer, out version_id uuid, out is_new boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_definition uuid;
  v_published  uuid;
  v_hash       bytea := bpm_core.task_content_hash(p_draft);
begin
  insert into bpm_core.task_definition (tenant_id, id, code, created_at)
  values (p_tenant_id, bpm_core.new_id(), p_code, bpm_core.now())
  on conflict (tenant_id, code) do nothing;
  perform 1 from bpm_core.task_definition d where d.tenant_id = p_tenant_id and d.code = p_code for no key update;
  select d.id, d.published_version_id into v_definition, v_published
    from bpm_core.task_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
  select v.version, v.id into version, version_id
    from bpm_core.task_version v where v.tenant_id = p_tenant_id and v.id = v_published and v.content_hash = v_hash;
  is_new := version is null;
  if not is_new then
    return;
  end if;
  select coalesce(max(v.version), 0) + 1 into version
    from bpm_core.task_version v where v.tenant_id = p_tenant_id and v.definition_id = v_definition;
  version_id := bpm_core.new_id();
  p_draft.tenant_id := p_tenant_id;
  p_draft.id := version_id;
  p_draft.definition_id := v_definition;
  p_draft.version := version;
  p_draft.status := 'Published';
  p_draft.content_hash := v_hash;
  p_draft.created_by := p_actor;
  p_draft.published_at := bpm_core.now();
  insert into bpm_core.task_version select p_draft.*;
  update bpm_core.task_definition d set published_version_id = version_id where d.tenant_id = p_tenant_id and d.id = v_definition;
end
$$;

-- from 20_catalog/stored_attributes.sql
-- What of a node goes into workflow_node.attributes: what execution does not look at on every hop.
create or replace function bpm_core.stored_attributes(p_attributes jsonb, p_extensions jsonb, p_lane text, p_documentation text, p_timer_path text)
returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  -- Mappings, headers and scripts are stored compiled.
  v_drawn   jsonb := p_extensions - array['mappings', 'headers', 'script'];
  v_foreign jsonb := p_attributes - array['id', 'name', 'default', 'attachedToRef', 'cancelActivity', 'messageRef'];
  v_own     jsonb := jsonb_strip_nulls(jsonb_build_object('documentation', p_documentation, 'lane', p_lane, 'timer_path', p_timer_path));
begin
  if v_foreign = '{}' and v_drawn = '{}' then
    return v_own;
  end if;
  return v_own || jsonb_strip_nulls(jsonb_build_object(
    'await', p_attributes ->> 'bpm:await',
    'assignee', coalesce(bpm_core.vendor_attribute(p_attributes, 'assignee'), p_extensions #>> '{zeebe:assignmentDefinition,assignee}'),
    'candidate_groups', coalesce(bpm_core.vendor_attribute(p_attributes, 'candidateGroups'), p_extensions #>> '{zeebe:assignmentDefinition,candidateGroups}'),
    'candidate_users', coalesce(bpm_core.vendor_attribute(p_attributes, 'candidateUsers'), p_extensions #>> '{zeebe:assignmentDefinition,candidateUsers}'),
    'due_date', coalesce(bpm_core.vendor_attribute(p_attributes, 'dueDate'), p_extensions #>> '{zeebe:taskSchedule,dueDate}'),
    'follow_up_date', coalesce(bpm_core.vendor_attribute(p_attributes, 'followUpDate'), p_extensions #>> '{zeebe:taskSchedule,followUpDate}'),
    'form_key', coalesce(bpm_core.vendor_attribute(p_attributes, 'formKey'), bpm_core.vendor_attribute(p_attributes, 'formRef'),
                         p_extensions #>> '{zeebe:formDefinition,formId}', p_extensions #>> '{zeebe:formDefinition,formKey}'),
    'drawn', nullif(v_foreign, '{}'),
    'extensions', nullif(v_drawn, '{}')));
end
$$;

-- from 20_catalog/task_content_hash.sql
-- The hash that proves a task version unchanged, over everything it says.
create or replace function bpm_core.task_content_hash(p_version bpm_core.task_version)
returns bytea
language sql stable
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
  select sha256(convert_to((to_jsonb(p_version) - array['tenant_id', 'id', 'definition_id', 'version', 'status', 'content_hash', 'created_by', 'published_at'])::text, 'UTF8'))
$$;

-- from 20_catalog/time_part.sql
-- A part of a time: year, month, day, hour, minute, second, weekday (1 Monday), of a point in time in UTC; of a duration years to seconds.
-- Returns:  jsonb number; JSON null when it has no such part.
create or replace function bpm_core.time_part(p_text text, p_name text)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  r_time record;
begin
  select t.kind, t.at at time zone 'UTC' as at, t.span into r_time from bpm_core.read_time(p_text) t;
  return coalesce(to_jsonb(trim_scale(case
    when r_time.kind = 'duration' then case p_name when 'years' then extract(year from r_time.span) when 'months' then extract(month from r_time.span)
      when 'days' then extract(day from r_time.span) when 'hours' then extract(hour from r_time.span) when 'minutes' then extract(minute from r_time.span)
      when 'seconds' then extract(second from r_time.span) end
    when r_time.kind = 'time' or (r_time.kind = 'instant' and p_name in ('hour', 'minute', 'second')) then case p_name
      when 'hour' then extract(hour from coalesce(r_time.span, r_time.at::time::interval)) when 'minute' then extract(minute from coalesce(r_time.span, r_time.at::time::interval))
      when 'second' then extract(second from coalesce(r_time.span, r_time.at::time::interval)) end
    when r_time.kind in ('date', 'instant') then case p_name when 'year' then extract(year from r_time.at) when 'month' then extract(month from r_time.at)
      when 'day' then extract(day from r_time.at) when 'weekday' then extract(isodow from r_time.at) end end)), 'null');
end
$$;

-- from 20_catalog/time_value.sql
-- A date, point in time, time of day or duration, as an evaluation holds it: __date:…, __instant:…, __time:… or __duration:…, with ISO 8601 behind.
-- Without a zone a time is UTC. p_kind: what it has to be; null: whatever it looks like. A point in time becomes a date at midnight UTC.
-- Returns:  jsonb text; null when it is none.
create or replace function bpm_core.time_value(p_text text, p_kind text)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
declare
  r_time record;
begin
  select t.kind, t.at, t.span into r_time from bpm_core.read_time(p_text) t;
  return case
    when r_time.kind = 'duration' and coalesce(p_kind, 'duration') = 'duration' then to_jsonb('__duration:' || r_time.span::text)
    when r_time.kind = 'time' and coalesce(p_kind, 'time') = 'time' then to_jsonb('__time:' || to_char(r_time.span, 'HH24:MI:SS'))
    when r_time.kind in ('date', 'instant') and coalesce(p_kind, r_time.kind) = 'date' then to_jsonb('__date:' || to_char(r_time.at at time zone 'UTC', 'YYYY-MM-DD'))
    when r_time.kind in ('date', 'instant') and coalesce(p_kind, r_time.kind) = 'instant' then bpm_core.instant_value(r_time.at)
    when r_time.kind in ('date', 'instant') and p_kind = 'time' then to_jsonb('__time:' || to_char(r_time.at at time zone 'UTC', 'HH24:MI:SS')) end;
end
$$;

-- from 20_catalog/timed_tree.sql
-- A tree that calculates with times says so at its root: only then evaluation asks for the clock, and looks for times in its result.
create or replace function bpm_core.timed_tree(p_tree jsonb)
returns jsonb
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when p_tree::text ~ '"name": "(now|today|date|time|date and time|duration|literal time)"' then p_tree || '{"timed": true}' else p_tree end
$$;

-- from 20_catalog/timer_at.sql
-- The k-th point of a timer's grid (k = 0 is the anchor). Months and days are added in UTC, whatever the session's zone is.
create or replace function bpm_core.timer_at(p_anchor timestamptz, p_step interval, p_k bigint)
returns timestamptz
language sql immutable parallel safe
as $$ select (p_anchor at time zone 'UTC' + p_step * p_k) at time zone 'UTC' $$;

-- from 20_catalog/timer_first.sql
-- When a timer that is armed now falls due first.
-- A cycle keeps the grid anchor + k * step: without a start its anchor is now and the first point k = 1; with a start it is k = 0, or the
-- first point not yet past (missed ones count as used; when all are past, the last one is due at once).
-- Returns:  one row: anchor_at, step (cycles), scheduled_at, and remaining: how often it still fires, this time included (null: for ever).
--           No row when the rule is not valid for its kind; at deploy that is a fault, at run time it can come from a variable.
create or replace function bpm_core.timer_first(p_kind text, p_rule text, p_now timestamptz)
returns table (anchor_at timestamptz, step interval, scheduled_at timestamptz, remaining integer)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_repeats integer;
  v_starts  timestamptz;
  v_k       bigint;
begin
  remaining := 1;
  if p_kind = 'Duration' then
    anchor_at := p_now;
    scheduled_at := bpm_core.timer_at(p_now, bpm_core.parse_duration(p_rule), 1);
  elsif p_kind = 'Date' then
    anchor_at := bpm_core.parse_timestamp(p_rule);
    scheduled_at := anchor_at;
  elsif p_kind = 'Cycle' then
    select c.repeats, c.starts_at, c.step into v_repeats, v_starts, step from bpm_core.parse_cycle(p_rule) c;
    anchor_at := coalesce(v_starts, p_now);
    v_k := case when v_starts is null then 1 else least(bpm_core.timer_point(v_starts, step, p_now), v_repeats - 1) end;
    scheduled_at := bpm_core.timer_at(anchor_at, step, v_k);
    remaining := (v_repeats - v_k)::integer + case when v_starts is null then 1 else 0 end;
  end if;
  if scheduled_at is not null then
    return next;
  end if;
end
$$;

-- from 20_catalog/timer_next.sql
-- The next point of a cycle's grid after one that fired: strictly after it and, when the clock is already further (downtime), the first
-- one at or after the clock. skipped counts the points passed over; what they mean is the catch-up policy of the caller.
-- Returns:  scheduled_at, skipped.
create or replace function bpm_core.timer_next(p_anchor timestamptz, p_step interval, p_scheduled timestamptz, p_now timestamptz, out scheduled_at timestamptz, out skipped bigint)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_next bigint := bpm_core.timer_point(p_anchor, p_step, p_scheduled) + 1;
  v_k    bigint := greatest(v_next, bpm_core.timer_point(p_anchor, p_step, p_now));
begin
  scheduled_at := bpm_core.timer_at(p_anchor, p_step, v_k);
  skipped := v_k - v_next;
end
$$;

-- from 20_catalog/timer_point.sql
-- The number of the first point of a grid at or after a time. Steps of months have no fixed length, so the estimate by average
-- length is corrected by walking; it is never off by more than a few steps.
-- Returns:  bigint, 0 or more.
create or replace function bpm_core.timer_point(p_anchor timestamptz, p_step interval, p_after timestamptz)
returns bigint
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_k bigint;
begin
  if p_after <= p_anchor then
    return 0::bigint;
  end if;
  v_k := greatest(floor(extract(epoch from p_after - p_anchor) / extract(epoch from p_step))::bigint - 1, 0);
  while v_k > 0 and bpm_core.timer_at(p_anchor, p_step, v_k - 1) >= p_after loop
    v_k := v_k - 1;
  end loop;
  while bpm_core.timer_at(p_anchor, p_step, v_k) < p_after loop
    v_k := v_k + 1;
  end loop;
  return v_k;
end
$$;

-- from 20_catalog/token_kind.sql
-- What a word of an expression is; operators by their canonical spelling.
create or replace function bpm_core.token_kind(p_word text, p_feel boolean)
returns text
language sql immutable parallel safe
as $$
  select case
    when ascii(p_word) between 48 and 57 then 'number'
    when p_word in ('true', 'false', 'null', 'and', 'or', 'not', '(', ')', '.', '-', '+', '*', '/', ',', '[', ']', ':') then p_word
    when not p_feel and p_word in ('empty', 'eq', 'ne', 'lt', 'le', 'gt', 'ge', '%', '?') then p_word
    when not p_feel and p_word in ('div', 'mod') then case p_word when 'div' then '/' else '%' end
    when ascii(p_word) between 65 and 90 or ascii(p_word) between 97 and 122 or ascii(p_word) in (36, 95) or ascii(p_word) > 127 then 'name'
    when length(p_word) > 1 and (ascii(p_word) = 34 or (ascii(p_word) = 39 and not p_feel)) then 'string'
    when p_word = '>' then 'gt'
    when p_word = '<' then 'lt'
    when p_word = '>=' then 'ge'
    when p_word = '<=' then 'le'
    when p_word = '!=' then 'ne'
    when p_word = case when p_feel then '=' else '==' end then 'eq'
    when p_feel then case when p_word in ('{', '}', '..', '**', '@') then p_word else 'bad' end
    when p_word = '&&' then 'and'
    when p_word = '||' then 'or'
    when p_word = '!' then 'not'
    else 'bad'
  end
$$;

-- from 20_catalog/tree_weight.sql
-- How many nodes a tree has, about.
create or replace function bpm_core.tree_weight(p_tree jsonb)
returns integer
language sql immutable parallel safe
as $$ select 1 + (length(p_tree::text) - length(replace(p_tree::text, '"op": ', ''))) / 6 $$;

-- from 20_catalog/truth.sql
-- What a value says when it is asked for true or false: null only where it was read from the variables, and then it is not true.
create or replace function bpm_core.truth(p_tree jsonb, p_value jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select case jsonb_typeof(p_value) when 'boolean' then p_value::boolean
                                    when 'null' then case when p_tree ->> 'op' in ('path', 'member', 'index') or p_tree ->> 'name' = 'get' then false end end
$$;

-- from 20_catalog/unescape.sql
-- The inside of a string literal without its escapes: quotes and backslashes, line breaks and tabs, \uXXXX. Any other backslash stands for
-- itself, as patterns have them: "\d+".
create or replace function bpm_core.unescape(p_text text)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if position('\' in p_text) = 0 then
    return p_text;
  end if;
  return (
    select string_agg(case
             when m[1] ~ '^\\u' and m[1] !~* '^\\u(0000|d[89a-f])' then chr(('x' || lpad(substr(m[1], 3), 8, '0'))::bit(32)::integer)
             when m[1] = '\n' then E'\n' when m[1] = '\r' then E'\r' when m[1] = '\t' then E'\t'
             when m[1] in ('\\', '\"', '\''') then substr(m[1], 2)
             else m[1] end, '' order by ord)
      from regexp_matches(p_text, '(\\u[0-9a-fA-F]{4}|\\.|[^\\]+|\\)', 'g') with ordinality r(m, ord));
end
$$;

-- from 20_catalog/vendor_attribute.sql
-- An attribute under whichever extension namespace carries it.
-- Returns:  text, trimmed; null when absent or empty.
create or replace function bpm_core.vendor_attribute(p_attributes jsonb, p_name text)
returns text
language sql immutable parallel safe
as $$
  select coalesce(nullif(btrim(p_attributes ->> ('bpm:' || p_name)), ''), nullif(btrim(p_attributes ->> ('camunda:' || p_name)), ''),
                  nullif(btrim(p_attributes ->> ('flowable:' || p_name)), ''))
$$;

-- from 20_catalog/warning.sql
-- Makes one warning about a BPMN file: odd but runnable.
create or replace function bpm_core.warning(p_code text, p_message text, p_node_id text default null, p_flow_id text default null, p_hint text default null)
returns bpm_core.finding
language sql immutable parallel safe
as $$ select row('warning', p_code, p_message, p_node_id, p_flow_id, null, p_hint)::bpm_core.finding $$;

-- from 20_catalog/wish_problem.sql
-- What is wrong with a wish that is a plain text. Dates are ISO 8601 dates or durations from the moment the task is offered; priorities are
-- high, normal, low, or a number.
-- Returns:  text; null when nothing is.
create or replace function bpm_core.wish_problem(p_name text, p_text text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_name in ('due', 'follow_up') and bpm_core.parse_timestamp(p_text) is null and bpm_core.parse_duration(p_text) is null
      then format('%s date %s is neither an ISO 8601 date nor a duration', case p_name when 'due' then 'due' else 'follow-up' end, quote_literal(left(p_text, 50)))
    when p_name = 'priority' and bpm_core.priority_level(to_jsonb(p_text), 50) is null
      then format('priority %s is not high, normal or low, nor a number', quote_literal(left(p_text, 50))) end
$$;

-- from 20_catalog/wrap_bodies.sql
-- Puts the inside of a process that has event sub-processes at its root into a sub-process of its own, <process>:body: what waits for them is then the token
-- of that, and the kernel needs no other case. The start events stay outside; inside, each is continued by <start event>:in.
-- Returns:  nodes and flows, not yet lowered.
create or replace function bpm_core.wrap_bodies(
  p_processes bpm_core.draft_process[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[],
  out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_process bpm_core.draft_process;
  v_node    bpm_core.draft_node;
  v_body    text;
begin
  nodes := p_nodes;
  flows := p_flows;
  foreach v_process in array p_processes loop
    continue when not exists (select from unnest(p_nodes) n where n.process_pos = v_process.pos and n.scope_id is null and n.kind = 'EventSubProcess');
    v_body := v_process.process_id || ':body';
    foreach v_node in array p_nodes loop
      continue when v_node.process_pos <> v_process.pos or v_node.scope_id is not null or v_node.tag <> 'startEvent';
      flows := array(select bpm_core.leave_from(f, v_node.scope_pos, v_node.node_id, v_node.node_id || ':in') from unnest(flows) f);
      nodes := nodes || bpm_core.plain_node(v_node, v_node.node_id || ':in', 'startEvent', 'StartEvent', null, 0, v_node.outgoing);
      flows := flows || bpm_core.plain_flow(v_node, v_node.node_id || ':in-flow', v_node.node_id, v_body);
    end loop;
    v_node.process_pos := v_process.pos;
    v_node.scope_pos := v_process.pos;
    v_node.pos := v_process.pos;
    nodes := array(select bpm_core.put_inside(n, v_process.pos, v_body) from unnest(nodes) n);
    nodes := nodes || bpm_core.plain_node(v_node, v_body, 'subProcess', 'SubProcess', null, 1, 1)
                   || bpm_core.plain_node(v_node, v_process.process_id || ':end', 'endEvent', 'EndEvent', null, 1, 0);
    flows := flows || bpm_core.plain_flow(v_node, v_process.process_id || ':end-flow', v_body, v_process.process_id || ':end');
  end loop;
end
$$;

-- from 20_catalog/wrap_loops.sql
-- Puts every activity that is multi-instance or a loop into a node of its own, <id>:multi or <id>:loop, which the flows lead to and leave, and which its
-- boundary events are attached to. Inside, each item goes from <id>:multi:start through the activity to <id>:multi:end.
-- Returns:  nodes and flows, not yet lowered.
create or replace function bpm_core.wrap_loops(
  p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[],
  out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with loop as materialized (
    select n::bpm_core.draft_node as node, n.scope_pos, n.node_id, n.pos, n.loop as tag, d.spec,
           n.node_id || case n.loop when 'standardLoopCharacteristics' then ':loop' else ':multi' end as around
      from unnest(p_nodes) n
      join bpm_core.drawn_loops(p_elements) d on d.owner_pos = n.pos
     where n.loop is not null and n.tag ~ '(Task|task|Process|callActivity|transaction)$' and n.kind <> 'EventSubProcess' and d.spec is not null),
  node as (
    select case when l.node_id is null and b.node_id is null then n::bpm_core.draft_node
                else bpm_core.put_in_loop(n::bpm_core.draft_node, l.around, b.around) end as node, n.pos as ord, 0 as added
      from unnest(p_nodes) n
      left join loop l on l.pos = n.pos and n.loop is not null
      left join loop b on n.tag = 'boundaryEvent' and b.scope_pos = n.scope_pos and b.node_id = n.attached_to
    union all
    select a.node, l.pos, a.ord
      from loop l
     cross join lateral (values
       (bpm_core.loop_node(l.node, l.around, l.tag, l.spec), 1),
       (bpm_core.plain_node(l.node, l.around || ':start', 'startEvent', 'StartEvent', l.around, 0, 1), 2),
       (bpm_core.plain_node(l.node, l.around || ':end', 'endEvent', 'ItemEnd', l.around, 1, 0), 3)) a(node, ord)),
  flow as (
    select row(f.pos, f.process_pos, f.scope_pos, f.flow_id, f.name, f.source_ref, f.target_ref, coalesce(s.around, f.source_id), coalesce(t.around, f.target_id),
               f.is_default, f.condition_source, f.language, f.condition, f.problem, f.ord, f.condition_tree)::bpm_core.draft_flow as flow, f.pos as ord, 0 as added
      from unnest(p_flows) f
      left join loop s on s.scope_pos = f.scope_pos and s.node_id = f.source_id
      left join loop t on t.scope_pos = f.scope_pos and t.node_id = f.target_id
    union all
    select a.flow, l.pos, a.ord
      from loop l
     cross join lateral (values
       (bpm_core.plain_flow(l.node, l.around || ':in', l.around || ':start', l.node_id), 1),
       (bpm_core.plain_flow(l.node, l.around || ':out', l.node_id, l.around || ':end'), 2)) a(flow, ord))
  select (select coalesce(array_agg(n.node order by n.ord, n.added), '{}') from node n),
         (select coalesce(array_agg(f.flow order by f.ord, f.added), '{}') from flow f)
$$;

-- from 20_catalog/write_condition.sql
-- Writes a tree as a jsonpath predicate for strict mode. SQL/JSON logic has three values, so what is undecidable below stays so above,
-- unless the other side decides alone (unknown && false, unknown || true). A comparison behind an encrypted text is undecidable.
-- Returns:  text, without the mode.
create or replace function bpm_core.write_condition(p_tree jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op     text := p_tree ->> 'op';
  v_text   text;
  v_hidden text := bpm_core.write_hidden(p_tree);
begin
  if v_op in ('and', 'or') then
    for v_i in 0 .. jsonb_array_length(p_tree -> 'args') - 1 loop
      v_text := coalesce(v_text || case v_op when 'and' then ' && ' else ' || ' end, '') || bpm_core.write_condition(p_tree -> 'args' -> v_i);
    end loop;
    return '(' || v_text || ')';
  elsif v_op = 'not' then
    return '!(' || bpm_core.write_condition(p_tree -> 'arg') || ')';
  end if;
  v_text := case v_op
    when 'empty' then bpm_core.write_emptiness(p_tree -> 'arg')
    when 'defined' then bpm_core.write_typed(p_tree -> 'arg' -> 'path', '')
    when 'path' then bpm_core.write_equality(p_tree, '{"op": "value", "value": true}')
    when 'eq' then bpm_core.write_equality(p_tree -> 'left', p_tree -> 'right')
    when 'ne' then '!(' || bpm_core.write_equality(p_tree -> 'left', p_tree -> 'right') || ')'
    when 'value' then case when p_tree -> 'value' = 'true' then '(1 == 1)' else '(1 == 0)' end
    else bpm_core.write_ordering(case v_op when 'lt' then '<' when 'le' then '<=' when 'gt' then '>' else '>=' end, p_tree -> 'left', p_tree -> 'right')
  end;
  return case when v_hidden is null then v_text else format('((!(%1$s) && %2$s) || ((%1$s) && 1 == "1"))', v_hidden, v_text) end;
end
$$;

-- from 20_catalog/write_emptiness.sql
-- jsonpath of empty x: missing, null, "", [] and {} are empty; every other value is not. Always decidable.
create or replace function bpm_core.write_emptiness(p_operand jsonb)
returns text
language sql immutable
as $$
  select case
    when p_operand ->> 'op' = 'value' then case when p_operand -> 'value' in ('null', '""') then '(1 == 1)' else '(1 == 0)' end
    else '!' || bpm_core.write_typed(p_operand -> 'path',
      '@.type() == "number" || @.type() == "boolean" || (@.type() == "string" && @ != "") || (@.type() == "array" && @.size() > 0) || (@.type() == "object" && exists(@.*))')
  end
$$;

-- from 20_catalog/write_equality.sql
-- jsonpath of left == right. A missing value equals null and differs from everything else. Values of different types are undecidable,
-- because a comparison of "5" with 5 is an error in the data and not an answer; so is an encrypted text beside anything but null.
create or replace function bpm_core.write_equality(p_left jsonb, p_right jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_secret constant text := '@ starts with "__encrypted:"';
  v_a      jsonb := case when p_left ->> 'op' = 'path' then p_left else p_right end;
  v_b      jsonb := case when p_left ->> 'op' = 'path' then p_right else p_left end;
  v_same   text;
  v_x      text;
  v_y      text;
begin
  if v_a ->> 'op' = 'value' then
    return format('(%s == %s)', v_a -> 'value', v_b -> 'value');
  elsif v_b -> 'value' = 'null' then
    return '!' || bpm_core.write_typed(v_a -> 'path', '@ != null');
  elsif v_b ->> 'op' = 'value' then
    v_same := format('%s && %s == %s', bpm_core.write_typed(v_a -> 'path', ''), bpm_core.write_path('$', v_a -> 'path'), v_b -> 'value');
    if jsonb_typeof(v_b -> 'value') = 'string' then
      v_same := format('(%s) || (%s && 1 == "1")', v_same, bpm_core.write_typed(v_a -> 'path', v_secret));
    end if;
    return '(' || v_same || ')';
  end if;
  v_x := bpm_core.write_typed(v_a -> 'path', '@ != null');
  v_y := bpm_core.write_typed(v_b -> 'path', '@ != null');
  return format('((!%1$s && !%2$s) || (%1$s && %2$s && !(%5$s || %6$s) && %3$s == %4$s) || (%1$s && %2$s && (%5$s || %6$s) && 1 == "1"))', v_x, v_y,
    bpm_core.write_path('$', v_a -> 'path'), bpm_core.write_path('$', v_b -> 'path'),
    bpm_core.write_typed(v_a -> 'path', v_secret), bpm_core.write_typed(v_b -> 'path', v_secret));
end
$$;

-- from 20_catalog/write_hidden.sql
-- jsonpath: does a path of this comparison lead through an encrypted text? What stands behind it is not missing but unknown.
-- Only the first 32 names are asked about: the text grows with their square.
-- Returns:  text; null when no path is longer than one name.
create or replace function bpm_core.write_hidden(p_tree jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select string_agg(bpm_core.write_typed(jsonb_path_query_array(o.operand, '$.path[0 to $last]', jsonb_build_object('last', n.last)),
                                         '@ starts with "__encrypted:"'), ' || ' order by o.at, n.last)
    from (values (1, p_tree), (2, p_tree -> 'left'), (3, p_tree -> 'right'), (4, p_tree -> 'arg')) o(at, operand)
   cross join lateral generate_series(0, least(jsonb_array_length(o.operand -> 'path'), 33) - 2) n(last)
   where o.operand ? 'path'
$$;

-- from 20_catalog/write_ordering.sql
-- jsonpath of an ordering. Numbers are ordered with numbers and texts with texts; anything else is undecidable, and so is an encrypted
-- text. jsonpath itself answers false for null, so beside a number the path gets a plus sign, which fails on everything that is no
-- number; elsewhere the types are asked for first, and (1 == "1") says unknown.
create or replace function bpm_core.write_ordering(p_operator text, p_left jsonb, p_right jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_number constant text := '@.type() == "number"';
  v_string constant text := '@.type() == "string" && !(@ starts with "__encrypted:")';
  v_left   text := case p_left ->> 'op' when 'path' then bpm_core.write_path('$', p_left -> 'path') else (p_left -> 'value')::text end;
  v_right  text := case p_right ->> 'op' when 'path' then bpm_core.write_path('$', p_right -> 'path') else (p_right -> 'value')::text end;
  v_guard  text;
begin
  if p_left ->> 'op' = 'value' and p_right ->> 'op' = 'value' then
    return format('(%s %s %s)', v_left, p_operator, v_right);
  elsif jsonb_typeof(p_left -> 'value') = 'number' then
    return format('(%s %s +%s)', v_left, p_operator, v_right);
  elsif jsonb_typeof(p_right -> 'value') = 'number' then
    return format('(+%s %s %s)', v_left, p_operator, v_right);
  elsif p_left ->> 'op' = 'value' or p_right ->> 'op' = 'value' then
    v_guard := bpm_core.write_typed(coalesce(p_left -> 'path', p_right -> 'path'), v_string);
  else
    v_guard := format('((%s && %s) || (%s && %s))',
      bpm_core.write_typed(p_left -> 'path', v_number), bpm_core.write_typed(p_right -> 'path', v_number),
      bpm_core.write_typed(p_left -> 'path', v_string), bpm_core.write_typed(p_right -> 'path', v_string));
  end if;
  return format('((%1$s && %2$s %3$s %4$s) || (!%1$s && 1 == "1"))', v_guard, v_left, p_operator, v_right);
end
$$;

-- from 20_catalog/write_path.sql
-- A path of names as jsonpath, every key quoted. Root is $, or @ inside a filter.
create or replace function bpm_core.write_path(p_root text, p_path jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_path text := p_root;
begin
  for v_i in 0 .. jsonb_array_length(p_path) - 1 loop
    v_path := v_path || '.' || (p_path -> v_i)::text;
  end loop;
  return v_path;
end
$$;

-- from 20_catalog/write_typed.sql
-- jsonpath: is there a value at this path that meets a test on @? True or false, never unknown: a filter swallows what cannot be said.
-- p_test may be empty: is the key there at all (null counts)?
create or replace function bpm_core.write_typed(p_path jsonb, p_test text)
returns text
language sql immutable
as $$ select 'exists($ ? (exists(' || bpm_core.write_path('@', p_path) || case when p_test <> '' then ' ? (' || p_test || ')' else '' end || ')))' $$;

-- from 20_catalog/xml_fault.sql
-- Turns what libxml said into a fault with line and column. Its detail reads "line 3: message", then the end of the offending
-- line, then a caret under the place; long lines are cut on the left, so the column is found by looking for the excerpt.
-- Returns:  finding.
create or replace function bpm_core.xml_fault(p_xml text, p_message text, p_detail text)
returns bpm_core.finding
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts   text[] := regexp_match(p_detail, '^line (\d+): ([^\n]*)(?:\n([^\n]*)\n( *)\^)?');
  v_line    integer := v_parts[1]::integer;
  v_column  integer := length(v_parts[4]) + position(v_parts[3] in split_part(p_xml, E'\n', v_line));
  v_finding bpm_core.finding;
begin
  v_finding := bpm_core.fault('InvalidXml',
    'Not well-formed: ' || coalesce(v_parts[2], p_message)
      || coalesce(' (line ' || v_line || coalesce(', column ' || nullif(v_column, 0), '') || ')', '') || '.',
    null, null,
    case when p_detail ~ 'StartTag: invalid element name|xmlParseEntityRef|EntityRef: expecting'
         then 'In text write &lt; for < and &amp; for &; conditions also take lt, le and and.'
         else 'Open the file in an XML editor or export it again.' end);
  v_finding.line := v_line;
  return v_finding;
end
$$;

-- from 40_flow/advance_isolated.sql
-- Moves tokens on from where they stand: follows the flow each takes and drives the arrivals until all rest, end or are parked.
-- The instances are locked and their patches merged. What cannot go on is an incident on its token, never an exception for the caller.
create or replace function bpm_core.advance_isolated(p_leaving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.drive_isolated(bpm_core.follow_flows(p_leaving));
end
$$;

-- from 40_flow/apply_call_ends.sql
-- Under the instance locks: called processes have completed, their callers go on. The outputs map what the called one has; without outputs it is the keys
-- its steps wrote. A caller that no longer waits for it hears nothing.
-- Writes:   workflow_instance, scope, history_event, timer, subscription, incident, and what the paths ahead write.
create or replace function bpm_core.apply_call_ends(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_troubles bpm_core.trouble[];
  v_leaving  bpm_core.moving[];
begin
  with ended as materialized (
    select h.host, (h.payload ->> 'child')::uuid as child_id, o.mapped, o.failed
      from bpm_core.waiting_hosts(p_tenant_id, p_rows) h
     cross join lateral (select c.inputs, c.variables from bpm_core.workflow_instance c
                          where c.tenant_id = p_tenant_id and c.id = (h.payload ->> 'child')::uuid offset 0) c
     cross join lateral (select n.expressions -> 'call' as spec from bpm_core.workflow_node n
                          where n.tenant_id = p_tenant_id and n.workflow_version_id = (h.host).version_id and n.node_id = (h.host).node_id offset 0) n
     cross join lateral (
       select case when not n.spec ? 'outputs' then c.variables when n.spec ? 'all_out' then c.variables || m.mapped else m.mapped end as mapped, m.failed
         from bpm_core.map_values(coalesce(n.spec -> 'outputs', '[]'), c.inputs || c.variables) m) o),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p_tenant_id, (e.host).instance_id, bpm_core.now(), 'CallCompleted', (e.host).token_id, (e.host).node_id,
           jsonb_build_object('child', e.child_id, 'variables', e.mapped) || bpm_core.local_names(p_tenant_id, (e.host).scope_id, e.mapped)
      from ended e
     where e.mapped is not null),
  patched as (
    update bpm_core.workflow_instance w
       set lock_version = w.lock_version + 1, variables = w.variables || bpm_core.patch_scopes(p_tenant_id, (e.host).scope_id, e.mapped)
      from ended e
     where w.tenant_id = (e.host).tenant_id and w.id = (e.host).instance_id and e.mapped is not null)
  select array_agg(row(p_tenant_id, (e.host).instance_id, (e.host).version_id, (e.host).scope_id, (e.host).token_id, (e.host).node_id, null, null)::bpm_core.moving)
           filter (where e.mapped is not null),
         array_agg(row(e.host, 'MappingUndecidable', format('Call activity %s: the output %s cannot be decided.', (e.host).node_id, e.failed ->> 'target'),
                       jsonb_build_object('child', e.child_id, 'mapping', e.failed))::bpm_core.trouble) filter (where e.mapped is null)
    into v_leaving, v_troubles
    from ended e;
  perform bpm_core.open_incidents(v_troubles);
  if v_leaving is not null then
    perform bpm_core.close_events(p_tenant_id, array(select l.token_id from unnest(v_leaving) l));
    perform bpm_core.advance_isolated(v_leaving);
  end if;
end
$$;

-- from 40_flow/apply_call_escalations.sql
-- Under the instance locks: escalations that called processes have thrown and none of them caught. Who catches them goes on from there; further out they
-- are passed on. Writes: history_event, inbox, and what follow_catch and the paths ahead write.
create or replace function bpm_core.apply_call_escalations(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_catch bpm_core.catch;
  r_call  record;
begin
  for r_call in select h.* from bpm_core.waiting_hosts(p_tenant_id, p_rows) h order by h.inbox_id loop
    v_catch := bpm_core.find_catch(r_call.host, 'EscalationBoundary', r_call.payload ->> 'code');
    perform bpm_core.bump_instances(p_tenant_id, array[(r_call.host).instance_id]);
    if v_catch.node_id is null then
      perform bpm_core.escalate_to_caller(r_call.host, r_call.payload ->> 'code');
      continue;
    end if;
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    values (p_tenant_id, (v_catch.host).instance_id, bpm_core.now(), 'EscalationCaught', (v_catch.host).token_id, v_catch.node_id,
            jsonb_build_object('host', (v_catch.host).node_id, 'code', r_call.payload ->> 'code')
            || case when v_catch.interrupting and not v_catch.is_start then '{}'::jsonb else '{"interrupting": false}' end);
    perform bpm_core.advance_isolated(bpm_core.follow_catch(v_catch));
  end loop;
end
$$;

-- from 40_flow/apply_call_failures.sql
-- Under the instance locks: called processes have failed. With an error code it is a BPMN error at the call activity, which its boundary events, or those
-- further out, may catch; else, or if nobody does, an incident there: resolving it calls anew.
-- Writes:   history_event, incident, and what raise_errors writes.
create or replace function bpm_core.apply_call_failures(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_failed   bpm_core.thrown[];
  v_uncaught bpm_core.thrown[];
begin
  with failed as materialized (
    select row_number() over (order by h.inbox_id) as n, h.host, h.payload from bpm_core.waiting_hosts(p_tenant_id, p_rows) h),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p_tenant_id, (f.host).instance_id, bpm_core.now(), 'CallFailed', (f.host).token_id, (f.host).node_id,
           jsonb_build_object('child', f.payload -> 'child', 'status', f.payload -> 'status', 'code', f.payload #> '{detail,code}')
      from failed f)
  select array_agg(row(f.n, f.host, f.payload #>> '{detail,code}', f.payload #>> '{detail,message}')::bpm_core.thrown) into v_failed
    from failed f;
  if v_failed is null then
    return;
  end if;
  perform bpm_core.bump_instances(p_tenant_id, array(select (f.token).instance_id from unnest(v_failed) f));
  v_uncaught := array(select f from unnest(v_failed) f where f.code is null)
                || bpm_core.raise_errors(array(select f from unnest(v_failed) f where f.code is not null));
  perform bpm_core.close_waits(array(select u.token from unnest(v_uncaught) u));
  perform bpm_core.open_incidents(array(
    select row(u.token, 'CalledProcessFailed', format('What call activity %s called has failed%s.', (u.token).node_id, ' with the error ' || u.code),
               jsonb_build_object('code', u.code, 'message', u.message))::bpm_core.trouble
      from unnest(v_uncaught) u));
end
$$;

-- from 40_flow/apply_calls.sql
-- Under the instance locks: what called instances and their callers have to tell each other.
-- Writes:   as the functions of each kind.
create or replace function bpm_core.apply_calls(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_kind record;
begin
  for r_kind in select r.kind, array_agg(r) as some from unnest(p_rows) r group by r.kind order by r.kind loop
    case r_kind.kind
      when 'CallEnded' then
        perform bpm_core.apply_call_ends(p_tenant_id, r_kind.some);
      when 'CallFailed' then
        perform bpm_core.apply_call_failures(p_tenant_id, r_kind.some);
      when 'CallEscalated' then
        perform bpm_core.apply_call_escalations(p_tenant_id, r_kind.some);
      when 'Cancel' then
        perform bpm_core.cancel_called(p_tenant_id, r_kind.some);
    end case;
  end loop;
end
$$;

-- from 40_flow/apply_inbox.sql
-- Under the instance locks: applies inbox rows, of each target only the oldest, and deletes them. If that raises, one by one: one that raises
-- alone is put back with a backoff, and after ten times buried as an incident of its instance; one whose message key is busy stays as it is.
-- Those of suspended instances are set aside.
-- Returns:  integer, rows dealt with. Writes: inbox, and what applying writes.
create or replace function bpm_core.apply_inbox(p_tenant_id text, p_rows uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_parked integer;
  v_first  bpm_core.inbox[];
begin
  perform 1
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_rows) k(id) order by k.id offset 0) k
    cross join lateral (select from bpm_core.inbox i where i.tenant_id = k.tenant_id and i.id = k.id for no key update) i;
  v_parked := bpm_core.park_inbox(p_tenant_id, p_rows);
  v_first := bpm_core.next_inbox_rows(p_tenant_id, p_rows);
  if cardinality(v_first) = 0 then
    return v_parked;
  end if;
  begin
    perform bpm_core.apply_inbox_rows(p_tenant_id, v_first);
    delete from bpm_core.inbox i using unnest(v_first) f where i.tenant_id = f.tenant_id and i.id = f.id;
    -- Afterwards: a sweep looks at what is left.
    perform bpm_core.sweep_on(p_tenant_id, f.target_id) from unnest(v_first) f where f.kind = 'Sweep';
  exception
    -- As in drive_isolated: none of it is the fault of a row.
    when transaction_rollback or operator_intervention or insufficient_resources or system_error then
      raise;
    when others then
      if cardinality(v_first) > 1 then
        return v_parked + (select sum(bpm_core.apply_inbox(p_tenant_id, array[f.id]))::integer from unnest(v_first) f);
      elsif sqlstate = '55P03' then
        return v_parked;
      end if;
      perform bpm_core.put_back_inbox(p_tenant_id, v_first, format('%s (%s)', sqlerrm, sqlstate));
  end;
  return v_parked + cardinality(v_first);
end
$$;

-- from 40_flow/apply_inbox_rows.sql
-- Under the instance locks: what each kind of inbox row does.
-- Writes:   what the functions named write.
create or replace function bpm_core.apply_inbox_rows(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_some bpm_core.inbox[];
begin
  v_some := array(select f from unnest(p_rows) f where f.kind = 'Message');
  if cardinality(v_some) > 0 then
    perform bpm_core.apply_messages(p_tenant_id, v_some);
  end if;
  v_some := array(select f from unnest(p_rows) f where f.kind = 'Signal');
  if cardinality(v_some) > 0 then
    perform bpm_core.apply_signals(p_tenant_id, v_some);
  end if;
  v_some := array(select f from unnest(p_rows) f where f.kind = 'Answer' order by f.id);
  if cardinality(v_some) > 0 then
    perform bpm_core.apply_answers(p_tenant_id, v_some);
  end if;
  v_some := array(select f from unnest(p_rows) f where f.kind = 'Continue');
  if cardinality(v_some) > 0 then
    perform bpm_core.continue_loops(p_tenant_id, v_some);
  end if;
  v_some := array(select f from unnest(p_rows) f where f.kind in ('CallEnded', 'CallFailed', 'CallEscalated', 'Cancel'));
  if cardinality(v_some) > 0 then
    perform bpm_core.apply_calls(p_tenant_id, v_some);
  end if;
end
$$;

-- from 40_flow/apply_messages.sql
-- Under the instance locks: hands messages to the waits they were matched with. The payload is patched into the variables, the token goes on.
-- A wait that closed meanwhile never swallows its message: it is buffered again, or offered to the next wait, within its time to live.
-- A boundary event that does not interrupt waits again at once. Output mappings of the event say what of the payload is taken over.
-- Raises:   55P03 another call holds a message key that is needed: apply_inbox leaves the row for the next tick.
-- Writes:   subscription, message, workflow_instance, history_event, and what the paths ahead write.
create or replace function bpm_core.apply_messages(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_met    bpm_core.subscription[];
  v_again  bpm_core.subscription[];
  v_missed uuid[];
begin
  with due as materialized (
    select r.tenant_id, (r.payload ->> 'message')::uuid as message_id, s.id as subscription_id, n.interrupting, n.interrupting and n.element <> 'startEvent' as takes_host, t.scope_id,
           case when n.outputs is null then m.payload else bpm_core.message_patch(r.tenant_id, s.workflow_instance_id, t.scope_id, n.outputs, m.payload) end as payload
      from unnest(p_rows) r
     cross join lateral (select s.id, s.state, s.workflow_instance_id, s.node_id, s.token_id from bpm_core.subscription s
                          where s.tenant_id = r.tenant_id and s.id = (r.payload ->> 'subscription')::uuid offset 0) s
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = r.tenant_id and w.id = s.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting, n.element, n.expressions -> 'outputs' as outputs from bpm_core.workflow_node n
                          where n.tenant_id = r.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = s.node_id offset 0) n
     cross join lateral (select t.scope_id from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = s.token_id offset 0) t
     cross join lateral (select m.payload from bpm_core.message m where m.tenant_id = r.tenant_id and m.id = (r.payload ->> 'message')::uuid offset 0) m
     where s.state = 'Open'),
  consumed as (
    update bpm_core.subscription s
       set state = 'Consumed'
      from due d
     where s.tenant_id = d.tenant_id and s.id = d.subscription_id
    returning s.*, d.message_id, d.interrupting, d.takes_host, d.scope_id, d.payload),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p_tenant_id, c.workflow_instance_id, v_now, 'MessageReceived', c.token_id, c.node_id,
           jsonb_build_object('message', c.message_id, 'name', c.name, 'variables', c.payload)
           || case when c.takes_host then '{}'::jsonb else '{"interrupting": false}' end || bpm_core.local_names(c.tenant_id, c.scope_id, c.payload)
      from consumed c),
  patched as (
    update bpm_core.workflow_instance w
       set lock_version = w.lock_version + 1, variables = w.variables || bpm_core.patch_scopes(c.tenant_id, c.scope_id, c.payload)
      from consumed c
     where w.tenant_id = c.tenant_id and w.id = c.workflow_instance_id
    returning row(c.tenant_id, c.id, c.workflow_instance_id, c.process_version_id, c.token_id, c.visit, c.node_id, c.kind, c.name, c.correlation_key,
                  c.state, c.created_at, c.last_met)::bpm_core.subscription as wait, c.interrupting)
  select array_agg(p.wait), array_agg(p.wait) filter (where not p.interrupting)
    into v_met, v_again
    from patched p;
  v_missed := array(
    select d.id
      from unnest(p_rows) r
     cross join lateral (select s.id, s.state from bpm_core.subscription s
                          where s.tenant_id = r.tenant_id and s.id = (r.payload ->> 'subscription')::uuid offset 0) s
     cross join lateral (select d.id, d.correlated_to from bpm_core.message d
                          where d.tenant_id = r.tenant_id and d.id = (r.payload ->> 'message')::uuid offset 0) d
     where s.state = 'Closed' and d.correlated_to = s.id);
  perform bpm_core.reopen_waits(v_again);
  perform bpm_core.leave_by_waits(v_met);
  perform bpm_core.return_messages(p_tenant_id, v_missed);
end
$$;

-- from 40_flow/apply_signals.sql
-- Under the instance locks: hands signals to the waits they were sent to. The payload is patched into the variables, the token goes on. A wait
-- that closed meanwhile gets nothing; that of a boundary event that does not interrupt stays open.
-- Writes:   subscription, workflow_instance, history_event, and what the paths ahead write.
create or replace function bpm_core.apply_signals(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
  v_met bpm_core.subscription[];
begin
  with due as materialized (
    select s::bpm_core.subscription as wait, g.id as signal_id, g.name, g.payload, n.interrupting, n.interrupting and n.element <> 'startEvent' as takes_host, t.scope_id
      from unnest(p_rows) r
     cross join lateral (select s.* from bpm_core.subscription s
                          where s.tenant_id = r.tenant_id and s.id = (r.payload ->> 'subscription')::uuid offset 0) s
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = r.tenant_id and w.id = s.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting, n.element from bpm_core.workflow_node n
                          where n.tenant_id = r.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = s.node_id offset 0) n
     cross join lateral (select g.id, g.name, g.payload from bpm_core.signal g
                          where g.tenant_id = r.tenant_id and g.id = (r.payload ->> 'signal')::uuid offset 0) g
     cross join lateral (select t.scope_id from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = s.token_id offset 0) t
     where s.state = 'Open'),
  consumed as (
    update bpm_core.subscription s
       set state = 'Consumed'
      from due d
     where s.tenant_id = (d.wait).tenant_id and s.id = (d.wait).id and d.interrupting),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p_tenant_id, (d.wait).workflow_instance_id, v_now, 'SignalReceived', (d.wait).token_id, (d.wait).node_id,
           jsonb_build_object('signal', d.signal_id, 'name', d.name, 'variables', d.payload)
           || case when d.takes_host then '{}'::jsonb else '{"interrupting": false}' end || bpm_core.local_names(p_tenant_id, d.scope_id, d.payload)
      from due d),
  patched as (
    update bpm_core.workflow_instance w
       set lock_version = w.lock_version + 1, variables = w.variables || bpm_core.patch_scopes(p_tenant_id, d.scope_id, d.payload)
      from due d
     where w.tenant_id = (d.wait).tenant_id and w.id = (d.wait).workflow_instance_id
    returning d.wait)
  select array_agg(p.wait) into v_met from patched p;
  perform bpm_core.leave_by_waits(v_met);
end
$$;

-- from 40_flow/arm_boundaries.sql
-- Arms the boundary events of the activities these tokens have just entered: opens their signal waits and those for conditions, starts their timers.
-- Returns:  moving[], their message waits: each names the token of the host and the boundary event. drive opens them at the end.
-- Writes:   subscription, timer, history_event.
create or replace function bpm_core.arm_boundaries(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_signals    bpm_core.moving[];
  v_timers     bpm_core.moving[];
  v_messages   bpm_core.moving[];
  v_conditions bpm_core.moving[];
begin
  select array_agg(b.wait) filter (where b.kind = 'SignalBoundary'), array_agg(b.wait) filter (where b.kind = 'TimerBoundary'),
         array_agg(b.wait) filter (where b.kind = 'MessageBoundary'), array_agg(b.wait) filter (where b.kind = 'ConditionalBoundary')
    into v_signals, v_timers, v_messages, v_conditions
    from (select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, n.node_id, a.flow_id, n.kind)::bpm_core.moving as wait, n.kind
            from unnest(p_arriving) a
           cross join lateral (select n.node_id, n.kind from bpm_core.workflow_node n
                                where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.attached_to = a.node_id offset 0) n) b;
  -- Timers last: one that gives no time closes what the token offered already.
  if v_signals is not null then
    perform bpm_core.open_signal_waits(v_signals);
  end if;
  if v_conditions is not null then
    perform bpm_core.open_condition_waits(v_conditions);
  end if;
  if v_timers is not null then
    perform bpm_core.start_timers(v_timers);
  end if;
  return coalesce(v_messages, '{}');
end
$$;

-- from 40_flow/await_message_key.sql
-- Waits a moment for a message key somebody holds, shorter than the server takes to look for deadlocks.
-- Returns:  boolean, whether it is locked for this transaction now.
create or replace function bpm_core.await_message_key(p_hash bigint)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '200ms'
as $$
begin
  perform pg_advisory_xact_lock(p_hash);
  return true;
exception
  when lock_not_available then
    return false;
end
$$;

-- from 40_flow/bear_tokens.sql
-- Puts a new token beside each host, at the node named, for events that do not interrupt.
-- Returns:  moving[], the new tokens, leaving that node. Writes: token, workflow_instance (live_tokens), history_event.
create or replace function bpm_core.bear_tokens(p_beside bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now  timestamptz := bpm_core.now();
  v_born bpm_core.moving[];
begin
  if coalesce(cardinality(p_beside), 0) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  with born as materialized (
    select b.tenant_id, b.instance_id, b.version_id, b.scope_id, bpm_core.new_id() as token_id, b.node_id, b.token_id as host_id
      from unnest(p_beside) b),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, state, updated_at)
    select b.tenant_id, b.token_id, b.instance_id, b.scope_id, b.node_id, 'Waiting', v_now
      from born b),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select b.tenant_id, b.instance_id, v_now, 'TokenBorn', b.token_id, b.node_id, jsonb_build_object('parent', b.host_id)
      from born b),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens + d.more
      from (select b.tenant_id, b.instance_id, count(*)::integer as more from born b group by b.tenant_id, b.instance_id) d
     where w.tenant_id = d.tenant_id and w.id = d.instance_id)
  select array_agg(row(b.tenant_id, b.instance_id, b.version_id, b.scope_id, b.token_id, b.node_id, null, null)::bpm_core.moving)
    into v_born
    from born b;
  if exists (select from unnest(v_born) b where b.scope_id <> bpm_core.root_scope()) then
    perform bpm_core.count_in_scopes(v_born, '{}');
  end if;
  return v_born;
end
$$;

-- from 40_flow/begin_loops.sql
-- Begins what plan_loops planned, at hosts that still wait: the first items, and a row in the inbox where more follow. Where there is nothing to do the host
-- goes on.
-- Returns:  moving[], the tokens of the items and the hosts that go on.
-- Writes:   multi_instance, multi_instance_part, inbox, history_event, and what open_items and finish_loops write.
create or replace function bpm_core.begin_loops(p_plans bpm_core.loop_plan[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_plans bpm_core.loop_plan[];
begin
  v_plans := array(
    select p
      from unnest(p_plans) p
     cross join lateral (select t.state from bpm_core.token t where t.tenant_id = (p.host).tenant_id and t.id = (p.host).token_id offset 0) t
     where t.state = 'Waiting');
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select (p.host).tenant_id, (p.host).instance_id, v_now, 'ScopeOpened', (p.host).token_id, (p.host).node_id,
         jsonb_strip_nulls(jsonb_build_object('mode', p.mode, 'total', nullif(p.total, 2147483647)))
    from unnest(v_plans) p;
  insert into bpm_core.multi_instance (tenant_id, host_token_id, workflow_instance_id, visit, node_id, mode, total, created, declared)
  select (p.host).tenant_id, (p.host).token_id, (p.host).instance_id, p.visit, (p.host).node_id, p.mode, p.total, p.created, p.declared
    from unnest(v_plans) p
   where p.total > 0;
  insert into bpm_core.multi_instance_part (tenant_id, host_token_id, part, items)
  select (p.host).tenant_id, (p.host).token_id, e.part, e.items
    from unnest(v_plans) p
   cross join lateral (
     select (i.ord - 1) / 1000 as part, jsonb_agg(i.value order by i.ord) as items
       from jsonb_array_elements(p.items) with ordinality i(value, ord)
      where (i.ord - 1) / 1000 >= p.created / 1000
      group by (i.ord - 1) / 1000) e
   where p.created < p.total and p.items is not null;
  perform bpm_core.continue_later(array(select row(p.host, p.visit, null, p.mode, null, null, null, null, null, null)::bpm_core.loop_plan
                                          from unnest(v_plans) p where p.mode = 'Parallel' and p.created < p.total));
  return bpm_core.open_items(array(
           select row(p.host, p.visit, p.steps, e.index, p.total, bpm_core.loop_variables(p.spec, p.declared, e.index, e.value))::bpm_core.loop_item
             from unnest(v_plans) p
            cross join lateral (
              select (i.ord - 1)::integer as index, i.value from jsonb_array_elements(p.items) with ordinality i(value, ord) where i.ord <= p.created
              union all
              select g.i, null from generate_series(0, p.created - 1) g(i) where p.items is null) e))
         || bpm_core.finish_loops(array(
           select row(p.host, p.visit, p.steps, p.mode, p.spec, p.declared, 0, 0, 0, 0, true)::bpm_core.loop_state from unnest(v_plans) p where p.total = 0));
end
$$;

-- from 40_flow/blocks_join.sql
-- Whether a token that can come over these flows keeps a join waiting: it can come over an empty one and over none that is filled.
create or replace function bpm_core.blocks_join(p_bits bit varying, p_filled bit varying)
returns boolean
language sql immutable parallel safe
as $$ select p_bits & p_filled = p_bits # p_bits and p_bits & ~p_filled <> p_bits # p_bits $$;

-- from 40_flow/broadcast_signal.sql
-- Broadcasts a signal: every instance of the tenant that waits for its name now gets it, once per wait, with the next ticks. Nobody who
-- begins to wait later does; what is to be kept for one receiver is a message (correlate_message).
-- Returns:  one row: signal_id, receivers (waits open now).
-- Raises:   BP400 name missing or too long. BP403. BP422 payload refused. BP429 more than 100,000 receivers.
-- Writes:   signal, inbox. Locks: nothing; it never waits for an instance.
create or replace function bpm.broadcast_signal(p_name text, p_payload jsonb default '{}', p_tenant_id text default '')
returns table (signal_id uuid, receivers integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  if coalesce(length(p_name), 0) not between 1 and 300 then
    perform bpm_core.fail('BP400', 'The name of a signal is a text of 1 to 300 characters.');
  elsif bpm_core.variables_fault(p_payload) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_payload));
  end if;
  return query
  select s.id, s.receivers from bpm_core.send_signal(p_tenant_id, p_name, bpm_core.decode_variables(p_payload)) s;
end
$$;

-- from 40_flow/bump_instances.sql
-- Counts a command on instances it moves without patching their variables.
-- Writes:   workflow_instance.
create or replace function bpm_core.bump_instances(p_tenant_id text, p_instances uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  update bpm_core.workflow_instance w
     set lock_version = w.lock_version + 1
    from (select distinct p_tenant_id as tenant_id, i.id from unnest(p_instances) i(id)) d
   where w.tenant_id = d.tenant_id and w.id = d.id;
end
$$;

-- from 40_flow/called_version.sql
-- The version a call activity starts: the published one (latest), one by its number (version), or the one that came in the same file (deployment).
-- Returns:  no row when there is none that can be started.
create or replace function bpm_core.called_version(p_tenant_id text, p_code text, p_binding text, p_version integer, p_caller_version_id uuid)
returns table (process_version_id uuid, workflow_version_id uuid, role_version_id uuid, start_node_id text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_version integer := case when p_binding = 'version' then p_version end;
begin
  if p_binding = 'deployment' then
    select v.version into v_version
      from bpm_core.workflow_version c
     cross join lateral (select d.tenant_id, d.id from bpm_core.workflow_definition d where d.code = p_code and d.tenant_id is not distinct from c.tenant_id offset 0) d
     cross join lateral (select v.version, v.checksum from bpm_core.workflow_version v
                          where v.definition_id = d.id and v.tenant_id is not distinct from d.tenant_id offset 0) v
     where c.tenant_id = p_tenant_id and c.id = p_caller_version_id and v.checksum = c.checksum
     order by v.version desc
     limit 1;
  end if;
  if p_binding = 'latest' or v_version is not null then
    return query select s.* from bpm_core.startable_version(p_tenant_id, p_code, v_version) s;
  end if;
end
$$;

-- from 40_flow/cancel_called.sql
-- Under the instance locks: cancels instances whose callers no longer want them. What they have called themselves hears it by its own inbox row, so a deep
-- tree goes level by level. Writes: as terminate_instances.
create or replace function bpm_core.cancel_called(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.terminate_instances(p_tenant_id, array(
    select w.id
      from unnest(p_rows) r
     cross join lateral (select w.id, w.status from bpm_core.workflow_instance w where w.tenant_id = p_tenant_id and w.id = r.target_id offset 0) w
     where w.status in ('Running', 'Suspended')), 'Cancelled', '{"caller": true}');
end
$$;

-- from 40_flow/cancel_process.sql
-- Cancels a process with everything in it: tokens, tasks, timers, waits, approvals, unsent commands. Commands already on their way finish their own life.
-- Returns:  one row: process_instance_id, status (Cancelled; of one that had ended before, how it ended).
-- Raises:   BP403, BP404, BP422 reason too long.
-- Writes:   as terminate_instances, audit_event. Locks: all workflow instances of the process.
create or replace function bpm.cancel_process(p_process_instance_id uuid, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (process_instance_id uuid, status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor     text;
  v_instances uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  perform bpm_core.lock_instances_of_process(p_tenant_id, p_process_instance_id);
  v_instances := array(
    select w.id
      from bpm_core.workflow_instance w
     where w.tenant_id = p_tenant_id and w.process_instance_id = p_process_instance_id and w.status in ('Running', 'Suspended')
     -- What they have called hears of it through the inbox, level by level.
     and w.parent_token_id is null);
  if cardinality(v_instances) > 0 then
    perform bpm_core.terminate_instances(p_tenant_id, v_instances, 'Cancelled', jsonb_build_object('actor', v_actor, 'reason', p_reason));
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'CancelProcess', 'process_instance', p_process_instance_id::text, null, p_reason);
  end if;
  return query
  select p.id, p.status::text from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
end
$$;

-- from 40_flow/cancel_scopes.sql
-- Marks open scopes as Cancelled; their tokens are dealt with by the caller.
-- Writes:   scope, history_event.
create or replace function bpm_core.cancel_scopes(p_tenant_id text, p_scopes uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if coalesce(cardinality(p_scopes), 0) = 0 then
    return;
  end if;
  with cancelled as (
    update bpm_core.scope s
       set state = 'Cancelled', live_tokens = 0
      from (select p_tenant_id as tenant_id, k.id from unnest(p_scopes) k(id) offset 0) k
     where s.tenant_id = k.tenant_id and s.id = k.id and s.state = 'Open'
    returning s.workflow_instance_id, s.id, s.host_token_id, s.node_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select p_tenant_id, c.workflow_instance_id, bpm_core.now(), 'ScopeCancelled', c.host_token_id, c.node_id, jsonb_build_object('scope', c.id)
    from cancelled c;
end
$$;

-- from 40_flow/catch_thrown.sql
-- Lets errors be caught: the host of the catching boundary event leaves by it, with everything in it closed; an event sub-process begins in its scope.
-- One by one, since the first may end what the second stands in; such a one is gone.
-- p_ends: the throwers are end events, so their tokens end there; else they rest at the activity that throws.
-- Returns:  leaving moving[]: what goes on, not yet moved; uncaught thrown[], untouched.
-- Writes:   token, workflow_instance, scope, history_event, what close_waits writes. The instances are locked.
create or replace function bpm_core.catch_thrown(p_thrown bpm_core.thrown[], p_ends boolean, out leaving bpm_core.moving[], out uncaught bpm_core.thrown[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_thrown bpm_core.thrown;
  v_catch  bpm_core.catch;
begin
  leaving := '{}';
  uncaught := '{}';
  foreach v_thrown in array p_thrown loop
    continue when cardinality(bpm_core.drop_dead(array[v_thrown.token])) = 0;
    v_catch := bpm_core.find_catch(v_thrown.token, 'ErrorBoundary', v_thrown.code);
    if v_catch.node_id is null then
      uncaught := uncaught || v_thrown;
      continue;
    end if;
    v_catch.interrupting := true;  -- an error ends what it is caught at, whatever the drawing says
    if p_ends then
      perform bpm_core.complete_tokens(array[v_thrown.token]);
    end if;
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    values ((v_catch.host).tenant_id, (v_catch.host).instance_id, bpm_core.now(), 'ErrorCaught', (v_catch.host).token_id, v_catch.node_id,
            jsonb_build_object('host', (v_catch.host).node_id, 'code', v_thrown.code, 'message', v_thrown.message)
            || case when v_catch.is_start then '{"interrupting": false}'::jsonb else '{}' end);
    leaving := leaving || bpm_core.follow_catch(v_catch);
  end loop;
end
$$;

-- from 40_flow/check_message.sql
-- The arguments of correlate_message.
-- Raises:   BP400, BP422.
create or replace function bpm_core.check_message(p_name text, p_correlation_key text, p_payload jsonb, p_ttl interval, p_message_id text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(length(p_name), 0) not between 1 and 300 or coalesce(length(p_correlation_key), 0) not between 1 and 300
     or length(p_message_id) not between 1 and 300 then
    perform bpm_core.fail('BP400', 'Name, correlation key and message id are texts of 1 to 300 characters.');
  elsif p_ttl is null or p_ttl not between interval '0' and interval '365 days' then
    perform bpm_core.fail('BP400', 'The time to live is 0 to 365 days.', jsonb_build_object('ttl', p_ttl));
  elsif bpm_core.variables_fault(p_payload) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_payload));
  end if;
end
$$;

-- from 40_flow/check_placement.sql
-- May a token be placed at a node by hand? It must lie in the same scope and be one that a flow can bring a token to.
-- Raises:   BP422 why not.
create or replace function bpm_core.check_placement(p_token bpm_core.moving, p_node_id text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_from bpm_core.workflow_node;
  r_to   bpm_core.workflow_node;
  v_why  text;
begin
  select n.* into r_from
    from bpm_core.workflow_node n
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_token.version_id and n.node_id = p_token.node_id;
  select n.* into r_to
    from bpm_core.workflow_node n
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_token.version_id and n.node_id = p_node_id;
  v_why := case
    when r_to.node_id is null then format('there is no node %L in its version', p_node_id)
    when r_to.scope_node_id is distinct from r_from.scope_node_id
      then format('%s lies %s, the token %s', p_node_id, coalesce('in ' || r_to.scope_node_id, 'outside of every sub-process'),
                  coalesce('in ' || r_from.scope_node_id, 'outside of every sub-process'))
    when r_to.kind in ('ParallelJoin', 'InclusiveJoin') then format('%s is a join, which counts what comes over each of its flows', p_node_id)
    when r_to.kind in ('CompensationMark', 'CompensationDone') then format('%s belongs to compensation', p_node_id)
    when r_to.incoming = 0 then format('no flow leads to %s (%s)', p_node_id, r_to.element) end;
  if v_why is not null then
    perform bpm_core.fail('BP422', format('Token %s cannot be moved from %s to %s: %s.', p_token.token_id, p_token.node_id, p_node_id, v_why),
      jsonb_build_object('from', p_token.node_id, 'to', p_node_id, 'from_scope', r_from.scope_node_id, 'to_scope', r_to.scope_node_id),
      'A token can be moved to any node within its sub-process that a flow leads to; to get into a join, skip the node before it.');
  end if;
end
$$;

-- from 40_flow/check_positions.sql
-- The shape of positions as a caller hands them back: an object whose values are all of one JSON type.
-- p_type: 'object' where each picker has one position, 'array' where each task type has one per priority level.
-- Raises:   BP400 not ones of ours.
create or replace function bpm_core.check_positions(p_positions jsonb, p_type text)
returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_positions is null or p_positions = 'null' then
    return;
  elsif jsonb_typeof(p_positions) <> 'object'
        or jsonb_path_exists(p_positions, 'strict $.* ? (@.type() != $type)', jsonb_build_object('type', p_type)) then
    perform bpm_core.fail('BP400', 'The positions are not ones this function gave back.', null, 'Pass null to begin anew.');
  end if;
end
$$;

-- from 40_flow/check_reason.sql
-- The reason an operator gives.
-- Raises:   BP422 too long.
create or replace function bpm_core.check_reason(p_reason text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(p_reason) > 4000 then
    perform bpm_core.fail('BP422', format('The reason has %s characters; at most 4000.', length(p_reason)), jsonb_build_object('length', length(p_reason)));
  end if;
end
$$;

-- from 40_flow/check_running.sql
-- Refuses repairs of instances that are not running.
-- Raises:   BP409 final, BP423 suspended.
create or replace function bpm_core.check_running(p_tenant_id text, p_instance_id uuid)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_status bpm_core.workflow_status;
begin
  select w.status into v_status from bpm_core.workflow_instance w where w.tenant_id = p_tenant_id and w.id = p_instance_id;
  if v_status = 'Suspended' then
    perform bpm_core.fail('BP423', format('Instance %s is suspended.', p_instance_id), null, 'Resume it first.');
  elsif v_status <> 'Running' then
    perform bpm_core.fail('BP409', format('Instance %s is %s.', p_instance_id, v_status), jsonb_build_object('status', v_status));
  end if;
end
$$;

-- from 40_flow/check_start_items.sql
-- The shape of the items of start_processes.
-- Raises:   BP400 not an array of objects, unknown key, code missing, key or business key empty or longer than 300 characters. BP429 over 1,000.
create or replace function bpm_core.check_start_items(p_items jsonb)
returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys constant text[] := array['code', 'variables', 'business_key', 'idempotency_key', 'version'];
  v_bad  bigint;
begin
  if jsonb_typeof(p_items) is distinct from 'array' then
    perform bpm_core.fail('BP400', 'The items must be a JSON array.', null, 'Pass an array of objects with code, variables, business_key, idempotency_key, version.');
  elsif jsonb_array_length(p_items) > 1000 then
    perform bpm_core.fail('BP429', format('%s items in one call; at most 1000.', jsonb_array_length(p_items)), null, 'Split the call.');
  end if;
  select i.n into v_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where case when jsonb_typeof(i.item) <> 'object' then true
              else jsonb_typeof(i.item -> 'code') is distinct from 'string'
                   or i.item - v_keys <> '{}'
                   or coalesce(jsonb_typeof(i.item -> 'business_key'), 'null') not in ('string', 'null')
                   or coalesce(jsonb_typeof(i.item -> 'idempotency_key'), 'null') not in ('string', 'null')
                   or length(i.item ->> 'business_key') not between 1 and 300
                   or length(i.item ->> 'idempotency_key') not between 1 and 300
                   or coalesce(i.item ->> 'version', '1') !~ '^[0-9]{1,9}$' end
   order by i.n
   limit 1;
  if v_bad is not null then
    perform bpm_core.fail('BP400', format('Item %s is not of the form this call takes.', v_bad), jsonb_build_object('item', v_bad, 'keys', v_keys),
      'code is text; version a whole number; business_key and idempotency_key text of 1 to 300 characters.');
  end if;
end
$$;

-- from 40_flow/clear_joins.sql
-- Takes what these ended tokens had brought to joins out of the rounds that are collected. Their scope may stay open (an interrupting event
-- sub-process emptied it): without this the dead would count among those that wait.
-- p_ended: all live tokens of their scopes, where they stood and the flow they came over. Writes: parallel_join, inclusive_join, parallel_join_arrival.
create or replace function bpm_core.clear_joins(p_ended bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with arrived as materialized (
    select a.tenant_id, a.workflow_instance_id, a.scope_id, a.node_id, a.flow_id, a.round
      from unnest(p_ended) e
     cross join lateral (select a.* from bpm_core.parallel_join_arrival a
                          where a.tenant_id = e.tenant_id and a.workflow_instance_id = e.instance_id and a.scope_id = e.scope_id
                            and a.node_id = e.node_id and a.flow_id = e.flow_id offset 0) a
     where a.token_id = e.token_id),
  rounds as (
    delete from bpm_core.parallel_join j
     using (select distinct a.tenant_id, a.workflow_instance_id, a.scope_id, a.node_id, a.round from arrived a) a
     where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.workflow_instance_id and j.scope_id = a.scope_id and j.node_id = a.node_id
       and j.round = a.round and j.fired_at is null),
  collected as (
    delete from bpm_core.inclusive_join j
     using (select distinct a.tenant_id, a.workflow_instance_id, a.scope_id, a.node_id from arrived a) a
     where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.workflow_instance_id and j.scope_id = a.scope_id and j.node_id = a.node_id)
  delete from bpm_core.parallel_join_arrival r
   using arrived a
   where r.tenant_id = a.tenant_id and r.workflow_instance_id = a.workflow_instance_id and r.scope_id = a.scope_id and r.node_id = a.node_id
     and r.flow_id = a.flow_id and r.round = a.round;
end
$$;

-- from 40_flow/close_calls.sql
-- Cancels what these hosts have called and what still runs: through the inbox, since each is an instance of its own. Its own calls follow then.
-- Writes:   inbox.
create or replace function bpm_core.close_calls(p_tenant_id text, p_hosts uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select p_tenant_id, bpm_core.new_id(), 'WorkflowInstance', c.id, 'Cancel', jsonb_build_object('caller', k.id), bpm_core.now()
    from unnest(p_hosts) k(id)
   cross join lateral (select w.tenant_id, w.id, w.status from bpm_core.workflow_instance w where w.parent_token_id = k.id offset 0) c
   where c.tenant_id = p_tenant_id and c.status in ('Running', 'Suspended');
end
$$;

-- from 40_flow/close_events.sql
-- Closes the timers and the message and signal waits of these tokens. A message already on its way to one goes back to the buffer when tick applies it.
-- Writes:   timer, subscription, history_event.
create or replace function bpm_core.close_events(p_tenant_id text, p_tokens uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with live as materialized (
    select t.tenant_id, t.id
      from unnest(p_tokens) k(id)
     cross join lateral (select t.tenant_id, t.id, t.status from bpm_core.timer t where t.token_id = k.id offset 0) t
     where t.tenant_id = p_tenant_id and t.status in ('Scheduled', 'Held')),
  cancelled as (
    update bpm_core.timer t
       set status = 'Cancelled'
      from live l
     where t.tenant_id = l.tenant_id and t.id = l.id
    returning t.workflow_instance_id, t.id, t.token_id, t.node_id),
  open as materialized (
    select s.tenant_id, s.id
      from unnest(p_tokens) k(id)
     cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.subscription s where s.token_id = k.id offset 0) s
     where s.tenant_id = p_tenant_id and s.state = 'Open'),
  closed as (
    update bpm_core.subscription s
       set state = 'Closed'
      from open o
     where s.tenant_id = o.tenant_id and s.id = o.id
    returning s.workflow_instance_id, s.id, s.token_id, s.node_id, s.name)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select p_tenant_id, c.workflow_instance_id, bpm_core.now(), 'TimerCancelled'::bpm_core.history_kind, c.token_id, c.node_id, jsonb_build_object('timer', c.id)
    from cancelled c
  union all
  select p_tenant_id, c.workflow_instance_id, bpm_core.now(), 'SubscriptionClosed'::bpm_core.history_kind, c.token_id, c.node_id,
         jsonb_build_object('subscription', c.id, 'name', c.name)
    from closed c;
end
$$;

-- from 40_flow/close_incidents.sql
-- Resolves the open incidents of tokens that are taken off their node by something else; the engine is the resolver.
-- That of a starved join names no token but a scope: it goes with the tokens that waited there.
-- Writes:   incident, history_event.
create or replace function bpm_core.close_incidents(p_hosts bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with open as materialized (
    select i.tenant_id, i.id
      from unnest(p_hosts) h
     cross join lateral (select i.tenant_id, i.id, i.state, i.token_id, i.code, i.detail from bpm_core.incident i
                          where i.workflow_instance_id = h.instance_id offset 0) i
     where i.tenant_id = h.tenant_id and i.state = 'Open'
       and (i.token_id = h.token_id or i.token_id is null and i.code = 'JoinStarved' and i.detail ->> 'scope' = h.scope_id::text)),
  closed as (
    update bpm_core.incident i
       set state = 'Resolved', resolved_at = v_now, resolved_by = 'engine'
      from open o
     where i.tenant_id = o.tenant_id and i.id = o.id
    returning i.tenant_id, i.workflow_instance_id, i.id, i.token_id, i.node_id),
  letter as materialized (
    select d.tenant_id, d.id
      from closed c
     cross join lateral (select d.tenant_id, d.id, d.state from bpm_core.dead_letter d where d.incident_id = c.id offset 0) d
     where d.tenant_id = c.tenant_id and d.state = 'Open'),
  buried as (
    update bpm_core.dead_letter d
       set state = 'Discarded', closed_by = 'engine', closed_at = v_now
      from letter l
     where d.tenant_id = l.tenant_id and d.id = l.id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  select c.tenant_id, c.workflow_instance_id, v_now, 'IncidentResolved', c.token_id, c.node_id, 'engine',
         jsonb_build_object('incident', c.id, 'closed', true)
    from closed c;
end
$$;

-- from 40_flow/close_scopes.sql
-- Cancels the open scopes of these hosts with everything inside, however deep. The hosts are left alone.
-- Writes:   as empty_scopes, cancel_scopes and drop_loops.
create or replace function bpm_core.close_scopes(p_tenant_id text, p_hosts uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_scopes uuid[];
begin
  v_scopes := array(
    select s.id
      from unnest(p_hosts) k(id)
     cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.scope s where s.host_token_id = k.id offset 0) s
     where s.tenant_id = p_tenant_id and s.state = 'Open');
  if cardinality(v_scopes) > 0 then
    perform bpm_core.empty_scopes(p_tenant_id, v_scopes);
    perform bpm_core.cancel_scopes(p_tenant_id, v_scopes);
  end if;
  perform bpm_core.drop_loops(p_tenant_id, p_hosts);
end
$$;

-- from 40_flow/close_starts.sql
-- Closes the timers and waits by which event sub-processes would begin in the scopes of these hosts; those of their boundary events stay.
-- Writes:   timer, subscription, history_event.
create or replace function bpm_core.close_starts(p_hosts bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with start as materialized (
    select h.tenant_id, h.token_id, n.node_id
      from unnest(p_hosts) h
     cross join lateral (select t.node_id from bpm_core.token t where t.tenant_id = h.tenant_id and t.id = h.token_id offset 0) t
     cross join lateral (select n.node_id, n.element from bpm_core.workflow_node n
                          where n.tenant_id = h.tenant_id and n.workflow_version_id = h.version_id and n.attached_to = t.node_id offset 0) n
     where n.element = 'startEvent'),
  live as materialized (
    select t.tenant_id, t.id
      from start s
     cross join lateral (select t.tenant_id, t.id, t.status from bpm_core.timer t where t.token_id = s.token_id and t.node_id = s.node_id offset 0) t
     where t.tenant_id = s.tenant_id and t.status in ('Scheduled', 'Held')),
  cancelled as (
    update bpm_core.timer t set status = 'Cancelled' from live l where t.tenant_id = l.tenant_id and t.id = l.id
    returning t.tenant_id, t.workflow_instance_id, t.id, t.token_id, t.node_id),
  open as materialized (
    select w.tenant_id, w.id
      from start s
     cross join lateral (select w.tenant_id, w.id, w.state from bpm_core.subscription w where w.token_id = s.token_id and w.node_id = s.node_id offset 0) w
     where w.tenant_id = s.tenant_id and w.state = 'Open'),
  closed as (
    update bpm_core.subscription s set state = 'Closed' from open o where s.tenant_id = o.tenant_id and s.id = o.id
    returning s.tenant_id, s.workflow_instance_id, s.id, s.token_id, s.node_id, s.name)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select c.tenant_id, c.workflow_instance_id, bpm_core.now(), 'TimerCancelled'::bpm_core.history_kind, c.token_id, c.node_id, jsonb_build_object('timer', c.id)
    from cancelled c
  union all
  select c.tenant_id, c.workflow_instance_id, bpm_core.now(), 'SubscriptionClosed', c.token_id, c.node_id, jsonb_build_object('subscription', c.id, 'name', c.name)
    from closed c;
end
$$;

-- from 40_flow/close_waits.sql
-- Closes whatever waits on these tokens: tasks, timers, subscriptions, approvals, open incidents, what they called, and the scopes they are hosts of
-- with all that is inside. The tokens themselves are left alone.
-- Writes:   task_instance, execution, timer, subscription, approval_record, incident, scope, inbox, history_event.
create or replace function bpm_core.close_waits(p_hosts bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_tokens uuid[];
begin
  if coalesce(cardinality(p_hosts), 0) = 0 then
    return;
  end if;
  v_tokens := array(select h.token_id from unnest(p_hosts) h);
  perform bpm_core.close_tasks(p_hosts);
  perform bpm_core.close_events((p_hosts[1]).tenant_id, v_tokens);
  perform bpm_core.close_approvals((p_hosts[1]).tenant_id, v_tokens);
  perform bpm_core.close_incidents(p_hosts);
  perform bpm_core.close_calls((p_hosts[1]).tenant_id, v_tokens);
  perform bpm_core.close_scopes((p_hosts[1]).tenant_id, v_tokens);
end
$$;

-- from 40_flow/complete_items.sql
-- Ends the tokens of items at their end, and their scopes with them; the outputs stay with the scopes.
-- Writes:   token, scope, workflow_instance (live_tokens), history_event.
create or replace function bpm_core.complete_items(p_items bpm_core.item_end[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.token t
     set node_id = (i.token).node_id, via_flow_id = (i.token).flow_id, state = 'Completed', version = t.version + 1, updated_at = v_now
    from unnest(p_items) i
   where t.tenant_id = (i.token).tenant_id and t.id = (i.token).token_id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
  select (i.token).tenant_id, (i.token).instance_id, v_now, 'TokenCompleted', (i.token).token_id, (i.token).node_id, 'Completed'
    from unnest(p_items) i;
  update bpm_core.workflow_instance w
     set live_tokens = w.live_tokens - d.fewer
    from (select (i.token).tenant_id, (i.token).instance_id, count(*)::integer as fewer from unnest(p_items) i group by 1, 2) d
   where w.tenant_id = d.tenant_id and w.id = d.instance_id;
  update bpm_core.scope s
     set state = 'Completed', live_tokens = s.live_tokens - 1, output = i.output
    from unnest(p_items) i
   where s.tenant_id = (i.token).tenant_id and s.id = (i.token).scope_id;
end
$$;

-- from 40_flow/complete_tokens.sql
-- Ends tokens at the nodes they arrive at, and counts them out of their instances and scopes. Whether that ends anything is for the caller.
-- Returns:  uuid[], the scopes left without a token. Writes: token, workflow_instance (live_tokens), scope, history_event.
create or replace function bpm_core.complete_tokens(p_arriving bpm_core.moving[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.token t
     set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Completed', version = t.version + 1, updated_at = v_now
    from unnest(p_arriving) a
   where t.tenant_id = a.tenant_id and t.id = a.token_id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
  select a.tenant_id, a.instance_id, v_now, 'TokenCompleted', a.token_id, a.node_id, 'Completed'
    from unnest(p_arriving) a;
  update bpm_core.workflow_instance w
     set live_tokens = w.live_tokens - d.fewer
    from (select a.tenant_id, a.instance_id, count(*)::integer as fewer from unnest(p_arriving) a group by a.tenant_id, a.instance_id) d
   where w.tenant_id = d.tenant_id and w.id = d.instance_id;
  return bpm_core.count_in_scopes('{}', p_arriving);
end
$$;

-- from 40_flow/continue_later.sql
-- Leaves the items of parallel multi-instances that exceed one command to tick: one row in the inbox of the instance.
-- Writes:   inbox.
create or replace function bpm_core.continue_later(p_plans bpm_core.loop_plan[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select (p.host).tenant_id, bpm_core.new_id(), 'WorkflowInstance', (p.host).instance_id, 'Continue',
         jsonb_build_object('host', (p.host).token_id, 'visit', p.visit), bpm_core.now()
    from unnest(p_plans) p;
end
$$;

-- from 40_flow/continue_loops.sql
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
  update bpm_core.multi_instance m
     set created = m.created + p.items::integer
    from unnest(v_plans) p
   where m.tenant_id = (p.host).tenant_id and m.host_token_id = (p.host).token_id;
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

-- from 40_flow/correlate_message.sql
-- Gives a message to the wait for it, or keeps it until one opens or its time is over. At most one receiver per message.
-- Commit when you call it from your own transaction; the key stays locked until then.
-- p_ttl: how long it is kept when nobody waits; 0 meets only existing waits. p_message_id: repeating a call with it gives the first answer.
-- Returns:  one row: message_id, state (Correlated, Buffered, Expired), process_instance_id of the receiver, is_new.
-- Raises:   BP400 name or key missing or too long, ttl out of 0..365 days. BP403. BP409 message id used for another message. BP422 payload refused.
-- Writes:   message, inbox; when the receiver is free at once also all that applying it writes.
-- Locks:    the message key, then its instance by skip locked only (it holds a key, so it may not wait).
create or replace function bpm.correlate_message(
  p_name text, p_correlation_key text, p_payload jsonb default '{}', p_ttl interval default interval '1 hour', p_message_id text default null,
  p_tenant_id text default '')
returns table (message_id uuid, state text, process_instance_id uuid, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_id uuid;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_message(p_name, p_correlation_key, p_payload, p_ttl, p_message_id);
  perform bpm_core.lock_message_keys(array[bpm_core.message_key_hash(p_tenant_id, p_name, p_correlation_key)]);
  v_id := bpm_core.keep_message(p_tenant_id, p_name, p_correlation_key, bpm_core.decode_variables(p_payload), p_ttl, p_message_id);
  is_new := v_id is not null;
  if is_new then
    perform bpm_core.offer_message(p_tenant_id, v_id);
  else
    v_id := bpm_core.known_message(p_tenant_id, p_name, p_correlation_key, p_payload, p_message_id);
  end if;
  return query
  select m.id, m.state::text, w.process_instance_id, is_new
    from bpm_core.message m
    left join lateral (select s.workflow_instance_id from bpm_core.subscription s
                        where s.tenant_id = m.tenant_id and s.id = m.correlated_to offset 0) s on true
    left join lateral (select w.process_instance_id from bpm_core.workflow_instance w
                        where w.tenant_id = m.tenant_id and w.id = s.workflow_instance_id offset 0) w on true
   where m.tenant_id = p_tenant_id and m.id = v_id;
end
$$;

-- from 40_flow/correlation_key.sql
-- The key a path, or the tree of an expression, gives a message wait, as correlate_message could name it. An encrypted text is nobody's key: it is never compared.
-- Returns:  text; null when the path leads to no scalar, to an empty or encrypted text, or to one of more than 300 characters.
create or replace function bpm_core.correlation_key(p_path text, p_tree jsonb, p_variables jsonb)
returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text := case when p_tree is null then bpm_core.text_value('=' || p_path, p_variables) else bpm_core.evaluate_text(p_tree, p_variables) end;
begin
  return case when length(v_key) between 1 and 300 and not starts_with(v_key, '__encrypted:') then v_key end;
end
$$;

-- from 40_flow/count_in_scopes.sql
-- Keeps the counters of the scopes that tokens were born in and ended in; those of the root are counted with their instance.
-- Returns:  uuid[], the scopes that have no live token left.
-- Writes:   scope.
create or replace function bpm_core.count_in_scopes(p_born bpm_core.moving[], p_ended bpm_core.moving[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_empty uuid[];
begin
  with change as materialized (
    select c.tenant_id, c.scope_id, sum(c.more)::integer as more
      from (select b.tenant_id, b.scope_id, 1 as more from unnest(p_born) b
            union all
            select e.tenant_id, e.scope_id, -1 from unnest(p_ended) e) c
     where c.scope_id <> bpm_core.root_scope()
     group by c.tenant_id, c.scope_id),
  counted as (
    update bpm_core.scope s
       set live_tokens = s.live_tokens + c.more
      from change c
     where s.tenant_id = c.tenant_id and s.id = c.scope_id
    returning s.id, s.live_tokens)
  select array_agg(c.id) filter (where c.live_tokens = 0) into v_empty
    from counted c;
  return coalesce(v_empty, '{}');
end
$$;

-- from 40_flow/count_items.sql
-- Counts items that have ended, one row write per host however many they are, and says which hosts are through. Of a sequence that goes on the next item
-- is counted as begun.
-- Returns:  loop_state[]. Writes: multi_instance.
create or replace function bpm_core.count_items(p_items bpm_core.item_end[])
returns bpm_core.loop_state[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_hosts bpm_core.loop_state[];
begin
  v_hosts := array(
    select row(g.host, g.visit, g.steps, g.mode, g.spec, g.declared, g.total, g.created, g.done, g.bytes,
               g.done = g.total or g.verdict = (g.mode <> 'Loop'))::bpm_core.loop_state
      from (select (array_agg(i.host))[1] as host, min(i.visit) as visit, min(i.steps) as steps, min(i.mode) as mode, (array_agg(i.spec))[1] as spec,
                   (array_agg(i.declared))[1] as declared, min(i.total) as total, min(i.created) as created,
                   min(i.done) + count(*)::integer as done, coalesce(sum(octet_length(i.output::text) + 2), 0)::bigint as bytes, bool_or(i.verdict) as verdict
              from unnest(p_items) i
             group by (i.host).token_id) g);
  update bpm_core.multi_instance m
     set done = h.done, output_bytes = m.output_bytes + h.bytes, created = m.created + case when h.ends or h.mode = 'Parallel' then 0 else 1 end
    from unnest(v_hosts) h
   where m.tenant_id = (h.host).tenant_id and m.host_token_id = (h.host).token_id;
  return v_hosts;
end
$$;

-- from 40_flow/drive.sql
-- The hop loop: groups arriving tokens by the kind of node they enter, hands each group to its kind, follows what moves on.
-- Kinds run in the order of bpm_core.node_kind: those that end an instance first, so that their victims leave the moving set.
-- What the kinds give back with a kind are message waits, of tokens that rest there; without one it moves on.
-- Inclusive joins, then conditions that are waited for, are looked at when nothing moves any more; what they send on goes on in the same loop.
-- A token that has hopped as often as the step budget allows is parked; tick goes on with it. Message waits of all hops are
-- opened together at the end, so that the keys are locked once and sorted.
create or replace function bpm_core.drive(p_arriving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_step_budget constant integer := 1000;
  v_arriving    bpm_core.moving[] := p_arriving;
  v_leaving     bpm_core.moving[];
  v_entered     bpm_core.moving[];
  v_waiting     bpm_core.moving[] := '{}'::bpm_core.moving[];
  v_joining     bpm_core.moving[] := '{}'::bpm_core.moving[];
  v_hops        integer := 0;
  v_some_ended  boolean;
  v_inclusive   boolean;
  v_conditional boolean := bpm_core.has_conditions(p_arriving);
  v_touched     bpm_core.moving[] := '{}'::bpm_core.moving[];
  r_group       record;
begin
  v_inclusive := exists (
    select
      from (select distinct a.tenant_id, a.version_id from unnest(p_arriving) a offset 0) v
     cross join lateral (select from bpm_core.inclusive_flow f
                          where f.tenant_id = v.tenant_id and f.workflow_version_id = v.version_id limit 1) f);
  while cardinality(v_arriving) > 0 and v_hops < v_step_budget loop
    v_hops := v_hops + 1;
    v_leaving := '{}'::bpm_core.moving[];
    v_some_ended := false;
    for r_group in
      select a.kind, array_agg(a) as arriving
        from unnest(v_arriving) a
       group by a.kind
       order by a.kind
    loop
      if v_some_ended then
        r_group.arriving := bpm_core.drop_dead(r_group.arriving);
        v_leaving := bpm_core.drop_dead(v_leaving);
      end if;
      v_entered := bpm_core.enter_nodes(r_group.kind, r_group.arriving);
      if bpm_core.holds_tokens(r_group.kind) then
        v_waiting := v_waiting || array(select e from unnest(v_entered) e where e.kind is not null);
        v_leaving := v_leaving || array(select e from unnest(v_entered) e where e.kind is null);
      else
        v_leaving := v_leaving || v_entered;
      end if;
      if r_group.kind in ('ParallelJoin', 'InclusiveJoin', 'EndEvent') then
        v_joining := v_joining || r_group.arriving;
      end if;
      v_inclusive := v_inclusive or r_group.kind = 'InclusiveJoin';
      v_conditional := v_conditional or (r_group.kind = 'CallActivity' and bpm_core.has_conditions(v_entered));
      v_some_ended := v_some_ended or r_group.kind in ('TerminateEnd', 'ErrorEnd', 'CancelEnd', 'EscalationThrow', 'ItemEnd');
    end loop;
    if v_some_ended then
      v_leaving := bpm_core.drop_dead(v_leaving);
    end if;
    if cardinality(v_waiting) > 0 then
      -- A host may leave in the command in which it came, and its waits with it.
      v_waiting := array(select w from unnest(v_waiting) w where not exists (select from unnest(v_leaving) l where l.token_id = w.token_id));
    end if;
    if v_inclusive or v_conditional then
      v_touched := array(select distinct on (m.instance_id, m.scope_id) m from unnest(v_touched || v_arriving) m order by m.instance_id, m.scope_id);
    end if;
    v_arriving := bpm_core.follow_flows(v_leaving);
    if v_inclusive and cardinality(v_arriving) = 0 then
      v_arriving := bpm_core.follow_flows(bpm_core.fire_inclusive_joins(v_touched));
    end if;
    if v_conditional and cardinality(v_arriving) = 0 then
      v_leaving := bpm_core.meet_conditions((p_arriving[1]).tenant_id, array(select t.instance_id from unnest(v_touched) t));
      v_waiting := array(select w from unnest(v_waiting) w where not exists (select from unnest(v_leaving) l where l.token_id = w.token_id));
      v_arriving := bpm_core.follow_flows(v_leaving);
    end if;
  end loop;
  -- Asked here and not in the functions: a call costs its seven pinned settings even when there is nothing to do.
  if cardinality(v_arriving) > 0 then
    perform bpm_core.park_tokens(v_arriving, v_hops);
    if v_inclusive then
      perform bpm_core.park_tokens(bpm_core.follow_flows(bpm_core.fire_inclusive_joins(v_touched)), v_hops);
    end if;
  end if;
  if cardinality(v_waiting) > 0 then
    perform bpm_core.open_waits(v_waiting);
  end if;
  if cardinality(v_joining) > 0 then
    perform bpm_core.note_starved_joins(v_joining);
  end if;
end
$$;

-- from 40_flow/drive_incident.sql
-- Under the lock: marks an incident resolved and drives what it stopped.
-- Writes:   incident, dead_letter, audit_event, history_event, inbox, and what revive_task or the path ahead writes.
create or replace function bpm_core.drive_incident(p_incident bpm_core.incident, p_attempts integer, p_actor text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.incident i
     set state = 'Resolved', resolved_at = v_now, resolved_by = p_actor
   where i.tenant_id = p_incident.tenant_id and i.id = p_incident.id;
  update bpm_core.dead_letter d
     set state = case when d.kind in ('Task', 'Inbox') then 'Requeued' else 'Discarded' end::bpm_core.dead_letter_state, closed_at = v_now, closed_by = p_actor
    from (select o.tenant_id, o.id, o.state from bpm_core.dead_letter o where o.incident_id = p_incident.id offset 0) o
   where o.state = 'Open' and d.tenant_id = o.tenant_id and d.id = o.id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_incident.tenant_id, p_incident.workflow_instance_id, v_now, 'IncidentResolved', p_incident.token_id, p_incident.node_id, p_actor,
          jsonb_build_object('incident', p_incident.id, 'code', p_incident.code));
  perform bpm_core.write_audit(p_incident.tenant_id, p_actor, 'ResolveIncident', 'incident', p_incident.id::text, null, null,
    jsonb_build_object('attempts', p_attempts, 'code', p_incident.code));
  perform bpm_core.bump_instances(p_incident.tenant_id, array[p_incident.workflow_instance_id]);
  if bpm_core.revive_task(p_incident.tenant_id, (p_incident.detail ->> 'task')::uuid, p_attempts, p_actor) or bpm_core.redo_outputs(p_incident, p_actor)
     or bpm_core.redo_scope_outputs(p_incident) then
    return;
  end if;
  -- The node is entered anew, so what it offered the first time (a task whose boundary timer was wrong) goes.
  perform bpm_core.close_waits(array(
    select row(t.tenant_id, t.workflow_instance_id, null, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
      from bpm_core.token t
     where t.tenant_id = p_incident.tenant_id and t.id = p_incident.token_id and t.state = 'Failed'));
  update bpm_core.token t
     set state = 'Ready', ready_at = v_now, attempt = t.attempt + 1, steps = 0, version = t.version + 1, updated_at = v_now
   where t.tenant_id = p_incident.tenant_id and t.id = p_incident.token_id and t.state = 'Failed';
  perform bpm_core.resume_tokens(p_incident.tenant_id, array[p_incident.token_id]);
  if p_incident.code = 'InboxPoisoned' then
    perform bpm_core.revive_inbox(p_incident);
  elsif p_incident.code = 'JoinStarved' then
    perform bpm_core.note_starved_joins(array[row(p_incident.tenant_id, p_incident.workflow_instance_id, null, (p_incident.detail ->> 'scope')::uuid, null, null,
                                                  null, null)::bpm_core.moving]);
  end if;
end
$$;

-- from 40_flow/drive_isolated.sql
-- Drives arriving tokens inside the one subtransaction of a command (law 11): if it raises, half by half, and one that raises alone
-- becomes an incident where it arrived. What was accepted before (results, decisions) and the locks stay.
-- Raises:   what passes by itself or concerns the server, not the token: 40xxx, 55P03, 57xxx (cancelled, shut down), 53xxx (out of disk, memory),
--           58xxx (system error). The caller repeats the whole command.
create or replace function bpm_core.drive_isolated(p_arriving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_count integer := coalesce(cardinality(p_arriving), 0);
  v_error text;
begin
  if v_count = 0 then
    return;
  end if;
  begin
    perform bpm_core.drive(p_arriving);
    return;
  exception
    when transaction_rollback or lock_not_available or operator_intervention or insufficient_resources or system_error then
      raise;
    when others then
      v_error := format('%s (%s)', sqlerrm, sqlstate);
  end;
  if v_count = 1 then
    perform bpm_core.open_incidents(array[row(p_arriving[1], 'AdvanceFailed', v_error, null)::bpm_core.trouble]);
    -- It stands somewhere else than before, so that an inclusive join may wait for it no longer.
    perform bpm_core.advance_isolated(bpm_core.fire_inclusive_joins(p_arriving));
  else
    -- Halving costs a logarithm of subtransactions when one token among many is bad.
    perform bpm_core.drive_isolated(p_arriving[ : v_count / 2]);
    perform bpm_core.drive_isolated(p_arriving[v_count / 2 + 1 : ]);
  end if;
end
$$;

-- from 40_flow/drop_dead.sql
-- Leaves out the tokens that were ended by another token of the same hop (a terminate end).
-- Returns:  moving[], those still live.
create or replace function bpm_core.drop_dead(p_moving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select m::bpm_core.moving
      from unnest(p_moving) m
      join bpm_core.token t on t.tenant_id = m.tenant_id and t.id = m.token_id
     where t.state not in ('Completed', 'Terminated'));
end
$$;

-- from 40_flow/drop_loops.sql
-- Forgets what is kept for multi-instances and loops while they go on. Where these tokens are hosts of none: nothing.
-- Writes:   multi_instance, multi_instance_part.
create or replace function bpm_core.drop_loops(p_tenant_id text, p_hosts uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  delete from bpm_core.multi_instance m
   using (select p_tenant_id as tenant_id, k.id from unnest(p_hosts) k(id) offset 0) k
   where m.tenant_id = k.tenant_id and m.host_token_id = k.id;
  if found then
    delete from bpm_core.multi_instance_part p
     using (select p_tenant_id as tenant_id, k.id from unnest(p_hosts) k(id) offset 0) k
     where p.tenant_id = k.tenant_id and p.host_token_id = k.id;
  end if;
end
$$;

-- from 40_flow/empty_scopes.sql
-- Ends everything inside these scopes: live tokens Terminated, what waits on them closed, scopes below Cancelled. The scopes themselves stay open,
-- without a token: their caller ends or cancels them, or puts one in.
-- Writes:   token, scope, workflow_instance (live_tokens), history_event, and what clear_joins and close_waits write.
create or replace function bpm_core.empty_scopes(p_tenant_id text, p_scopes uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_below uuid[] := bpm_core.scopes_below(p_tenant_id, p_scopes);
  v_ended bpm_core.moving[];
begin
  with live as materialized (
    select t.tenant_id, t.id
      from unnest(p_scopes || v_below) k(id)
     cross join lateral (select t.tenant_id, t.id, t.state from bpm_core.token t
                          where t.scope_id = k.id and t.scope_id <> '00000000-0000-0000-0000-000000000000' offset 0) t
     where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Waiting', 'Failed')),
  ended as (
    update bpm_core.token t
       set state = 'Terminated', ready_at = null, version = t.version + 1, updated_at = v_now
      from live l
     where t.tenant_id = l.tenant_id and t.id = l.id
    returning t.workflow_instance_id, t.scope_id, t.id, t.node_id, t.via_flow_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
    select p_tenant_id, e.workflow_instance_id, v_now, 'TokenTerminated', e.id, e.node_id, 'Terminated'
      from ended e)
  select array_agg(row(p_tenant_id, e.workflow_instance_id, null, e.scope_id, e.id, e.node_id, e.via_flow_id, null)::bpm_core.moving)
    into v_ended
    from ended e;
  perform bpm_core.cancel_scopes(p_tenant_id, v_below);
  if v_ended is null then
    return;
  end if;
  update bpm_core.scope s
     set live_tokens = 0
    from (select p_tenant_id as tenant_id, k.id from unnest(p_scopes) k(id) offset 0) k
   where s.tenant_id = k.tenant_id and s.id = k.id;
  update bpm_core.workflow_instance w
     set live_tokens = w.live_tokens - d.fewer
    from (select e.tenant_id, e.instance_id, count(*)::integer as fewer from unnest(v_ended) e group by e.tenant_id, e.instance_id) d
   where w.tenant_id = d.tenant_id and w.id = d.instance_id;
  perform bpm_core.clear_joins(v_ended);
  perform bpm_core.close_waits(v_ended);
end
$$;

-- from 40_flow/end_instances.sql
-- What follows from workflow instances having ended: their history row; where it is the only binding, the end of the process; where it was called, its
-- caller hears of it.
-- The instances carry their final status already. Writes: history_event, process_instance, inbox.
create or replace function bpm_core.end_instances(p_tenant_id text, p_instances uuid[], p_status bpm_core.workflow_status, p_at timestamptz,
                                                  p_detail jsonb default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_processes uuid[];
  v_called    uuid[];
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, from_state, to_state, detail)
  select p_tenant_id, e.id, p_at, ('Instance' || p_status)::bpm_core.history_kind, 'Running', p_status::text, p_detail
    from unnest(p_instances) e(id);
  -- Shared parents come after tasks and tokens in the lock order, each class once and sorted.
  select array_agg(w.process_instance_id) filter (where w.ends_process), array_agg(w.id) filter (where w.parent_token_id is not null)
    into v_processes, v_called
    from (select p_tenant_id as tenant_id, e.* from unnest(p_instances) e(id) offset 0) e
   cross join lateral (select w.id, w.process_instance_id, w.ends_process, w.parent_token_id from bpm_core.workflow_instance w
                        where w.tenant_id = e.tenant_id and w.id = e.id offset 0) w;
  perform 1
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(v_processes) k(id) order by k.id offset 0) k
    cross join lateral (select from bpm_core.process_instance p where p.tenant_id = k.tenant_id and p.id = k.id for no key update) p;
  update bpm_core.process_instance p
     set status = p_status::text::bpm_core.process_status, version = p.version + 1, updated_at = p_at, ended_at = p_at
    from (select p_tenant_id as tenant_id, e.* from unnest(v_processes) e(id) offset 0) e
   where p.tenant_id = e.tenant_id and p.id = e.id;
  if v_called is not null then
    perform bpm_core.tell_callers(p_tenant_id, v_called, p_status, p_detail);
  end if;
end
$$;

-- from 40_flow/end_scopes.sql
-- Ends scopes in which no token is left: what waited beside the host is closed, and the host goes on. It goes on with the fewest steps of the tokens
-- that ended last: if one of them had come to rest, so had the scope.
-- p_ended: the tokens that ended in this hop. Returns: moving[], the hosts, leaving.
-- Writes:   scope, token, timer, subscription, history_event.
create or replace function bpm_core.end_scopes(p_tenant_id text, p_scopes uuid[], p_ended bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz := bpm_core.now();
  v_leaving bpm_core.moving[];
begin
  with ended as (
    update bpm_core.scope s
       set state = 'Completed'
      from (select p_tenant_id as tenant_id, k.id from unnest(p_scopes) k(id) offset 0) k
     where s.tenant_id = k.tenant_id and s.id = k.id and s.state = 'Open' and s.live_tokens = 0
    returning s.tenant_id, s.id, s.workflow_instance_id, s.parent_scope_id, s.node_id, s.host_token_id),
  host as materialized (
    select e.*, w.workflow_version_id, x.steps
      from ended e
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = e.tenant_id and w.id = e.workflow_instance_id offset 0) w
     cross join lateral (select min(t.steps) as steps
                           from unnest(p_ended) m
                          cross join lateral (select t.steps from bpm_core.token t where t.tenant_id = m.tenant_id and t.id = m.token_id offset 0) t
                          where m.scope_id = e.id) x),
  stepped as (
    update bpm_core.token t
       set steps = h.steps
      from host h
     where t.tenant_id = h.tenant_id and t.id = h.host_token_id and t.steps <> h.steps),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select h.tenant_id, h.workflow_instance_id, v_now, 'ScopeCompleted', h.host_token_id, h.node_id, jsonb_build_object('scope', h.id)
      from host h)
  select array_agg(row(h.tenant_id, h.workflow_instance_id, h.workflow_version_id, coalesce(h.parent_scope_id, bpm_core.root_scope()), h.host_token_id,
                       h.node_id, null, null)::bpm_core.moving)
    into v_leaving
    from host h;
  if v_leaving is null then
    return '{}'::bpm_core.moving[];
  end if;
  perform bpm_core.close_events(p_tenant_id, array(select l.token_id from unnest(v_leaving) l));
  return v_leaving;
end
$$;

-- from 40_flow/enter_call_activities.sql
-- KIND call activity: the token rests, and the called process begins as a workflow instance of its own within the same process instance, pinned to its
-- version. It sees what the inputs map, or all the caller sees, as it is now. Its end comes back through the inbox.
-- Returns:  moving[]: the message waits of boundary events, and the first tokens of the called instances.
-- Writes:   token, workflow_instance, history_event, incident; subscription, timer.
create or replace function bpm_core.enter_call_activities(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_waits    bpm_core.moving[];
  v_calls    bpm_core.call[];
  v_troubles bpm_core.trouble[];
begin
  perform bpm_core.host_tokens(p_arriving);
  v_waits := bpm_core.arm_boundaries(p_arriving);
  v_calls := bpm_core.prepare_calls(p_arriving);
  v_troubles := array(select c.trouble from unnest(v_calls) c where (c.trouble).code is not null);
  if cardinality(v_troubles) > 0 then
    perform bpm_core.close_waits(array(select x.token from unnest(v_troubles) x));
    perform bpm_core.open_incidents(v_troubles);
    v_waits := array(select w from unnest(v_waits) w where w.token_id <> all (array(select (x.token).token_id from unnest(v_troubles) x)));
  end if;
  return v_waits || bpm_core.insert_calls(array(select c from unnest(v_calls) c where (c.trouble).code is null));
end
$$;

-- from 40_flow/enter_conditional_catches.sql
-- KIND conditional intermediate catch event: the token rests until its condition is true, which drive asks when nothing moves any more. Its steps go on
-- counting: a loop through conditions that are true is a loop.
-- Returns:  moving[], none. Writes: token, subscription, history_event.
create or replace function bpm_core.enter_conditional_catches(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.host_tokens(p_arriving);
  perform bpm_core.open_condition_waits(p_arriving);
  return '{}'::bpm_core.moving[];
end
$$;

-- from 40_flow/enter_end_events.sql
-- KIND end event: the token ends; a scope or an instance without a live token ends with it, the instance in the same row write.
-- Returns:  moving[], the hosts of scopes that ended. Writes: token, workflow_instance, process_instance, history_event; scope.
create or replace function bpm_core.enter_end_events(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_ended uuid[];
begin
  update bpm_core.token t
     set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Completed', version = t.version + 1, updated_at = v_now
    from unnest(p_arriving) a
   where t.tenant_id = a.tenant_id and t.id = a.token_id;
  with fewer as (
    select a.tenant_id, a.instance_id, count(*)::integer as tokens
      from unnest(p_arriving) a
     group by a.tenant_id, a.instance_id),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens - f.tokens,
           status      = case when w.live_tokens = f.tokens then 'Completed'::bpm_core.workflow_status else w.status end,
           ended_at    = case when w.live_tokens = f.tokens then v_now end
      from fewer f
     where w.tenant_id = f.tenant_id and w.id = f.instance_id
    returning w.id, w.live_tokens)
  select array_agg(c.id) filter (where c.live_tokens = 0) into v_ended
    from counted c;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
  select a.tenant_id, a.instance_id, v_now, 'TokenCompleted', a.token_id, a.node_id, 'Completed'
    from unnest(p_arriving) a;
  if v_ended is not null then
    perform bpm_core.end_instances((p_arriving[1]).tenant_id, v_ended, 'Completed', v_now);
  end if;
  if exists (select from unnest(p_arriving) a where a.scope_id <> bpm_core.root_scope()) then
    return bpm_core.map_scope_outputs((p_arriving[1]).tenant_id,
      bpm_core.end_scopes((p_arriving[1]).tenant_id, bpm_core.count_in_scopes('{}', p_arriving), p_arriving));
  end if;
  return '{}'::bpm_core.moving[];
end
$$;

-- from 40_flow/enter_error_ends.sql
-- KIND error end event: the error goes to the nearest scope outwards that catches it, and the token ends; or the instance fails and its
-- caller catches it. Nobody does: an incident on the token.
-- Returns:  moving[], what goes on from where errors are caught. Writes: what catch_thrown and open_incidents write.
create or replace function bpm_core.enter_error_ends(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving  bpm_core.moving[];
  v_uncaught bpm_core.thrown[];
begin
  select c.leaving, c.uncaught into v_leaving, v_uncaught
    from bpm_core.catch_thrown(array(
      select row(0, a, n.error_code, null)::bpm_core.thrown
        from unnest(p_arriving) a
       cross join lateral (select n.error_code from bpm_core.workflow_node n
                            where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n), true) c;
  if v_uncaught <> '{}' then
    v_uncaught := bpm_core.throw_to_callers(v_uncaught, true);
  end if;
  perform bpm_core.open_incidents(array(
    select row(u.token, 'UncaughtError', format('Error %s was thrown at %s and nothing catches it.', coalesce(u.code, 'without a code'), (u.token).node_id),
               jsonb_build_object('code', u.code))::bpm_core.trouble
      from unnest(v_uncaught) u));
  return v_leaving;
end
$$;

-- from 40_flow/enter_escalation_throws.sql
-- KIND escalation throw event, intermediate or end: the nearest scope outwards that catches it goes on from there, interrupted or beside; the thrower
-- moves on unless it was in what was interrupted. An escalation nobody catches is recorded.
-- Returns:  moving[], what moves on; drive leaves out who was ended. Writes: history_event, what follow_catch writes.
create or replace function bpm_core.enter_escalation_throws(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[] := '{}'::bpm_core.moving[];
  v_token   bpm_core.moving;
  v_code    text;
  v_catch   bpm_core.catch;
begin
  foreach v_token in array p_arriving loop
    continue when cardinality(bpm_core.drop_dead(array[v_token])) = 0;
    v_code := (select n.error_code from bpm_core.workflow_node n
                where n.tenant_id = v_token.tenant_id and n.workflow_version_id = v_token.version_id and n.node_id = v_token.node_id);
    v_catch := bpm_core.find_catch(v_token, 'EscalationBoundary', v_code);
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    values (v_token.tenant_id, v_token.instance_id, bpm_core.now(), 'EscalationThrown', v_token.token_id, v_token.node_id,
            jsonb_build_object('code', v_code, 'caught', v_catch.node_id is not null or bpm_core.escalate_to_caller(v_token, v_code)));
    if v_catch.node_id is not null then
      insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
      values (v_token.tenant_id, v_token.instance_id, bpm_core.now(), 'EscalationCaught', (v_catch.host).token_id, v_catch.node_id,
              jsonb_build_object('host', (v_catch.host).node_id, 'code', v_code)
              || case when v_catch.interrupting and not v_catch.is_start then '{}'::jsonb else '{"interrupting": false}' end);
      v_leaving := v_leaving || bpm_core.follow_catch(v_catch);
    end if;
    v_leaving := v_leaving || row(v_token.tenant_id, v_token.instance_id, v_token.version_id, v_token.scope_id, v_token.token_id, v_token.node_id,
                                  null, null)::bpm_core.moving;
  end loop;
  return v_leaving;
end
$$;

-- from 40_flow/enter_event_gateways.sql
-- KIND event-based gateway: the token rests here while every event behind it is waited for, each as if the token stood at it. The first that
-- comes takes the token on from the event (leave_by_waits, leave_by_timers) and closes the others.
-- Returns:  moving[], the message waits: each names the token and the event. Writes: token, subscription, timer, history_event.
create or replace function bpm_core.enter_event_gateways(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_signals    bpm_core.moving[];
  v_timers     bpm_core.moving[];
  v_messages   bpm_core.moving[];
  v_conditions bpm_core.moving[];
begin
  perform bpm_core.rest_tokens(p_arriving);
  select array_agg(b.wait) filter (where b.kind = 'SignalCatch'), array_agg(b.wait) filter (where b.kind = 'TimerCatch'),
         array_agg(b.wait) filter (where b.kind = 'MessageCatch'), array_agg(b.wait) filter (where b.kind = 'ConditionalCatch')
    into v_signals, v_timers, v_messages, v_conditions
    from (select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, f.target_id, a.flow_id, f.target_kind)::bpm_core.moving as wait,
                 f.target_kind as kind
            from unnest(p_arriving) a
           cross join lateral (select f.target_id, f.target_kind from bpm_core.workflow_flow f
                                where f.tenant_id = a.tenant_id and f.workflow_version_id = a.version_id and f.source_id = a.node_id offset 0) f) b;
  -- Timers last: one that gives no time closes what was opened before.
  if v_signals is not null then
    perform bpm_core.open_signal_waits(v_signals);
  end if;
  if v_conditions is not null then
    perform bpm_core.open_condition_waits(v_conditions);
  end if;
  perform bpm_core.start_timers(v_timers);
  return coalesce(v_messages, '{}');
end
$$;

-- from 40_flow/enter_exclusive_gateways.sql
-- KIND exclusive gateway: the first flow in document order that is true, the default last.
-- A condition that cannot be decided stops the token with an incident; it is never taken as false (law 6).
create or replace function bpm_core.enter_exclusive_gateways(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving  bpm_core.moving[];
  v_troubles bpm_core.trouble[];
begin
  with choice as materialized (
    select a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, a.flow_id, a.kind, v.variables,
           c.flow_id as chosen, c.condition_source, c.verdict
      from unnest(p_arriving) a
     cross join lateral bpm_core.token_variables(a.tenant_id, a.instance_id, a.scope_id) v
      left join lateral (
        select f.flow_id, f.condition_source, e.verdict
          from bpm_core.workflow_flow f
         cross join lateral (
           select case when f.condition is not null then jsonb_path_match(v.variables, f.condition, f.condition_constants, true)
                       when f.condition_tree is not null then bpm_core.evaluate_condition(f.condition_tree, v.variables)
                       else true end) e(verdict)
         where f.tenant_id = a.tenant_id and f.workflow_version_id = a.version_id and f.source_id = a.node_id
           and e.verdict is not false
         order by f.ord
         limit 1) c on true),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select c.tenant_id, c.instance_id, bpm_core.now(), 'FlowChosen', c.token_id, c.node_id, jsonb_build_object('flow', c.chosen)
      from choice c
     where c.verdict)
  select coalesce(array_agg(row(c.tenant_id, c.instance_id, c.version_id, c.scope_id, c.token_id, c.node_id, c.chosen, null)::bpm_core.moving)
                    filter (where c.verdict), '{}'),
         array_agg(bpm_core.gateway_trouble(
             row(c.tenant_id, c.instance_id, c.version_id, c.scope_id, c.token_id, c.node_id, c.flow_id, c.kind)::bpm_core.moving,
             c.chosen, c.condition_source, c.variables))
           filter (where c.verdict is null)
    into v_leaving, v_troubles
    from choice c;
  if v_troubles is not null then
    perform bpm_core.open_incidents(v_troubles);
  end if;
  return v_leaving;
end
$$;

-- from 40_flow/enter_inclusive_joins.sql
-- KIND inclusive join: the token waits. Whether the join fires is decided when nothing moves any more (fire_inclusive_joins). The first
-- token over a flow since the last firing belongs to the round that is collected, the next one over the same flow to the round after it.
-- Returns:  moving[], none. Writes: token, inclusive_join, parallel_join_arrival, history_event.
create or replace function bpm_core.enter_inclusive_joins(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with arrival as materialized (
    select a.tenant_id, a.instance_id, a.scope_id, a.token_id, a.node_id, a.flow_id, p.place, p.first_place, p.flows, c.round as collects,
           greatest(c.round, coalesce(before.round, 0) + 1) - 1
           + row_number() over (partition by a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.flow_id order by a.token_id) as round
      from unnest(p_arriving) a
     cross join lateral (select p.place, p.first_place, p.flows from bpm_core.inclusive_flow p
                          where p.tenant_id = a.tenant_id and p.workflow_version_id = a.version_id and p.node_id = a.node_id
                            and p.flow_id = a.flow_id offset 0) p
     cross join lateral (
       select coalesce(
         (select j.round
            from bpm_core.inclusive_join j
           where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.instance_id and j.scope_id = a.scope_id and j.node_id = a.node_id),
         (select j.round + 1
            from bpm_core.parallel_join j
           where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.instance_id and j.scope_id = a.scope_id and j.node_id = a.node_id
           order by j.round desc
           limit 1),
         1) as round offset 0) c
      left join lateral (
        select r.round
          from bpm_core.parallel_join_arrival r
         where r.tenant_id = a.tenant_id and r.workflow_instance_id = a.instance_id and r.scope_id = a.scope_id
           and r.node_id = a.node_id and r.flow_id = a.flow_id
         order by r.round desc
         limit 1) before on true),
  kept as (
    insert into bpm_core.parallel_join_arrival (tenant_id, workflow_instance_id, scope_id, node_id, flow_id, round, token_id)
    select a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.flow_id, a.round, a.token_id
      from arrival a),
  rested as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, version = t.version + 1, updated_at = v_now
      from arrival a
     where t.tenant_id = a.tenant_id and t.id = a.token_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select a.tenant_id, a.instance_id, v_now, 'JoinReached', a.token_id, a.node_id, 'Waiting', jsonb_build_object('flow', a.flow_id, 'round', a.round)
      from arrival a)
  insert into bpm_core.inclusive_join as j (tenant_id, workflow_instance_id, scope_id, node_id, round, waiting, filled)
  select a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.collects, count(*),
         bit_or(set_bit(repeat('0', a.flows)::bit varying, a.place - a.first_place, 1))
    from arrival a
   group by a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.collects
  on conflict (tenant_id, workflow_instance_id, scope_id, node_id) do update
    set waiting = j.waiting + excluded.waiting, filled = j.filled | excluded.filled;
  return '{}'::bpm_core.moving[];
end
$$;

-- from 40_flow/enter_inclusive_splits.sql
-- KIND inclusive split: the token ends, one is born for every flow that is true (one without a condition always is); the default only when none is.
-- A condition that cannot be decided, or no flow at all, stops the token with an incident; then none of the flows is taken (law 6).
-- Returns:  moving[], the tokens born. Raises: BP429, as fork_tokens. Writes: as fork_tokens, incident.
create or replace function bpm_core.enter_inclusive_splits(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_splitting bpm_core.moving[];
  v_chosen    bpm_core.moving[];
  v_troubles  bpm_core.trouble[];
begin
  with choice as materialized (
    select a::bpm_core.moving as token, v.variables, c.unsure, c.source, coalesce(c.taken, c.fallback) as flows
      from unnest(p_arriving) a
     cross join lateral bpm_core.token_variables(a.tenant_id, a.instance_id, a.scope_id) v
     cross join lateral (
       select array_agg(f.flow_id order by f.ord) filter (where e.verdict and not f.is_default) as taken,
              array_agg(f.flow_id) filter (where f.is_default) as fallback,
              (array_agg(f.flow_id order by f.ord) filter (where e.verdict is null))[1] as unsure,
              (array_agg(f.condition_source order by f.ord) filter (where e.verdict is null))[1] as source
         from bpm_core.workflow_flow f
        cross join lateral (
          select case when f.condition is not null then jsonb_path_match(v.variables, f.condition, f.condition_constants, true)
                      when f.condition_tree is not null then bpm_core.evaluate_condition(f.condition_tree, v.variables)
                      else true end) e(verdict)
        where f.tenant_id = a.tenant_id and f.workflow_version_id = a.version_id and f.source_id = a.node_id) c)
  select array_agg(c.token) filter (where c.unsure is null and c.flows is not null),
         array_agg(bpm_core.gateway_trouble(c.token, c.unsure, c.source, c.variables)) filter (where c.unsure is not null or c.flows is null),
         array(select row((s.token).tenant_id, (s.token).instance_id, (s.token).version_id, (s.token).scope_id, (s.token).token_id, (s.token).node_id,
                          f.flow_id, null)::bpm_core.moving
                 from choice s
                cross join lateral unnest(s.flows) f(flow_id)
                where s.unsure is null)
    into v_splitting, v_troubles, v_chosen
    from choice c;
  if v_troubles is not null then
    perform bpm_core.open_incidents(v_troubles);
  end if;
  if v_splitting is null then
    return '{}'::bpm_core.moving[];
  end if;
  return bpm_core.fork_tokens(v_splitting, v_chosen);
end
$$;

-- from 40_flow/enter_item_ends.sql
-- KIND item end: an item of a multi-instance, or a turn of a loop, is over. Sequentially the next one begins; the last one, or a completion condition
-- that is true, lets the host go on, and what then still runs is closed. A condition that cannot be decided is an incident of the item that asked it: it stays
-- at its end and asks again when the incident is resolved.
-- Returns:  moving[], the tokens of the next items and the hosts that go on.
-- Writes:   token, scope, workflow_instance, multi_instance, history_event, incident, and what close_scopes, open_items and finish_loops write.
create or replace function bpm_core.enter_item_ends(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_items  bpm_core.item_end[] := bpm_core.judge_items(p_arriving);
  v_hosts  bpm_core.loop_state[];
  v_closed uuid[];
  v_alive  uuid[];
begin
  if exists (select from unnest(v_items) i where (i.trouble).code is not null) then
    perform bpm_core.open_incidents(array(select i.trouble from unnest(v_items) i where (i.trouble).code is not null));
    -- Judged again, since the counters the others saw had those in them.
    return bpm_core.enter_item_ends(array(select i.token from unnest(v_items) i where (i.trouble).code is null));
  elsif cardinality(v_items) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  perform bpm_core.complete_items(v_items);
  v_hosts := bpm_core.count_items(v_items);
  v_closed := array(select (h.host).token_id from unnest(v_hosts) h where h.ends and h.created > h.done);
  if cardinality(v_closed) > 0 then
    perform bpm_core.close_scopes((p_arriving[1]).tenant_id, v_closed);
    -- What was closed may have held others of these hosts.
    v_alive := array(select a.token_id from unnest(bpm_core.drop_dead(array(select h.host from unnest(v_hosts) h))) a);
    v_hosts := array(select h from unnest(v_hosts) h where (h.host).token_id = any (v_alive));
  end if;
  return bpm_core.open_items(array(
           select row(h.host, h.visit, h.steps, h.done, h.total,
                      bpm_core.loop_variables(h.spec, h.declared, h.done, bpm_core.loop_element((h.host).tenant_id, (h.host).token_id, h.done, h.spec)))::bpm_core.loop_item
             from unnest(v_hosts) h where not h.ends and h.mode <> 'Parallel'))
         || bpm_core.finish_loops(array(select h from unnest(v_hosts) h where h.ends));
end
$$;

-- from 40_flow/enter_message_catches.sql
-- KIND message intermediate catch event and receive task: the token rests. drive opens the waits of all hops together at the end, so that
-- the message keys are locked once and sorted.
-- Returns:  moving[], the message waits. Writes: token; timer where a receive task has boundary timers.
create or replace function bpm_core.enter_message_catches(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.rest_tokens(p_arriving);
  return p_arriving || bpm_core.arm_boundaries(p_arriving);
end
$$;

-- from 40_flow/enter_multi_instances.sql
-- KIND multi-instance and standard loop: the token rests as the host of its items. What there is to do is decided once, here: the collection is frozen, and
-- one that is no list is an incident. Nothing to do: the token goes on at once. Boundary events are armed before the first item begins.
-- Returns:  moving[]: the message waits, the tokens of the first items, the hosts that go on.
-- Writes:   token, multi_instance, multi_instance_part, scope, workflow_instance, inbox, history_event; subscription, timer; incident.
create or replace function bpm_core.enter_multi_instances(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_plans bpm_core.loop_plan[];
  v_waits bpm_core.moving[];
begin
  perform bpm_core.host_tokens(p_arriving);
  v_plans := bpm_core.plan_loops(p_arriving);
  perform bpm_core.open_incidents(array(select p.trouble from unnest(v_plans) p where (p.trouble).code is not null));
  v_plans := array(select p from unnest(v_plans) p where (p.trouble).code is null);
  v_waits := bpm_core.arm_boundaries(array(select p.host from unnest(v_plans) p where p.total > 0));
  return v_waits || bpm_core.begin_loops(v_plans);
end
$$;

-- from 40_flow/enter_nodes.sql
-- Which function handles which kind. A new element is a new file and a line here.
-- Returns:  moving[]: of kinds that hold tokens, the message waits to be opened; of others, the tokens that move on at once.
create or replace function bpm_core.enter_nodes(p_kind bpm_core.node_kind, p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if cardinality(p_arriving) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  case p_kind
    when 'ServiceTask' then
      return bpm_core.enter_service_tasks(p_arriving);
    when 'ExclusiveGateway' then
      return bpm_core.enter_exclusive_gateways(p_arriving);
    when 'PassThrough' then
      return bpm_core.enter_pass_throughs(p_arriving);
    when 'ParallelFork' then
      return bpm_core.enter_parallel_forks(p_arriving);
    when 'InclusiveSplit' then
      return bpm_core.enter_inclusive_splits(p_arriving);
    when 'ParallelJoin' then
      return bpm_core.enter_parallel_joins(p_arriving);
    when 'InclusiveJoin' then
      return bpm_core.enter_inclusive_joins(p_arriving);
    when 'EndEvent' then
      return bpm_core.enter_end_events(p_arriving);
    when 'UserTask' then
      return bpm_core.enter_user_tasks(p_arriving);
    when 'SendTask' then
      return bpm_core.enter_send_tasks(p_arriving);
    when 'ApprovalTask' then
      return bpm_core.enter_approval_tasks(p_arriving);
    when 'TimerCatch' then
      return bpm_core.enter_timer_catches(p_arriving);
    when 'MessageCatch' then
      return bpm_core.enter_message_catches(p_arriving);
    when 'SignalCatch' then
      return bpm_core.enter_signal_catches(p_arriving);
    when 'ConditionalCatch' then
      return bpm_core.enter_conditional_catches(p_arriving);
    when 'SignalThrow' then
      return bpm_core.enter_signal_throws(p_arriving);
    when 'EscalationThrow' then
      return bpm_core.enter_escalation_throws(p_arriving);
    when 'EventGateway' then
      return bpm_core.enter_event_gateways(p_arriving);
    when 'SubProcess' then
      return bpm_core.enter_sub_processes(p_arriving);
    when 'MultiInstance', 'StandardLoop' then
      return bpm_core.enter_multi_instances(p_arriving);
    when 'ItemEnd' then
      return bpm_core.enter_item_ends(p_arriving);
    when 'CallActivity' then
      return bpm_core.enter_call_activities(p_arriving);
    when 'TerminateEnd' then
      return bpm_core.enter_terminate_ends(p_arriving);
    when 'ErrorEnd' then
      return bpm_core.enter_error_ends(p_arriving);
    else
      -- Start events and boundaries are left, never entered; a graph that says otherwise was not made by the compiler.
      perform bpm_core.fail('BP500', format('Nothing enters a node of kind %s (node %s).', p_kind, (p_arriving[1]).node_id));
      return null;  -- never reached: fail raises
  end case;
end
$$;

-- from 40_flow/enter_parallel_forks.sql
-- KIND parallel fork: the token ends, one is born per outgoing flow.
-- Returns:  moving[], the tokens born. Raises: BP429, as fork_tokens. Writes: as fork_tokens.
create or replace function bpm_core.enter_parallel_forks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return bpm_core.fork_tokens(p_arriving, array(
    select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, f.flow_id, null)::bpm_core.moving
      from unnest(p_arriving) a
     cross join lateral (select f.flow_id from bpm_core.workflow_flow f
                          where f.tenant_id = a.tenant_id and f.workflow_version_id = a.version_id and f.source_id = a.node_id offset 0) f));
end
$$;

-- from 40_flow/enter_parallel_joins.sql
-- KIND parallel join: one token of every distinct incoming flow of the same scope. The n-th token over a flow belongs to round n;
-- a round fires when every flow has reached it, once; surplus waits for the next round.
-- Writes:   token, parallel_join, parallel_join_arrival, history_event.
create or replace function bpm_core.enter_parallel_joins(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_fired bpm_core.parallel_join[];
begin
  with arrival as materialized (
    select a.tenant_id, a.instance_id, a.scope_id, a.token_id, a.node_id, a.flow_id, n.incoming,
           coalesce(before.round, 0) + row_number() over (partition by a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.flow_id
                                                          order by a.token_id) as round
      from unnest(p_arriving) a
     cross join lateral (select n.incoming from bpm_core.workflow_node n
                          where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n
      left join lateral (
        select j.round
          from bpm_core.parallel_join_arrival j
         where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.instance_id and j.scope_id = a.scope_id
           and j.node_id = a.node_id and j.flow_id = a.flow_id
         order by j.round desc
         limit 1) before on true),
  kept as (
    insert into bpm_core.parallel_join_arrival (tenant_id, workflow_instance_id, scope_id, node_id, flow_id, round, token_id)
    select a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.flow_id, a.round, a.token_id
      from arrival a),
  rested as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, version = t.version + 1, updated_at = v_now
      from arrival a
     where t.tenant_id = a.tenant_id and t.id = a.token_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select a.tenant_id, a.instance_id, v_now, 'JoinReached', a.token_id, a.node_id, 'Waiting', jsonb_build_object('flow', a.flow_id, 'round', a.round)
      from arrival a),
  counted as (
    insert into bpm_core.parallel_join as j (tenant_id, workflow_instance_id, scope_id, node_id, round, expected, joined)
    select a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.round, a.incoming, count(*)
      from arrival a
     group by a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.round, a.incoming
    on conflict (tenant_id, workflow_instance_id, scope_id, node_id, round) do update set joined = j.joined + excluded.joined
    returning j.*)
  select array_agg(c::bpm_core.parallel_join) into v_fired
    from counted c
   where c.joined = c.expected;
  if v_fired is not null then
    return bpm_core.fire_joins(v_fired);
  end if;
  return '{}'::bpm_core.moving[];
end
$$;

-- from 40_flow/enter_pass_throughs.sql
-- KIND pass-through: none events, manual and plain tasks, merges. Leaves a trace in history, nothing else.
create or replace function bpm_core.enter_pass_throughs(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id)
  select a.tenant_id, a.instance_id, bpm_core.now(), 'TokenMoved', a.token_id, a.node_id
    from unnest(p_arriving) a;
  return array(
    select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, null, null)::bpm_core.moving
      from unnest(p_arriving) a);
end
$$;

-- from 40_flow/enter_signal_catches.sql
-- KIND signal intermediate catch event: the token rests. The wait opens at once: signals have no key to be locked, and one thrown later in the
-- same command reaches it.
-- Returns:  moving[], none. Writes: token, subscription, history_event.
create or replace function bpm_core.enter_signal_catches(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.rest_tokens(p_arriving);
  perform bpm_core.open_signal_waits(p_arriving);
  return '{}'::bpm_core.moving[];
end
$$;

-- from 40_flow/enter_signal_throws.sql
-- KIND signal throw event, intermediate or end: the signal is broadcast, without a payload, and the token moves on. Every token throws its own.
-- Returns:  moving[], the tokens that move on. Writes: signal, inbox, history_event.
create or replace function bpm_core.enter_signal_throws(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select a.tenant_id, a.instance_id, bpm_core.now(), 'SignalThrown', a.token_id, a.node_id,
         jsonb_build_object('signal', s.id, 'name', s.name, 'receivers', s.receivers)
    from unnest(p_arriving) a
   cross join lateral (select n.message_name from bpm_core.workflow_node n
                        where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n
   cross join lateral bpm_core.send_signal(a.tenant_id, n.message_name, '{}') s;
  return array(
    select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, null, null)::bpm_core.moving
      from unnest(p_arriving) a);
end
$$;

-- from 40_flow/enter_sub_processes.sql
-- KIND embedded sub-process and transaction: the token rests as the host of a new scope, in which a token begins at the start event. Boundary events
-- of the host, and the start events of event sub-processes inside, are armed first: what happens inside at once already finds them.
-- Returns:  moving[]: the message waits, and the tokens that begin inside. Writes: token, scope, workflow_instance (live_tokens), history_event;
--           subscription, timer.
create or replace function bpm_core.enter_sub_processes(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_waits bpm_core.moving[];
begin
  perform bpm_core.host_tokens(p_arriving);
  v_waits := bpm_core.arm_boundaries(p_arriving);
  return v_waits || bpm_core.open_scopes(p_arriving);
end
$$;

-- from 40_flow/enter_terminate_ends.sql
-- KIND terminate end: the token ends and takes every other token of its scope with it, however deep. A sub-process goes on behind itself, an instance
-- is Completed.
-- Returns:  moving[], the hosts of the scopes that end. Writes: what complete_tokens, empty_scopes, end_scopes, terminate_instances write.
create or replace function bpm_core.enter_terminate_ends(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_tenant_id text := (p_arriving[1]).tenant_id;
  v_scopes    uuid[] := array(select distinct a.scope_id from unnest(p_arriving) a where a.scope_id <> bpm_core.root_scope());
  v_roots     uuid[] := array(select distinct a.instance_id from unnest(p_arriving) a where a.scope_id = bpm_core.root_scope());
begin
  perform bpm_core.complete_tokens(p_arriving);
  perform bpm_core.terminate_instances(v_tenant_id, v_roots, 'Completed');
  if cardinality(v_scopes) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  perform bpm_core.empty_scopes(v_tenant_id, v_scopes);
  return bpm_core.map_scope_outputs(v_tenant_id, bpm_core.end_scopes(v_tenant_id, v_scopes, p_arriving));
end
$$;

-- from 40_flow/enter_timer_catches.sql
-- KIND timer intermediate catch event: the token rests until its timer fires.
create or replace function bpm_core.enter_timer_catches(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.rest_tokens(p_arriving);
  perform bpm_core.start_timers(p_arriving);
  return '{}'::bpm_core.moving[];
end
$$;

-- from 40_flow/escalate_to_caller.sql
-- Hands an escalation nobody in its instance catches to the caller, if somebody there or further out does.
-- Returns:  boolean, whether somebody does. Writes: inbox.
create or replace function bpm_core.escalate_to_caller(p_token bpm_core.moving, p_code text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if not bpm_core.is_caught_by_caller(p_token, 'EscalationBoundary', p_code) then
    return false;
  end if;
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select w.tenant_id, bpm_core.new_id(), 'WorkflowInstance', t.workflow_instance_id, 'CallEscalated',
         jsonb_build_object('child', w.id, 'host', t.id, 'visit', split_part(w.trigger_key, ':', 2)::integer, 'code', p_code), bpm_core.now()
    from bpm_core.workflow_instance w
   cross join lateral (select t.id, t.workflow_instance_id from bpm_core.token t where t.tenant_id = w.tenant_id and t.id = w.parent_token_id offset 0) t
   where w.tenant_id = p_token.tenant_id and w.id = p_token.instance_id;
  return true;
end
$$;

-- from 40_flow/fail_instances.sql
-- Ends instances as Failed: an uncaught rejection, or an operator.
-- Writes:   as terminate_instances.
create or replace function bpm_core.fail_instances(p_tenant_id text, p_instances uuid[], p_detail jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.terminate_instances(p_tenant_id, p_instances, 'Failed', p_detail);
end
$$;

-- from 40_flow/find_catch.sql
-- Who catches what is thrown at a token: its own activity's boundary events; then, scope by scope outwards, the event sub-processes inside and the boundary
-- events of the activity around. A code that is named goes before one that catches all. What an event sub-process throws is for the outside: none
-- of its own scope catches it.
-- p_kind: ErrorBoundary or EscalationBoundary. Returns: catch; null fields when nobody does.
create or replace function bpm_core.find_catch(p_token bpm_core.moving, p_kind bpm_core.node_kind, p_code text)
returns bpm_core.catch
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_catch  bpm_core.catch;
  v_host   bpm_core.moving := p_token;
  v_inside boolean := false;
begin
  loop
    select n.node_id, n.interrupting, n.element = 'startEvent'
      into v_catch.node_id, v_catch.interrupting, v_catch.is_start
      from bpm_core.workflow_node n
     where n.tenant_id = v_host.tenant_id and n.workflow_version_id = v_host.version_id and n.attached_to = v_host.node_id
       and n.kind = p_kind and (n.error_code is null or n.error_code = p_code) and (v_inside or n.element <> 'startEvent')
     order by n.element = 'startEvent' desc, n.error_code nulls last
     limit 1;
    if found then
      v_catch.host := v_host;
      return v_catch;
    end if;
    exit when v_host.scope_id = bpm_core.root_scope();
    select n.kind <> 'EventSubProcess' into v_inside
      from bpm_core.workflow_node n
     where n.tenant_id = v_host.tenant_id and n.workflow_version_id = v_host.version_id and n.node_id = v_host.node_id;
    v_inside := coalesce(v_inside, true);
    -- The first step outwards leaves the thrower, which is no scope; then the host of each scope.
    v_host := (
      select row(t.tenant_id, t.workflow_instance_id, v_host.version_id, t.scope_id, t.id, t.node_id, null, null)::bpm_core.moving
        from bpm_core.scope s
       cross join lateral (select t.* from bpm_core.token t where t.tenant_id = s.tenant_id and t.id = s.host_token_id offset 0) t
       where s.tenant_id = v_host.tenant_id and s.id = v_host.scope_id);
  end loop;
  return null;
end
$$;

-- from 40_flow/finish_loops.sql
-- Ends multi-instances and loops all items of which have ended or are closed: the outputs are gathered in order, what waited beside the host is closed, and
-- the host goes on.
-- Returns:  moving[], the hosts, leaving. Writes: multi_instance, multi_instance_part, token, timer, subscription, history_event, and what keep_output writes.
create or replace function bpm_core.finish_loops(p_hosts bpm_core.loop_state[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_tenant text := ((p_hosts[1]).host).tenant_id;
  v_hosts  uuid[];
  v_host   bpm_core.loop_state;
begin
  if coalesce(cardinality(p_hosts), 0) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  v_hosts := array(select (h.host).token_id from unnest(p_hosts) h);
  update bpm_core.token t
     set steps = h.steps
    from unnest(p_hosts) h
   where t.tenant_id = (h.host).tenant_id and t.id = (h.host).token_id and t.steps <> h.steps;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select v_tenant, (h.host).instance_id, v_now, 'ScopeCompleted', (h.host).token_id, (h.host).node_id,
         jsonb_strip_nulls(jsonb_build_object('total', nullif(h.total, 2147483647), 'done', h.done))
    from unnest(p_hosts) h
   where not h.spec ? 'into';
  foreach v_host in array p_hosts loop
    continue when not v_host.spec ? 'into';
    perform bpm_core.keep_output(v_host, v_now);
  end loop;
  perform bpm_core.drop_loops(v_tenant, v_hosts);
  perform bpm_core.close_events(v_tenant, v_hosts);
  return array(
    select row((h.host).tenant_id, (h.host).instance_id, (h.host).version_id, (h.host).scope_id, (h.host).token_id, (h.host).node_id, null, null)::bpm_core.moving
      from unnest(p_hosts) h);
end
$$;

-- from 40_flow/fire_inclusive_joins.sql
-- Fires the inclusive joins that wait for nothing any more: in each of these scopes every join with a token at one flow at least, if no live token of
-- the scope can come over an empty flow, but for those that can come over a filled one as well (BPMN 2.0, 13.3.3). Asked when nothing moves. All that may
-- fire do, each once: what they send on has to come to rest before the next round.
-- One token that blocks is remembered, and the others are looked at only when that one no longer does. It is picked by the random end of its id:
-- whatever the order in which n branches end, they are all looked at about ln(n) times.
-- p_touched: tokens whose instance and scope something moved or ended in. Returns: moving[], the survivors, leaving.
-- Writes:   inclusive_join, and what fire_joins and next_inclusive_rounds write.
create or replace function bpm_core.fire_inclusive_joins(p_touched bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_rounds bpm_core.parallel_join[];
begin
  with pending as materialized (
    select j.*, w.workflow_version_id, f.first_place
      from (select distinct m.tenant_id, m.instance_id, m.scope_id from unnest(p_touched) m offset 0) d
     cross join lateral (select j.* from bpm_core.inclusive_join j
                          where j.tenant_id = d.tenant_id and j.workflow_instance_id = d.instance_id and j.scope_id = d.scope_id offset 0) j
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = d.tenant_id and w.id = d.instance_id offset 0) w
     cross join lateral (select p.first_place from bpm_core.inclusive_flow p
                          where p.tenant_id = d.tenant_id and p.workflow_version_id = w.workflow_version_id and p.node_id = j.node_id limit 1) f
     where j.waiting > 0
       and not exists (
         select
           from (select t.node_id, t.via_flow_id, t.state, t.scope_id from bpm_core.token t
                  where t.tenant_id = j.tenant_id and t.id = j.blocked_by offset 0) t
          cross join lateral bpm_core.token_reach(j.tenant_id, w.workflow_version_id, j.node_id, f.first_place, j.filled, t.node_id, t.via_flow_id) r
          where t.state in ('Ready', 'Executing', 'Waiting', 'Failed') and (t.state <> 'Waiting' or t.node_id <> j.node_id)
            and t.scope_id = j.scope_id and bpm_core.blocks_join(r.bits, j.filled))),
  seen as materialized (
    select p.*, s.here, s.blocker
      from pending p
     cross join lateral (
       select count(*) filter (where t.state = 'Waiting' and t.node_id = p.node_id) as here,
              (array_agg(t.id order by right(t.id::text, 12))
                 filter (where (t.state <> 'Waiting' or t.node_id <> p.node_id) and bpm_core.blocks_join(r.bits, p.filled)))[1] as blocker
         from (select t.tenant_id, t.id, t.node_id, t.via_flow_id, t.state from bpm_core.token t
                where p.scope_id = '00000000-0000-0000-0000-000000000000' and t.workflow_instance_id = p.workflow_instance_id
                  and t.scope_id = p.scope_id
               union all
               select t.tenant_id, t.id, t.node_id, t.via_flow_id, t.state from bpm_core.token t
                where p.scope_id <> '00000000-0000-0000-0000-000000000000' and t.scope_id = p.scope_id
                  and t.scope_id <> '00000000-0000-0000-0000-000000000000'
               offset 0) t
        cross join lateral bpm_core.token_reach(p.tenant_id, p.workflow_version_id, p.node_id, p.first_place, p.filled, t.node_id, t.via_flow_id) r
        where t.tenant_id = p.tenant_id and t.state in ('Ready', 'Executing', 'Waiting', 'Failed')) s),
  kept as (
    -- None of its tokens is live: the scope was ended.
    update bpm_core.inclusive_join j
       set blocked_by = s.blocker, waiting = case when s.here = 0 then 0 else j.waiting end
      from seen s
     where j.tenant_id = s.tenant_id and j.workflow_instance_id = s.workflow_instance_id and j.scope_id = s.scope_id and j.node_id = s.node_id
       and (s.blocker is not null or s.here = 0))
  select array_agg(row(s.tenant_id, s.workflow_instance_id, s.scope_id, s.node_id, s.round, null, bit_count(s.filled), bit_count(s.filled), null)::bpm_core.parallel_join)
    into v_rounds
    from seen s
   where s.blocker is null and s.here > 0;
  if v_rounds is null then
    return '{}'::bpm_core.moving[];
  end if;
  return bpm_core.next_inclusive_rounds(v_rounds);
end
$$;

-- from 40_flow/fire_joins.sql
-- Fires complete rounds: of each round's tokens one goes on, the others are consumed. It goes on with the fewest steps of them: if one
-- of them had come to rest on its way, so had the round; if none had, the loop budget goes on counting.
-- Returns:  moving[], the survivors, leaving. Writes: parallel_join, token, workflow_instance and scope (live_tokens), history_event.
create or replace function bpm_core.fire_joins(p_rounds bpm_core.parallel_join[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz := bpm_core.now();
  v_leaving bpm_core.moving[];
begin
  update bpm_core.parallel_join j
     set fired_at = v_now
    from unnest(p_rounds) r
   where j.tenant_id = r.tenant_id and j.workflow_instance_id = r.workflow_instance_id and j.scope_id = r.scope_id
     and j.node_id = r.node_id and j.round = r.round;
  update bpm_core.workflow_instance w
     set live_tokens = w.live_tokens - d.fewer
    from (select r.tenant_id, r.workflow_instance_id, sum(r.expected - 1)::integer as fewer
            from unnest(p_rounds) r group by r.tenant_id, r.workflow_instance_id) d
   where w.tenant_id = d.tenant_id and w.id = d.workflow_instance_id and d.fewer > 0;
  update bpm_core.scope s
     set live_tokens = s.live_tokens - d.fewer
    from (select r.tenant_id, r.scope_id, sum(r.expected - 1)::integer as fewer
            from unnest(p_rounds) r where r.scope_id <> bpm_core.root_scope() group by r.tenant_id, r.scope_id) d
   where s.tenant_id = d.tenant_id and s.id = d.scope_id and d.fewer > 0;
  with member as materialized (
    select r.tenant_id, r.workflow_instance_id, r.scope_id, r.node_id, r.round, a.token_id, w.workflow_version_id,
           row_number() over (partition by r.tenant_id, r.workflow_instance_id, r.scope_id, r.node_id, r.round order by t.steps, a.flow_id) = 1 as survives
      from unnest(p_rounds) r
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id offset 0) w
     cross join lateral (select f.flow_id from bpm_core.workflow_flow f
                          where f.tenant_id = r.tenant_id and f.workflow_version_id = w.workflow_version_id and f.target_id = r.node_id offset 0) f
     cross join lateral (select a.token_id, a.flow_id from bpm_core.parallel_join_arrival a
                          where a.tenant_id = r.tenant_id and a.workflow_instance_id = r.workflow_instance_id and a.scope_id = r.scope_id
                            and a.node_id = r.node_id and a.flow_id = f.flow_id and a.round = r.round offset 0) a
     cross join lateral (select t.steps from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = a.token_id offset 0) t),
  consumed as (
    update bpm_core.token t
       set state = 'Completed', version = t.version + 1, updated_at = v_now
      from member m
     where t.tenant_id = m.tenant_id and t.id = m.token_id and not m.survives),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select m.tenant_id, m.workflow_instance_id, v_now,
           case when m.survives then 'JoinFired' else 'TokenCompleted' end::bpm_core.history_kind,
           m.token_id, m.node_id, case when not m.survives then 'Completed' end, jsonb_build_object('round', m.round)
      from member m)
  select array_agg(row(m.tenant_id, m.workflow_instance_id, m.workflow_version_id, m.scope_id, m.token_id, m.node_id, null, null)::bpm_core.moving)
    into v_leaving
    from member m
   where m.survives;
  return v_leaving;
end
$$;

-- from 40_flow/fire_timers.sql
-- Under the instance locks: fires these timers if they are still scheduled and due. Of one token only the oldest fires in one call,
-- since it may end what the others wait for; they follow with the next. Those of suspended instances are held.
-- Returns:  integer, timers dealt with. Writes: timer, workflow_instance, token, history_event, and what follows on the paths.
create or replace function bpm_core.fire_timers(p_tenant_id text, p_timers uuid[], p_now timestamptz)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_done  integer;
  v_fired bpm_core.timer[];
begin
  perform 1
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_timers) k(id) order by k.id offset 0) k
    cross join lateral (select from bpm_core.timer t where t.tenant_id = k.tenant_id and t.id = k.id for no key update) t;
  with first as materialized (
    select distinct on (t.token_id) t.tenant_id, t.id, w.status = 'Suspended' as suspended
      from (select p_tenant_id as tenant_id, k.* from unnest(p_timers) k(id) offset 0) k
     cross join lateral (select t.* from bpm_core.timer t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
     cross join lateral (select w.status from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     where t.status = 'Scheduled' and t.due_at <= p_now
     order by t.token_id, t.due_at, t.id),
  turned as (
    update bpm_core.timer t
       set status = case when f.suspended then 'Held' else 'Fired' end::bpm_core.timer_status
      from first f
     where t.tenant_id = f.tenant_id and t.id = f.id
    returning t as timer, f.suspended),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
    select p_tenant_id, (f.timer).workflow_instance_id, p_now, 'TimerHeld', (f.timer).token_id, (f.timer).node_id, 'Scheduled', 'Held',
           jsonb_build_object('timer', (f.timer).id)
      from turned f
     where f.suspended)
  select count(*)::integer, array_agg(f.timer::bpm_core.timer order by (f.timer).due_at, (f.timer).id) filter (where not f.suspended)
    into v_done, v_fired
    from turned f;
  if v_fired is null then
    return v_done;
  end if;
  perform bpm_core.bump_instances(p_tenant_id, array(select f.workflow_instance_id from unnest(v_fired) f));
  perform bpm_core.repeat_timers(v_fired, p_now);
  perform bpm_core.leave_by_timers(v_fired, p_now);
  return v_done;
end
$$;

-- from 40_flow/follow_catch.sql
-- Goes on where something thrown was caught: by the boundary event, closing its host first or beside it; or inside an event sub-process.
-- Returns:  moving[], leaving. Writes: what close_waits, bear_tokens or start_event_subs write.
create or replace function bpm_core.follow_catch(p_catch bpm_core.catch)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_host bpm_core.moving := p_catch.host;
  v_from bpm_core.moving := row(v_host.tenant_id, v_host.instance_id, v_host.version_id, v_host.scope_id, v_host.token_id, p_catch.node_id, null, null)::bpm_core.moving;
begin
  if p_catch.is_start then
    return bpm_core.start_event_subs(array[v_from], p_catch.interrupting);
  elsif not p_catch.interrupting then
    return bpm_core.bear_tokens(array[v_from]);
  end if;
  perform bpm_core.close_waits(array[v_host]);
  return array[v_from];
end
$$;

-- from 40_flow/follow_flows.sql
-- Where do leaving tokens arrive? One look-up per token: the flow carries the kind of its target.
-- Returns:  moving[], arriving; a token whose flow_id is null follows its node's only flow.
create or replace function bpm_core.follow_flows(p_leaving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select row(l.tenant_id, l.instance_id, l.version_id, l.scope_id, l.token_id, f.target_id, f.flow_id, f.target_kind)::bpm_core.moving
      from unnest(p_leaving) l
     cross join lateral (select f.target_id, f.flow_id, f.target_kind from bpm_core.workflow_flow f
                          where f.tenant_id = l.tenant_id and f.workflow_version_id = l.version_id and f.source_id = l.node_id
                            and (l.flow_id is null or f.flow_id = l.flow_id) offset 0) f);
end
$$;

-- from 40_flow/fork_tokens.sql
-- Ends tokens at a fork and bears one for every flow chosen. The id of the ended one is the group of its children.
-- They inherit its steps: a loop through a fork is a loop.
-- p_chosen: one per arriving token and flow. Returns: moving[], the tokens born, leaving by their flows.
-- Raises:   BP429 more than 10,000 at once: drive_isolated tries half of them; a diagram whose forks multiply without end ends as an incident.
-- Writes:   token, workflow_instance (live_tokens), scope, history_event.
create or replace function bpm_core.fork_tokens(p_arriving bpm_core.moving[], p_chosen bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz := bpm_core.now();
  v_leaving bpm_core.moving[];
begin
  if cardinality(p_arriving) > 10000 then
    perform bpm_core.fail('BP429', format('%s tokens arrive at forks at once.', cardinality(p_arriving)));
  end if;
  with ended as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Completed', version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
  select a.tenant_id, a.instance_id, v_now, 'TokenForked', a.token_id, a.node_id, 'Completed'
    from unnest(p_arriving) a;
  with born as materialized (
    select c.tenant_id, c.instance_id, c.version_id, c.scope_id, bpm_core.new_id() as token_id, c.node_id, c.flow_id, c.token_id as group_id, p.steps
      from unnest(p_chosen) c
     cross join lateral (select t.steps from bpm_core.token t where t.tenant_id = c.tenant_id and t.id = c.token_id offset 0) p),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, via_flow_id, state, steps, parallel_group_id, updated_at)
    select b.tenant_id, b.token_id, b.instance_id, b.scope_id, b.node_id, b.flow_id, 'Waiting', b.steps, b.group_id, v_now
      from born b),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select b.tenant_id, b.instance_id, v_now, 'TokenBorn', b.token_id, b.node_id, jsonb_build_object('flow', b.flow_id, 'parent', b.group_id)
      from born b),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens + d.more
      from (select b.tenant_id, b.instance_id, count(*)::integer - count(distinct b.group_id)::integer as more
              from born b group by b.tenant_id, b.instance_id) d
     where w.tenant_id = d.tenant_id and w.id = d.instance_id)
  select array_agg(row(b.tenant_id, b.instance_id, b.version_id, b.scope_id, b.token_id, b.node_id, b.flow_id, null)::bpm_core.moving)
    into v_leaving
    from born b;
  if exists (select from unnest(p_arriving) a where a.scope_id <> bpm_core.root_scope()) then
    perform bpm_core.count_in_scopes(v_leaving, p_arriving);
  end if;
  return v_leaving;
end
$$;

-- from 40_flow/free_inbox.sql
-- Makes inbox rows that were set aside while their instance was suspended due again, the oldest first.
-- p_limit: at most so many; null: all. Returns: integer, how many. Writes: inbox. The instance is locked.
create or replace function bpm_core.free_inbox(p_tenant_id text, p_instance_id uuid, p_limit integer)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_count integer;
begin
  with parked as materialized (
    select i.tenant_id, i.id
      from bpm_core.inbox i
     where i.target_id = p_instance_id and i.available_at = 'infinity' and i.tenant_id is not distinct from p_tenant_id
     order by i.id
     limit p_limit)
  update bpm_core.inbox i
     set available_at = bpm_core.now()
    from parked p
   where i.tenant_id = p.tenant_id and i.id = p.id;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- from 40_flow/free_tokens.sql
-- Lets tick go on with tokens it set aside while their instance was suspended.
-- Returns:  integer, how many. Writes: token. The instance is locked.
create or replace function bpm_core.free_tokens(p_tenant_id text, p_instance_id uuid, p_limit integer)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_count integer;
begin
  with shelved as materialized (
    select t.tenant_id, t.id
      from (select t.tenant_id, t.id, t.state, t.ready_at from bpm_core.token t where t.workflow_instance_id = p_instance_id offset 0) t
     where t.tenant_id = p_tenant_id and t.state = 'Ready' and t.ready_at = 'infinity'
     limit p_limit)
  update bpm_core.token t
     set ready_at = bpm_core.now()
    from shelved s
   where t.tenant_id = s.tenant_id and t.id = s.id;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- from 40_flow/gateway_trouble.sql
-- Says why a gateway could not choose: which flow was undecidable, or that none was true, with the values seen.
-- Returns:  trouble, codes ConditionUndecidable and NoFlowTrue.
create or replace function bpm_core.gateway_trouble(p_token bpm_core.moving, p_flow_id text, p_condition_source text, p_variables jsonb)
returns bpm_core.trouble
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_flows jsonb;
begin
  if p_flow_id is not null then
    return row(p_token, 'ConditionUndecidable',
      format('Gateway %s: the condition %s of flow %s cannot be decided.', p_token.node_id, p_condition_source, p_flow_id),
      jsonb_build_object('gateway', p_token.node_id, 'flow', p_flow_id, 'condition', p_condition_source,
                         'seen', bpm_core.describe_condition(p_condition_source, p_variables)))::bpm_core.trouble;
  end if;
  select jsonb_agg(jsonb_build_object('flow', f.flow_id, 'condition', f.condition_source,
                                      'seen', bpm_core.describe_condition(f.condition_source, p_variables)) order by f.ord)
    into v_flows
    from bpm_core.workflow_flow f
   where f.tenant_id = p_token.tenant_id and f.workflow_version_id = p_token.version_id and f.source_id = p_token.node_id;
  return row(p_token, 'NoFlowTrue',
    format('Gateway %s: no flow is true and there is no default.', p_token.node_id),
    jsonb_build_object('gateway', p_token.node_id, 'flows', v_flows))::bpm_core.trouble;
end
$$;

-- from 40_flow/get_history.sql
-- What happened to a process instance, oldest first, page by page.
-- Returns:  rows as of bpm.history with seq above p_after_seq; hand in the last seq seen to go on.
-- Raises:   BP403, BP404, BP422 limit (1..10000).
create or replace function bpm.get_history(
  p_process_instance_id uuid, p_limit integer default 1000, p_after_seq bigint default 0, p_tenant_id text default '')
returns table (seq bigint, at timestamptz, workflow_instance_id uuid, category text, kind text, token_id uuid, node_id text,
               from_state text, to_state text, actor text, detail jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_workflows uuid[];
  v_since     timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  if p_limit is null or p_limit not between 1 and 10000 then
    perform bpm_core.fail('BP422', format('The limit must be 1 to 10000, not %s.', coalesce(p_limit::text, 'null')),
      jsonb_build_object('limit', p_limit));
  end if;
  v_workflows := bpm_core.workflows_of(p_tenant_id, p_process_instance_id);
  -- Months before the instance are not looked into; a day of slack for clocks that were set back.
  select p.created_at - interval '1 day' into v_since
    from bpm_core.process_instance p
   where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  return query
  select h.seq, h.at, h.workflow_instance_id, h.category, h.kind, h.token_id, h.node_id, h.from_state, h.to_state, h.actor, h.detail
    from bpm.history h
   where h.tenant_id = p_tenant_id and h.workflow_instance_id = any (v_workflows) and h.at >= v_since
     and h.seq > coalesce(p_after_seq, 0)
   order by h.seq
   limit p_limit;
end
$$;

-- from 40_flow/get_process.sql
-- One process instance with everything that is open in it.
-- Returns:  jsonb {instance, tokens (live), tasks (open), loops (multi-instances and loops going on, with total, created, done), timers (due yet), waits (open), incidents (open), dead_letters (open),
--           approvals (undecided or not yet applied), commands, more}. Each list holds at most 1,000; more names those cut off.
-- Raises:   BP403, BP404.
create or replace function bpm.get_process(p_process_instance_id uuid, p_tenant_id text default '')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_workflows uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  v_workflows := bpm_core.workflows_of(p_tenant_id, p_process_instance_id);
  return jsonb_build_object(
           'instance', (
             select to_jsonb(i) - 'tenant_id'
               from bpm.instance i
              where i.tenant_id = p_tenant_id and i.process_instance_id = p_process_instance_id))
         || bpm_core.open_lists(p_tenant_id, v_workflows, 1000);
end
$$;

-- from 40_flow/get_variables.sql
-- The variables of a process instance as its steps see them: those of the process, over them those of its workflows.
-- Returns:  jsonb object.
-- Raises:   BP403, BP404.
create or replace function bpm.get_variables(p_process_instance_id uuid, p_tenant_id text default '')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_workflows uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  v_workflows := bpm_core.workflows_of(p_tenant_id, p_process_instance_id);
  return (
    select p.variables || w.variables
      from bpm_core.process_instance p
      join bpm_core.workflow_instance w on w.tenant_id = p.tenant_id and w.id = v_workflows[1]
     where p.tenant_id = p_tenant_id and p.id = p_process_instance_id);
end
$$;

-- from 40_flow/has_conditions.sql
-- Whether one of these tokens is in a version that has events waiting for a condition.
create or replace function bpm_core.has_conditions(p_moving bpm_core.moving[])
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return exists (
    select
      from (select distinct m.tenant_id, m.version_id from unnest(p_moving) m offset 0) m
     cross join lateral (select x.has_conditions from bpm_core.workflow_version x where x.tenant_id = m.tenant_id and x.id = m.version_id offset 0) x
     where x.has_conditions);
end
$$;

-- from 40_flow/hold_timers.sql
-- Holds timers of an instance (p_hold), or schedules held ones again: what fell due meanwhile is due now. The instance is locked.
-- Returns:  integer, how many; at most p_limit. Writes: timer, history_event.
create or replace function bpm_core.hold_timers(p_tenant_id text, p_instance_id uuid, p_hold boolean, p_limit integer)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_from  constant bpm_core.timer_status := case when p_hold then 'Scheduled' else 'Held' end::bpm_core.timer_status;
  v_to    constant bpm_core.timer_status := case when p_hold then 'Held' else 'Scheduled' end::bpm_core.timer_status;
  v_count integer;
begin
  with found as materialized (
    select m.tenant_id, m.id
      from (select t.tenant_id, t.id, t.state from bpm_core.token t where t.workflow_instance_id = p_instance_id offset 0) t
     cross join lateral (select m.tenant_id, m.id, m.status from bpm_core.timer m where m.token_id = t.id offset 0) m
     where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Waiting', 'Failed') and m.tenant_id = t.tenant_id and m.status = v_from
     limit p_limit),
  turned as (
    update bpm_core.timer m
       set status = v_to, due_at = case when p_hold then m.due_at else greatest(m.due_at, bpm_core.now()) end
      from found f
     where m.tenant_id = f.tenant_id and m.id = f.id
    returning m.id, m.token_id, m.node_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  select p_tenant_id, p_instance_id, bpm_core.now(), case when p_hold then 'TimerHeld' else 'TimerReleased' end::bpm_core.history_kind,
         t.token_id, t.node_id, v_from::text, v_to::text, jsonb_build_object('timer', t.id)
    from turned t;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- from 40_flow/holds_tokens.sql
-- Whether a token that enters a node of this kind rests there until something happens.
create or replace function bpm_core.holds_tokens(p_kind bpm_core.node_kind)
returns boolean
language sql immutable parallel safe
as $$
  select p_kind in ('ServiceTask', 'UserTask', 'ApprovalTask', 'TimerCatch', 'MessageCatch', 'SignalCatch', 'ConditionalCatch', 'EventGateway',
                    'SubProcess', 'EventSubProcess', 'MultiInstance', 'StandardLoop', 'CallActivity', 'CompensationThrow')
$$;

-- from 40_flow/host_tokens.sql
-- Brings tokens to rest as hosts of scopes. Their steps go on counting: a loop through a sub-process in which nothing waits is a loop.
-- Writes:   token.
create or replace function bpm_core.host_tokens(p_arriving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.token t
     set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, version = t.version + 1, updated_at = v_now
    from unnest(p_arriving) a
   where t.tenant_id = a.tenant_id and t.id = a.token_id;
end
$$;

-- from 40_flow/inbox_id.sql
-- An id for a row behind those that are set aside for a suspended instance: ids of one millisecond come in no order, and answers that were
-- accepted one after the other are to be applied so. Takes a millisecond at most. The instance is locked.
-- Returns:  uuid.
create or replace function bpm_core.inbox_id(p_instance_id uuid)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_last uuid;
  v_id   uuid := bpm_core.new_id();
begin
  select i.id into v_last from bpm_core.inbox i where i.target_id = p_instance_id and i.available_at = 'infinity' order by i.id desc limit 1;
  while v_id <= v_last loop
    v_id := bpm_core.new_id();
  end loop;
  return v_id;
end
$$;

-- from 40_flow/insert_calls.sql
-- Creates the instances that call activities call, each with its first token.
-- Returns:  moving[], the first tokens, leaving their start events. Writes: workflow_instance, token, history_event.
create or replace function bpm_core.insert_calls(p_calls bpm_core.call[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  insert into bpm_core.workflow_instance (tenant_id, id, process_instance_id, workflow_version_id, role_version_id, binding_key, trigger_key, parent_token_id,
                                          ends_process, depth, live_tokens, inputs, created_at)
  select (c.host).tenant_id, c.child_id, c.process_instance_id, c.workflow_version_id, c.role_version_id, 'call:' || (c.host).node_id,
         (c.host).token_id || ':' || c.visit, (c.host).token_id, false, c.depth, 1, c.inputs, v_now
    from unnest(p_calls) c;
  insert into bpm_core.token (tenant_id, id, workflow_instance_id, node_id, state, updated_at)
  select (c.host).tenant_id, c.token_id, c.child_id, c.start_node_id, 'Waiting', v_now
    from unnest(p_calls) c;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
  select (c.host).tenant_id, (c.host).instance_id, v_now, 'CallStarted'::bpm_core.history_kind, (c.host).token_id, (c.host).node_id, null,
         jsonb_build_object('child', c.child_id, 'process', c.code)
    from unnest(p_calls) c
  union all
  select (c.host).tenant_id, c.child_id, v_now, 'InstanceStarted', c.token_id, c.start_node_id, 'Running',
         jsonb_build_object('workflow_version', c.workflow_version_id, 'caller', (c.host).instance_id, 'inputs', c.inputs)
    from unnest(p_calls) c;
  return array(
    select row((c.host).tenant_id, c.child_id, c.workflow_version_id, bpm_core.root_scope(), c.token_id, c.start_node_id, null, null)::bpm_core.moving
      from unnest(p_calls) c);
end
$$;

-- from 40_flow/insert_starts.sql
-- Creates the instances of starts that stand: business case, process instance, workflow instance, first token. Nothing moves yet.
-- Returns:  moving[], the first tokens, leaving their start events.
-- Writes:   business_case, process_instance, workflow_instance, token, history_event.
create or replace function bpm_core.insert_starts(p_tenant_id text, p_starts bpm_core.start[], p_actor text, p_now timestamptz)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[];
begin
  insert into bpm_core.business_case (tenant_id, id, business_key, created_at)
  select p_tenant_id, bpm_core.new_id(), k.business_key, p_now
    from (select distinct s.business_key from unnest(p_starts) s where s.business_key is not null order by 1) k
  on conflict do nothing;
  with born as materialized (
    select s.*, c.id as case_id
      from (select p_tenant_id as tenant_id, s.* from unnest(p_starts) s offset 0) s
      left join bpm_core.business_case c on c.tenant_id = s.tenant_id and c.business_key = s.business_key),
  process as (
    insert into bpm_core.process_instance (tenant_id, id, business_case_id, process_version_id, variables, business_key, started_by, created_at, updated_at)
    select p_tenant_id, b.process_instance_id, b.case_id, b.process_version_id, b.variables, b.business_key, p_actor, p_now, p_now
      from born b),
  workflow as (
    insert into bpm_core.workflow_instance (tenant_id, id, process_instance_id, workflow_version_id, role_version_id, live_tokens, created_at)
    select p_tenant_id, b.workflow_instance_id, b.process_instance_id, b.workflow_version_id, b.role_version_id, 1, p_now
      from born b),
  placed as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, node_id, state, updated_at)
    select p_tenant_id, b.token_id, b.workflow_instance_id, b.start_node_id, 'Waiting', p_now
      from born b),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, actor, detail)
    select p_tenant_id, b.workflow_instance_id, p_now, 'InstanceStarted', b.token_id, b.start_node_id, 'Running', p_actor,
           jsonb_build_object('workflow_version', b.workflow_version_id)
      from born b)
  select array_agg(row(p_tenant_id, b.workflow_instance_id, b.workflow_version_id, '00000000-0000-0000-0000-000000000000', b.token_id,
                       b.start_node_id, null, null)::bpm_core.moving order by b.item)
    into v_leaving
    from born b;
  return v_leaving;
end
$$;

-- from 40_flow/is_caught.sql
-- Whether somebody catches an error thrown at a token: in its instance, or where that was called.
create or replace function bpm_core.is_caught(p_token bpm_core.moving, p_code text)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (bpm_core.find_catch(p_token, 'ErrorBoundary', p_code)).node_id is not null or bpm_core.is_caught_by_caller(p_token, 'ErrorBoundary', p_code);
end
$$;

-- from 40_flow/is_caught_by_caller.sql
-- Whether something thrown in an instance that a call activity called would be caught there or further out. The callers' rows are read without their
-- locks: they rest at their call activities as long as what they called runs, or are about to cancel it.
create or replace function bpm_core.is_caught_by_caller(p_token bpm_core.moving, p_kind bpm_core.node_kind, p_code text)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_host bpm_core.moving := p_token;
begin
  loop
    v_host := (
      select row(t.tenant_id, t.workflow_instance_id, c.workflow_version_id, t.scope_id, t.id, t.node_id, null, null)::bpm_core.moving
        from bpm_core.workflow_instance w
       cross join lateral (select t.* from bpm_core.token t where t.tenant_id = w.tenant_id and t.id = w.parent_token_id offset 0) t
       cross join lateral (select c.workflow_version_id from bpm_core.workflow_instance c
                            where c.tenant_id = t.tenant_id and c.id = t.workflow_instance_id offset 0) c
       where w.tenant_id = v_host.tenant_id and w.id = v_host.instance_id and w.parent_token_id is not null and t.state = 'Waiting');
    exit when v_host.token_id is null;
    if (bpm_core.find_catch(v_host, p_kind, p_code)).node_id is not null then
      return true;
    end if;
  end loop;
  return false;
end
$$;

-- from 40_flow/item_trouble.sql
-- Why an item of a multi-instance or a turn of a loop cannot end.
-- Returns:  trouble, codes ConditionUndecidable, OutputUndecidable, OutputTooLarge; null: it can.
create or replace function bpm_core.item_trouble(
  p_token bpm_core.moving, p_spec jsonb, p_variables jsonb, p_verdict boolean, p_output jsonb, p_too_large boolean, p_limit bigint)
returns bpm_core.trouble
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_source text;
begin
  if p_verdict is null then
    v_source := coalesce(p_spec #>> '{until,source}', p_spec #>> '{while,source}');
    return row(p_token, 'ConditionUndecidable', format('%s: the condition %s cannot be decided.', p_token.node_id, v_source),
               jsonb_build_object('node', p_token.node_id, 'condition', v_source, 'seen', bpm_core.describe_condition(v_source, p_variables)))::bpm_core.trouble;
  elsif p_spec ? 'output' and p_output is null then
    v_source := p_spec #>> '{output,source}';
    return row(p_token, 'OutputUndecidable', format('%s: the output element %s cannot be decided.', p_token.node_id, v_source),
               jsonb_build_object('node', p_token.node_id, 'expression', v_source, 'seen', bpm_core.describe_condition(v_source, p_variables)))::bpm_core.trouble;
  elsif p_too_large then
    return row(p_token, 'OutputTooLarge', format('%s: with this item the list %s exceeds the limit of %s bytes for one value.', p_token.node_id, p_spec ->> 'into', p_limit),
               jsonb_build_object('node', p_token.node_id, 'variable', p_spec ->> 'into', 'limit', p_limit))::bpm_core.trouble;
  end if;
  return null;
end
$$;

-- from 40_flow/judge_items.sql
-- Asks the completion condition, or that of the loop, at the end of each item, in order of arrival, and takes its output. The conditions see what the item sees
-- and the counters as they are with it.
-- Returns:  item_end[]; with trouble (ConditionUndecidable, OutputUndecidable, OutputTooLarge) where the item cannot end.
create or replace function bpm_core.judge_items(p_arriving bpm_core.moving[])
returns bpm_core.item_end[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_limit bigint := (bpm_core.setting_value('engine.max_value_bytes', '262144'))::bigint;
begin
  return array(
    with item as materialized (
      select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, a.flow_id, a.kind)::bpm_core.moving as token,
             row(a.tenant_id, a.instance_id, a.version_id, h.scope_id, h.id, h.node_id, null, null)::bpm_core.moving as host, a.ordinality as ord,
             m.visit, case when m.mode = 'Loop' then x.steps else least(x.steps, h.steps + 1000) end as steps, m.mode, n.spec, m.declared, m.total, m.created,
             m.done as before, row_number() over (partition by h.id order by a.ordinality) as nth, m.output_bytes, s.variables as own
        from unnest(p_arriving) with ordinality a
       cross join lateral (select s.host_token_id, s.variables from bpm_core.scope s where s.tenant_id = a.tenant_id and s.id = a.scope_id offset 0) s
       cross join lateral (select t.steps from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = a.token_id offset 0) x
       cross join lateral (select t.id, t.scope_id, t.node_id, t.steps from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = s.host_token_id offset 0) h
       cross join lateral (select m.* from bpm_core.multi_instance m where m.tenant_id = a.tenant_id and m.host_token_id = h.id offset 0) m
       cross join lateral (select n.expressions -> 'loop' as spec from bpm_core.workflow_node n
                            where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = h.node_id offset 0) n),
    -- Of all variables only those asked for, and once per host: a large collection among them would be copied for every item.
    asked as materialized (
      select i.*, first_value(v.variables) over (partition by (i.host).token_id order by i.nth) || i.own as variables
        from item i
        left join lateral (
          select (select coalesce(jsonb_object_agg(k.name, v.variables -> k.name), '{}')
                    from jsonb_array_elements_text(i.spec -> 'names') k(name) where v.variables ? k.name) as variables
            from bpm_core.token_variables((i.host).tenant_id, (i.host).instance_id, (i.host).scope_id) v
           where i.nth = 1 and i.spec ?| array['until', 'while', 'output']) v on true),
    judged as materialized (
      select a.*,
             case when a.spec ? 'until' then bpm_core.evaluate_condition(a.spec #> '{until,tree}', a.variables || bpm_core.loop_counters(a.mode, a.total, a.before + a.nth))
                  when a.spec ? 'while' then bpm_core.evaluate_condition(a.spec #> '{while,tree}', a.variables || jsonb_build_object(a.spec ->> 'counter', a.before + a.nth))
                  else a.mode = 'Loop' end as verdict,
             case when a.spec ? 'output' then bpm_core.evaluate(a.spec #> '{output,tree}', a.variables) end as output
        from asked a),
    weighed as (
      select j.*, j.output_bytes + sum(octet_length(j.output::text) + 2) over (partition by (j.host).token_id order by j.ord) as bytes from judged j)
    select row(w.token, w.host, w.visit, w.steps, w.mode, w.spec, w.declared, w.total, w.created, w.before, w.verdict, w.output,
               bpm_core.item_trouble(w.token, w.spec, w.variables, w.verdict, w.output, w.bytes > v_limit, v_limit))::bpm_core.item_end
      from weighed w
     order by w.ord);
end
$$;

-- from 40_flow/keep_message.sql
-- Stores a message under the lock of its key, as buffered for now.
-- Returns:  uuid; null when its message_id is known. Writes: message.
create or replace function bpm_core.keep_message(
  p_tenant_id text, p_name text, p_correlation_key text, p_payload jsonb, p_ttl interval, p_message_id text)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_id  uuid;
  v_now timestamptz := bpm_core.now();
begin
  insert into bpm_core.message (tenant_id, id, name, correlation_key, message_id, payload, content_hash, state, received_at, expires_at)
  values (p_tenant_id, bpm_core.new_id(), p_name, p_correlation_key, p_message_id, p_payload, bpm_core.answer_hash(p_payload, null), 'Buffered', v_now,
          v_now + p_ttl)
  on conflict (tenant_id, message_id) do nothing
  returning id into v_id;
  return v_id;
end
$$;

-- from 40_flow/keep_output.sql
-- Puts the outputs of all items into the output collection, in the order of the items; null for those that were closed or never begun.
-- Writes:   scope or workflow_instance (variables), history_event.
create or replace function bpm_core.keep_output(p_host bpm_core.loop_state, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_host  bpm_core.moving := p_host.host;
  v_patch jsonb;
begin
  select jsonb_build_object(p_host.spec ->> 'into', coalesce(jsonb_agg(x.output order by x.index), '[]'))
    into v_patch
    from (select s.mi_index as index, s.output
            from (select s.* from bpm_core.scope s where s.host_token_id = v_host.token_id offset 0) s
           where s.tenant_id = v_host.tenant_id and s.visit = p_host.visit
          union all
          select g.i, null from generate_series(p_host.created, p_host.total - 1) g(i)) x;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  values (v_host.tenant_id, v_host.instance_id, p_now, 'ScopeCompleted', v_host.token_id, v_host.node_id,
          jsonb_build_object('total', p_host.total, 'done', p_host.done, 'variables', v_patch) || bpm_core.local_names(v_host.tenant_id, v_host.scope_id, v_patch));
  v_patch := bpm_core.patch_scopes(v_host.tenant_id, v_host.scope_id, v_patch);
  if v_patch <> '{}' then
    update bpm_core.workflow_instance w
       set variables = w.variables || v_patch
     where w.tenant_id = v_host.tenant_id and w.id = v_host.instance_id;
  end if;
end
$$;

-- from 40_flow/known_message.sql
-- The message an earlier call with this message id stored.
-- Returns:  uuid. Raises: BP409 when that was another message.
create or replace function bpm_core.known_message(p_tenant_id text, p_name text, p_correlation_key text, p_payload jsonb, p_message_id text)
returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_known bpm_core.message;
begin
  select m.* into r_known from bpm_core.message m where m.tenant_id = p_tenant_id and m.message_id = p_message_id;
  if r_known.name <> p_name or r_known.correlation_key <> p_correlation_key
     or r_known.content_hash <> bpm_core.answer_hash(bpm_core.decode_variables(p_payload), null) then
    perform bpm_core.fail('BP409', format('Message id %L was used for another message.', p_message_id),
      jsonb_build_object('message_id', p_message_id, 'id', r_known.id), 'Use a fresh message id, or repeat the message unchanged.');
  end if;
  return r_known.id;
end
$$;

-- from 40_flow/last_handled.sql
-- The last candidate before the first that had to be skipped because somebody holds its instance: so far a picker's position may move.
-- p_found is in pick order. Returns: candidate; null fields when the very first was skipped.
create or replace function bpm_core.last_handled(p_found bpm_core.candidate[], p_locked uuid[])
returns bpm_core.candidate
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last bpm_core.candidate;
  v_this bpm_core.candidate;
begin
  foreach v_this in array p_found loop
    exit when v_this.instance_id <> all (p_locked);
    v_last := v_this;
  end loop;
  return v_last;
end
$$;

-- from 40_flow/leave_by_timers.sql
-- What fired timers do: a catch event lets its token go on; one behind an event-based gateway closes the other branches first; an interrupting
-- boundary closes its host and takes the token; one that does not interrupt sends a new token and leaves the host alone; the start event of an event
-- sub-process begins that.
-- Writes:   history_event, token, workflow_instance, what close_waits and the paths ahead write.
create or replace function bpm_core.leave_by_timers(p_fired bpm_core.timer[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_hosts   bpm_core.moving[];
  v_leaving bpm_core.moving[];
  v_beside  bpm_core.moving[];
  v_begin   bpm_core.moving[];
  v_ending  bpm_core.moving[];
begin
  with fired as materialized (
    select row(f.tenant_id, f.workflow_instance_id, w.workflow_version_id, t.scope_id, f.token_id, f.node_id, null, null)::bpm_core.moving as token,
           n.interrupting, t.node_id <> f.node_id as elsewhere, n.element = 'startEvent' as is_start, f.id, f.scheduled_at
      from unnest(p_fired) f
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = f.tenant_id and w.id = f.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting, n.element from bpm_core.workflow_node n
                          where n.tenant_id = f.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = f.node_id offset 0) n
     cross join lateral (select t.scope_id, t.node_id, t.state, t.visit from bpm_core.token t
                          where t.tenant_id = f.tenant_id and t.id = f.token_id offset 0) t
     where t.state in ('Waiting', 'Failed') and t.visit = f.visit),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select (f.token).tenant_id, (f.token).instance_id, p_now, 'TimerFired', (f.token).token_id, (f.token).node_id,
           jsonb_build_object('timer', f.id, 'scheduled_at', f.scheduled_at, 'interrupting', f.interrupting and not f.is_start)
      from fired f)
  select array_agg(f.token) filter (where f.elsewhere and f.interrupting and not f.is_start),
         array_agg(f.token) filter (where f.interrupting and not f.is_start), array_agg(f.token) filter (where not f.interrupting and not f.is_start),
         array_agg(f.token) filter (where f.is_start and not f.interrupting), array_agg(f.token) filter (where f.is_start and f.interrupting)
    into v_hosts, v_leaving, v_beside, v_begin, v_ending
    from fired f;
  perform bpm_core.close_waits(v_hosts);
  v_ending := bpm_core.start_event_subs(v_ending, true);
  -- What was closed may have held others of them.
  v_leaving := bpm_core.drop_dead(v_leaving) || v_ending || bpm_core.bear_tokens(bpm_core.drop_dead(v_beside))
    || bpm_core.start_event_subs(bpm_core.drop_dead(v_begin), false);
  perform bpm_core.advance_isolated(v_leaving);
end
$$;

-- from 40_flow/leave_by_waits.sql
-- Lets tokens go on whose waits were met.
-- p_met: the waits, as they were consumed. Writes: what leave_waits and the paths ahead write.
create or replace function bpm_core.leave_by_waits(p_met bpm_core.subscription[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.advance_isolated(bpm_core.leave_waits(p_met));
end
$$;

-- from 40_flow/leave_join.sql
-- Takes a token that waits at a join out of its round, as if it had never arrived. The tokens behind it over the same flow belong to later rounds, so
-- only the last one can be taken.
-- Raises:   BP422 another came over the same flow after it (detail: last_token).
-- Writes:   parallel_join_arrival, parallel_join, inclusive_join. The instance is locked.
create or replace function bpm_core.leave_join(p_token bpm_core.moving)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_last record;
begin
  select a.round, a.token_id into r_last
    from bpm_core.parallel_join_arrival a
   where a.tenant_id = p_token.tenant_id and a.workflow_instance_id = p_token.instance_id and a.scope_id = p_token.scope_id
     and a.node_id = p_token.node_id and a.flow_id = p_token.flow_id
   order by a.round desc
   limit 1;
  if r_last.token_id <> p_token.token_id then
    perform bpm_core.fail('BP422', format('Token %s waits at join %s, and another came over the same flow after it.', p_token.token_id, p_token.node_id),
      jsonb_build_object('flow', p_token.flow_id, 'last_token', r_last.token_id), 'Take the one that came last.');
  end if;
  delete from bpm_core.parallel_join_arrival a
   where a.tenant_id = p_token.tenant_id and a.workflow_instance_id = p_token.instance_id and a.scope_id = p_token.scope_id
     and a.node_id = p_token.node_id and a.flow_id = p_token.flow_id and a.round = r_last.round;
  if p_token.kind = 'InclusiveJoin' then
    update bpm_core.inclusive_join j
       set waiting = j.waiting - 1, blocked_by = null,
           filled = case when j.round = r_last.round then set_bit(j.filled, f.place - f.first_place, 0) else j.filled end
      from bpm_core.inclusive_flow f
     where j.tenant_id = p_token.tenant_id and j.workflow_instance_id = p_token.instance_id and j.scope_id = p_token.scope_id
       and j.node_id = p_token.node_id
       and f.tenant_id = j.tenant_id and f.workflow_version_id = p_token.version_id and f.node_id = j.node_id and f.flow_id = p_token.flow_id;
    return;
  end if;
  delete from bpm_core.parallel_join j
   where j.tenant_id = p_token.tenant_id and j.workflow_instance_id = p_token.instance_id and j.scope_id = p_token.scope_id
     and j.node_id = p_token.node_id and j.round = r_last.round and j.joined = 1;
  update bpm_core.parallel_join j
     set joined = j.joined - 1
   where j.tenant_id = p_token.tenant_id and j.workflow_instance_id = p_token.instance_id and j.scope_id = p_token.scope_id
     and j.node_id = p_token.node_id and j.round = r_last.round;
end
$$;

-- from 40_flow/leave_waits.sql
-- What events that reached their waits do: a catch event lets its token go on, a receive task with its boundary events closed; one behind an
-- event-based gateway closes the other branches first; an interrupting boundary closes its host and takes the token; one that does not
-- interrupt sends a new token and leaves the host alone; the start event of an event sub-process begins that.
-- p_met: the waits, as they were consumed. Returns: moving[], leaving. Writes: token, scope, workflow_instance, history_event, what close_waits writes.
create or replace function bpm_core.leave_waits(p_met bpm_core.subscription[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_hosts   bpm_core.moving[];
  v_leaving bpm_core.moving[];
  v_beside  bpm_core.moving[];
  v_begin   bpm_core.moving[];
  v_ending  bpm_core.moving[];
begin
  if coalesce(cardinality(p_met), 0) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  with met as materialized (
    select row(m.tenant_id, m.workflow_instance_id, w.workflow_version_id, t.scope_id, m.token_id, m.node_id, null, null)::bpm_core.moving as token,
           n.interrupting, t.node_id <> m.node_id or n.element = 'receiveTask' as more_waits, n.element = 'startEvent' as is_start
      from unnest(p_met) m
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = m.tenant_id and w.id = m.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting, n.element from bpm_core.workflow_node n
                          where n.tenant_id = m.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = m.node_id offset 0) n
     cross join lateral (select t.scope_id, t.node_id from bpm_core.token t where t.tenant_id = m.tenant_id and t.id = m.token_id offset 0) t)
  select array_agg(m.token) filter (where m.interrupting and m.more_waits and not m.is_start),
         array_agg(m.token) filter (where m.interrupting and not m.is_start), array_agg(m.token) filter (where not m.interrupting and not m.is_start),
         array_agg(m.token) filter (where m.is_start and not m.interrupting), array_agg(m.token) filter (where m.is_start and m.interrupting)
    into v_hosts, v_leaving, v_beside, v_begin, v_ending
    from met m;
  perform bpm_core.close_waits(v_hosts);
  v_ending := bpm_core.start_event_subs(v_ending, true);
  -- What was closed may have held others of them.
  return bpm_core.drop_dead(v_leaving) || v_ending || bpm_core.bear_tokens(bpm_core.drop_dead(v_beside))
    || bpm_core.start_event_subs(bpm_core.drop_dead(v_begin), false);
end
$$;

-- from 40_flow/lift_token.sql
-- Takes a token off the node it stands at, for an operator: locks its instance, closes what it offered (task, timers, waits, approval, incidents, the
-- scope it is host of with everything inside), takes it out of a join it waits at.
-- Returns:  moving, the token at its node. It is still in its old state; the caller says where it goes.
-- Raises:   BP404 no such token. BP409 it has ended, or its instance has. BP422 as leave_join. BP423 its instance is suspended.
-- Writes:   workflow_instance, and what close_waits and leave_join write. Locks: workflow_instance.
create or replace function bpm_core.lift_token(p_tenant_id text, p_token_id uuid)
returns bpm_core.moving
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_token bpm_core.token;
  v_token bpm_core.moving;
begin
  select t.* into r_token from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = p_token_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no token %s.', coalesce(p_token_id::text, 'null')), null, 'bpm.get_process() lists the tokens of an instance.');
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array[r_token.workflow_instance_id]);
  perform bpm_core.check_running(p_tenant_id, r_token.workflow_instance_id);
  select t.* into r_token from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = p_token_id;
  if r_token.state in ('Completed', 'Terminated') then
    perform bpm_core.fail('BP409', format('Token %s is %s.', p_token_id, r_token.state), jsonb_build_object('state', r_token.state));
  end if;
  v_token := (
    select row(r_token.tenant_id, r_token.workflow_instance_id, w.workflow_version_id, r_token.scope_id, r_token.id, r_token.node_id, r_token.via_flow_id,
               n.kind)::bpm_core.moving
      from bpm_core.workflow_instance w
     cross join lateral (select n.kind from bpm_core.workflow_node n
                          where n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = r_token.node_id offset 0) n
     where w.tenant_id = r_token.tenant_id and w.id = r_token.workflow_instance_id);
  perform bpm_core.bump_instances(p_tenant_id, array[v_token.instance_id]);
  if r_token.state = 'Waiting' and v_token.kind in ('ParallelJoin', 'InclusiveJoin') then
    perform bpm_core.leave_join(v_token);
  end if;
  perform bpm_core.close_waits(array[v_token]);
  return v_token;
end
$$;

-- from 40_flow/local_names.sql
-- Which keys of a patch are declared in the scopes around a token, and so do not reach the workflow: history says so, for replay.
-- Returns:  jsonb: {} or {"local": [names]}.
create or replace function bpm_core.local_names(p_tenant_id text, p_scope_id uuid, p_patch jsonb)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_declared jsonb;
  v_names    jsonb;
begin
  if p_patch = '{}' or coalesce(p_scope_id, bpm_core.root_scope()) = bpm_core.root_scope() then
    return '{}'::jsonb;
  end if;
  v_declared := bpm_core.scope_variables(p_tenant_id, p_scope_id);
  v_names := (select jsonb_agg(k.name) from jsonb_object_keys(p_patch) k(name) where v_declared ? k.name);
  return case when v_names is null then '{}' else jsonb_build_object('local', v_names) end;
end
$$;

-- from 40_flow/lock_instances.sql
-- Locks workflow instances, all at once and in the order of their ids: the first act of every command (law 1).
-- A statement of its own: what follows must take its snapshot after the lock is held, and the order of an UPDATE belongs to the planner.
-- The keys are sorted first and each row is locked by its primary key, so neither the order nor the plan can be another.
-- Returns:  uuid[], those of them that are suspended; unknown ids lock nothing. Locks: workflow_instance, for no key update.
create or replace function bpm_core.lock_instances(p_tenant_id text, p_instances uuid[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  -- The status of a locked row is its latest. Filtered in the aggregate: a condition could be pushed below the lock.
  return (
    select coalesce(array_agg(w.id) filter (where w.status = 'Suspended'), '{}')
      from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_instances) k(id) order by k.id offset 0) k
     cross join lateral (
       select w.id, w.status
         from bpm_core.workflow_instance w
        where w.tenant_id = k.tenant_id and w.id = k.id
          for no key update) w);
end
$$;

-- from 40_flow/lock_instances_of_process.sql
-- Locks every workflow instance of one process, those too that began while the others were waited for; once all are held none can begin.
-- Raises:   BP404 there is no such process. 55P03 one has just begun and somebody holds it: repeat the call.
-- Locks:    workflow_instance.
create or replace function bpm_core.lock_instances_of_process(p_tenant_id text, p_process_instance_id uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_locked uuid[] := array[]::uuid[];
  v_more   uuid[];
begin
  if not exists (select from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id) then
    perform bpm_core.fail('BP404', format('There is no process instance %s.', p_process_instance_id));
  end if;
  loop
    v_more := array(
      select w.id
        from bpm_core.workflow_instance w
       where w.tenant_id = p_tenant_id and w.process_instance_id = p_process_instance_id and w.id <> all (v_locked));
    exit when cardinality(v_more) = 0;
    -- Locks are waited for once (law 1); a later one is only tried.
    if v_locked = '{}' then
      perform bpm_core.lock_instances(p_tenant_id, v_more);
    elsif cardinality(bpm_core.try_lock_instances(p_tenant_id, v_more)) < cardinality(v_more) then
      perform bpm_core.fail('55P03', format('A workflow of process instance %s has just begun and is held by another call.', p_process_instance_id));
    end if;
    v_locked := v_locked || v_more;
  end loop;
end
$$;

-- from 40_flow/lock_message_keys.sql
-- Locks message keys for this transaction, in ascending order of their hashes: the last class of the lock order. For callers that hold no key yet.
-- Raises:   55P03 after the caller's lock_timeout.
create or replace function bpm_core.lock_message_keys(p_hashes bigint[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash bigint;
begin
  for v_hash in select distinct h.hash from unnest(p_hashes) h(hash) order by h.hash loop
    perform pg_advisory_xact_lock(v_hash);
  end loop;
end
$$;

-- from 40_flow/loop_counters.sql
-- What a completion condition may ask besides variables, in the names of Camunda 7 and of Zeebe; the item that asks is counted as completed.
create or replace function bpm_core.loop_counters(p_mode text, p_total integer, p_done bigint)
returns jsonb
language sql immutable
as $$
  select jsonb_build_object('nrOfInstances', p_total, 'nrOfCompletedInstances', p_done, 'nrOfActiveInstances', a.active,
                            'numberOfInstances', p_total, 'numberOfCompletedInstances', p_done, 'numberOfActiveInstances', a.active,
                            'numberOfTerminatedInstances', 0)
    from (select case p_mode when 'Parallel' then p_total - p_done else 1 end as active) a
$$;

-- from 40_flow/loop_declared.sql
-- Which variables every item has of its own, besides its element and counter: what its output element names. A path alone always; of a longer expression
-- those names that are no variables yet when the multi-instance begins. Otherwise what one item wrote would be gathered for another.
-- Returns:  jsonb object, all null.
create or replace function bpm_core.loop_declared(p_spec jsonb, p_variables jsonb)
returns jsonb
language sql immutable
as $$
  select case when not p_spec ? 'output' then '{}'::jsonb else (
    select coalesce(jsonb_object_agg(n.name, null::text), '{}')
      from jsonb_array_elements_text(p_spec #> '{output,names}') n(name)
     where p_spec #> '{output,simple}' = 'true' or not p_variables ? n.name) end
$$;

-- from 40_flow/loop_element.sql
-- The element of a frozen collection that belongs to one item.
-- Returns:  jsonb; null when there is no collection, or the items are not told theirs.
create or replace function bpm_core.loop_element(p_tenant_id text, p_host_id uuid, p_index integer, p_spec jsonb)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if not p_spec ?& array['collection', 'element'] then
    return null;
  end if;
  return (
    select p.items -> (p_index % 1000)
      from bpm_core.multi_instance_part p
     where p.tenant_id = p_tenant_id and p.host_token_id = p_host_id and p.part = p_index / 1000);
end
$$;

-- from 40_flow/loop_total.sql
-- How many items there are, from what the expressions of a multi-instance or loop gave (loop_value).
-- Returns:  integer, 0 to pass; 2147483647 of a loop without a maximum; null when it cannot be said.
create or replace function bpm_core.loop_total(p_spec jsonb, p_value jsonb)
returns integer
language sql immutable
as $$
  select case
    when p_spec ? 'collection' then case jsonb_typeof(p_value) when 'array' then jsonb_array_length(p_value) end
    when p_spec ? 'cardinality' then case
      when jsonb_typeof(p_value) <> 'number' then null
      when p_value::numeric between 0 and 2147483646 and p_value::numeric = trunc(p_value::numeric) then p_value::integer end
    when p_spec ? 'before' and p_value is distinct from 'true' then case when p_value = 'false' then 0 end
    else coalesce((p_spec ->> 'maximum')::integer, 2147483647)
  end
$$;

-- from 40_flow/loop_trouble.sql
-- Why a multi-instance or loop cannot begin, with the values seen.
-- p_needed: live tokens its instance would have with all items. Returns: trouble, codes InvalidCollection, TooManyInstances, ConditionUndecidable; null: it can.
create or replace function bpm_core.loop_trouble(p_host bpm_core.moving, p_spec jsonb, p_value jsonb, p_variables jsonb, p_total integer, p_needed numeric)
returns bpm_core.trouble
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit  constant integer := 150000;
  v_what   text := case when p_spec ? 'collection' then 'collection' when p_spec ? 'cardinality' then 'cardinality' else 'while' end;
  v_source text := p_spec #>> array[v_what, 'source'];
  v_gave   text := case when p_value is null then 'cannot be decided' else format('gives %s (%s)', left(p_value::text, 200), jsonb_typeof(p_value)) end;
  v_detail jsonb;
begin
  if p_total is not null and v_what = 'while' or p_total <= v_limit and coalesce(p_needed, 0) <= v_limit then
    return null;
  end if;
  v_detail := jsonb_build_object('node', p_host.node_id, 'expression', v_source, 'seen', bpm_core.describe_condition(v_source, p_variables));
  if v_what = 'while' then
    return row(p_host, 'ConditionUndecidable', format('Loop %s: the condition %s cannot be decided.', p_host.node_id, v_source), v_detail)::bpm_core.trouble;
  elsif p_total is null and not (v_what = 'cardinality' and jsonb_typeof(p_value) = 'number' and p_value::text !~ '^-|\.') then
    return row(p_host, 'InvalidCollection', format('Multi-instance %s: %s %s, which is no %s.', p_host.node_id, v_source, v_gave,
                 case v_what when 'collection' then 'list' else 'whole number from 0 on' end),
               v_detail || jsonb_build_object('type', coalesce(jsonb_typeof(p_value), 'undecidable')))::bpm_core.trouble;
  end if;
  return row(p_host, 'TooManyInstances', format('Multi-instance %s: %s items, and at most %s tokens may live in one instance.', p_host.node_id,
               coalesce(p_total::text, left(p_value::text, 50)), v_limit),
             v_detail - 'seen' || jsonb_build_object('total', coalesce(to_jsonb(p_total), p_value), 'tokens', p_needed, 'limit', v_limit))::bpm_core.trouble;
end
$$;

-- from 40_flow/loop_value.sql
-- What decides how often an activity is done: its collection, its number, or of a loop that asks before its first turn the verdict.
-- Returns:  jsonb; SQL NULL is undecidable, and of a loop that asks nothing.
create or replace function bpm_core.loop_value(p_spec jsonb, p_variables jsonb)
returns jsonb
language sql volatile
as $$
  select case
    when p_spec ? 'collection' then bpm_core.evaluate(p_spec #> '{collection,tree}', p_variables)
    when p_spec ? 'cardinality' then bpm_core.evaluate(p_spec #> '{cardinality,tree}', p_variables)
    when p_spec ? 'before' then to_jsonb(bpm_core.evaluate_condition(p_spec #> '{while,tree}', p_variables || jsonb_build_object(p_spec ->> 'counter', 0)))
  end
$$;

-- from 40_flow/loop_variables.sql
-- What is declared in the scope of one item: its counter, its element, and the names its output is made of.
create or replace function bpm_core.loop_variables(p_spec jsonb, p_declared jsonb, p_index integer, p_element jsonb)
returns jsonb
language sql immutable
as $$
  select p_declared || jsonb_build_object(p_spec ->> 'counter', p_index + (p_spec ->> 'base')::integer)
         || case when p_spec ? 'element' and p_element is not null then jsonb_build_object(p_spec ->> 'element', p_element) else '{}'::jsonb end
$$;

-- from 40_flow/map_scope_outputs.sql
-- Applies the output mappings of sub-processes whose scopes have just ended: they see what the scope declared. The patch goes to the scopes around and
-- to the workflow, as if a step after the sub-process had brought it. One that cannot be evaluated stops the host; resolving maps again.
-- p_leaving: the hosts, leaving. Returns: moving[], those that may leave.
-- Writes:   scope, workflow_instance, history_event; token, incident.
create or replace function bpm_core.map_scope_outputs(p_tenant_id text, p_leaving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_stopped bpm_core.trouble[] := array[]::bpm_core.trouble[];
  r_host    record;
  r_mapped  record;
begin
  -- One by one, for a patch changes what the next mapping sees.
  for r_host in
    select row(l.tenant_id, l.instance_id, l.version_id, l.scope_id, l.token_id, l.node_id, l.flow_id, l.kind)::bpm_core.moving as token, n.outputs, s.id as ended
      from unnest(p_leaving) with ordinality l(tenant_id, instance_id, version_id, scope_id, token_id, node_id, flow_id, kind, n)
     cross join lateral (select n.expressions -> 'outputs' as outputs from bpm_core.workflow_node n
                          where n.tenant_id = l.tenant_id and n.workflow_version_id = l.version_id and n.node_id = l.node_id offset 0) n
     cross join lateral (
       select x.id
         from (select s.id, s.node_id from bpm_core.scope s where s.host_token_id = l.token_id offset 0) x
        where x.node_id = l.node_id
        order by x.id desc
        limit 1) s
     where n.outputs is not null
     order by l.n
  loop
    select m.mapped, m.problem, m.detail
      into r_mapped
      from bpm_core.token_variables(p_tenant_id, (r_host.token).instance_id, r_host.ended) v
     cross join lateral bpm_core.map_values(r_host.outputs, v.variables) m;
    if r_mapped.problem is not null then
      v_stopped := v_stopped || bpm_core.task_trouble(r_host.token, r_mapped.problem, r_mapped.detail || jsonb_build_object('ended', r_host.ended));
    else
      insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, node_id, detail)
      values (p_tenant_id, (r_host.token).instance_id, bpm_core.now(), 'VariablesSet', (r_host.token).node_id,
              jsonb_build_object('variables', r_mapped.mapped, 'scope', r_host.ended)
              || bpm_core.local_names(p_tenant_id, (r_host.token).scope_id, r_mapped.mapped));
      update bpm_core.workflow_instance w
         set variables = w.variables || bpm_core.patch_scopes(p_tenant_id, (r_host.token).scope_id, r_mapped.mapped)
       where w.tenant_id = p_tenant_id and w.id = (r_host.token).instance_id;
    end if;
  end loop;
  if cardinality(v_stopped) = 0 then
    return p_leaving;
  end if;
  perform bpm_core.open_incidents(v_stopped);
  return array(select l from unnest(p_leaving) l where l.token_id <> all (array(select (x.token).token_id from unnest(v_stopped) x)));
end
$$;

-- from 40_flow/match_buffered.sql
-- Gives fresh waits the messages buffered for their keys, oldest first, one each. The keys are locked.
-- Writes:   message, inbox.
create or replace function bpm_core.match_buffered(p_waits bpm_core.subscription[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with wait as materialized (
    select w.tenant_id, w.id, w.workflow_instance_id, w.name, w.correlation_key,
           row_number() over (partition by w.name, w.correlation_key order by w.id) - 1 as turn
      from unnest(p_waits) w),
  taken as (
    update bpm_core.message m
       set state = 'Correlated', correlated_to = x.subscription_id
      from (
        select w.tenant_id, w.id as subscription_id, w.workflow_instance_id, b.id
          from wait w
         cross join lateral (
           select b.id
             from bpm_core.message b
            where b.state = 'Buffered' and b.name = w.name and b.correlation_key = w.correlation_key
              and b.tenant_id is not distinct from w.tenant_id  -- no index condition: with = the planner may walk the tenant
              and b.expires_at > p_now
            order by b.received_at, b.id
           offset w.turn limit 1) b
        offset 0) x
     where m.tenant_id = x.tenant_id and m.id = x.id
    returning m.tenant_id, m.id, x.subscription_id, x.workflow_instance_id)
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select t.tenant_id, bpm_core.new_id(), 'WorkflowInstance', t.workflow_instance_id, 'Message',
         jsonb_build_object('message', t.id, 'subscription', t.subscription_id), bpm_core.now()
    from taken t;
end
$$;

-- from 40_flow/meet_conditions.sql
-- Asks the conditions that are waited for in these instances, and lets those that are true take effect; of one token only one, an interrupting one first.
-- One that cannot be decided, since its variables are not there yet, is not true yet. That of a boundary event that does not interrupt takes effect each
-- time it turns true.
-- Returns:  moving[], leaving. Writes: subscription, history_event, and what leave_waits writes. The instances are locked.
create or replace function bpm_core.meet_conditions(p_tenant_id text, p_instances uuid[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_met bpm_core.subscription[];
begin
  with judged as materialized (
    select s::bpm_core.subscription as wait, n.interrupting, n.interrupting and n.element <> 'startEvent' as takes_host, s.last_met,
           coalesce(bpm_core.evaluate_condition(n.expressions -> 'condition', v.variables), false) as met
      from (select distinct i.id from unnest(p_instances) i(id) offset 0) i
     cross join lateral (select s.* from bpm_core.subscription s
                          where s.workflow_instance_id = i.id and s.kind = 'Conditional' and s.state = 'Open' offset 0) s
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = s.tenant_id and w.id = s.workflow_instance_id and w.status = 'Running' offset 0) w
     cross join lateral (select n.interrupting, n.element, n.expressions from bpm_core.workflow_node n
                          where n.tenant_id = s.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = s.node_id offset 0) n
     cross join lateral (select t.scope_id, t.state from bpm_core.token t where t.tenant_id = s.tenant_id and t.id = s.token_id offset 0) t
     cross join lateral bpm_core.token_variables(s.tenant_id, s.workflow_instance_id, t.scope_id) v
     where s.tenant_id = p_tenant_id and t.state = 'Waiting'),
  turned as (
    update bpm_core.subscription s
       set last_met = j.met
      from judged j
     where s.tenant_id = (j.wait).tenant_id and s.id = (j.wait).id and not j.interrupting and s.last_met <> j.met),
  effective as materialized (
    select j.*, row_number() over (partition by (j.wait).token_id order by j.interrupting desc, (j.wait).created_at, (j.wait).id) as turn
      from judged j
     where j.met and (j.interrupting or not j.last_met)),
  consumed as (
    update bpm_core.subscription s
       set state = 'Consumed'
      from effective e
     where s.tenant_id = (e.wait).tenant_id and s.id = (e.wait).id and e.interrupting and e.turn = 1),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p_tenant_id, (e.wait).workflow_instance_id, bpm_core.now(), 'ConditionMet', (e.wait).token_id, (e.wait).node_id,
           jsonb_build_object('subscription', (e.wait).id) || case when e.takes_host then '{}'::jsonb else '{"interrupting": false}' end
      from effective e
     where e.turn = 1)
  select array_agg(e.wait) into v_met from effective e where e.turn = 1;
  return bpm_core.leave_waits(v_met);
end
$$;

-- from 40_flow/message_key_hash.sql
-- The advisory lock that stands for one message key.
-- Returns:  bigint.
create or replace function bpm_core.message_key_hash(p_tenant_id text, p_name text, p_correlation_key text)
returns bigint
language sql immutable parallel safe
as $$ select hashtextextended(p_tenant_id || chr(31) || p_name || chr(31) || p_correlation_key, 20110103) $$;

-- from 40_flow/message_patch.sql
-- What the output mappings of an event make of a message's payload.
-- Returns:  jsonb object.
-- Raises:   BP422 one cannot be evaluated: the message stays in the inbox, and becomes an incident when that does not pass.
create or replace function bpm_core.message_patch(p_tenant_id text, p_instance_id uuid, p_scope_id uuid, p_outputs jsonb, p_payload jsonb)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_mapped record;
begin
  select m.mapped, m.problem, m.detail
    into r_mapped
    from bpm_core.token_variables(p_tenant_id, p_instance_id, p_scope_id) v
   cross join lateral bpm_core.map_values(p_outputs, v.variables || p_payload) m;
  if r_mapped.problem is not null then
    perform bpm_core.fail('BP422', r_mapped.problem || ': ' || (r_mapped.detail)::text, r_mapped.detail);
  end if;
  return r_mapped.mapped;
end
$$;

-- from 40_flow/move_token.sql
-- Moves a token to another node of the same sub-process by hand: what it offered where it stands is closed (a task in hand too, its worker is told), and
-- the node is entered anew. The same node again is entered anew as well.
-- Returns:  one row: token_id, node_id and state where it came to rest, instance_status (workflow).
-- Raises:   BP403, BP404 no such token, BP409 it has ended, BP422 not there, and why; a reason too long; BP423 suspended.
-- Writes:   token, history_event, audit_event, and what lift_token and the nodes ahead write. Locks: workflow_instance.
create or replace function bpm.move_token(p_token_id uuid, p_node_id text, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (token_id uuid, node_id text, state text, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_now   timestamptz;
  v_token bpm_core.moving;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  v_token := bpm_core.lift_token(p_tenant_id, p_token_id);
  perform bpm_core.check_placement(v_token, p_node_id);
  v_now := bpm_core.now();
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  select p_tenant_id, v_token.instance_id, v_now, 'TokenPlaced', p_token_id, p_node_id, t.state::text, 'Ready', v_actor,
         jsonb_strip_nulls(jsonb_build_object('from', v_token.node_id, 'reason', p_reason))
    from bpm_core.token t
   where t.tenant_id = p_tenant_id and t.id = p_token_id;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'MoveToken', 'token', p_token_id::text, null, p_reason,
    jsonb_build_object('workflow_instance_id', v_token.instance_id, 'from', v_token.node_id, 'to', p_node_id));
  update bpm_core.token t
     set node_id = p_node_id, via_flow_id = null, state = 'Ready', ready_at = v_now, steps = 0, version = t.version + 1, updated_at = v_now
   where t.tenant_id = p_tenant_id and t.id = p_token_id;
  perform bpm_core.resume_tokens(p_tenant_id, array[p_token_id]);
  perform bpm_core.note_starved_joins(array[v_token]);
  return query select * from bpm_core.token_place(p_tenant_id, p_token_id);
end
$$;

-- from 40_flow/next_inbox_rows.sql
-- Which of these inbox rows may be applied now, in order: of each target the oldest, and with a parked answer the answers right behind it,
-- which are applied as a set. Sweeps wait for nobody. Rows set aside are left out.
-- Returns:  inbox[].
create or replace function bpm_core.next_inbox_rows(p_tenant_id text, p_rows uuid[])
returns bpm_core.inbox[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select q.row
      from (select i::bpm_core.inbox as row,
                   row_number() over line as n,
                   bool_and(i.kind = 'Answer' and i.payload ? 'answers') over line as in_run
              from unnest(p_rows) k(id)
             cross join lateral (select i.* from bpm_core.inbox i where i.tenant_id = p_tenant_id and i.id = k.id offset 0) i
             where i.available_at < 'infinity'
            window line as (partition by i.target_id, i.kind = 'Sweep' order by i.id)) q
     where q.n = 1 or q.in_run
     order by (q.row).target_id, (q.row).id);
end
$$;

-- from 40_flow/next_inclusive_rounds.sql
-- Fires these rounds of inclusive joins and begins the next ones, with the surplus over the same flows if there is any.
-- Until they come to rest the survivors are Executing, on no flow: a join that is looked at meanwhile must not take them for waiting.
-- Returns:  moving[], the survivors, leaving. Writes: inclusive_join, token, and what fire_joins writes.
create or replace function bpm_core.next_inclusive_rounds(p_rounds bpm_core.parallel_join[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[];
begin
  insert into bpm_core.parallel_join select r.* from unnest(p_rounds) r;
  v_leaving := bpm_core.fire_joins(p_rounds);
  update bpm_core.inclusive_join j
     set round = r.round + 1, waiting = j.waiting - r.joined, blocked_by = null, filled = coalesce(x.filled, j.filled # j.filled)
    from (select r.*, w.workflow_version_id
            from unnest(p_rounds) r
           cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                                where w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id offset 0) w offset 0) r
   cross join lateral (
     select bit_or(set_bit(repeat('0', p.flows)::bit varying, p.place - p.first_place, 1)) as filled
       from bpm_core.inclusive_flow p
      cross join lateral (select from bpm_core.parallel_join_arrival a
                           where a.tenant_id = r.tenant_id and a.workflow_instance_id = r.workflow_instance_id and a.scope_id = r.scope_id
                             and a.node_id = r.node_id and a.flow_id = p.flow_id and a.round = r.round + 1 offset 0) a
      where p.tenant_id = r.tenant_id and p.workflow_version_id = r.workflow_version_id and p.node_id = r.node_id) x
   where j.tenant_id = r.tenant_id and j.workflow_instance_id = r.workflow_instance_id and j.scope_id = r.scope_id and j.node_id = r.node_id;
  update bpm_core.token t
     set state = 'Executing', via_flow_id = null, version = t.version + 1
    from unnest(v_leaving) l
   where t.tenant_id = l.tenant_id and t.id = l.token_id;
  return v_leaving;
end
$$;

-- from 40_flow/note_starved_joins.sql
-- Opens an incident where a join waits for tokens that nobody can bring any more: every live token of its scope waits at a join. Inclusive joins among
-- them wait for each other, or for a parallel one. Not a silent stop. The tokens keep their place; moving or cancelling them is for a person.
-- Once per scope while it is open.
-- p_joining: tokens whose instance and scope is looked at. Writes: incident, history_event.
create or replace function bpm_core.note_starved_joins(p_joining bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with recursive around as (
    select distinct m.tenant_id, m.instance_id, m.scope_id from unnest(p_joining) m
    union
    -- An event sub-process that ends may leave the scope around it with nothing but what waits at joins.
    select a.tenant_id, a.instance_id, coalesce(s.parent_scope_id, bpm_core.root_scope())
      from around a
     cross join lateral (select s.parent_scope_id from bpm_core.scope s where s.tenant_id = a.tenant_id and s.id = a.scope_id offset 0) s
     where a.scope_id <> bpm_core.root_scope()),
  starved as materialized (
    select d.tenant_id, d.instance_id, d.scope_id, bpm_core.new_id() as incident_id, j.joins
      from around d
     cross join lateral (select w.status, w.live_tokens from bpm_core.workflow_instance w
                          where w.tenant_id = d.tenant_id and w.id = d.instance_id offset 0) w
      left join lateral (select s.live_tokens from bpm_core.scope s where s.tenant_id = d.tenant_id and s.id = d.scope_id offset 0) s on true
     cross join lateral (
       select coalesce(sum(x.joined), 0) as waiting,
              jsonb_agg(jsonb_build_object('node', x.node_id, 'round', x.round, 'expected', x.expected, 'joined', x.joined)) as joins
         from (select j.node_id, j.round, j.expected, j.joined from bpm_core.parallel_join j
                where j.tenant_id = d.tenant_id and j.workflow_instance_id = d.instance_id and j.scope_id = d.scope_id and j.fired_at is null
               union all
               select i.node_id, i.round, length(i.filled), i.waiting from bpm_core.inclusive_join i
                where i.tenant_id = d.tenant_id and i.workflow_instance_id = d.instance_id and i.scope_id = d.scope_id and i.waiting > 0) x) j
     -- At the root the counter is that of the whole instance: a token inside a sub-process has its host at the root, which waits at no join.
     where w.status = 'Running' and j.waiting > 0 and j.waiting = coalesce(s.live_tokens, w.live_tokens)
       and not exists (select from (select o.state, o.code, o.detail from bpm_core.incident o where o.workflow_instance_id = d.instance_id offset 0) o
                        where o.state = 'Open' and o.code = 'JoinStarved' and o.detail ->> 'scope' = d.scope_id::text)),
  opened as (
    insert into bpm_core.incident (tenant_id, id, workflow_instance_id, node_id, code, message, detail, created_at)
    select s.tenant_id, s.incident_id, s.instance_id, s.joins -> 0 ->> 'node', 'JoinStarved',
           format('Join %s waits for a token that nobody can bring any more.', s.joins -> 0 ->> 'node'),
           jsonb_build_object('joins', s.joins, 'scope', s.scope_id), v_now
      from starved s)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, node_id, detail)
  select s.tenant_id, s.instance_id, v_now, 'IncidentOpened', s.joins -> 0 ->> 'node', jsonb_build_object('incident', s.incident_id, 'code', 'JoinStarved')
    from starved s;
end
$$;

-- from 40_flow/offer_message.sql
-- Under the lock of its key: gives a buffered message to the oldest wait that has none yet; applies it at once if the instance is free.
-- One that meets nobody and has no time to live is Expired. Writes: message, inbox, and what applying it writes.
create or replace function bpm_core.offer_message(p_tenant_id text, p_message_id uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_inbox uuid := bpm_core.new_id();
  r_wait  record;
begin
  select s.id, s.workflow_instance_id into r_wait
    from (select m.name, m.correlation_key from bpm_core.message m where m.tenant_id = p_tenant_id and m.id = p_message_id offset 0) m
   cross join lateral (
     select s.id, s.workflow_instance_id
       from bpm_core.subscription s
      where s.state = 'Open' and s.name = m.name and s.correlation_key = m.correlation_key
        and s.tenant_id is not distinct from p_tenant_id  -- no index condition: with = the planner may walk the tenant
        and not exists (select from bpm_core.message o where o.correlated_to = s.id)
      order by s.created_at, s.id
      limit 1) s;
  if r_wait.id is null then
    update bpm_core.message m set state = 'Expired' where m.tenant_id = p_tenant_id and m.id = p_message_id and m.expires_at <= v_now;
    return;
  end if;
  update bpm_core.message m set state = 'Correlated', correlated_to = r_wait.id where m.tenant_id = p_tenant_id and m.id = p_message_id;
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  values (p_tenant_id, v_inbox, 'WorkflowInstance', r_wait.workflow_instance_id, 'Message',
          jsonb_build_object('message', p_message_id, 'subscription', r_wait.id), v_now);
  if cardinality(bpm_core.try_lock_instances(p_tenant_id, array[r_wait.workflow_instance_id])) = 1 then
    perform bpm_core.apply_inbox(p_tenant_id, array[v_inbox]);
  end if;
end
$$;

-- from 40_flow/open_condition_waits.sql
-- Opens waits for conditions: each names the token that rests and the event, at its node, attached to it, or behind its event-based gateway.
-- Writes:   subscription, history_event.
create or replace function bpm_core.open_condition_waits(p_waits bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with opened as (
    insert into bpm_core.subscription (tenant_id, id, workflow_instance_id, token_id, visit, node_id, kind, name, created_at)
    select a.tenant_id, bpm_core.new_id(), a.instance_id, a.token_id, t.visit, a.node_id, 'Conditional', a.node_id, v_now
      from unnest(p_waits) a
     cross join lateral (select t.visit from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = a.token_id offset 0) t
    returning tenant_id, id, workflow_instance_id, token_id, node_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
  select o.tenant_id, o.workflow_instance_id, v_now, 'ConditionAwaited', o.token_id, o.node_id, 'Waiting', jsonb_build_object('subscription', o.id)
    from opened o;
end
$$;

-- from 40_flow/open_incidents.sql
-- Stops tokens that cannot go on: each becomes Failed (still live) where it stands, with one incident that says why.
-- Returns:  the incidents. Writes: token, incident, history_event. The instances are locked.
create or replace function bpm_core.open_incidents(p_troubles bpm_core.trouble[])
returns setof bpm_core.incident
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  if coalesce(cardinality(p_troubles), 0) = 0 then
    return;
  end if;
  return query
  with stopped as (
    update bpm_core.token t
       set node_id = (x.token).node_id, via_flow_id = (x.token).flow_id, state = 'Failed', ready_at = null, version = t.version + 1, updated_at = v_now
      from unnest(p_troubles) x
     where t.tenant_id = (x.token).tenant_id and t.id = (x.token).token_id
    returning t.tenant_id, t.workflow_instance_id, t.id as token_id, t.node_id, bpm_core.new_id() as incident_id, x.code, x.message, x.detail),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select s.tenant_id, s.workflow_instance_id, v_now, 'IncidentOpened', s.token_id, s.node_id, 'Failed',
           jsonb_build_object('incident', s.incident_id, 'code', s.code, 'message', s.message)
      from stopped s)
  insert into bpm_core.incident as i (tenant_id, id, workflow_instance_id, token_id, node_id, code, message, detail, created_at)
  select s.tenant_id, s.incident_id, s.workflow_instance_id, s.token_id, s.node_id, s.code, s.message, coalesce(s.detail, '{}'), v_now
    from stopped s
  returning i.*;
end
$$;

-- from 40_flow/open_items.sql
-- Opens a scope for each item, with its own variables and a token that leaves the start inside.
-- Returns:  moving[], the tokens born. Writes: scope, token, workflow_instance (live_tokens), history_event.
create or replace function bpm_core.open_items(p_items bpm_core.loop_item[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now  timestamptz := bpm_core.now();
  v_born bpm_core.moving[];
begin
  if coalesce(cardinality(p_items), 0) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  with item as materialized (
    select (i.host).tenant_id, (i.host).instance_id, (i.host).version_id, (i.host).scope_id as parent_id, (i.host).token_id as host_id,
           (i.host).node_id as host_node_id, (i.host).node_id || ':start' as node_id, i.visit, i.steps, i.index, i.total, i.variables,
           bpm_core.new_id() as scope_id, bpm_core.new_id() as token_id
      from unnest(p_items) i),
  scoped as (
    insert into bpm_core.scope (tenant_id, id, workflow_instance_id, parent_scope_id, node_id, host_token_id, variables, live_tokens, mi_index, mi_total, visit)
    select i.tenant_id, i.scope_id, i.instance_id, nullif(i.parent_id, bpm_core.root_scope()), i.host_node_id, i.host_id, i.variables, 1, i.index,
           nullif(i.total, 2147483647), i.visit
      from item i),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, state, steps, updated_at)
    select i.tenant_id, i.token_id, i.instance_id, i.scope_id, i.node_id, 'Waiting', i.steps, v_now
      from item i),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select i.tenant_id, i.instance_id, v_now, 'TokenBorn', i.token_id, i.node_id,
           jsonb_build_object('parent', i.host_id, 'scope', i.scope_id, 'index', i.index)
      from item i),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens + d.more
      from (select i.tenant_id, i.instance_id, count(*)::integer as more from item i group by i.tenant_id, i.instance_id) d
     where w.tenant_id = d.tenant_id and w.id = d.instance_id)
  select array_agg(row(i.tenant_id, i.instance_id, i.version_id, i.scope_id, i.token_id, i.node_id, null, null)::bpm_core.moving)
    into v_born
    from item i;
  return v_born;
end
$$;

-- from 40_flow/open_lists.sql
-- What is open in workflow instances: the lists of get_process.
-- Returns:  jsonb {list name: array of at most p_limit objects, …, more: names of the lists cut off}.
create or replace function bpm_core.open_lists(p_tenant_id text, p_workflows uuid[], p_limit integer)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (
    select jsonb_object_agg(l.name, to_jsonb(l.items[ : p_limit]))
           || jsonb_build_object('more', coalesce(jsonb_agg(l.name) filter (where cardinality(l.items) > p_limit), '[]'))
      from (values
        ('tokens', array(
          select jsonb_build_object('token_id', t.id, 'workflow_instance_id', t.workflow_instance_id, 'node_id', t.node_id, 'node_name', n.name,
                                    'element', n.element, 'state', t.state, 'since', t.updated_at)
            from bpm_core.token t
            join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
            left join bpm_core.workflow_node n
              on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = t.node_id
           where t.tenant_id = p_tenant_id and t.workflow_instance_id = any (p_workflows)
             and t.state in ('Ready', 'Executing', 'Waiting', 'Failed')
           order by t.id limit p_limit + 1)),
        ('tasks', array(
          select to_jsonb(t) - '{tenant_id,process_instance_id,business_key}'::text[] from bpm.task t
           where t.tenant_id = p_tenant_id and t.workflow_instance_id = any (p_workflows) and t.state in ('Ready', 'Executing', 'Held', 'Failed')
           order by t.task_id limit p_limit + 1)),
        ('loops', array(
          select jsonb_build_object('token_id', m.host_token_id, 'workflow_instance_id', m.workflow_instance_id, 'node_id', m.node_id, 'mode', m.mode,
                                    'total', nullif(m.total, 2147483647), 'created', m.created, 'done', m.done)
            from bpm_core.multi_instance m
           where m.tenant_id = p_tenant_id and m.workflow_instance_id = any (p_workflows)
           order by m.host_token_id limit p_limit + 1)),
        ('timers', array(
          select to_jsonb(t) - '{tenant_id,process_instance_id}'::text[] from bpm.timer t
           where t.tenant_id = p_tenant_id and t.workflow_instance_id = any (p_workflows) and t.status in ('Scheduled', 'Held')
           order by t.due_at, t.timer_id limit p_limit + 1)),
        ('waits', array(
          select jsonb_build_object('subscription_id', s.id, 'token_id', s.token_id, 'node_id', s.node_id, 'kind', s.kind, 'name', s.name,
                                    'correlation_key', s.correlation_key, 'since', s.created_at)
            from bpm_core.subscription s
            join bpm_core.token t on t.tenant_id = s.tenant_id and t.id = s.token_id
           where t.tenant_id = p_tenant_id and t.workflow_instance_id = any (p_workflows) and s.state = 'Open'
           order by s.id limit p_limit + 1)),
        ('incidents', array(
          select to_jsonb(i) - '{tenant_id,process_instance_id,business_key}'::text[] from bpm.incident i
           where i.tenant_id = p_tenant_id and i.workflow_instance_id = any (p_workflows) and i.state = 'Open'
           order by i.incident_id limit p_limit + 1)),
        ('dead_letters', array(
          select to_jsonb(d) - '{tenant_id,process_instance_id,business_key}'::text[] from bpm.dead_letter d
           where d.tenant_id = p_tenant_id and d.workflow_instance_id = any (p_workflows) and d.state = 'Open'
           order by d.dead_letter_id limit p_limit + 1)),
        ('approvals', array(
          select to_jsonb(a) - '{tenant_id,process_instance_id,business_key}'::text[] from bpm.approval a
           where a.tenant_id = p_tenant_id and a.workflow_instance_id = any (p_workflows)
             and (a.status = 'Pending' or a.effect = 'Pending' and a.status <> 'Cancelled')
           order by a.approval_id limit p_limit + 1)),
        ('commands', array(
          select to_jsonb(c) - '{tenant_id,process_instance_id,business_key}'::text[] from bpm.command c
           where c.tenant_id = p_tenant_id and c.workflow_instance_id = any (p_workflows)
           order by c.command_id limit p_limit + 1))) l(name, items));
end
$$;

-- from 40_flow/open_scopes.sql
-- Opens a scope inside the activity each host rests at, and begins it with a token at its start event. Of several (the body of a process has one for
-- each start event of the process) it is the one that belongs to the flow the host came over. A host that could not be armed opens nothing.
-- What input mappings give is declared in the scope; one that cannot be evaluated stops the host.
-- Returns:  moving[], the tokens born, leaving the start events. Writes: scope, token, workflow_instance (live_tokens), history_event; incident.
create or replace function bpm_core.open_scopes(p_hosts bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_born     bpm_core.moving[];
  v_troubles bpm_core.trouble[];
begin
  with host as materialized (
    select h.*, t.steps, m.mapped, m.problem, m.detail
      from unnest(p_hosts) h
     cross join lateral (select t.steps, t.state from bpm_core.token t where t.tenant_id = h.tenant_id and t.id = h.token_id offset 0) t
     cross join lateral (select n.expressions -> 'inputs' as inputs from bpm_core.workflow_node n
                          where n.tenant_id = h.tenant_id and n.workflow_version_id = h.version_id and n.node_id = h.node_id offset 0) n
      left join lateral (select m.*
                           from bpm_core.token_variables(h.tenant_id, h.instance_id, h.scope_id) v
                          cross join lateral bpm_core.map_values(n.inputs, v.variables) m
                          where n.inputs is not null offset 0) m on true
     where t.state = 'Waiting'),
  opened as materialized (
    select h.tenant_id, h.instance_id, h.version_id, h.scope_id as parent_id, h.token_id as host_id, h.node_id as host_node_id,
           bpm_core.new_id() as scope_id, bpm_core.new_id() as token_id, s.node_id, h.steps, h.mapped
      from host h
     cross join lateral (
       select n.node_id
         from bpm_core.workflow_node n
        where n.scope_node_id = h.node_id and n.workflow_version_id = h.version_id and n.tenant_id = h.tenant_id and n.kind = 'StartEvent'
        order by n.node_id || '-flow' is distinct from h.flow_id
        limit 1) s
     where h.problem is null),
  scoped as (
    insert into bpm_core.scope (tenant_id, id, workflow_instance_id, parent_scope_id, node_id, host_token_id, live_tokens, variables)
    select o.tenant_id, o.scope_id, o.instance_id, nullif(o.parent_id, bpm_core.root_scope()), o.host_node_id, o.host_id, 1, coalesce(o.mapped, '{}')
      from opened o),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, state, steps, updated_at)
    select o.tenant_id, o.token_id, o.instance_id, o.scope_id, o.node_id, 'Waiting', o.steps, v_now
      from opened o),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select o.tenant_id, o.instance_id, v_now, 'ScopeOpened'::bpm_core.history_kind, o.host_id, o.host_node_id, jsonb_build_object('scope', o.scope_id)
      from opened o
    union all
    select o.tenant_id, o.instance_id, v_now, 'TokenBorn', o.token_id, o.node_id, jsonb_build_object('parent', o.host_id, 'scope', o.scope_id)
      from opened o),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens + d.more
      from (select o.tenant_id, o.instance_id, count(*)::integer as more from opened o group by o.tenant_id, o.instance_id) d
     where w.tenant_id = d.tenant_id and w.id = d.instance_id)
  select (select array_agg(row(o.tenant_id, o.instance_id, o.version_id, o.scope_id, o.token_id, o.node_id, null, null)::bpm_core.moving) from opened o),
         (select array_agg(bpm_core.task_trouble(row(h.tenant_id, h.instance_id, h.version_id, h.scope_id, h.token_id, h.node_id, h.flow_id, h.kind)::bpm_core.moving,
                                                 h.problem, h.detail)) from host h where h.problem is not null)
    into v_born, v_troubles;
  if v_troubles is not null then
    perform bpm_core.close_waits(array(select x.token from unnest(v_troubles) x));
    perform bpm_core.open_incidents(v_troubles);
  end if;
  return coalesce(v_born, '{}');
end
$$;

-- from 40_flow/open_signal_waits.sql
-- Opens signal waits: each names the token that rests and the event, at its node, attached to it, or behind its event-based gateway.
-- Writes:   subscription, history_event.
create or replace function bpm_core.open_signal_waits(p_waits bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with opened as (
    insert into bpm_core.subscription (tenant_id, id, workflow_instance_id, token_id, visit, node_id, kind, name, created_at)
    select a.tenant_id, bpm_core.new_id(), a.instance_id, a.token_id, t.visit, a.node_id, 'Signal', n.message_name, v_now
      from unnest(p_waits) a
     cross join lateral (select n.message_name from bpm_core.workflow_node n
                          where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n
     cross join lateral (select t.visit from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = a.token_id offset 0) t
    returning tenant_id, id, workflow_instance_id, token_id, node_id, name)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
  select o.tenant_id, o.workflow_instance_id, v_now, 'SignalAwaited', o.token_id, o.node_id, 'Waiting',
         jsonb_build_object('subscription', o.id, 'name', o.name)
    from opened o;
end
$$;

-- from 40_flow/open_subscriptions.sql
-- Stores fresh message waits, under the locks of their keys, and gives them the messages kept for them.
-- Writes:   subscription, message, inbox, history_event.
create or replace function bpm_core.open_subscriptions(p_waits bpm_core.subscription[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  if coalesce(cardinality(p_waits), 0) = 0 then
    return;
  end if;
  insert into bpm_core.subscription (tenant_id, id, workflow_instance_id, token_id, visit, node_id, kind, name, correlation_key, created_at)
  select w.tenant_id, w.id, w.workflow_instance_id, w.token_id, w.visit, w.node_id, w.kind, w.name, w.correlation_key,
         -- The oldest wait gets a message: those of one command in the order in which they were come to, an outer boundary before an inner one.
         v_now + w.n * interval '1 microsecond'
    from unnest(p_waits) with ordinality w(tenant_id, id, workflow_instance_id, process_version_id, token_id, visit, node_id, kind, name, correlation_key, state,
                                           created_at, last_met, n);
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
  select w.tenant_id, w.workflow_instance_id, v_now, 'MessageAwaited', w.token_id, w.node_id, 'Waiting',
         jsonb_build_object('subscription', w.id, 'name', w.name, 'correlation_key', w.correlation_key)
    from unnest(p_waits) w;
  perform bpm_core.match_buffered(p_waits, v_now);
end
$$;

-- from 40_flow/open_waits.sql
-- Opens message waits under the locks of their keys: of tokens at a catch event, of hosts with boundary events, of tokens at an event-based
-- gateway; a message that arrived earlier is on its way at once, through the inbox. A wait without a key to correlate by is an incident on its
-- token, a key that another call holds parks the token, for tick; what such a token offered already is closed.
-- Writes:   subscription, message, inbox, history_event; token, incident, and what close_waits writes.
create or replace function bpm_core.open_waits(p_waits bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_waits   bpm_core.subscription[];
  v_keyless bpm_core.trouble[];
  v_busy    bigint[];
begin
  with wait as materialized (
    select r::bpm_core.moving as token, t.visit, t.node_id as host_node_id, n.message_name, n.correlation_path,
           case when n.correlation_path is null then p.business_key
                else bpm_core.correlation_key(n.correlation_path, n.correlation, coalesce(w.inputs, p.variables) || w.variables || case when r.scope_id = bpm_core.root_scope() then '{}'
                                                               else bpm_core.scope_variables(r.tenant_id, r.scope_id) end) end as correlation_key
      from unnest(p_waits) r
     cross join lateral (select t.visit, t.state, t.node_id from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = r.token_id offset 0) t
     cross join lateral (select n.message_name, n.correlation_path, n.expressions -> 'correlation' as correlation from bpm_core.workflow_node n
                          where n.tenant_id = r.tenant_id and n.workflow_version_id = r.version_id and n.node_id = r.node_id offset 0) n
     cross join lateral (select w.process_instance_id, w.inputs, w.variables from bpm_core.workflow_instance w
                          where w.tenant_id = r.tenant_id and w.id = r.instance_id offset 0) w
     cross join lateral (select p.business_key, p.variables from bpm_core.process_instance p
                          where p.tenant_id = r.tenant_id and p.id = w.process_instance_id offset 0) p
     where t.state = 'Waiting')
  select array_agg(row((w.token).tenant_id, bpm_core.new_id(), (w.token).instance_id, null, (w.token).token_id, w.visit, (w.token).node_id, 'Message',
                       w.message_name, w.correlation_key, 'Open', null, false)::bpm_core.subscription) filter (where w.correlation_key is not null),
         array_agg(row(row((w.token).tenant_id, (w.token).instance_id, (w.token).version_id, (w.token).scope_id, (w.token).token_id, w.host_node_id,
                           (w.token).flow_id, (w.token).kind)::bpm_core.moving, 'CorrelationKeyMissing',
                       format('Message %s at %s: %s gives no key to correlate by.', w.message_name, (w.token).node_id,
                              coalesce('the expression ' || w.correlation_path, 'the instance has no business key and that')),
                       jsonb_build_object('message', w.message_name, 'path', w.correlation_path))::bpm_core.trouble)
           filter (where w.correlation_key is null)
    into v_waits, v_keyless
    from wait w;
  if v_keyless is not null then
    perform bpm_core.close_waits(array(select x.token from unnest(v_keyless) x));
    perform bpm_core.open_incidents(v_keyless);
    v_waits := array(select w from unnest(v_waits) w where w.token_id <> all (array(select (x.token).token_id from unnest(v_keyless) x)));
  end if;
  v_busy := bpm_core.try_message_keys(array(select bpm_core.message_key_hash(w.tenant_id, w.name, w.correlation_key) from unnest(v_waits) w));
  if v_busy <> '{}' then
    v_waits := bpm_core.park_waits(v_waits, v_busy);
  end if;
  perform bpm_core.open_subscriptions(v_waits);
end
$$;

-- from 40_flow/park_inbox.sql
-- Sets inbox rows of suspended instances aside, where no tick looks, until resume; also those behind older ones that are still set aside.
-- Cancelling and sweeping reach a suspended instance. The instances are locked.
-- Returns:  integer, how many. Writes: inbox.
create or replace function bpm_core.park_inbox(p_tenant_id text, p_rows uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_count integer;
begin
  with waiting as materialized (
    select i.tenant_id, i.id
      from unnest(p_rows) k(id)
     cross join lateral (select i.tenant_id, i.id, i.kind, i.target_id, i.available_at from bpm_core.inbox i
                          where i.tenant_id = p_tenant_id and i.id = k.id offset 0) i
     cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = i.tenant_id and w.id = i.target_id offset 0) w
     where i.kind not in ('Sweep', 'Cancel') and i.available_at < 'infinity'
       and (w.status = 'Suspended'
            or w.status = 'Running' and exists (
              select from bpm_core.inbox o where o.target_id = i.target_id and o.available_at = 'infinity' and o.id < i.id)))
  update bpm_core.inbox i
     set available_at = 'infinity'
    from waiting w
   where i.tenant_id = w.tenant_id and i.id = w.id;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- from 40_flow/park_tokens.sql
-- Leaves tokens Ready where they would have entered next, for tick to go on with; past the loop budget they become incidents.
-- p_hops is how far they have come in this command, p_delay how long tick leaves them alone. Writes: token, incident, history_event.
create or replace function bpm_core.park_tokens(p_arriving bpm_core.moving[], p_hops integer, p_delay interval default interval '0')
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_loop_budget integer;
  v_now         timestamptz := bpm_core.now();
  v_endless     bpm_core.trouble[];
begin
  if cardinality(p_arriving) = 0 then
    return;
  end if;
  v_loop_budget := (bpm_core.setting_value('engine.loop_budget', '10000'))::integer;
  with parked as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Ready', ready_at = v_now + p_delay, steps = t.steps + p_hops,
           version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id
    returning a as token, t.steps),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select (p.token).tenant_id, (p.token).instance_id, v_now, 'TokenParked', (p.token).token_id, (p.token).node_id, 'Ready',
           jsonb_build_object('flow', (p.token).flow_id)
      from parked p)
  select array_agg(row(p.token, 'LoopBudget', format('The token made %s hops without coming to rest.', p.steps),
                       jsonb_build_object('steps', p.steps, 'node', (p.token).node_id))::bpm_core.trouble)
    into v_endless
    from parked p
   where p.steps >= v_loop_budget;
  perform bpm_core.open_incidents(v_endless);
end
$$;

-- from 40_flow/park_waits.sql
-- Parks the tokens of which another call holds a message key they would wait for; tick enters their node again a second later. What they offered already
-- (the task of a host, the timers beside the wait) is closed: it is offered again then.
-- Returns:  subscription[], the waits that can be opened: those of the other tokens. Writes: as park_tokens and close_waits.
create or replace function bpm_core.park_waits(p_waits bpm_core.subscription[], p_busy bigint[])
returns bpm_core.subscription[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_stopped uuid[];
  v_parked  bpm_core.moving[];
begin
  v_stopped := array(
    select distinct w.token_id
      from unnest(p_waits) w
     where bpm_core.message_key_hash(w.tenant_id, w.name, w.correlation_key) = any (p_busy));
  v_parked := array(
    select row(t.tenant_id, t.workflow_instance_id, null, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
      from (select (p_waits[1]).tenant_id as tenant_id, k.id from unnest(v_stopped) k(id) offset 0) k
     cross join lateral (select t.* from bpm_core.token t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t);
  perform bpm_core.close_waits(v_parked);
  perform bpm_core.park_tokens(v_parked, 0, interval '1 second');
  return array(select w from unnest(p_waits) w where w.token_id <> all (v_stopped));
end
$$;

-- from 40_flow/parse_starts.sql
-- Reads the items of start_processes and finds the version each one starts. Faults are outcomes of their item.
-- Returns:  start[], item counts from 1; fresh ids are drawn for every item.
-- Raises:   BP400 not an array of objects, unknown key, wrong type of a key. BP429 more than 1,000 items.
create or replace function bpm_core.parse_starts(p_tenant_id text, p_items jsonb)
returns bpm_core.start[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.check_start_items(p_items);
  return array(
    with item as materialized (
      select i.n, i.item ->> 'code' as code, (i.item ->> 'version')::integer as version, coalesce(nullif(i.item -> 'variables', 'null'), '{}') as variables,
             i.item ->> 'business_key' as business_key, i.item ->> 'idempotency_key' as idempotency_key
        from jsonb_array_elements(p_items) with ordinality i(item, n)),
    wanted as materialized (
      select w.code, w.version, r.*
        from (select distinct i.code, i.version from item i) w
        left join lateral bpm_core.startable_version(p_tenant_id, w.code, w.version) r on true)
    select row(i.n, i.code, case when f.is_plain then i.variables when f.fault is null then bpm_core.decode_variables(i.variables) end, i.business_key, i.idempotency_key,
               sha256(convert_to(concat_ws(chr(31), i.code, coalesce(i.version::text, ''), i.variables::text, coalesce(i.business_key, '')), 'UTF8')),
               w.process_version_id, w.workflow_version_id, w.role_version_id, w.start_node_id, null,
               bpm_core.new_id(), bpm_core.new_id(), bpm_core.new_id(),
               case when w.process_version_id is null then 'NotFound' when f.fault is not null then 'Rejected' end::bpm.outcome,
               case when w.process_version_id is null then format('There is no process %L%s that can be started.', i.code, coalesce(' version ' || i.version, ''))
                    else f.fault end)::bpm_core.start
      from item i
      join wanted w on w.code = i.code and w.version is not distinct from i.version
     cross join lateral (
       select p.is_plain, case when not p.is_plain then bpm_core.variables_fault(i.variables) end as fault
         from (select bpm_core.is_plain(i.variables)) p(is_plain)) f
     order by i.n);
end
$$;

-- from 40_flow/patch_scopes.sql
-- Patches the scopes around a token: each key goes to the nearest that declares it.
-- Returns:  jsonb, what no scope declares: it belongs to the workflow. Writes: scope.
create or replace function bpm_core.patch_scopes(p_tenant_id text, p_scope_id uuid, p_patch jsonb)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_rest  jsonb := p_patch;
  v_scope uuid := p_scope_id;
  v_names text[];
  r_scope record;
begin
  while v_rest <> '{}' and v_scope <> bpm_core.root_scope() loop
    select s.variables, s.parent_scope_id into r_scope from bpm_core.scope s where s.tenant_id = p_tenant_id and s.id = v_scope;
    v_names := array(select k.name from jsonb_object_keys(v_rest) k(name) where r_scope.variables ? k.name);
    if cardinality(v_names) > 0 then
      update bpm_core.scope s
         set variables = s.variables || (select jsonb_object_agg(n.name, v_rest -> n.name) from unnest(v_names) n(name))
       where s.tenant_id = p_tenant_id and s.id = v_scope;
      v_rest := v_rest - v_names;
    end if;
    v_scope := coalesce(r_scope.parent_scope_id, bpm_core.root_scope());
  end loop;
  return v_rest;
end
$$;

-- from 40_flow/pick_end.sql
-- The position after a pick. p_last_* is the last row handed out (null: none), p_exhausted that there was no more to hand out.
-- The horizon is read here, after the pick: a writer that began before a row we saw commit must still lie below it.
-- Returns:  pick_position.
create or replace function bpm_core.pick_end(
  p_position bpm_core.pick_position, p_look_back boolean, p_settled boolean, p_whole boolean,
  p_last_at timestamptz, p_last_id uuid, p_exhausted boolean, p_began timestamptz)
returns bpm_core.pick_position
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_zero     constant uuid := uuid '00000000-0000-0000-0000-000000000000';
  v_position bpm_core.pick_position := p_position;
  v_passed   boolean := coalesce((p_last_at, p_last_id) > (coalesce(p_position.reached_at, '-infinity'), coalesce(p_position.reached_id, v_zero)), false);
  v_now      timestamptz;
begin
  if v_passed then
    v_position.reached_at := p_last_at;
    v_position.reached_id := p_last_id;
  end if;
  v_position.reached_at := coalesce(v_position.reached_at, '-infinity');
  v_position.reached_id := coalesce(v_position.reached_id, v_zero);
  if not p_look_back then
    return v_position;
  end if;
  v_now := bpm_core.now();
  v_position.checked_at := v_now;
  v_position.check_cost := v_now - p_began;
  -- Past what was reached before there are no stragglers. Waiting for the end of a long queue would walk it from its head with every pick.
  if p_whole and (p_exhausted or v_passed) then
    v_position.full_at := v_now;
  end if;
  if p_settled then
    if p_exhausted or p_position.mark_at is null or p_last_at > p_position.mark_at then
      v_position.safe_at := coalesce(p_position.mark_at, '-infinity') - interval '1 millisecond';
      v_position.mark_at := v_position.reached_at;
      v_position.horizon := pg_snapshot_xmax(pg_current_snapshot());
    else
      -- More stragglers than one batch: look back again at once, the mark stays.
      v_position.checked_at := '-infinity';
    end if;
  end if;
  return v_position;
end
$$;

-- from 40_flow/pick_start.sql
-- Where does this pick begin? (law 12) From what was reached, or further back: when every writer of before the mark has ended,
-- when a long writer has kept that waiting for a while, and from the very beginning about every 30 seconds.
-- Returns:  from_at, from_id (exclusive), look_back, settled, whole. Call it before the pick, pick_end after it.
create or replace function bpm_core.pick_start(
  p_position bpm_core.pick_position, p_now timestamptz,
  out from_at timestamptz, out from_id uuid, out look_back boolean, out settled boolean, out whole boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A whole scan of the future was under a clock that has since been set back.
  whole := p_position.full_at is null or p_now not between p_position.full_at and p_position.full_at + interval '30 seconds';
  settled := p_position.horizon is null or pg_snapshot_xmin(pg_current_snapshot()) >= p_position.horizon;
  look_back := whole or settled
               or p_now > p_position.checked_at + greatest(interval '1 second', 20 * p_position.check_cost);
  from_id := '00000000-0000-0000-0000-000000000000';
  if whole then
    from_at := '-infinity';
  elsif look_back then
    from_at := coalesce(p_position.safe_at, '-infinity');
  else
    from_at := coalesce(p_position.reached_at, '-infinity');
    from_id := coalesce(p_position.reached_id, from_id);
  end if;
end
$$;

-- from 40_flow/plan_loops.sql
-- What the hosts that enter multi-instances or loops have to do. At most 1,000 items begin in this command, shared out in the order given.
-- Returns:  loop_plan[]: total 0 where there is nothing to do; with trouble where it cannot be said, or would be too many.
create or replace function bpm_core.plan_loops(p_hosts bpm_core.moving[])
returns bpm_core.loop_plan[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_chunk constant integer := 1000;
begin
  return array(
    with host as materialized (
      select row(h.tenant_id, h.instance_id, h.version_id, h.scope_id, h.token_id, h.node_id, h.flow_id, h.kind)::bpm_core.moving as host,
             h.ordinality as ord, t.visit, t.steps, n.spec, v.variables, e.value, bpm_core.loop_total(n.spec, e.value) as total
        from unnest(p_hosts) with ordinality h
       cross join lateral (select t.visit, t.steps from bpm_core.token t where t.tenant_id = h.tenant_id and t.id = h.token_id offset 0) t
       cross join lateral (select n.expressions -> 'loop' as spec from bpm_core.workflow_node n
                            where n.tenant_id = h.tenant_id and n.workflow_version_id = h.version_id and n.node_id = h.node_id offset 0) n
       cross join lateral bpm_core.token_variables(h.tenant_id, h.instance_id, h.scope_id) v
       cross join lateral (select bpm_core.loop_value(n.spec, v.variables) as value offset 0) e),
    counted as materialized (
      select h.*, row_number() over (partition by (h.host).instance_id order by h.ord) as nth,
             sum(case when h.spec ->> 'mode' = 'Parallel' then h.total end) over (partition by (h.host).instance_id order by h.ord) as wanted,
             coalesce(sum(case when h.spec ->> 'mode' = 'Parallel' then h.total end) over (order by h.ord rows between unbounded preceding and 1 preceding), 0) as before
        from host h),
    placed as materialized (
      select c.*, max(r.taken) over (partition by (c.host).instance_id) + c.wanted as needed
        from counted c
        left join lateral (
          select w.live_tokens + coalesce((select sum(m.total - m.created) from bpm_core.multi_instance m
                                            where m.workflow_instance_id = w.id and m.mode = 'Parallel'), 0) as taken
            from bpm_core.workflow_instance w
           where w.tenant_id = (c.host).tenant_id and w.id = (c.host).instance_id and c.nth = 1 and c.wanted > 0 offset 0) r on true)
    select row(p.host, p.visit, p.steps, p.spec ->> 'mode', p.spec, bpm_core.loop_declared(p.spec, p.variables), p.total,
               case when p.spec ->> 'mode' = 'Parallel' then least(p.total, greatest(v_chunk - p.before, 0)) else least(p.total, 1) end,
               case when p.spec ? 'collection' then p.value end,
               bpm_core.loop_trouble(p.host, p.spec, p.value, p.variables, p.total, p.needed))::bpm_core.loop_plan
      from placed p
     order by p.ord);
end
$$;

-- from 40_flow/prepare_calls.sql
-- Finds what call activities call: which version, with which variables; or why it cannot be called.
-- p_hosts rest at their call activities. Returns: call[], one per host that is not stopped yet.
create or replace function bpm_core.prepare_calls(p_hosts bpm_core.moving[])
returns bpm_core.call[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_depth integer := (bpm_core.setting_value('engine.max_call_depth', '100'))::integer;
begin
  return array(
    select row(h, w.process_instance_id, c.code, s.process_version_id, s.workflow_version_id, s.role_version_id, s.start_node_id, bpm_core.new_id(),
               bpm_core.new_id(), t.visit, w.depth + 1, i.mapped,
               row(h,
               case when c.code is null then 'CalledProcessMissing' when w.depth >= v_depth then 'CallTooDeep'
                    when s.workflow_version_id is null then 'CalledProcessMissing' when i.mapped is null then 'MappingUndecidable' end,
               case when c.code is null then format('Call activity %s: its expression gives no process.', h.node_id)
                    when w.depth >= v_depth then format('Call activity %s would be call number %s, one in the other; the limit is %s.', h.node_id, w.depth + 1, v_depth)
                    when s.workflow_version_id is null
                      then format('Call activity %s calls %s, which has no version that can be started (binding %s).', h.node_id, c.code, n.spec ->> 'binding')
                    when i.mapped is null then format('Call activity %s: the input %s cannot be decided.', h.node_id, i.failed ->> 'target') end,
               jsonb_strip_nulls(jsonb_build_object('process', c.code, 'binding', n.spec ->> 'binding', 'version', n.spec -> 'version', 'depth', w.depth + 1, 'mapping', i.failed)))::bpm_core.trouble
             )::bpm_core.call
      from unnest(p_hosts) h
     cross join lateral (select t.visit, t.state from bpm_core.token t where t.tenant_id = h.tenant_id and t.id = h.token_id offset 0) t
     cross join lateral (select n.expressions -> 'call' as spec from bpm_core.workflow_node n
                          where n.tenant_id = h.tenant_id and n.workflow_version_id = h.version_id and n.node_id = h.node_id offset 0) n
     cross join lateral (select w.process_instance_id, w.depth from bpm_core.workflow_instance w
                          where w.tenant_id = h.tenant_id and w.id = h.instance_id offset 0) w
     cross join lateral bpm_core.token_variables(h.tenant_id, h.instance_id, h.scope_id) v
     cross join lateral (select bpm_core.evaluate_text(n.spec -> 'code', v.variables) as code offset 0) c
      left join lateral bpm_core.called_version(h.tenant_id, c.code, n.spec ->> 'binding', (n.spec ->> 'version')::integer, h.version_id) s on true
     cross join lateral (
       select case when not n.spec ? 'inputs' then v.variables when n.spec ? 'all_in' then v.variables || m.mapped else m.mapped end as mapped, m.failed
         from bpm_core.map_values(coalesce(n.spec -> 'inputs', '[]'), v.variables) m) i
     where t.state = 'Waiting');
end
$$;

-- from 40_flow/put_back_inbox.sql
-- Puts inbox rows that could not be applied back with a growing delay; the tenth time they are buried: dead letter and incident, no token stopped.
-- Writes:   inbox; incident, dead_letter, history_event.
create or replace function bpm_core.put_back_inbox(p_tenant_id text, p_rows bpm_core.inbox[], p_error text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.inbox i
     set attempts = i.attempts + 1, last_error = p_error, available_at = v_now + interval '1 second' * power(2, least(i.attempts, 8))
    from unnest(p_rows) r
   where i.tenant_id = r.tenant_id and i.id = r.id;
  with poison as materialized (
    delete from bpm_core.inbox i
     using unnest(p_rows) r
     where i.tenant_id = r.tenant_id and i.id = r.id and i.attempts >= 10
    returning i.*, bpm_core.new_id() as incident_id),
  opened as (
    insert into bpm_core.incident (tenant_id, id, workflow_instance_id, code, message, detail, created_at)
    select p_tenant_id, p.incident_id, p.target_id, 'InboxPoisoned', format('A %s could not be applied: %s', lower(p.kind), p_error), p.payload || jsonb_build_object('inbox', p.kind), v_now
      from poison p),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, detail)
    select p_tenant_id, p.target_id, v_now, 'IncidentOpened', jsonb_build_object('incident', p.incident_id, 'code', 'InboxPoisoned', 'message', p_error)
      from poison p)
  insert into bpm_core.dead_letter (tenant_id, id, workflow_instance_id, incident_id, kind, error, payload, created_at)
  select p_tenant_id, bpm_core.new_id(), p.target_id, p.incident_id, 'Inbox', to_jsonb(p_error), p.payload, v_now
    from poison p;
end
$$;

-- from 40_flow/raise_errors.sql
-- Raises BPMN errors at the activities tokens rest on. A caught one goes on from where it is caught; what stood in between is closed.
-- Returns:  thrown[], those nobody caught, untouched. The instances are locked and written.
-- Writes:   history_event, what catch_thrown and the path ahead write.
create or replace function bpm_core.raise_errors(p_thrown bpm_core.thrown[])
returns bpm_core.thrown[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving  bpm_core.moving[];
  v_uncaught bpm_core.thrown[];
begin
  if coalesce(cardinality(p_thrown), 0) = 0 then
    return '{}'::bpm_core.thrown[];
  end if;
  select c.leaving, c.uncaught into v_leaving, v_uncaught from bpm_core.catch_thrown(p_thrown, false) c;
  -- Of two throwers one may have ended where the other was caught.
  perform bpm_core.advance_isolated(bpm_core.drop_dead(v_leaving));
  return case when v_uncaught = '{}' then v_uncaught else bpm_core.throw_to_callers(v_uncaught, false) end;
end
$$;

-- from 40_flow/read_position.sql
-- Reads a picker's position as its caller kept it.
-- Returns:  pick_position; null for none.
-- Raises:   BP400 not one of ours.
create or replace function bpm_core.read_position(p_position jsonb)
returns bpm_core.pick_position
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys constant text[] := array['reached_at', 'reached_id', 'safe_at', 'mark_at', 'horizon', 'checked_at', 'check_cost', 'full_at'];
  v_position bpm_core.pick_position;
begin
  if p_position is null or p_position = 'null' then
    return null;
  end if;
  begin
    if jsonb_typeof(p_position) = 'object' and p_position - v_keys = '{}' then
      v_position := jsonb_populate_record(null::bpm_core.pick_position, p_position);
      -- Times and costs far outside of any clock are forged, and could not be counted with.
      if not exists (
           select from unnest(array[v_position.reached_at, v_position.safe_at, v_position.mark_at, v_position.checked_at, v_position.full_at]) x(at)
            where x.at <> '-infinity' and x.at not between timestamptz '0001-01-01Z' and timestamptz '9999-01-01Z')
         and coalesce(v_position.check_cost between interval '-10000 days' and interval '10000 days', true) then
        return v_position;
      end if;
    end if;
  exception
    when data_exception then
      null;  -- a value of ours that is no time, id or number: answered like anything else that is not ours
  end;
  perform bpm_core.fail('BP400', 'The positions are not ones this function gave back.', null, 'Pass null to begin anew.');
  return null;  -- never reached: fail raises
end
$$;

-- from 40_flow/recheck_conditions.sql
-- After variables changed without a token moving: lets conditions that have become true take effect.
-- Writes:   as meet_conditions, and what the paths ahead write. The instances are locked.
create or replace function bpm_core.recheck_conditions(p_tenant_id text, p_instances uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.advance_isolated(bpm_core.meet_conditions(p_tenant_id, p_instances));
end
$$;

-- from 40_flow/redo_scope_outputs.sql
-- Evaluates the output mappings of an ended sub-process again: what resolving their incident means. What is inside is not done twice.
-- The instance is locked and the incident resolved. If they still cannot be evaluated the token stops again at once.
-- Returns:  boolean, whether the incident was about such mappings.
-- Writes:   as map_scope_outputs, and what the path ahead writes.
create or replace function bpm_core.redo_scope_outputs(p_incident bpm_core.incident)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_host    bpm_core.moving;
  v_leaving bpm_core.moving[];
begin
  if not p_incident.detail ? 'ended' then
    return false;
  end if;
  select t.tenant_id, t.workflow_instance_id, w.workflow_version_id, t.scope_id, t.id, t.node_id, null::text, null::bpm_core.node_kind
    into v_host
    from bpm_core.token t
   cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.tenant_id = p_incident.tenant_id and t.id = p_incident.token_id and t.state = 'Failed' and t.node_id = p_incident.node_id;
  if v_host.token_id is null then
    return false;
  end if;
  v_leaving := bpm_core.map_scope_outputs(p_incident.tenant_id, array[v_host]);
  if cardinality(v_leaving) > 0 then
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    values (p_incident.tenant_id, p_incident.workflow_instance_id, bpm_core.now(), 'ScopeCompleted', p_incident.token_id, p_incident.node_id,
            jsonb_build_object('scope', p_incident.detail ->> 'ended'));
    perform bpm_core.advance_isolated(v_leaving);
  end if;
  return true;
end
$$;

-- from 40_flow/reopen_waits.sql
-- Opens the message waits of boundary events that do not interrupt anew, for the next message, under the locks of their keys. The key stays
-- what it was when the host was entered.
-- Raises:   55P03 another call holds one of the keys: apply_inbox leaves the row for the next tick.
-- Writes:   as open_subscriptions.
create or replace function bpm_core.reopen_waits(p_consumed bpm_core.subscription[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if coalesce(cardinality(p_consumed), 0) = 0 then
    return;
  end if;
  if bpm_core.try_message_keys(array(
       select bpm_core.message_key_hash(c.tenant_id, c.name, c.correlation_key) from unnest(p_consumed) c)) <> '{}' then
    perform bpm_core.fail('55P03', 'Another call holds the key of a wait to be opened again.');
  end if;
  perform bpm_core.open_subscriptions(array(
    select row(c.tenant_id, bpm_core.new_id(), c.workflow_instance_id, null, c.token_id, c.visit, c.node_id, c.kind, c.name, c.correlation_key,
               'Open', null, false)::bpm_core.subscription
      from unnest(p_consumed) c));
end
$$;

-- from 40_flow/repeat_timers.sql
-- Schedules the next occurrence of fired timers that repeat, on their own grid. What was missed while nothing ran is made up for
-- once (catch_up Once, Skip) or one by one (All); missed ones count as used.
-- Writes:   timer, history_event.
create or replace function bpm_core.repeat_timers(p_fired bpm_core.timer[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with next as (
    insert into bpm_core.timer as t (tenant_id, id, workflow_instance_id, token_id, visit, node_id, kind, rule, time_zone, anchor_at, scheduled_at,
                                due_at, remaining, catch_up)
    select f.tenant_id, bpm_core.new_id(), f.workflow_instance_id, f.token_id, f.visit, f.node_id, f.kind, f.rule, f.time_zone, f.anchor_at,
           k.scheduled_at, greatest(k.scheduled_at, bpm_core.now()), f.remaining - 1 - k.skipped, f.catch_up
      from unnest(p_fired) f
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = f.tenant_id and w.id = f.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting from bpm_core.workflow_node n
                          where n.tenant_id = f.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = f.node_id offset 0) n
     cross join lateral bpm_core.timer_first(f.kind, f.rule, f.anchor_at) r
     cross join lateral bpm_core.timer_next(f.anchor_at, r.step, f.scheduled_at, case when f.catch_up = 'All' then f.scheduled_at else p_now end) k
     where f.kind = 'Cycle' and not n.interrupting and coalesce(f.remaining - 1 - k.skipped, 1) > 0
    returning t.tenant_id, t.id, t.workflow_instance_id, t.token_id, t.node_id, t.scheduled_at)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select n.tenant_id, n.workflow_instance_id, p_now, 'TimerStarted', n.token_id, n.node_id, jsonb_build_object('timer', n.id, 'scheduled_at', n.scheduled_at)
    from next n;
end
$$;

-- from 40_flow/resolve_incident.sql
-- Drives a stopped token again after what stopped it was mended: a failed task gets fresh attempts, any other node is entered anew.
-- If nothing was mended the token stops again at once, with a new incident.
-- Returns:  one row: incident_id, outcome Done (also when it was resolved before).
-- Raises:   BP403, BP404, BP409 it stops a token and the instance is no longer running, or the incident belongs to a rejected approval, BP422 attempts out of 1..1000.
-- Writes:   incident, dead_letter, task_instance, token, history_event, audit_event, and what the path ahead writes.
create or replace function bpm.resolve_incident(p_incident_id uuid, p_attempts integer default 1, p_actor text default null, p_tenant_id text default '')
returns table (incident_id uuid, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  r_incident bpm_core.incident;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if p_attempts is null or p_attempts not between 1 and 1000 then
    perform bpm_core.fail('BP422', 'Attempts must be 1 to 1000.', jsonb_build_object('attempts', p_attempts));
  end if;
  select i.* into r_incident from bpm_core.incident i where i.tenant_id = p_tenant_id and i.id = p_incident_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no incident %s.', p_incident_id));
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array[r_incident.workflow_instance_id]);
  select i.* into r_incident from bpm_core.incident i where i.tenant_id = p_tenant_id and i.id = p_incident_id for no key update;
  if r_incident.state = 'Open' then
    -- One that stops no token (a command that failed after its token went on) may outlive its instance; resolving it is to have seen it.
    if r_incident.token_id is not null then
      perform bpm_core.check_running(p_tenant_id, r_incident.workflow_instance_id);
    end if;
    perform bpm_core.drive_incident(r_incident, p_attempts, v_actor);
  end if;
  return query select p_incident_id, 'Done'::bpm.outcome;
end
$$;

-- from 40_flow/rest_tokens.sql
-- Brings tokens to rest, Waiting, at the node they arrive at; a new visit begins.
-- Writes:   token.
create or replace function bpm_core.rest_tokens(p_arriving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.token t
     set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, steps = 0, version = t.version + 1, updated_at = v_now
    from unnest(p_arriving) a
   where t.tenant_id = a.tenant_id and t.id = a.token_id;
end
$$;

-- from 40_flow/resume_process.sql
-- Lets a suspended process go on: held tasks are handed out again, timers fire (those overdue at once, and once), and what was parked or
-- waited is applied by tick, in the order in which it came.
-- Returns:  one row: process_instance_id, status (Running, also when it was before).
-- Raises:   BP403, BP404, BP409 it has ended, BP422 reason too long.
-- Writes:   workflow_instance, task_instance, timer, token, inbox, process_instance, history_event, audit_event; of large ones the rest by tick.
-- Locks:    all workflow instances of the process.
create or replace function bpm.resume_process(p_process_instance_id uuid, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (process_instance_id uuid, status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  if bpm_core.turn_process(p_tenant_id, p_process_instance_id, 'Running', v_actor, p_reason) then
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'ResumeProcess', 'process_instance', p_process_instance_id::text, null, p_reason);
    perform bpm_core.recheck_conditions(p_tenant_id, bpm_core.workflows_of(p_tenant_id, p_process_instance_id));
    perform bpm_core.revisit_inclusive_joins(p_tenant_id, w.id) from unnest(bpm_core.workflows_of(p_tenant_id, p_process_instance_id)) w(id);
  end if;
  return query select p_process_instance_id, 'Running'::text;
end
$$;

-- from 40_flow/resume_tokens.sql
-- Goes on with parked tokens: claims each by compare-and-set (Ready, version), then drives it into the node it stands before.
-- The instances are locked. Returns: integer, tokens resumed. Writes: token, history_event, and what the nodes write.
-- Source:   kernel design, 4, token claim.
create or replace function bpm_core.resume_tokens(p_tenant_id text, p_tokens uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_arriving bpm_core.moving[];
begin
  with parked as materialized (
    select t.tenant_id, t.id, t.version
      from unnest(p_tokens) k(id)
     cross join lateral (select t.tenant_id, t.id, t.version, t.state, t.ready_at from bpm_core.token t
                          where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t
     where t.state = 'Ready' and t.ready_at < 'infinity'),
  claimed as (
    -- The version stands for the state seen: every move of a token raises it.
    update bpm_core.token t
       set state = 'Executing', ready_at = null, version = t.version + 1, updated_at = v_now
      from parked p
     where t.tenant_id = p.tenant_id and t.id = p.id and t.version = p.version
    returning t.tenant_id, t.workflow_instance_id, t.scope_id, t.id, t.node_id, t.via_flow_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state)
    select p_tenant_id, c.workflow_instance_id, v_now, 'TokenResumed', c.id, c.node_id, 'Ready', 'Executing'
      from claimed c)
  select array_agg(row(p_tenant_id, c.workflow_instance_id, w.workflow_version_id, c.scope_id, c.id, c.node_id, c.via_flow_id, n.kind)::bpm_core.moving)
    into v_arriving
    from claimed c
   cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = c.tenant_id and w.id = c.workflow_instance_id offset 0) w
   cross join lateral (select n.kind from bpm_core.workflow_node n
                        where n.tenant_id = c.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = c.node_id offset 0) n;
  perform bpm_core.drive_isolated(v_arriving);
  return coalesce(cardinality(v_arriving), 0);
end
$$;

-- from 40_flow/return_messages.sql
-- Takes messages back from waits that closed before they could be applied, and offers those whose time is not over again, under the locks of
-- their keys.
-- Raises:   55P03 another call holds one of the keys: apply_inbox leaves the row for the next tick.
-- Writes:   message, inbox.
create or replace function bpm_core.return_messages(p_tenant_id text, p_messages uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  if cardinality(p_messages) = 0 then
    return;
  end if;
  if bpm_core.try_message_keys(array(
       select bpm_core.message_key_hash(m.tenant_id, m.name, m.correlation_key)
         from (select p_tenant_id as tenant_id, k.* from unnest(p_messages) k(id) offset 0) k
         join bpm_core.message m on m.tenant_id = k.tenant_id and m.id = k.id)) <> '{}' then
    perform bpm_core.fail('55P03', 'Another call holds the key of a message to be given back.');
  end if;
  update bpm_core.message m
     set state = case when m.expires_at > v_now then 'Buffered' else 'Expired' end::bpm_core.message_state, correlated_to = null
    from (select p_tenant_id as tenant_id, k.* from unnest(p_messages) k(id) offset 0) k
   where m.tenant_id = k.tenant_id and m.id = k.id;
  perform bpm_core.offer_message(m.tenant_id, m.id)
     from (select p_tenant_id as tenant_id, k.* from unnest(p_messages) k(id) offset 0) k
    cross join lateral (select m.tenant_id, m.id, m.state from bpm_core.message m where m.tenant_id = k.tenant_id and m.id = k.id offset 0) m
    where m.state = 'Buffered';
end
$$;

-- from 40_flow/revisit_inclusive_joins.sql
-- Asks all inclusive joins of an instance again, after something other than its tokens has changed: it goes on after a rest, or in another version.
-- Of a suspended instance nothing moves.
-- Writes:   what the paths ahead write. The instance is locked.
create or replace function bpm_core.revisit_inclusive_joins(p_tenant_id text, p_instance_id uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.advance_isolated(bpm_core.fire_inclusive_joins(array(
    select row(j.tenant_id, j.workflow_instance_id, null, j.scope_id, null, null, null, null)::bpm_core.moving
      from bpm_core.workflow_instance w
     cross join lateral (select j.* from bpm_core.inclusive_join j where j.tenant_id = w.tenant_id and j.workflow_instance_id = w.id offset 0) j
     where w.tenant_id = p_tenant_id and w.id = p_instance_id and w.status = 'Running' and j.waiting > 0)));
end
$$;

-- from 40_flow/revive_inbox.sql
-- Puts what an incident InboxPoisoned took out of the inbox in again, for the next tick. Should its wait have closed, that gives the message back.
-- Writes:   inbox.
create or replace function bpm_core.revive_inbox(p_incident bpm_core.incident)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  values (p_incident.tenant_id, bpm_core.new_id(), 'WorkflowInstance', p_incident.workflow_instance_id,
          p_incident.detail ->> 'inbox', p_incident.detail - 'inbox', bpm_core.now());
end
$$;

-- from 40_flow/root_scope.sql
-- The scope_id of tokens that are in no sub-process.
create or replace function bpm_core.root_scope()
returns uuid
language sql immutable parallel safe
as $$ select '00000000-0000-0000-0000-000000000000'::uuid $$;

-- from 40_flow/scope_variables.sql
-- What is declared in a scope and those around it, the nearest winning.
-- Returns:  jsonb object; empty at the root.
create or replace function bpm_core.scope_variables(p_tenant_id text, p_scope_id uuid)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_variables jsonb := '{}'::jsonb;
  v_scope     uuid := p_scope_id;
  r_scope     record;
begin
  while v_scope <> bpm_core.root_scope() loop
    select s.variables, s.parent_scope_id into r_scope from bpm_core.scope s where s.tenant_id = p_tenant_id and s.id = v_scope;
    v_variables := r_scope.variables || v_variables;
    v_scope := coalesce(r_scope.parent_scope_id, bpm_core.root_scope());
  end loop;
  return v_variables;
end
$$;

-- from 40_flow/scopes_below.sql
-- The open scopes inside these scopes, however deep.
-- Returns:  uuid[], without the given ones.
create or replace function bpm_core.scopes_below(p_tenant_id text, p_scopes uuid[])
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_below uuid[] := '{}'::uuid[];
  v_level uuid[] := p_scopes;
begin
  loop
    v_level := array(
      select s.id
        from unnest(v_level) k(id)
       cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.scope s where s.parent_scope_id = k.id offset 0) s
       where s.tenant_id = p_tenant_id and s.state = 'Open');
    exit when cardinality(v_level) = 0;
    v_below := v_below || v_level;
  end loop;
  return v_below;
end
$$;

-- from 40_flow/scopes_hosted.sql
-- The open scopes of these hosts.
-- Returns:  uuid[].
create or replace function bpm_core.scopes_hosted(p_hosts bpm_core.moving[])
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select s.id
      from unnest(p_hosts) h
     cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.scope s where s.host_token_id = h.token_id offset 0) s
     where s.tenant_id = h.tenant_id and s.state = 'Open');
end
$$;

-- from 40_flow/send_signal.sql
-- Sends a signal to every wait of the tenant that is open for it: an inbox row each, for tick to apply under the locks of their instances.
-- Waits are read without a lock: one that closes meanwhile does not get it, one that opens later does not either.
-- Returns:  signal, with the number of receivers.
-- Raises:   BP429 more than 100,000 receivers.
-- Writes:   signal, inbox.
create or replace function bpm_core.send_signal(p_tenant_id text, p_name text, p_payload jsonb)
returns bpm_core.signal
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_limit  constant integer := 100000;
  v_signal bpm_core.signal;
begin
  v_signal := row(p_tenant_id, bpm_core.new_id(), p_name, p_payload, 0, bpm_core.now())::bpm_core.signal;
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select s.tenant_id, bpm_core.new_id(), 'WorkflowInstance', s.workflow_instance_id, 'Signal',
         jsonb_build_object('signal', v_signal.id, 'subscription', s.id), bpm_core.now()
    from bpm_core.subscription s
   where s.state = 'Open' and s.name = p_name and s.correlation_key is null and s.tenant_id is not distinct from p_tenant_id and s.kind = 'Signal'
   limit v_limit + 1;
  get diagnostics v_signal.receivers = row_count;
  if v_signal.receivers > v_limit then
    perform bpm_core.fail('BP429', format('Signal %s has more than %s receivers.', p_name, v_limit), jsonb_build_object('signal', p_name, 'limit', v_limit));
  end if;
  insert into bpm_core.signal select v_signal.*;
  return v_signal;
end
$$;

-- from 40_flow/set_variables.sql
-- Patches variables of a running process by hand, for instance before resolving an incident. Only the keys named change.
-- Returns:  jsonb, the variables as they are now.
-- Raises:   BP403, BP404, BP409 it has ended, BP422 variables refused.
-- Writes:   workflow_instance (the nearest to its tokens), history_event, audit_event.
create or replace function bpm.set_variables(p_process_instance_id uuid, p_variables jsonb, p_actor text default null, p_tenant_id text default '')
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor     text;
  v_variables jsonb;
  v_instance  uuid;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if bpm_core.variables_fault(p_variables) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_variables));
  end if;
  v_variables := bpm_core.decode_variables(p_variables);
  perform bpm_core.lock_instances_of_process(p_tenant_id, p_process_instance_id);
  select w.id into v_instance
    from bpm_core.workflow_instance w
   where w.tenant_id = p_tenant_id and w.process_instance_id = p_process_instance_id and w.binding_key = 'main' and w.status in ('Running', 'Suspended');
  if v_instance is null then
    perform bpm_core.fail('BP409', format('Process instance %s has ended; its variables stay as they are.', p_process_instance_id));
  end if;
  update bpm_core.workflow_instance w
     set variables = w.variables || v_variables, lock_version = w.lock_version + 1
   where w.tenant_id = p_tenant_id and w.id = v_instance;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, actor, detail)
  values (p_tenant_id, v_instance, bpm_core.now(), 'VariablesSet', v_actor, jsonb_build_object('variables', v_variables));
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'SetVariables', 'process_instance', p_process_instance_id::text, null, null,
    jsonb_build_object('names', (select jsonb_agg(k.name) from jsonb_object_keys(v_variables) k(name))));
  perform bpm_core.recheck_conditions(p_tenant_id, array[v_instance]);
  return (select v.variables from bpm_core.token_variables(p_tenant_id, v_instance, bpm_core.root_scope()) v);
end
$$;

-- from 40_flow/settle_start_keys.sql
-- Enters the idempotency keys of starts; the first to enter a key wins, also against a concurrent caller, whose end this waits for.
-- Returns:  start[]: the same items; one that lost carries the first answer's instance and outcome Done, or outcome Conflict. A repeat gets the
--           first answer even when it could not start any more (archived, the cap lowered since).
-- Writes:   idempotency_key.
create or replace function bpm_core.settle_start_keys(p_tenant_id text, p_starts bpm_core.start[], p_now timestamptz)
returns bpm_core.start[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.idempotency_key (tenant_id, operation, key, request_hash, response, instance_id, created_at, expires_at)
  select distinct on (s.idempotency_key)
         p_tenant_id, 'start_process', s.idempotency_key, s.request_hash,
         jsonb_build_object('process_instance_id', s.process_instance_id, 'workflow_instance_id', s.workflow_instance_id), s.process_instance_id,
         p_now, p_now + interval '90 days'
    from unnest(p_starts) s
   where s.idempotency_key is not null and s.outcome is null
   order by s.idempotency_key, s.item
  on conflict do nothing;
  return array(
    select row(s.item, s.code, s.variables, s.business_key, s.idempotency_key, s.request_hash,
               s.process_version_id, s.workflow_version_id, s.role_version_id, s.start_node_id, s.business_case_id,
               case when k.request_hash = s.request_hash then k.instance_id else s.process_instance_id end,
               case when k.request_hash = s.request_hash then (k.response ->> 'workflow_instance_id')::uuid else s.workflow_instance_id end,
               s.token_id,
               case when k.request_hash = s.request_hash and k.instance_id <> s.process_instance_id then 'Done'
                    when s.outcome is not null or k.key is null or k.instance_id = s.process_instance_id then s.outcome
                    else 'Conflict' end::bpm.outcome,
               case when k.request_hash <> s.request_hash and s.outcome is null
                    then format('Idempotency key %L was used for another request.', s.idempotency_key) else s.message end
           )::bpm_core.start
      from unnest(p_starts) s
      left join lateral (select k.* from bpm_core.idempotency_key k
                          where k.tenant_id = p_tenant_id and k.operation = 'start_process' and k.key = s.idempotency_key offset 0) k on true
     order by s.item);
end
$$;

-- from 40_flow/shelve_tokens.sql
-- Sets parked tokens of suspended instances aside, where no tick looks, until their instance is resumed. The instances are locked.
-- Returns:  integer, how many. Writes: token.
create or replace function bpm_core.shelve_tokens(p_tenant_id text, p_tokens uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_count integer;
begin
  with held as materialized (
    select t.tenant_id, t.id
      from unnest(p_tokens) k(id)
     cross join lateral (select t.tenant_id, t.id, t.state, t.workflow_instance_id from bpm_core.token t
                          where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t
     cross join lateral (select w.status from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     where t.state = 'Ready' and w.status = 'Suspended')
  update bpm_core.token t
     set ready_at = 'infinity'
    from held h
   where t.tenant_id = h.tenant_id and t.id = h.id;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- from 40_flow/skip_node.sql
-- Lets a token leave its node by hand, as if what it waits for there were done: by the only flow, or the one named. What it offered is closed; variables
-- are patched as a task's would be.
-- Returns:  one row: token_id, node_id and state where it came to rest (of one that ended: where), instance_status (workflow).
-- Raises:   BP403, BP404 no such token, BP409 it has ended, BP422 no flow leaves the node, several do and none is named, variables refused, reason too
--           long; BP423 suspended.
-- Writes:   token, workflow_instance, scope, history_event, audit_event, and what lift_token and the nodes ahead write. Locks: workflow_instance.
create or replace function bpm.skip_node(
  p_token_id uuid, p_variables jsonb default '{}', p_flow_id text default null, p_reason text default null, p_actor text default null,
  p_tenant_id text default '')
returns table (token_id uuid, node_id text, state text, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor     text;
  v_variables jsonb;
  v_token     bpm_core.moving;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  p_variables := coalesce(p_variables, '{}');
  if bpm_core.variables_fault(p_variables) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_variables));
  end if;
  v_variables := bpm_core.decode_variables(p_variables);
  v_token := bpm_core.lift_token(p_tenant_id, p_token_id);
  v_token.flow_id := bpm_core.way_out(v_token, p_flow_id);
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, actor, detail)
  select p_tenant_id, v_token.instance_id, bpm_core.now(), 'NodeSkipped', p_token_id, v_token.node_id, t.state::text, v_actor,
         jsonb_strip_nulls(jsonb_build_object('flow', v_token.flow_id, 'reason', p_reason)) || jsonb_build_object('variables', v_variables)
         || bpm_core.local_names(p_tenant_id, v_token.scope_id, v_variables)
    from bpm_core.token t
   where t.tenant_id = p_tenant_id and t.id = p_token_id;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'SkipNode', 'token', p_token_id::text, null, p_reason,
    jsonb_build_object('workflow_instance_id', v_token.instance_id, 'node', v_token.node_id, 'flow', v_token.flow_id,
                       'names', (select jsonb_agg(k.name) from jsonb_object_keys(v_variables) k(name))));
  update bpm_core.workflow_instance w
     set variables = w.variables || bpm_core.patch_scopes(p_tenant_id, v_token.scope_id, v_variables)
   where w.tenant_id = p_tenant_id and w.id = v_token.instance_id;
  update bpm_core.token t
     set state = 'Executing', ready_at = null, steps = 0, version = t.version + 1, updated_at = bpm_core.now()
   where t.tenant_id = p_tenant_id and t.id = p_token_id;
  perform bpm_core.advance_isolated(array[v_token]);
  perform bpm_core.note_starved_joins(array[v_token]);
  return query select * from bpm_core.token_place(p_tenant_id, p_token_id);
end
$$;

-- from 40_flow/start_event_subs.sql
-- Begins event sub-processes: each in the open scope of its host, with a token at the event sub-process as the host of the new scope and one that leaves
-- the start event. An interrupting one ends everything in the scope around it first, and the other event sub-processes there can no longer begin.
-- p_starts: the host of the scope around, and the start event. Returns: moving[], leaving the start events.
-- Writes:   token, scope, workflow_instance (live_tokens), history_event, and what empty_scopes and close_starts write.
create or replace function bpm_core.start_event_subs(p_starts bpm_core.moving[], p_interrupting boolean)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now  timestamptz := bpm_core.now();
  v_born bpm_core.moving[];
begin
  if coalesce(cardinality(p_starts), 0) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  if p_interrupting then
    perform bpm_core.empty_scopes((p_starts[1]).tenant_id, bpm_core.scopes_hosted(p_starts));
    perform bpm_core.close_starts(p_starts);
  end if;
  with begun as materialized (
    select b.tenant_id, b.instance_id, b.version_id, b.node_id, o.id as around_id, n.scope_node_id as sub_node_id,
           bpm_core.new_id() as host_id, bpm_core.new_id() as scope_id, bpm_core.new_id() as token_id
      from unnest(p_starts) b
     cross join lateral (select n.scope_node_id from bpm_core.workflow_node n
                          where n.tenant_id = b.tenant_id and n.workflow_version_id = b.version_id and n.node_id = b.node_id offset 0) n
     cross join lateral (select s.id, s.state from bpm_core.scope s where s.host_token_id = b.token_id offset 0) o
     where o.state = 'Open'),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, state, visit, updated_at)
    select b.tenant_id, b.host_id, b.instance_id, b.around_id, b.sub_node_id, 'Waiting'::bpm_core.token_state, 1, v_now from begun b
    union all
    select b.tenant_id, b.token_id, b.instance_id, b.scope_id, b.node_id, 'Waiting', 0, v_now from begun b),
  scoped as (
    insert into bpm_core.scope (tenant_id, id, workflow_instance_id, parent_scope_id, node_id, host_token_id, live_tokens)
    select b.tenant_id, b.scope_id, b.instance_id, b.around_id, b.sub_node_id, b.host_id, 1 from begun b),
  around as (
    update bpm_core.scope s
       set live_tokens = s.live_tokens + d.more
      from (select b.tenant_id, b.around_id, count(*)::integer as more from begun b group by b.tenant_id, b.around_id) d
     where s.tenant_id = d.tenant_id and s.id = d.around_id),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens + d.more
      from (select b.tenant_id, b.instance_id, 2 * count(*)::integer as more from begun b group by b.tenant_id, b.instance_id) d
     where w.tenant_id = d.tenant_id and w.id = d.instance_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select b.tenant_id, b.instance_id, v_now, 'ScopeOpened'::bpm_core.history_kind, b.host_id, b.sub_node_id,
           jsonb_build_object('scope', b.scope_id, 'start', b.node_id) from begun b
    union all
    select b.tenant_id, b.instance_id, v_now, 'TokenBorn', b.token_id, b.node_id, jsonb_build_object('parent', b.host_id, 'scope', b.scope_id) from begun b)
  select array_agg(row(b.tenant_id, b.instance_id, b.version_id, b.scope_id, b.token_id, b.node_id, null, null)::bpm_core.moving)
    into v_born
    from begun b;
  return coalesce(v_born, '{}');
end
$$;

-- from 40_flow/start_process.sql
-- Starts one process. The single form of start_processes.
-- Returns:  one row: process_instance_id, workflow_instance_id, status, is_new (false: repeated idempotency key, the first answer).
-- Raises:   BP404 no such process or version, BP409 the key was used for another request, BP422 variables refused; else as start_processes.
create or replace function bpm.start_process(
  p_code text, p_variables jsonb default '{}', p_business_key text default null, p_idempotency_key text default null, p_version integer default null,
  p_actor text default null, p_tenant_id text default '')
returns table (process_instance_id uuid, workflow_instance_id uuid, status text, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  r_done record;
begin
  select s.* into r_done
    from bpm.start_processes(
      jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'code', p_code, 'business_key', p_business_key, 'idempotency_key', p_idempotency_key, 'version', p_version))
        || jsonb_build_object('variables', p_variables)),
      p_actor, p_tenant_id) s;
  if r_done.outcome <> 'Done' then
    perform bpm_core.fail(
      case r_done.outcome when 'NotFound' then 'BP404' when 'Conflict' then 'BP409' else 'BP422' end, r_done.message,
      jsonb_build_object('code', p_code, 'version', p_version, 'outcome', r_done.outcome),
      case r_done.outcome when 'NotFound' then 'See the view bpm.definition; deploy with bpm.deploy_bpmn.'
                          when 'Conflict' then 'Use a fresh key, or repeat the request unchanged.' end);
  end if;
  return query select r_done.process_instance_id, r_done.workflow_instance_id, r_done.status, r_done.is_new;
end
$$;

-- from 40_flow/start_processes.sql
-- Starts processes, each pinned to one version. Commits nothing: start inside your own business transaction.
-- p_items: [{"code", "variables": {…}, "business_key", "idempotency_key", "version"}], at most 1,000.
-- Returns:  one row per item: item (from 1), process_instance_id, workflow_instance_id, status, is_new (false: the answer of an earlier start
--           with the same idempotency key), outcome (Done, NotFound, Rejected, Conflict), message (why not).
-- Raises:   BP400 ill-formed items, BP403, BP429.
-- Writes:   idempotency_key, business_case, process_instance, workflow_instance, token, history_event, and what the first nodes write.
-- Source:   kernel design, 2.2; runtime design, idempotency by trigger key.
create or replace function bpm.start_processes(p_items jsonb, p_actor text default null, p_tenant_id text default '')
returns table (item integer, process_instance_id uuid, workflow_instance_id uuid, status text, is_new boolean, outcome bpm.outcome, message text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor  text;
  v_now    timestamptz;
  v_starts bpm_core.start[];
  v_new    bpm_core.start[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  v_starts := bpm_core.parse_starts(p_tenant_id, p_items);
  v_now := bpm_core.now();
  if exists (select from unnest(v_starts) s where s.idempotency_key is not null) then
    v_starts := bpm_core.settle_start_keys(p_tenant_id, v_starts, v_now);
  end if;
  v_new := array(select s from unnest(v_starts) s where s.outcome is null);
  if cardinality(v_new) > 0 then
    perform bpm_core.advance_isolated(bpm_core.insert_starts(p_tenant_id, v_new, v_actor, v_now));
  end if;
  return query
  select s.item, case when coalesce(s.outcome, 'Done') = 'Done' then s.process_instance_id end,
         case when coalesce(s.outcome, 'Done') = 'Done' then s.workflow_instance_id end,
         p.status::text, s.outcome is null, coalesce(s.outcome, 'Done'), s.message
    from (select p_tenant_id as tenant_id, s.* from unnest(v_starts) s offset 0) s
    left join bpm_core.process_instance p
      on p.tenant_id = s.tenant_id and p.id = s.process_instance_id
   order by s.item;
end
$$;

-- from 40_flow/start_timers.sql
-- Starts a timer of the node named by each wait, on the token that rests there (a catch event) or on its host (a boundary event).
-- A rule that yields no time is an incident on the token; what the token offered already is closed, lest it be done while it is stopped.
-- Writes:   timer, history_event; token, incident, and what close_waits writes.
create or replace function bpm_core.start_timers(p_waits bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_troubles bpm_core.trouble[];
begin
  if coalesce(cardinality(p_waits), 0) = 0 then
    return;
  end if;
  with wait as materialized (
    select a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, a.flow_id, a.kind, t.visit, t.node_id as host_node_id,
           n.timer_kind, n.timer_rule, r.rule, f.anchor_at, f.scheduled_at, f.remaining, bpm_core.new_id() as timer_id
      from unnest(p_waits) a
     cross join lateral (select n.timer_kind, n.timer_rule from bpm_core.workflow_node n
                          where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n
     cross join lateral (select t.visit, t.node_id from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = a.token_id offset 0) t
     cross join lateral bpm_core.token_variables(a.tenant_id, a.instance_id, a.scope_id) v
     cross join lateral (select bpm_core.text_value(n.timer_rule, v.variables) as rule) r
      left join lateral bpm_core.timer_first(n.timer_kind, r.rule, v_now) f on true),
  started as (
    insert into bpm_core.timer (tenant_id, id, workflow_instance_id, token_id, visit, node_id, kind, rule, anchor_at, scheduled_at, due_at, remaining)
    select w.tenant_id, w.timer_id, w.instance_id, w.token_id, w.visit, w.node_id, w.timer_kind, w.rule, w.anchor_at, w.scheduled_at,
           greatest(w.scheduled_at, bpm_core.now()), w.remaining
      from wait w
     where w.scheduled_at is not null),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select w.tenant_id, w.instance_id, v_now, 'TimerStarted', w.token_id, w.node_id, jsonb_build_object('timer', w.timer_id, 'scheduled_at', w.scheduled_at)
      from wait w
     where w.scheduled_at is not null)
  select array_agg(row(row(w.tenant_id, w.instance_id, w.version_id, w.scope_id, w.token_id, w.host_node_id, w.flow_id, w.kind)::bpm_core.moving,
                       'InvalidTimer', format('Timer %s: %s gives no time.', w.node_id, w.timer_rule),
                       jsonb_build_object('timer', w.node_id, 'rule', w.timer_rule, 'value', w.rule))::bpm_core.trouble)
    into v_troubles
    from wait w
   where w.scheduled_at is null;
  perform bpm_core.close_waits(array(select x.token from unnest(v_troubles) x));
  perform bpm_core.open_incidents(v_troubles);
end
$$;

-- from 40_flow/startable_version.sql
-- The version a start runs: the published one, or the published one named. Archived processes start nothing.
-- Returns:  no row when there is none.
create or replace function bpm_core.startable_version(p_tenant_id text, p_code text, p_version integer)
returns table (process_version_id uuid, workflow_version_id uuid, role_version_id uuid, start_node_id text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select v.id, b.workflow_version_id, w.owner_role_version_id, n.node_id
    from bpm_core.process_definition d
   cross join lateral (
     select v.tenant_id, v.id
       from bpm_core.process_version v
      where v.tenant_id = d.tenant_id and v.definition_id = d.id
        and case when p_version is null then v.id = d.published_version_id else v.version = p_version and v.status = 'Published' end
     offset 0) v
   cross join lateral (
     select b.tenant_id, b.workflow_version_id
       from bpm_core.process_workflow_binding b
      where b.tenant_id = v.tenant_id and b.process_version_id = v.id
      order by b.position
      limit 1) b
   cross join lateral (
     select w.owner_role_version_id from bpm_core.workflow_version w where w.tenant_id = b.tenant_id and w.id = b.workflow_version_id offset 0) w
   cross join lateral (
     select n.node_id
       from bpm_core.workflow_node n
      where n.tenant_id = b.tenant_id and n.workflow_version_id = b.workflow_version_id and n.kind = 'StartEvent' and n.scope_node_id is null
      limit 1) n
   where d.code = p_code and d.tenant_id = p_tenant_id and d.archived_at is null;
end
$$;

-- from 40_flow/suspend_process.sql
-- Holds a process: from now on nothing in it moves. No task of it is handed out, no timer fires; what reaches it from outside waits, and what
-- workers answer for tasks in hand is accepted and parked, until bpm.resume_process. Heartbeats go on; commands already written are still sent.
-- Returns:  one row: process_instance_id, status (Suspended, also when it was before).
-- Raises:   BP403, BP404, BP409 it has ended, BP422 reason too long.
-- Writes:   workflow_instance, task_instance, timer, process_instance, history_event, audit_event; of large ones the rest follows by tick (inbox).
-- Locks:    all workflow instances of the process.
create or replace function bpm.suspend_process(p_process_instance_id uuid, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (process_instance_id uuid, status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  if bpm_core.turn_process(p_tenant_id, p_process_instance_id, 'Suspended', v_actor, p_reason) then
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'SuspendProcess', 'process_instance', p_process_instance_id::text, null, p_reason);
  end if;
  return query select p_process_instance_id, 'Suspended'::text;
end
$$;

-- from 40_flow/sweep_instance.sql
-- Brings what is inside an instance in line with its status, at most p_limit rows of it: of a suspended one tasks and timers are held; of a
-- running one they are freed, with the tokens and the inbox rows that were set aside. The instance is locked.
-- Returns:  boolean, whether there may be more.
-- Writes:   task_instance, timer, token, inbox, history_event.
create or replace function bpm_core.sweep_instance(p_tenant_id text, p_instance_id uuid, p_limit integer)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_hold boolean;
  v_left integer := p_limit;
begin
  select w.status = 'Suspended' into v_hold
    from bpm_core.workflow_instance w
   where w.tenant_id = p_tenant_id and w.id = p_instance_id and w.status in ('Running', 'Suspended');
  if not found then
    return false;
  end if;
  if not v_hold then
    v_left := v_left - bpm_core.free_inbox(p_tenant_id, p_instance_id, v_left);
    v_left := v_left - bpm_core.free_tokens(p_tenant_id, p_instance_id, v_left);
  end if;
  v_left := v_left - bpm_core.hold_tasks(p_tenant_id, p_instance_id, v_hold, v_left);
  -- Timers after the answers that were parked: one that came due meanwhile does not undo what was accepted.
  if not v_hold and exists (
       select from bpm_core.inbox i where i.target_id = p_instance_id and i.tenant_id = p_tenant_id and i.kind = 'Answer' and i.available_at <= bpm_core.now()) then
    return true;
  end if;
  v_left := v_left - bpm_core.hold_timers(p_tenant_id, p_instance_id, v_hold, v_left);
  return v_left <= 0;
end
$$;

-- from 40_flow/sweep_on.sql
-- One chunk of sweep_instance (the setting engine.sweep_batch_size, 5,000); what is left is done by tick, through a row of the inbox.
-- Writes:   as sweep_instance; inbox.
create or replace function bpm_core.sweep_on(p_tenant_id text, p_instance_id uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if bpm_core.sweep_instance(p_tenant_id, p_instance_id, (bpm_core.setting_value('engine.sweep_batch_size', '5000'))::integer) then
    insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
    values (p_tenant_id, bpm_core.new_id(), 'WorkflowInstance', p_instance_id, 'Sweep', '{}', bpm_core.now());
  end if;
end
$$;

-- from 40_flow/tell_callers.sql
-- Tells the callers of instances that have ended, through the inbox: how, and with which visit of the call activity that belongs.
-- One that its caller cancelled tells nobody. Writes: inbox.
create or replace function bpm_core.tell_callers(p_tenant_id text, p_instances uuid[], p_status bpm_core.workflow_status, p_detail jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select p_tenant_id, bpm_core.new_id(), 'WorkflowInstance', t.workflow_instance_id, case p_status when 'Completed' then 'CallEnded' else 'CallFailed' end,
         jsonb_build_object('child', w.id, 'host', w.parent_token_id, 'visit', split_part(w.trigger_key, ':', 2)::integer, 'status', p_status, 'detail', p_detail),
         bpm_core.now()
    from (select p_tenant_id as tenant_id, e.* from unnest(p_instances) e(id) offset 0) e
   cross join lateral (select w.* from bpm_core.workflow_instance w where w.tenant_id = e.tenant_id and w.id = e.id offset 0) w
   cross join lateral (select t.workflow_instance_id from bpm_core.token t where t.tenant_id = w.tenant_id and t.id = w.parent_token_id offset 0) t
   where not coalesce(p_detail ? 'caller', false);
end
$$;

-- from 40_flow/terminate_instances.sql
-- Ends instances with everything in them: live tokens Terminated, what waits on them closed, unsent commands cancelled, status set.
-- Writes:   token, scope, everything close_waits writes, outbox, workflow_instance, process_instance, history_event. The instances are locked.
create or replace function bpm_core.terminate_instances(p_tenant_id text, p_instances uuid[], p_status bpm_core.workflow_status, p_detail jsonb default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_hosts bpm_core.moving[];
begin
  if coalesce(cardinality(p_instances), 0) = 0 then
    return;
  end if;
  with live as materialized (
    select t.tenant_id, t.id
      from unnest(p_instances) i(id)
     cross join lateral (select t.tenant_id, t.id, t.state from bpm_core.token t where t.workflow_instance_id = i.id offset 0) t
     where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Waiting', 'Failed')),
  ended as (
    update bpm_core.token t
       set state = 'Terminated', ready_at = null, version = t.version + 1, updated_at = v_now
      from live l
     where t.tenant_id = l.tenant_id and t.id = l.id
    returning t.workflow_instance_id, t.scope_id, t.id, t.node_id, t.via_flow_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
    select p_tenant_id, e.workflow_instance_id, v_now, 'TokenTerminated', e.id, e.node_id, 'Terminated'
      from ended e)
  select array_agg(row(p_tenant_id, e.workflow_instance_id, null, e.scope_id, e.id, e.node_id, e.via_flow_id, null)::bpm_core.moving)
    into v_hosts
    from ended e;
  perform bpm_core.cancel_scopes(p_tenant_id, array(
    select s.id
      from unnest(p_instances) i(id)
     cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.scope s where s.workflow_instance_id = i.id offset 0) s
     where s.tenant_id = p_tenant_id and s.state = 'Open'));
  perform bpm_core.close_waits(v_hosts);
  perform bpm_core.cancel_commands(p_tenant_id, p_instances);
  -- Messages set aside while it was suspended go back to where they came from.
  perform bpm_core.free_inbox(p_tenant_id, i.id, null) from unnest(p_instances) i(id);
  v_now := bpm_core.now();
  update bpm_core.workflow_instance w
     set status = p_status, live_tokens = 0, ended_at = v_now
    from (select p_tenant_id as tenant_id, i.* from unnest(p_instances) i(id) offset 0) i
   where w.tenant_id = i.tenant_id and w.id = i.id;
  perform bpm_core.end_instances(p_tenant_id, p_instances, p_status, v_now, p_detail);
end
$$;

-- from 40_flow/text_value.sql
-- An attribute that is either plain text or one expression, ${path} or =path.
-- Returns:  text; null when the path leads nowhere or to something that is no scalar.
create or replace function bpm_core.text_value(p_source text, p_variables jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_path  text := coalesce(substring(p_source from '^\s*[$#]\{\s*([^{}]+?)\s*\}\s*$'), substring(p_source from '^\s*=\s*(.+?)\s*$'));
  v_value jsonb;
begin
  if v_path is null then
    return p_source;
  end if;
  v_value := bpm_core.path_value(p_variables, v_path);
  return case when jsonb_typeof(v_value) in ('string', 'number', 'boolean') then v_value #>> '{}' end;
end
$$;

-- from 40_flow/throw_to_callers.sql
-- Errors nobody in their instance catches: where a caller does, the instance has failed and its caller hears of it through the inbox.
-- p_ends: the thrower is at an error end event, where its token ends; else it is at an activity and is terminated with all others.
-- Returns:  thrown[], those no caller catches either, untouched. Writes: as complete_tokens and fail_instances.
create or replace function bpm_core.throw_to_callers(p_thrown bpm_core.thrown[], p_ends boolean)
returns bpm_core.thrown[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_uncaught bpm_core.thrown[] := '{}'::bpm_core.thrown[];
  v_thrown   bpm_core.thrown;
begin
  foreach v_thrown in array p_thrown loop
    if cardinality(bpm_core.drop_dead(array[v_thrown.token])) = 0 then
      continue;
    elsif bpm_core.is_caught_by_caller(v_thrown.token, 'ErrorBoundary', v_thrown.code) then
      if p_ends then
        perform bpm_core.complete_tokens(array[v_thrown.token]);
      end if;
      perform bpm_core.fail_instances((v_thrown.token).tenant_id, array[(v_thrown.token).instance_id],
                                      jsonb_build_object('code', v_thrown.code, 'message', v_thrown.message));
    else
      v_uncaught := v_uncaught || v_thrown;
    end if;
  end loop;
  return v_uncaught;
end
$$;

-- from 40_flow/tick_inbox.sql
-- Applies what is due in the inbox, oldest first per target. Picks unlocked, locks the instances nobody holds, then the rows.
-- Returns:  tick_result: rows done, the next position, when the next falls due. Locks: workflow_instance skip locked, then inbox.
create or replace function bpm_core.tick_inbox(
  p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_result bpm_core.tick_result;
  r_scan   record;
  v_found  bpm_core.candidate[];
  v_locked uuid[];
  v_last   bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_found := array(
    select row(i.available_at, i.id, i.target_id)::bpm_core.candidate
      from bpm_core.inbox i
     where i.tenant_id = p_tenant_id and i.available_at <= p_now and (i.available_at, i.id) > (r_scan.from_at, r_scan.from_id)
     order by i.available_at, i.id
     limit p_limit);
  v_result.done := 0;
  if cardinality(v_found) > 0 then
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    v_result.done := bpm_core.apply_inbox(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked)));
    v_last := case when v_result.done = cardinality(v_found) then bpm_core.last_handled(v_found, v_locked) end;
  end if;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     cardinality(v_found) < p_limit and cardinality(v_found) = v_result.done, p_now);
  v_result.next_due_at := (
    select i.available_at
      from bpm_core.inbox i
     where i.tenant_id = p_tenant_id and i.available_at > p_now and i.available_at < 'infinity'
     order by i.available_at
     limit 1);
  return v_result;
end
$$;

-- from 40_flow/tick_messages.sql
-- Expires buffered messages whose time to live is over. Until then they are not correlated either: every match looks at the clock.
-- Returns:  tick_result: rows done, the next position. Not when the next falls due: finding out would walk every entry of the index that
--           was given up before its time, and these come with every poll anyway. Locks: message, skip locked.
create or replace function bpm_core.tick_messages(
  p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_result  bpm_core.tick_result;
  r_scan    record;
  v_expired bpm_core.candidate[];
  v_last    bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  with picked as materialized (
    select m.tenant_id, m.id
      from bpm_core.message m
     where m.state = 'Buffered' and m.tenant_id = p_tenant_id and m.expires_at <= p_now and (m.expires_at, m.id) > (r_scan.from_at, r_scan.from_id)
     order by m.expires_at, m.id
     limit p_limit
       for no key update skip locked),
  expired as (
    update bpm_core.message m
       set state = 'Expired'
      from picked p
     where m.tenant_id = p.tenant_id and m.id = p.id
    returning m.expires_at, m.id)
  select array_agg(row(e.expires_at, e.id, null)::bpm_core.candidate order by e.expires_at, e.id)
    into v_expired
    from expired e;
  v_result.done := coalesce(cardinality(v_expired), 0);
  v_last := v_expired[v_result.done];
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id, v_result.done < p_limit, p_now);
  return v_result;
end
$$;

-- from 40_flow/tick_timers.sql
-- Fires due timers, oldest first, each once. Picks unlocked, locks the instances nobody holds, then the timers, then looks again.
-- Returns:  tick_result: rows done, the next position, when the next falls due within a minute (further ahead lie the entries of all timers
--           that were cancelled before their time).
-- Writes:   timer, history_event, and what follows on the paths. Locks: workflow_instance skip locked, then timer.
create or replace function bpm_core.tick_timers(
  p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_result bpm_core.tick_result;
  r_scan   record;
  v_found  bpm_core.candidate[];
  v_locked uuid[];
  v_last   bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_found := array(
    select row(t.due_at, t.id, t.workflow_instance_id)::bpm_core.candidate
      from bpm_core.timer t
     where t.status = 'Scheduled' and t.tenant_id = p_tenant_id and t.due_at <= p_now and (t.due_at, t.id) > (r_scan.from_at, r_scan.from_id)
     order by t.due_at, t.id
     limit p_limit);
  v_result.done := 0;
  if cardinality(v_found) > 0 then
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    v_result.done := bpm_core.fire_timers(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked)), bpm_core.now());
    -- Of one token only the oldest fired; the position stays until the others have.
    v_last := case when v_result.done = (select count(*) from unnest(v_found) c where c.instance_id = any (v_locked))
                   then bpm_core.last_handled(v_found, v_locked) end;
  end if;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     cardinality(v_found) < p_limit and cardinality(v_found) = v_result.done, p_now);
  v_result.next_due_at := (
    select t.due_at
      from bpm_core.timer t
     where t.status = 'Scheduled' and t.tenant_id = p_tenant_id and t.due_at > p_now and t.due_at <= p_now + interval '1 minute'
     order by t.due_at
     limit 1);
  return v_result;
end
$$;

-- from 40_flow/tick_tokens.sql
-- Goes on with parked tokens; sets those of suspended instances aside. Picks unlocked, locks the instances nobody holds, then claims by compare-and-set.
-- Returns:  tick_result: rows done, the next position, when the next falls due. Locks: workflow_instance skip locked.
create or replace function bpm_core.tick_tokens(
  p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_result bpm_core.tick_result;
  r_scan   record;
  v_found  bpm_core.candidate[];
  v_locked uuid[];
  v_ours   uuid[];
  v_last   bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_found := array(
    select row(t.ready_at, t.id, t.workflow_instance_id)::bpm_core.candidate
      from bpm_core.token t
     where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.ready_at <= p_now and (t.ready_at, t.id) > (r_scan.from_at, r_scan.from_id)
     order by t.ready_at, t.id
     limit p_limit);
  v_result.done := 0;
  if cardinality(v_found) > 0 then
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    perform bpm_core.bump_instances(p_tenant_id, v_locked);
    v_ours := array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked));
    v_result.done := bpm_core.shelve_tokens(p_tenant_id, v_ours) + bpm_core.resume_tokens(p_tenant_id, v_ours);
    v_last := bpm_core.last_handled(v_found, v_locked);
  end if;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     cardinality(v_found) < p_limit and cardinality(v_found) = v_result.done, p_now);
  v_result.next_due_at := (
    select t.ready_at
      from bpm_core.token t
     where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.ready_at > p_now and t.ready_at <= p_now + interval '1 minute'
     order by t.ready_at
     limit 1);
  return v_result;
end
$$;

-- from 40_flow/token_place.sql
-- Where a token is, for the answers of operators' calls.
-- Returns:  one row: token_id, node_id, state, instance_status.
create or replace function bpm_core.token_place(p_tenant_id text, p_token_id uuid)
returns table (token_id uuid, node_id text, state text, instance_status text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select t.id, t.node_id, t.state::text, w.status::text
    from bpm_core.token t
   cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.tenant_id = p_tenant_id and t.id = p_token_id;
end
$$;

-- from 40_flow/token_reach.sql
-- Over which flows into an inclusive join a token can still come: a bit per flow, null: none. One that stands before the join itself (parked, stopped)
-- comes over the flow it is on. Called in FROM, where it is inlined.
-- p_join: the join it is asked for. Returns: one row, bits.
create or replace function bpm_core.token_reach(
  p_tenant_id text, p_version_id uuid, p_join text, p_first_place integer, p_filled bit varying, p_node_id text, p_flow_id text)
returns table (bits bit varying)
language sql stable
as $$
  select case
    when p_node_id = p_join and p_flow_id is not null then
      (select set_bit(p_filled # p_filled, p.place - p.first_place, 1)
         from bpm_core.inclusive_flow p
        where p.tenant_id = p_tenant_id and p.workflow_version_id = p_version_id and p.node_id = p_join and p.flow_id = p_flow_id)
    else
      (select substring(r.reach from p_first_place + 1 for length(p_filled))
         from bpm_core.inclusive_reach r
        where r.tenant_id = p_tenant_id and r.workflow_version_id = p_version_id and r.node_id = p_node_id)
  end
$$;

-- from 40_flow/token_variables.sql
-- What a token sees: process variables (of a called instance instead: what it was given), then those of its workflow, then those declared in the scopes around it; the nearer wins. Called in FROM, where
-- it is inlined.
-- Returns:  one row, variables jsonb object.
create or replace function bpm_core.token_variables(p_tenant_id text, p_instance_id uuid, p_scope_id uuid)
returns table (variables jsonb)
language sql stable
as $$
  select case when p_scope_id = '00000000-0000-0000-0000-000000000000' then coalesce(w.inputs, p.variables) || w.variables
              else coalesce(w.inputs, p.variables) || w.variables || bpm_core.scope_variables(p_tenant_id, p_scope_id) end
    from bpm_core.workflow_instance w
   cross join lateral (select p.variables from bpm_core.process_instance p
                        where p.tenant_id = w.tenant_id and p.id = w.process_instance_id offset 0) p
   where w.tenant_id = p_tenant_id and w.id = p_instance_id
  offset 0
$$;

-- from 40_flow/try_lock_instances.sql
-- Locks those of the instances that nobody holds, in the order of their ids, for pickers, which skip rather than wait (law 3).
-- Returns:  the ids locked. Locks: workflow_instance, for no key update skip locked.
create or replace function bpm_core.try_lock_instances(p_tenant_id text, p_instances uuid[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select w.id
      from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_instances) k(id) order by k.id offset 0) k
     cross join lateral (
       select w.id
         from bpm_core.workflow_instance w
        where w.tenant_id = k.tenant_id and w.id = k.id
          for no key update skip locked) w);
end
$$;

-- from 40_flow/try_message_keys.sql
-- Locks message keys for this transaction as far as they can be had. Its caller may hold other keys already (a tick opens waits kind by kind, a
-- message may be applied under the lock of its own key), so the order cannot be kept and nobody may wait for long: two that wait for each
-- other's key part after a moment, and a key that somebody forgot to let go of stops only the token that needs it.
-- Returns:  bigint[], the hashes that others hold.
create or replace function bpm_core.try_message_keys(p_hashes bigint[])
returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash bigint;
  v_busy bigint[] := array[]::bigint[];
begin
  for v_hash in select distinct h.hash from unnest(p_hashes) h(hash) order by h.hash loop
    if not pg_try_advisory_xact_lock(v_hash) then
      -- Keys are held for milliseconds, so a wait is worth it; but only one per call.
      if cardinality(v_busy) > 0 or not bpm_core.await_message_key(v_hash) then
        v_busy := v_busy || v_hash;
      end if;
    end if;
  end loop;
  return v_busy;
end
$$;

-- from 40_flow/turn_process.sql
-- Suspends (p_to Suspended) or resumes (p_to Running) all workflow instances of a process and the process itself.
-- Returns:  boolean, whether anything changed.
-- Raises:   BP404, BP409 it has ended.
-- Writes:   workflow_instance, history_event, process_instance, and what sweep_instance writes. Locks: all instances of the process.
create or replace function bpm_core.turn_process(p_tenant_id text, p_process_instance_id uuid, p_to bpm_core.workflow_status, p_actor text, p_reason text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_from    constant bpm_core.workflow_status := case p_to when 'Suspended' then 'Running' else 'Suspended' end::bpm_core.workflow_status;
  v_status  bpm_core.process_status;
  v_turning uuid[];
begin
  perform bpm_core.lock_instances_of_process(p_tenant_id, p_process_instance_id);
  select p.status into v_status from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  if v_status not in ('Running', 'Suspended') then
    perform bpm_core.fail('BP409', format('Process instance %s is %s.', p_process_instance_id, v_status), jsonb_build_object('status', v_status));
  end if;
  v_turning := array(
    select w.id
      from bpm_core.workflow_instance w
     where w.tenant_id = p_tenant_id and w.process_instance_id = p_process_instance_id and w.status = v_from);
  update bpm_core.workflow_instance w
     set status = p_to, lock_version = w.lock_version + 1
    from (select p_tenant_id as tenant_id, i.id from unnest(v_turning) i(id) offset 0) i
   where w.tenant_id = i.tenant_id and w.id = i.id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, from_state, to_state, actor, detail)
  select p_tenant_id, i.id, bpm_core.now(), case p_to when 'Suspended' then 'InstanceSuspended' else 'InstanceResumed' end::bpm_core.history_kind,
         v_from::text, p_to::text, p_actor, jsonb_strip_nulls(jsonb_build_object('reason', p_reason))
    from unnest(v_turning) i(id);
  perform bpm_core.sweep_on(p_tenant_id, i.id) from unnest(v_turning) i(id);
  if v_status::text = p_to::text then
    return cardinality(v_turning) > 0;
  end if;
  -- After tasks and timers in the lock order.
  perform from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id for no key update;
  update bpm_core.process_instance p
     set status = p_to::text::bpm_core.process_status, version = p.version + 1, updated_at = bpm_core.now()
   where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  return true;
end
$$;

-- from 40_flow/waiting_hosts.sql
-- The hosts that inbox rows of called instances speak to, where they still wait for them: at the same visit of the call activity.
-- Returns:  one row per such inbox row: its id, payload and the host, resting.
create or replace function bpm_core.waiting_hosts(p_tenant_id text, p_rows bpm_core.inbox[])
returns table (inbox_id uuid, payload jsonb, host bpm_core.moving)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select r.id, r.payload,
         row(p_tenant_id, t.workflow_instance_id, w.workflow_version_id, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
    from unnest(p_rows) r
   cross join lateral (select t.* from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = (r.payload ->> 'host')::uuid offset 0) t
   cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = p_tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.state = 'Waiting' and t.visit = (r.payload ->> 'visit')::integer;
end
$$;

-- from 40_flow/way_out.sql
-- The flow by which a skipped node is left: the only one, or the one that is named.
-- Returns:  text, its id.
-- Raises:   BP422 there is none, there are several and none is named, or the one named does not leave the node.
create or replace function bpm_core.way_out(p_token bpm_core.moving, p_flow_id text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_flows text[] := array(
    select f.flow_id
      from bpm_core.workflow_flow f
     where f.tenant_id = p_token.tenant_id and f.workflow_version_id = p_token.version_id and f.source_id = p_token.node_id
     order by f.ord);
  v_why   text;
begin
  v_why := case
    when cardinality(v_flows) = 0 then 'no flow leaves it'
    when p_flow_id is null and cardinality(v_flows) > 1 then format('%s flows leave it; name one', cardinality(v_flows))
    when p_flow_id <> all (v_flows) then format('flow %s does not leave it', p_flow_id) end;
  if v_why is not null then
    perform bpm_core.fail('BP422', format('Node %s cannot be skipped: %s.', p_token.node_id, v_why),
      jsonb_build_object('node', p_token.node_id, 'flows', v_flows),
      case when cardinality(v_flows) > 0 then 'p_flow_id names one of: ' || array_to_string(v_flows, ', ') || '.' end);
  end if;
  return coalesce(p_flow_id, v_flows[1]);
end
$$;

-- from 40_flow/workflows_of.sql
-- The workflow instances of a process instance.
-- Returns:  uuid[], the main one first.
-- Raises:   BP404 no such process instance for this tenant.
create or replace function bpm_core.workflows_of(p_tenant_id text, p_process_instance_id uuid)
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_workflows uuid[];
begin
  v_workflows := array(
    select w.id
      from bpm_core.workflow_instance w
     where w.tenant_id = p_tenant_id and w.process_instance_id = p_process_instance_id
     order by w.binding_key <> 'main', w.id);
  if cardinality(v_workflows) = 0 then
    perform bpm_core.fail('BP404', format('There is no process instance %s.', coalesce(p_process_instance_id::text, 'null')),
      jsonb_build_object('process_instance_id', p_process_instance_id), 'The view bpm.instance lists those you may see.');
  end if;
  return v_workflows;
end
$$;

-- from 50_work/accept_answers.sql
-- Under the locks: takes the answers whose task is leased under the fencing token shown, and stores them. Nothing moves yet. Those of
-- suspended instances are noted as parked: that the task is completed, history tells when its token goes on, and their output mappings are applied then.
-- Output mappings are applied here; where one cannot be evaluated the result is kept and the token stops.
-- Returns:  accepted[], in item order; who is missing has lost (answer_outcome says how), or was stopped.
-- Writes:   task_instance, execution, result, history_event: one row each per answer; token, incident of one stopped.
create or replace function bpm_core.accept_answers(p_tenant_id text, p_answers bpm_core.answer[], p_suspended uuid[], p_now timestamptz)
returns bpm_core.accepted[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_accepted bpm_core.accepted[];
  v_unmapped bpm_core.unmapped[];
begin
  with answer as materialized (
    -- Per token, not per task: a late answer under an old token must not stand before the right one in the same call.
    select distinct on (a.task_id, a.fencing_token) p_tenant_id as tenant_id, a.item, a.task_id, a.fencing_token, a.variables, a.output, a.content_hash
      from unnest(p_answers) a
     where a.variables is not null
     order by a.task_id, a.fencing_token, a.item),
  held as materialized (
    -- The state is looked at after the row was found by key: mentioned together, the planner would walk the index of leases.
    select a.tenant_id, a.item, a.task_id, a.variables, a.output, a.content_hash
      from answer a
     cross join lateral (select t.state, t.fencing_token, t.lease_until from bpm_core.task_instance t
                          where t.tenant_id = a.tenant_id and t.id = a.task_id offset 0) t
     where t.state = 'Executing' and t.fencing_token = a.fencing_token and t.lease_until > p_now),
  done as (
    update bpm_core.task_instance t
       set state = 'Completed'
      from held a
     where t.tenant_id = a.tenant_id and t.id = a.task_id
    returning a.item, t.id, t.workflow_instance_id, t.token_id, t.scope_id, t.node_id, t.attempt, t.worker_id, t.fencing_token, t.claimed_at, t.lease_until,
              a.variables, a.output, a.content_hash, t.outputs, t.input),
  mapped as materialized (
    select d.*, coalesce(m.patch, case when m.problem is null then d.variables else '{}' end) as patch, m.problem, m.detail
      from done d
      left join lateral (select m.* from bpm_core.mapped_outputs(p_tenant_id, d.workflow_instance_id, d.scope_id, d.outputs, d.input, d.variables) m
                          where d.outputs is not null and d.workflow_instance_id <> all (p_suspended) offset 0) m on true),
  executed as (
    insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
    select p_tenant_id, d.id, d.attempt, d.worker_id, d.fencing_token, d.claimed_at, d.lease_until, p_now, 'Succeeded', 'Completed'
      from done d),
  kept as (
    insert into bpm_core.result (tenant_id, task_instance_id, attempt, output, content_hash, created_by, created_at)
    select p_tenant_id, d.id, d.attempt, d.output, d.content_hash, d.worker_id, p_now
      from done d),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
    select p_tenant_id, d.workflow_instance_id, p_now, (case when s.parked then 'TaskHeld' else 'TaskCompleted' end)::bpm_core.history_kind,
           d.token_id, d.node_id, d.worker_id,
           case when s.parked then jsonb_build_object('task', d.id, 'attempt', d.attempt, 'parked', true)
                else jsonb_build_object('task', d.id, 'attempt', d.attempt, 'variables', d.patch)
                     || case when d.scope_id is null then '{}' else bpm_core.local_names(p_tenant_id, d.scope_id, d.patch) end end
      from mapped d
     cross join lateral (select d.workflow_instance_id = any (p_suspended)) s(parked)
     order by d.item)
  select array_agg(row(d.item, d.id, d.workflow_instance_id, d.token_id, d.node_id, d.attempt, d.patch, d.scope_id)::bpm_core.accepted order by d.item) filter (where d.problem is null),
         array_agg(row(row(d.item, d.id, d.workflow_instance_id, d.token_id, d.node_id, d.attempt, d.patch, d.scope_id), d.problem, d.detail)::bpm_core.unmapped)
           filter (where d.problem is not null)
    into v_accepted, v_unmapped
    from mapped d;
  if v_unmapped is not null then
    perform bpm_core.stop_unmapped(p_tenant_id, v_unmapped);
  end if;
  return coalesce(v_accepted, '{}');
end
$$;

-- from 50_work/accept_user_task.sql
-- Under the locks: takes what a person answered, as attempt and result like any other task's.
-- Returns:  accepted; null when its output mappings could not be evaluated: the result is kept and the token stopped.
-- Raises:   BP409 somebody else holds it; BP409, BP423 the instance is not running.
-- Writes:   task_instance, execution, result, history_event, audit_event; token, incident when it is stopped.
create or replace function bpm_core.accept_user_task(p_task bpm_core.task_instance, p_variables jsonb, p_actor text)
returns bpm_core.accepted
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now       timestamptz := bpm_core.now();
  v_variables jsonb := bpm_core.decode_variables(p_variables);
  v_patch     jsonb := v_variables;
  v_problem   text;
  v_detail    jsonb;
  v_accepted  bpm_core.accepted;
begin
  perform bpm_core.take_user_task(p_task, 'Completed', p_actor);
  if p_task.outputs is not null then
    select coalesce(m.patch, '{}'), m.problem, m.detail into v_patch, v_problem, v_detail
      from bpm_core.mapped_outputs(p_task.tenant_id, p_task.workflow_instance_id, p_task.scope_id, p_task.outputs, p_task.input, v_variables) m;
  end if;
  insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
  values (p_task.tenant_id, p_task.id, p_task.attempt + 1, p_actor, p_task.fencing_token + 1, v_now, v_now, v_now, 'Succeeded', 'Completed');
  insert into bpm_core.result (tenant_id, task_instance_id, attempt, output, content_hash, created_by, created_at)
  values (p_task.tenant_id, p_task.id, p_task.attempt + 1, v_variables, bpm_core.answer_hash(p_variables, null), p_actor, v_now);
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_task.tenant_id, p_task.workflow_instance_id, v_now, 'TaskCompleted', p_task.token_id, p_task.node_id, p_actor,
          jsonb_build_object('task', p_task.id, 'attempt', p_task.attempt + 1, 'variables', v_patch)
          || bpm_core.local_names(p_task.tenant_id, p_task.scope_id, v_patch));
  perform bpm_core.write_audit(p_task.tenant_id, p_actor, 'CompleteUserTask', 'task_instance', p_task.id::text);
  v_accepted := row(1, p_task.id, p_task.workflow_instance_id, p_task.token_id, p_task.node_id, p_task.attempt + 1, v_patch, p_task.scope_id)::bpm_core.accepted;
  if v_problem is not null then
    perform bpm_core.stop_unmapped(p_task.tenant_id, array[row(v_accepted, v_problem, v_detail)::bpm_core.unmapped]);
    return null;
  end if;
  return v_accepted;
end
$$;

-- from 50_work/answer_hash.sql
-- Tells a repeated answer from another one.
-- Returns:  bytea, sha256 over variables and result in canonical form.
create or replace function bpm_core.answer_hash(p_variables jsonb, p_result jsonb)
returns bytea
language sql stable parallel safe
as $$ select sha256(convert_to(coalesce(p_variables::text, '') || chr(31) || coalesce(p_result::text, ''), 'UTF8')) $$;

-- from 50_work/answer_outcome.sql
-- What to tell a worker whose answer was not accepted now: an unchanged repeat gets the first answer, anything else says why.
-- Returns:  outcome.
create or replace function bpm_core.answer_outcome(p_tenant_id text, p_answer bpm_core.answer)
returns bpm.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_task bpm_core.task_instance;
  v_hash bytea;
begin
  select t.* into r_task from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = p_answer.task_id;
  if not found then
    return 'NotFound'::bpm.outcome;
  elsif p_answer.variables is null then
    return 'Rejected'::bpm.outcome;
  elsif r_task.state = 'Cancelled' then
    return 'Cancelled'::bpm.outcome;
  elsif r_task.fencing_token <> p_answer.fencing_token or r_task.state in ('Executing', 'Ready', 'Held') then
    return 'LeaseLost'::bpm.outcome;
  elsif r_task.state = 'Completed' then
    select r.content_hash into v_hash
      from bpm_core.result r
     where r.tenant_id = r_task.tenant_id and r.task_instance_id = r_task.id and r.attempt = r_task.attempt;
    return case when v_hash = p_answer.content_hash then 'Completed' else 'Conflict' end::bpm.outcome;
  end if;
  return 'WrongState'::bpm.outcome;
end
$$;

-- from 50_work/apply_answers.sql
-- Under the instance locks: applies answers that were parked while their instance was suspended. One whose token no longer stands there
-- (the instance was cancelled) is void; the result is kept all the same.
-- Writes:   history_event, and what continue_accepted or apply_error write.
create or replace function bpm_core.apply_answers(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_accepted bpm_core.accepted[];
  v_unmapped bpm_core.unmapped[];
begin
  with answer as materialized (
    select row_number() over (order by r.id, a.n)::integer as n, (a.answer ->> 'task')::uuid as task_id, a.answer -> 'variables' as variables
      from unnest(p_rows) r
     cross join lateral jsonb_array_elements(r.payload -> 'answers') with ordinality a(answer, n)),
  standing as materialized (
    select a.n, a.variables, t.*
      from answer a
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = a.task_id offset 0) t
     cross join lateral (select k.state, k.visit from bpm_core.token k where k.tenant_id = t.tenant_id and k.id = t.token_id offset 0) k
     where k.state = 'Waiting' and k.visit = t.visit),
  mapped as materialized (
    select s.*, coalesce(m.patch, case when m.problem is null then s.variables else '{}' end) as patch, m.problem, m.detail
      from standing s
      left join lateral (select m.* from bpm_core.mapped_outputs(p_tenant_id, s.workflow_instance_id, s.scope_id, s.outputs, s.input, s.variables) m
                          where s.outputs is not null offset 0) m on true),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
    select p_tenant_id, s.workflow_instance_id, bpm_core.now(), 'TaskCompleted', s.token_id, s.node_id, s.worker_id,
           jsonb_build_object('task', s.id, 'attempt', s.attempt, 'variables', s.patch)
           || case when s.scope_id is null then '{}' else bpm_core.local_names(p_tenant_id, s.scope_id, s.patch) end
      from mapped s
     order by s.n)
  select array_agg(row(s.n, s.id, s.workflow_instance_id, s.token_id, s.node_id, s.attempt, s.patch, s.scope_id)::bpm_core.accepted order by s.n) filter (where s.problem is null),
         array_agg(row(row(s.n, s.id, s.workflow_instance_id, s.token_id, s.node_id, s.attempt, s.patch, s.scope_id), s.problem, s.detail)::bpm_core.unmapped)
           filter (where s.problem is not null)
    into v_accepted, v_unmapped
    from mapped s;
  if v_unmapped is not null then
    perform bpm_core.stop_unmapped(p_tenant_id, v_unmapped);
  end if;
  if v_accepted is not null then
    perform bpm_core.continue_accepted(p_tenant_id, v_accepted);
  end if;
  perform bpm_core.apply_error(p_tenant_id, r.payload) from unnest(p_rows) r where r.payload ? 'error';
end
$$;

-- from 50_work/apply_error.sql
-- Under the lock: raises a BPMN error that was parked. Should no boundary catch it any more (the instance was migrated) it is an incident.
-- Writes:   workflow_instance, history_event, and what raise_errors or open_incidents write.
create or replace function bpm_core.apply_error(p_tenant_id text, p_answer jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_task     bpm_core.task_instance;
  v_token    bpm_core.moving;
  v_local    jsonb;
  v_uncaught bpm_core.thrown[];
begin
  select t.* into r_task from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = (p_answer ->> 'task')::uuid;
  v_token := (
    select row(t.tenant_id, t.workflow_instance_id, w.workflow_version_id, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
      from bpm_core.token t
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     where t.tenant_id = p_tenant_id and t.id = r_task.token_id and t.state = 'Waiting' and t.visit = r_task.visit);
  if v_token.token_id is null then
    return;
  end if;
  v_local := bpm_core.local_names(p_tenant_id, r_task.scope_id, p_answer -> 'variables');
  update bpm_core.workflow_instance w
     set lock_version = w.lock_version + 1,
         variables = w.variables || bpm_core.patch_scopes(p_tenant_id, coalesce(r_task.scope_id, bpm_core.root_scope()), p_answer -> 'variables')
   where w.tenant_id = p_tenant_id and w.id = r_task.workflow_instance_id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_tenant_id, r_task.workflow_instance_id, bpm_core.now(), 'ErrorThrown', r_task.token_id, r_task.node_id, r_task.worker_id,
          jsonb_build_object('task', r_task.id, 'attempt', r_task.attempt, 'error', p_answer -> 'error', 'variables', p_answer -> 'variables') || v_local);
  v_uncaught := bpm_core.raise_errors(array[row(1, v_token, p_answer #>> '{error,code}', p_answer #>> '{error,message}')::bpm_core.thrown]);
  perform bpm_core.open_incidents(array(
    select row(u.token, 'UncaughtError', format('Error %s at %s is caught by nobody.', u.code, (u.token).node_id),
               jsonb_build_object('error', p_answer -> 'error'))::bpm_core.trouble
      from unnest(v_uncaught) u));
end
$$;

-- from 50_work/bury_tasks.sql
-- Failed tasks stop their tokens: one incident and one dead letter each, in the transaction of the failure.
-- Their last execution row says what went wrong. Writes: token, incident, dead_letter, history_event.
create or replace function bpm_core.bury_tasks(p_tenant_id text, p_tasks uuid[], p_code text, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_troubles bpm_core.trouble[];
begin
  if coalesce(cardinality(p_tasks), 0) = 0 then
    return;
  end if;
  v_troubles := array(
    select row(row(p_tenant_id, t.workflow_instance_id, w.workflow_version_id, k.scope_id, t.token_id, t.node_id, k.via_flow_id, null)::bpm_core.moving,
               p_code,
               format('Task %s (%s) at %s failed in attempt %s of %s: %s', t.id, t.task_type, t.node_id, t.attempt, t.max_attempts,
                      coalesce(e.error ->> 'message', e.error #>> '{}', 'no reason given')),
               jsonb_build_object('task', t.id, 'task_type', t.task_type, 'attempt', t.attempt, 'error', e.error))::bpm_core.trouble
      from (select p_tenant_id as tenant_id, x.* from unnest(p_tasks) x(id) offset 0) x
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = x.tenant_id and t.id = x.id offset 0) t
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     cross join lateral (select k.scope_id, k.via_flow_id from bpm_core.token k where k.tenant_id = t.tenant_id and k.id = t.token_id offset 0) k
      left join lateral (select e.error from bpm_core.execution e
                          where e.tenant_id = t.tenant_id and e.task_instance_id = t.id and e.attempt = t.attempt offset 0) e on true);
  insert into bpm_core.dead_letter (tenant_id, id, workflow_instance_id, token_id, task_instance_id, incident_id, kind, error, variables, created_at)
  select p_tenant_id, bpm_core.new_id(), i.workflow_instance_id, i.token_id, (i.detail ->> 'task')::uuid, i.id, 'Task',
         coalesce(i.detail -> 'error', 'null'), v.variables, p_now
    from bpm_core.open_incidents(v_troubles) i
   cross join lateral (select t.scope_id from bpm_core.token t where t.tenant_id = i.tenant_id and t.id = i.token_id offset 0) t
   cross join lateral bpm_core.token_variables(p_tenant_id, i.workflow_instance_id, t.scope_id) v;
end
$$;

-- from 50_work/check_claim.sql
-- The arguments every claim of tasks shares.
-- A type named twice would have two positions for one scan.
-- Raises:   BP422 worker, types, limit, lease or request id out of range, a type named twice, or the reserved type of user tasks.
create or replace function bpm_core.check_claim(p_worker text, p_types text[], p_limit integer, p_lease interval, p_request_id text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.check_picker(p_worker, p_limit, p_lease);
  if coalesce(cardinality(p_types), 0) not between 1 and 100
     or (select count(distinct y.task_type) from unnest(p_types) y(task_type)) < cardinality(p_types) then
    perform bpm_core.fail('BP422', 'Name 1 to 100 task types, each once.', jsonb_build_object('types', p_types));
  end if;
  if length(p_request_id) > 300 then
    perform bpm_core.fail('BP422', 'A request id has at most 300 characters.', jsonb_build_object('length', length(p_request_id)));
  end if;
  if 'bpm:user' = any (p_types) then
    perform bpm_core.fail('BP422', 'Tasks of type bpm:user are for people.', null, 'Use bpm.claim_user_task and bpm.complete_user_task.');
  end if;
end
$$;

-- from 50_work/check_items.sql
-- The items of a set-based command, checked for shape: an array of at most 1,000 objects with known keys.
-- Returns:  nothing.
-- Raises:   BP400 not an array of objects, unknown key, missing or ill-formed task_id or fencing_token. BP429 more than 1,000.
create or replace function bpm_core.check_items(p_items jsonb, p_id_key text, p_keys text[])
returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  r_bad record;
begin
  if jsonb_typeof(p_items) is distinct from 'array' then
    perform bpm_core.fail('BP400', 'The items must be a JSON array.', null, format('Pass an array of objects with %s.', array_to_string(p_keys, ', ')));
  elsif jsonb_array_length(p_items) > 1000 then
    perform bpm_core.fail('BP429', format('%s items in one call; at most 1000.', jsonb_array_length(p_items)), null, 'Split the call.');
  end if;
  select i.item, i.n into r_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where case when jsonb_typeof(i.item) <> 'object' then true
              else (i.item ->> p_id_key) is null
                   or (i.item ->> p_id_key) !~* '^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$'
                   or jsonb_typeof(i.item -> 'fencing_token') is distinct from 'number'
                   or (i.item ->> 'fencing_token') !~ '^[0-9]{1,18}$'
                   or i.item - p_keys <> '{}' end
   order by i.n
   limit 1;
  if found then
    perform bpm_core.fail('BP400', format('Item %s is not of the form this call takes.', r_bad.n),
      jsonb_build_object('item', r_bad.n, 'keys', p_keys),
      format('Each item needs %s (uuid) and fencing_token (integer); known keys: %s.', p_id_key, array_to_string(p_keys, ', ')));
  end if;
end
$$;

-- from 50_work/check_picker.sql
-- The arguments every claim shares, of tasks and of commands.
-- Raises:   BP422 worker name, limit or lease out of range.
create or replace function bpm_core.check_picker(p_worker text, p_limit integer, p_lease interval)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(length(btrim(p_worker)), 0) not between 1 and 200 then
    perform bpm_core.fail('BP422', 'The worker needs a name of 1 to 200 characters.', jsonb_build_object('worker', p_worker));
  end if;
  if p_limit is null or p_limit not between 1 and 1000 then
    perform bpm_core.fail('BP422', format('The limit must be 1 to 1000, not %s.', coalesce(p_limit::text, 'null')), jsonb_build_object('limit', p_limit));
  end if;
  if p_lease is not null and p_lease not between interval '1 second' and interval '1 day' then
    perform bpm_core.fail('BP422', format('The lease must be 1 second to 1 day, not %s.', p_lease), jsonb_build_object('lease', p_lease));
  end if;
end
$$;

-- from 50_work/claim_ready_tasks.sql
-- The picker of tasks: locks and leases what is ready in the given slots, slot by slot, oldest first within a slot.
-- Returns:  the task rows as leased, with the number of their slot; suspended marks those to be put back (put_back_claimed). One statement, so that the outer limit stops the walk exactly.
-- Locks:    task_instance, skip locked. Never an instance row.
create or replace function bpm_core.claim_ready_tasks(
  p_tenant_id text, p_worker text, p_slots bpm_core.claim_slot[], p_limit integer, p_lease interval, p_request_id text, p_now timestamptz)
returns setof bpm_core.claimed_task
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
begin
  return query
  with picked as materialized (
    select c.tenant_id, c.id, s.ordinality as slot
      from unnest(p_slots) with ordinality s(task_type, priority_level, from_at, from_id, ordinality)
     cross join lateral (
       select t.tenant_id, t.id
         from bpm_core.task_instance t
        where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = s.task_type and t.priority_level = s.priority_level
          and t.available_at <= p_now and (t.available_at, t.id) > (s.from_at, s.from_id)
        order by t.available_at, t.id
        limit p_limit
          for no key update skip locked) c
     limit p_limit),
  leased as (
    update bpm_core.task_instance t
       set state = 'Executing', attempt = t.attempt + 1, fencing_token = t.fencing_token + 1, worker_id = p_worker, claimed_at = p_now,
           lease_until = p_now + coalesce(p_lease, t.lease), claim_request_id = p_request_id
      from picked p
     where t.tenant_id = p.tenant_id and t.id = p.id
    returning t.*, p.slot)
  select l.slot::integer, l.available_at, l.id, w.process_instance_id, l.workflow_instance_id, p.business_key, l.node_id, l.task_type, l.attempt, l.fencing_token,
         l.lease_until, case when l.scope_id is null then coalesce(w.inputs, p.variables) || w.variables
                             else coalesce(w.inputs, p.variables) || w.variables || bpm_core.scope_variables(l.tenant_id, l.scope_id) end
                        || coalesce(l.input, '{}'),
         coalesce(l.headers, '{}'), w.status = 'Suspended'
    from leased l
   cross join lateral (select w.tenant_id, w.process_instance_id, w.inputs, w.variables, w.status from bpm_core.workflow_instance w
                        where w.tenant_id = l.tenant_id and w.id = l.workflow_instance_id offset 0) w
   cross join lateral (select p.business_key, p.variables from bpm_core.process_instance p
                        where p.tenant_id = w.tenant_id and p.id = w.process_instance_id offset 0) p
   order by l.slot, l.available_at, l.id;
end
$$;

-- from 50_work/claim_tasks.sql
-- Hands out ready tasks to one worker, high priority first, then oldest first, each with a lease and a fencing token.
-- Commit before working on them. Runners that claim again and again use claim_tasks_at, which stays fast under old snapshots.
-- Returns:  one row per claimed task, with the variables it sees and the headers the drawing gives it; none when nothing is due.
-- Raises:   BP403, BP422 worker, types, limit (1..1000) or lease (1 s..1 day) out of range.
-- Writes:   task_instance; execution, where an instance is being suspended. Locks: task_instance, skip locked. Never an instance row.
-- Source:   runtime design, transaction cookbook, "Complete step" and "Deliver".
create or replace function bpm.claim_tasks(
  p_worker text, p_types text[], p_limit integer default 1, p_lease interval default null, p_request_id text default null, p_tenant_id text default '')
returns table (task_id uuid, process_instance_id uuid, workflow_instance_id uuid, business_key text, node_id text, task_type text, attempt integer,
               fencing_token bigint, lease_until timestamptz, variables jsonb, headers jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_claimed bpm_core.claimed_task[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_claim(p_worker, p_types, p_limit, p_lease, p_request_id);
  v_claimed := array(
    select c
      from bpm_core.claim_ready_tasks(
             p_tenant_id, p_worker,
             array(select row(y.task_type, l.level, '-infinity', '00000000-0000-0000-0000-000000000000')::bpm_core.claim_slot
                     from generate_series(0, 2) l(level) cross join unnest(p_types) with ordinality y(task_type, n) order by l.level, y.n),
             p_limit, p_lease, p_request_id, bpm_core.now()) c);
  if exists (select from unnest(v_claimed) c where c.suspended) then
    v_claimed := bpm_core.put_back_claimed(p_tenant_id, v_claimed);
  end if;
  return query
  select c.task_id, c.process_instance_id, c.workflow_instance_id, c.business_key, c.node_id, c.task_type, c.attempt, c.fencing_token,
         c.lease_until, c.variables, c.headers
    from unnest(v_claimed) c;
end
$$;

-- from 50_work/claim_tasks_at.sql
-- Like claim_tasks, from where the caller's positions stand; what runners use. Hand back the positions with the next claim, also after an empty one.
-- After a rolled-back claim drop them.
-- Returns:  one row: tasks jsonb (array of objects with the columns of claim_tasks), positions jsonb (opaque),
--           next_due_at (when the next task of these types becomes ready; null: none known).
-- Raises:   BP403, BP422 as claim_tasks; BP400 positions that are not ours.
-- Writes:   task_instance; execution, where an instance is being suspended. Locks: task_instance, skip locked.
create or replace function bpm.claim_tasks_at(
  p_worker text, p_types text[], p_limit integer default 1, p_lease interval default null, p_request_id text default null,
  p_positions jsonb default null, p_tenant_id text default '')
returns table (tasks jsonb, positions jsonb, next_due_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz;
  v_scans   bpm_core.slot_scan[];
  v_claimed bpm_core.claimed_task[];
  v_handed  bpm_core.claimed_task[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_claim(p_worker, p_types, p_limit, p_lease, p_request_id);
  v_now := bpm_core.now();
  v_scans := bpm_core.open_slots(p_types, p_positions, v_now);
  v_claimed := array(
    select c
      from bpm_core.claim_ready_tasks(
             p_tenant_id, p_worker,
             array(select row(s.task_type, s.priority_level, s.from_at, s.from_id)::bpm_core.claim_slot from unnest(v_scans) s),
             p_limit, p_lease, p_request_id, v_now) c);
  v_handed := v_claimed;
  if exists (select from unnest(v_claimed) c where c.suspended) then
    v_handed := bpm_core.put_back_claimed(p_tenant_id, v_claimed);
  end if;
  tasks := coalesce((
    select jsonb_agg(to_jsonb(c) - '{slot,available_at,suspended}'::text[]) from unnest(v_handed) c), '[]');
  positions := bpm_core.close_slots(v_scans, v_claimed, cardinality(v_claimed) < p_limit, v_now);
  if cardinality(v_claimed) < p_limit then
    next_due_at := bpm_core.next_task_due(p_tenant_id, p_types, v_now);
  end if;
  return next;
end
$$;

-- from 50_work/claim_user_task.sql
-- A person takes a user task. The first wins; taking one's own again changes nothing.
-- Returns:  one row: task_id, outcome Done, assignee.
-- Raises:   BP403, BP404, BP409 somebody else holds it (detail names them) or it is no longer open.
-- Writes:   task_instance, audit_event. Locks: task_instance.
create or replace function bpm.claim_user_task(p_task_id uuid, p_actor text default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, assignee text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  r_task  bpm_core.task_instance;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  r_task := bpm_core.lock_user_task(p_tenant_id, p_task_id);
  if r_task.assignee is distinct from v_actor then
    if r_task.assignee is not null then
      perform bpm_core.fail('BP409', format('User task %s is claimed by %s.', p_task_id, r_task.assignee),
        jsonb_build_object('claimed_by', r_task.assignee));
    end if;
    update bpm_core.task_instance t set assignee = v_actor where t.tenant_id = p_tenant_id and t.id = p_task_id;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'ClaimUserTask', 'task_instance', p_task_id::text);
  end if;
  return query select p_task_id, 'Done'::bpm.outcome, v_actor;
end
$$;

-- from 50_work/close_slots.sql
-- The positions to hand back after a claim. Types that were not asked for this time are dropped: their position would grow stale.
-- A claim that filled its limit has emptied the slots before the one it stopped in and has not looked into those behind it.
-- Returns:  jsonb {task_type: [high, normal, low]}.
create or replace function bpm_core.close_slots(p_scans bpm_core.slot_scan[], p_claimed bpm_core.claimed_task[], p_exhausted boolean, p_began timestamptz)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stopped_in integer := (select max(k.slot) from unnest(p_claimed) k);
begin
  return (
    select jsonb_object_agg(p.task_type, p.positions)
      from (
        select s.task_type,
               jsonb_agg(to_jsonb(bpm_core.pick_end(s.position, s.look_back, s.settled, s.whole, c.last_at, c.last_id,
                                                   p_exhausted or s.n < v_stopped_in, p_began))
                         order by s.priority_level) as positions
          from unnest(p_scans) with ordinality s(task_type, priority_level, from_at, from_id, look_back, settled, whole, position, n)
          left join (
            select distinct on (k.slot) k.slot, k.available_at as last_at, k.task_id as last_id
              from unnest(p_claimed) k
             order by k.slot, k.available_at desc, k.task_id desc) c on c.slot = s.n
         group by s.task_type) p);
end
$$;

-- from 50_work/close_tasks.sql
-- Cancels the live tasks of these tokens; a running attempt ends as Cancelled, its worker hears so at the next heartbeat or answer.
-- Writes:   task_instance, execution, history_event.
create or replace function bpm_core.close_tasks(p_hosts bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz;
begin
  perform bpm_core.lock_tasks((p_hosts[1]).tenant_id, array(
    select t.id
      from unnest(p_hosts) h
     cross join lateral (select t.tenant_id, t.id, t.state from bpm_core.task_instance t
                          where t.workflow_instance_id = h.instance_id and t.token_id = h.token_id offset 0) t
     where t.tenant_id = h.tenant_id and t.state in ('Ready', 'Executing', 'Held', 'Failed')));
  -- Read after the locks: a claim may have come in between, and its attempt must not end before it began.
  v_now := bpm_core.now();
  with live as materialized (
    select t.tenant_id, t.id, t.state as before
      from unnest(p_hosts) h
     cross join lateral (select t.tenant_id, t.id, t.state from bpm_core.task_instance t
                          where t.workflow_instance_id = h.instance_id and t.token_id = h.token_id offset 0) t
     where t.tenant_id = h.tenant_id and t.state in ('Ready', 'Executing', 'Held', 'Failed')),
  closed as (
    update bpm_core.task_instance t
       set state = 'Cancelled'
      from live l
     where t.tenant_id = l.tenant_id and t.id = l.id
    returning t.*, l.before),
  executed as (
    insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
    select c.tenant_id, c.id, c.attempt, c.worker_id, c.fencing_token, c.claimed_at, c.lease_until, v_now, 'Cancelled', 'Cancelled'
      from closed c
     where c.before = 'Executing')
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  select c.tenant_id, c.workflow_instance_id, v_now, 'TaskCancelled', c.token_id, c.node_id, c.before::text, 'Cancelled', jsonb_build_object('task', c.id)
    from closed c;
end
$$;

-- from 50_work/complete_task.sql
-- Completes one task. The single form of complete_tasks: what is an outcome there is an error here.
-- Returns:  one row: task_id, outcome Completed (also for an unchanged repeat), instance_status.
-- Raises:   BP404 no such task; BP409 completed before with another answer; BP410 the lease is lost; BP422 variables or result refused; else as complete_tasks.
create or replace function bpm.complete_task(
  p_task_id uuid, p_fencing_token bigint, p_variables jsonb default '{}', p_result jsonb default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  r_done record;
begin
  select c.* into r_done
    from bpm.complete_tasks(
      jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('task_id', p_task_id, 'fencing_token', p_fencing_token)) ||
        jsonb_build_object('variables', p_variables) || case when p_result is null then '{}' else jsonb_build_object('result', p_result) end),
      p_tenant_id) c;
  if r_done.outcome <> 'Completed' then
    perform bpm_core.raise_outcome('task', p_task_id, r_done.outcome, 'Completed',
      coalesce(bpm_core.variables_fault(coalesce(p_variables, '{}')), bpm_core.result_fault(p_result)));
  end if;
  return query select r_done.task_id, r_done.outcome, r_done.instance_status;
end
$$;

-- from 50_work/complete_tasks.sql
-- Completes tasks their caller holds: the result is kept, the variables named are patched, the tokens go on. All in one transaction.
-- While an instance is suspended (instance_status says so) its answers are kept and counted all the same; the rest follows on resume.
-- p_items: [{"task_id", "fencing_token", "variables": {…}, "result": any}], at most 1,000.
-- Returns:  one row per item: item (from 1), task_id, outcome (Completed also for an unchanged repeat; LeaseLost, Conflict, Cancelled, Rejected,
--           WrongState, NotFound), instance_status.
-- Raises:   BP400 ill-formed items, BP403, BP429 too many items. 55P03, 40P01: repeat the call.
-- Writes:   per ordinary step: workflow_instance, task_instance, execution, result, history_event, token, next task_instance.
-- Locks:    workflow_instance, then task_instance, both sorted.
-- Source:   runtime design, transaction cookbook, "Complete step"; kernel design, 9.1.
create or replace function bpm.complete_tasks(p_items jsonb, p_tenant_id text default '')
returns table (item integer, task_id uuid, outcome bpm.outcome, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_answers   bpm_core.answer[];
  v_suspended uuid[];
  v_accepted  bpm_core.accepted[];
  v_going     bpm_core.accepted[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_answers := bpm_core.parse_answers(p_items);
  v_suspended := bpm_core.lock_instances_of_tasks(p_tenant_id, array(select a.task_id from unnest(v_answers) a));
  v_accepted := bpm_core.accept_answers(p_tenant_id, v_answers, v_suspended, bpm_core.now());
  v_going := case when v_suspended = '{}' then v_accepted else bpm_core.park_answers(p_tenant_id, v_accepted, v_suspended) end;
  if cardinality(v_going) > 0 then
    perform bpm_core.continue_accepted(p_tenant_id, v_going);
  end if;
  return query
  select a.item, a.task_id,
         case when a.item = any (v.items) then 'Completed'::bpm.outcome else bpm_core.answer_outcome(p_tenant_id, a.answer) end,
         w.status::text
    from (select p_tenant_id as tenant_id, a.item, a.task_id, a as answer from unnest(v_answers) a offset 0) a
   cross join (select array(select c.item from unnest(v_accepted) c)) v(items)
    left join lateral (select t.tenant_id, t.workflow_instance_id from bpm_core.task_instance t
                        where t.tenant_id = a.tenant_id and t.id = a.task_id offset 0) t on true
    left join lateral (select w.status from bpm_core.workflow_instance w
                        where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w on true
   order by a.item;
end
$$;

-- from 50_work/complete_user_task.sql
-- A person completes a user task: the variables named are patched, the token goes on. An unclaimed one is claimed by completing it.
-- Returns:  one row: task_id, outcome Completed (also for an unchanged repeat by the same person), instance_status.
-- Raises:   BP403, BP404, BP409 somebody else holds it, or it was completed with something else, or is closed; BP422 variables refused; BP423 suspended.
-- Writes:   as an ordinary step, and audit_event. Locks: workflow_instance, then task_instance.
create or replace function bpm.complete_user_task(p_task_id uuid, p_variables jsonb default '{}', p_actor text default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  v_accepted bpm_core.accepted;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  p_variables := coalesce(p_variables, '{}');
  if bpm_core.variables_fault(p_variables) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_variables));
  end if;
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array[p_task_id]);
  if not bpm_core.is_completed_by(p_tenant_id, p_task_id, v_actor, p_variables) then
    v_accepted := bpm_core.accept_user_task(bpm_core.lock_user_task(p_tenant_id, p_task_id), p_variables, v_actor);
    if v_accepted.task_id is not null then
      perform bpm_core.continue_accepted(p_tenant_id, array[v_accepted]);
    end if;
  end if;
  return query
  select p_task_id, 'Completed'::bpm.outcome, w.status::text
    from bpm_core.task_instance t
   cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.tenant_id = p_tenant_id and t.id = p_task_id;
end
$$;

-- from 50_work/continue_accepted.sql
-- Moves the tokens of accepted tasks on: patches merged per instance in item order (what a scope declares goes there), what else waited on the token
-- closed, then advance.
-- Writes:   workflow_instance once, scope, and whatever the nodes ahead write.
create or replace function bpm_core.continue_accepted(p_tenant_id text, p_accepted bpm_core.accepted[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_accepted bpm_core.accepted[] := p_accepted;
begin
  if exists (select from unnest(p_accepted) a where a.scope_id is not null) then
    v_accepted := array(
      select row(a.item, a.task_id, a.instance_id, a.token_id, a.node_id, a.attempt,
                 case when a.scope_id is null then a.variables else bpm_core.patch_scopes(p_tenant_id, a.scope_id, a.variables) end,
                 a.scope_id)::bpm_core.accepted
        from (select a.* from unnest(p_accepted) a order by a.item offset 0) a);
  end if;
  update bpm_core.workflow_instance w
     set lock_version = w.lock_version + 1, variables = w.variables || p.patch
    from (select p_tenant_id as tenant_id, a.instance_id, bpm_core.jsonb_merge(a.variables order by a.item) as patch
            from unnest(v_accepted) a group by a.instance_id) p
   where w.tenant_id = p.tenant_id and w.id = p.instance_id;
  perform bpm_core.close_events(p_tenant_id, array(select a.token_id from unnest(p_accepted) a));
  perform bpm_core.advance_isolated(array(
    select row(p_tenant_id, a.instance_id, w.workflow_version_id, coalesce(a.scope_id, bpm_core.root_scope()), a.token_id, a.node_id, null, null)::bpm_core.moving
      from (select p_tenant_id as tenant_id, a.* from unnest(p_accepted) a offset 0) a
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = a.tenant_id and w.id = a.instance_id offset 0) w
     order by a.item));
end
$$;

-- from 50_work/discard_dead_letter.sql
-- Closes a dead letter without doing its work again. The incident stays open: the token still stands there.
-- Returns:  one row: dead_letter_id, outcome Done (also when it was discarded before).
-- Raises:   BP403, BP404, BP409 it was requeued, BP422 reason too long.
-- Writes:   dead_letter, audit_event.
create or replace function bpm.discard_dead_letter(p_dead_letter_id uuid, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (dead_letter_id uuid, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_state bpm_core.dead_letter_state;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if length(p_reason) > 4000 then
    perform bpm_core.fail('BP422', format('The reason has %s characters; at most 4000.', length(p_reason)), jsonb_build_object('length', length(p_reason)));
  end if;
  select d.state into v_state from bpm_core.dead_letter d where d.tenant_id = p_tenant_id and d.id = p_dead_letter_id for no key update;
  if not found then
    perform bpm_core.fail('BP404', format('There is no dead letter %s.', p_dead_letter_id));
  elsif v_state = 'Requeued' then
    perform bpm_core.fail('BP409', 'The dead letter was requeued.');
  elsif v_state = 'Open' then
    update bpm_core.dead_letter d
       set state = 'Discarded', closed_by = v_actor, closed_at = bpm_core.now()
     where d.tenant_id = p_tenant_id and d.id = p_dead_letter_id;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'DiscardDeadLetter', 'dead_letter', p_dead_letter_id::text, null, p_reason);
  end if;
  return query select p_dead_letter_id, 'Done'::bpm.outcome;
end
$$;

-- from 50_work/end_task_in_error.sql
-- Under the locks: ends the running attempt with a BPMN error and raises it. The variables it brought are patched first. One that
-- somebody will catch is parked while the instance is suspended (p_suspended).
-- Returns:  outcome: Done when somebody caught it, Failed when none did (task and token Failed, incident, dead letter).
-- Writes:   task_instance, execution, workflow_instance, history_event, and what follows.
create or replace function bpm_core.end_task_in_error(p_task bpm_core.task_instance, p_error jsonb, p_variables jsonb, p_suspended boolean)
returns bpm.outcome
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_token  bpm_core.moving;
  v_caught boolean;
  v_local  jsonb := bpm_core.local_names(p_task.tenant_id, p_task.scope_id, p_variables);
begin
  v_token := (
    select row(t.tenant_id, t.workflow_instance_id, w.workflow_version_id, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
    from bpm_core.token t
   cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.tenant_id = p_task.tenant_id and t.id = p_task.token_id);
  v_caught := bpm_core.is_caught(v_token, p_error ->> 'code');
  if v_caught and p_suspended then
    perform bpm_core.park_error(p_task, p_error, p_variables);
    return 'Done'::bpm.outcome;
  end if;
  update bpm_core.workflow_instance w
     set lock_version = w.lock_version + 1,
         variables = w.variables || bpm_core.patch_scopes(p_task.tenant_id, coalesce(p_task.scope_id, bpm_core.root_scope()), p_variables)
   where w.tenant_id = p_task.tenant_id and w.id = p_task.workflow_instance_id;
  update bpm_core.task_instance t
     set state = case when v_caught then 'Cancelled' else 'Failed' end::bpm_core.task_state
   where t.tenant_id = p_task.tenant_id and t.id = p_task.id;
  insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome, error)
  values (p_task.tenant_id, p_task.id, p_task.attempt, p_task.worker_id, p_task.fencing_token, p_task.claimed_at, p_task.lease_until, v_now, 'Failed',
          case when v_caught then 'Done' else 'Failed' end::bpm.outcome, p_error);
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_task.tenant_id, p_task.workflow_instance_id, v_now, 'ErrorThrown', p_task.token_id, p_task.node_id, p_task.worker_id,
          jsonb_build_object('task', p_task.id, 'attempt', p_task.attempt, 'error', p_error - 'variables', 'variables', p_variables)
          || v_local);
  if v_caught then
    perform bpm_core.raise_errors(array[row(1, v_token, p_error ->> 'code', p_error ->> 'message')::bpm_core.thrown]);
    return 'Done'::bpm.outcome;
  end if;
  perform bpm_core.bury_tasks(p_task.tenant_id, array[p_task.id], 'UncaughtError', v_now);
  perform bpm_core.recheck_conditions(p_task.tenant_id, array[p_task.workflow_instance_id]);
  return 'Failed'::bpm.outcome;
end
$$;

-- from 50_work/enter_service_tasks.sql
-- KIND service task: the token rests, a task is offered. The row that made the token leave its last node tells history where it went.
-- Returns:  moving[], the message waits of its boundary events. Writes: token, task_instance; timer where the task has boundary timers;
--           incident where an expression of the task cannot be evaluated: then nothing is offered.
create or replace function bpm_core.enter_service_tasks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_troubles bpm_core.trouble[];
begin
  with rested as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, steps = 0, version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id
    returning a::bpm_core.moving as token, a.tenant_id, a.instance_id, a.scope_id, a.token_id, a.node_id, a.version_id, t.visit),
  offer as materialized (
    select r.*, b.task_version_id, b.task_type, b.priority_level, b.max_attempts, b.lease, b.headers,
           b.expressions -> 'outputs' as outputs, s as settings
      from rested r
     cross join lateral (select b.* from bpm_core.workflow_task_binding b
                          where b.tenant_id = r.tenant_id and b.workflow_version_id = r.version_id and b.node_id = r.node_id offset 0) b
      left join lateral (
        select s.*
          from bpm_core.token_variables(r.tenant_id, r.instance_id, r.scope_id) v
         cross join lateral bpm_core.task_settings(b.expressions, v.variables) s
         where b.expressions is not null offset 0) s on true),
  offered as (
    insert into bpm_core.task_instance (
      tenant_id, id, workflow_instance_id, token_id, scope_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease,
      input, outputs, headers, due_at, follow_up_at)
    select o.tenant_id, bpm_core.new_id(), o.instance_id, o.token_id, nullif(o.scope_id, bpm_core.root_scope()), o.visit, o.node_id, o.task_version_id, o.task_type,
           coalesce((o.settings).priority_level, o.priority_level), bpm_core.now(), o.max_attempts, o.lease,
           (o.settings).input, o.outputs, o.headers, (o.settings).due_at, (o.settings).follow_up_at
      from offer o
     where (o.settings).problem is null)
  select array_agg(bpm_core.task_trouble(o.token, (o.settings).problem, (o.settings).detail))
    into v_troubles
    from offer o
   where (o.settings).problem is not null;
  if v_troubles is null then
    return bpm_core.arm_boundaries(p_arriving);
  end if;
  perform bpm_core.open_incidents(v_troubles);
  return bpm_core.arm_boundaries(array(select a from unnest(p_arriving) a where a.token_id <> all (array(select (x.token).token_id from unnest(v_troubles) x))));
end
$$;

-- from 50_work/enter_user_tasks.sql
-- KIND user task: the token rests, a person's work item is offered. Its task type is bpm:user, which workers cannot claim.
-- Returns:  moving[], the message waits of its boundary events. Writes: token, task_instance; timer where the task has boundary timers;
--           incident where an expression of the task cannot be evaluated: then nothing is offered.
create or replace function bpm_core.enter_user_tasks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_troubles bpm_core.trouble[];
begin
  with rested as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, steps = 0, version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id
    returning a::bpm_core.moving as token, a.tenant_id, a.instance_id, a.scope_id, a.token_id, a.node_id, a.version_id, t.visit),
  offer as materialized (
    select r.*, b.task_version_id, b.task_type, b.priority_level, b.max_attempts, b.lease, b.assignee, b.candidate_groups, b.headers,
           b.expressions -> 'outputs' as outputs, s as settings
      from rested r
     cross join lateral (select b.* from bpm_core.workflow_task_binding b
                          where b.tenant_id = r.tenant_id and b.workflow_version_id = r.version_id and b.node_id = r.node_id offset 0) b
      left join lateral (
        select s.*
          from bpm_core.token_variables(r.tenant_id, r.instance_id, r.scope_id) v
         cross join lateral bpm_core.task_settings(b.expressions, v.variables) s
         where b.expressions is not null offset 0) s on true),
  offered as (
    insert into bpm_core.task_instance (
      tenant_id, id, workflow_instance_id, token_id, scope_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease,
      input, outputs, headers, assignee, candidate_groups, candidate_users, due_at, follow_up_at)
    select o.tenant_id, bpm_core.new_id(), o.instance_id, o.token_id, nullif(o.scope_id, bpm_core.root_scope()), o.visit, o.node_id, o.task_version_id, o.task_type,
           coalesce((o.settings).priority_level, o.priority_level), bpm_core.now(), o.max_attempts, o.lease,
           (o.settings).input, o.outputs, o.headers, coalesce(o.assignee, (o.settings).assignee), coalesce((o.settings).candidate_groups, o.candidate_groups), (o.settings).candidate_users, (o.settings).due_at, (o.settings).follow_up_at
      from offer o
     where (o.settings).problem is null)
  select array_agg(bpm_core.task_trouble(o.token, (o.settings).problem, (o.settings).detail))
    into v_troubles
    from offer o
   where (o.settings).problem is not null;
  if v_troubles is null then
    return bpm_core.arm_boundaries(p_arriving);
  end if;
  perform bpm_core.open_incidents(v_troubles);
  return bpm_core.arm_boundaries(array(select a from unnest(p_arriving) a where a.token_id <> all (array(select (x.token).token_id from unnest(v_troubles) x))));
end
$$;

-- from 50_work/extend_leases.sql
-- Heartbeat: lengthens leases their caller still holds, from now on.
-- p_items: [{"task_id", "fencing_token"}], at most 1,000. p_lease null: as long as the lease was when claimed by default (the task version's).
-- Returns:  one row per item: item, task_id, outcome (Extended, LeaseLost, Cancelled, NotFound), lease_until.
-- Raises:   BP400 ill-formed items, BP403, BP422 lease out of range, BP429.
-- Writes:   task_instance.
-- Locks:    workflow_instance, then task_instance, both sorted. Without the instances a command that closes other tasks of an instance
--           would stand in a cycle with this one, which holds several of them.
create or replace function bpm.extend_leases(p_items jsonb, p_lease interval default null, p_tenant_id text default '')
returns table (item integer, task_id uuid, outcome bpm.outcome, lease_until timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_now timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_items(p_items, 'task_id', '{task_id,fencing_token}');
  perform bpm_core.check_picker('extend_leases', 1, p_lease);
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array(select (i ->> 'task_id')::uuid from jsonb_array_elements(p_items) i));
  v_now := bpm_core.now();
  with held as materialized (
    select distinct t.tenant_id, t.id
      from jsonb_array_elements(p_items) i(item)
     cross join lateral (select t.tenant_id, t.id, t.state, t.fencing_token, t.lease_until from bpm_core.task_instance t
                          where t.tenant_id = p_tenant_id and t.id = (i.item ->> 'task_id')::uuid offset 0) t
     where t.state = 'Executing' and t.fencing_token = (i.item ->> 'fencing_token')::bigint and t.lease_until > v_now)
  update bpm_core.task_instance t
     set lease_until = greatest(t.lease_until, v_now + coalesce(p_lease, t.lease))
    from held h
   where t.tenant_id = h.tenant_id and t.id = h.id;
  return query
  select i.n::integer, (i.item ->> 'task_id')::uuid,
         case when t.id is null then 'NotFound'
              when t.state = 'Cancelled' then 'Cancelled'
              when t.state = 'Executing' and t.fencing_token = (i.item ->> 'fencing_token')::bigint and t.lease_until > v_now then 'Extended'
              else 'LeaseLost' end::bpm.outcome,
         case when t.state = 'Executing' and t.fencing_token = (i.item ->> 'fencing_token')::bigint then t.lease_until end
    from (select p_tenant_id as tenant_id, i.* from jsonb_array_elements(p_items) with ordinality i(item, n) offset 0) i
    left join bpm_core.task_instance t on t.tenant_id = i.tenant_id and t.id = (i.item ->> 'task_id')::uuid
   order by i.n;
end
$$;

-- from 50_work/fail_task.sql
-- Says that one attempt failed. The single form of fail_tasks.
-- Returns:  one row: task_id, outcome (Retrying or Failed), next_attempt_at.
-- Raises:   BP404, BP409, BP410 lease lost; else as fail_tasks.
create or replace function bpm.fail_task(
  p_task_id uuid, p_fencing_token bigint, p_error jsonb, p_retryable boolean default true, p_retry_in interval default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, next_attempt_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  r_done record;
begin
  select f.* into r_done
    from bpm.fail_tasks(
      jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'task_id', p_task_id, 'fencing_token', p_fencing_token, 'retryable', p_retryable, 'retry_in_seconds', extract(epoch from p_retry_in)))
        || jsonb_build_object('error', p_error)),
      p_tenant_id) f;
  if r_done.outcome <> 'Retrying' then
    perform bpm_core.raise_outcome('task', p_task_id, r_done.outcome, 'Failed');
  end if;
  return query select r_done.task_id, r_done.outcome, r_done.next_attempt_at;
end
$$;

-- from 50_work/fail_tasks.sql
-- Says that attempts failed. With attempts left the task is ready again after its backoff, else it becomes a dead letter and an incident.
-- p_items: [{"task_id", "fencing_token", "error": text or object, "retryable": true, "retry_in_seconds": n}], at most 1,000.
-- Returns:  one row per item: item, task_id, outcome (Retrying, Failed; also for an unchanged repeat; LeaseLost, Cancelled, Conflict, NotFound), next_attempt_at.
-- Raises:   BP400 ill-formed items, BP403, BP429.
-- Writes:   task_instance, execution, history_event; when exhausted token, incident, dead_letter.
-- Locks:    workflow_instance, then task_instance, both sorted.
create or replace function bpm.fail_tasks(p_items jsonb, p_tenant_id text default '')
returns table (item integer, task_id uuid, outcome bpm.outcome, next_attempt_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_failures bpm_core.failure[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_failures := bpm_core.parse_failures(p_items);
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array(select f.task_id from unnest(v_failures) f));
  perform bpm_core.settle_failures(p_tenant_id, v_failures, false, bpm_core.now());
  -- Every item is answered from the attempt its token names; only that of the attempt which failed hears when the next begins.
  return query
  select f.item, f.task_id, o.outcome, case when o.outcome = 'Retrying' and t.state = 'Ready' then t.available_at end
    from (select p_tenant_id as tenant_id, f.item, f.task_id, f as failure from unnest(v_failures) f offset 0) f
   cross join lateral bpm_core.failure_outcome(f.tenant_id, f.failure) o(outcome)
    left join bpm_core.task_instance t on t.tenant_id = f.tenant_id and t.id = f.task_id
   order by f.item;
end
$$;

-- from 50_work/failure_outcome.sql
-- What to tell a worker of the failure it reported: what the attempt its token names ended with, also when others have tried since.
-- Something else than it said then is a conflict; an attempt that ended otherwise is lost.
-- Returns:  outcome.
create or replace function bpm_core.failure_outcome(p_tenant_id text, p_failure bpm_core.failure)
returns bpm.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_state bpm_core.task_state;
  r_run   bpm_core.execution;
begin
  select t.state into v_state from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = p_failure.task_id;
  if not found then
    return 'NotFound'::bpm.outcome;
  end if;
  select e.* into r_run
    from bpm_core.execution e
   where e.tenant_id = p_tenant_id and e.task_instance_id = p_failure.task_id and e.fencing_token = p_failure.fencing_token;
  return case
    when r_run.state = 'Failed' and r_run.error = p_failure.error then r_run.outcome
    when r_run.state in ('Failed', 'Succeeded') then 'Conflict'::bpm.outcome
    when v_state = 'Cancelled' then 'Cancelled'::bpm.outcome
    else 'LeaseLost'::bpm.outcome end;
end
$$;

-- from 50_work/hold_tasks.sql
-- Holds tasks of an instance that nobody has in hand (p_hold), or lets held ones be handed out again, each when its pause is over. Tasks in
-- hand are left alone. The instance is locked.
-- Returns:  integer, how many were found; at most p_limit. Writes: task_instance, history_event. Locks: task_instance.
create or replace function bpm_core.hold_tasks(p_tenant_id text, p_instance_id uuid, p_hold boolean, p_limit integer)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_from  constant bpm_core.task_state := case when p_hold then 'Ready' else 'Held' end::bpm_core.task_state;
  v_to    constant bpm_core.task_state := case when p_hold then 'Held' else 'Ready' end::bpm_core.task_state;
  v_found uuid[];
begin
  v_found := array(
    select t.id
      from (select t.tenant_id, t.id, t.state from bpm_core.task_instance t where t.workflow_instance_id = p_instance_id offset 0) t
     where t.tenant_id = p_tenant_id and t.state = v_from
     limit p_limit);
  if cardinality(v_found) = 0 then
    return 0;
  end if;
  -- A claim may have one of them just now: waited for, then looked at again.
  perform bpm_core.lock_tasks(p_tenant_id, v_found);
  with standing as materialized (
    select t.tenant_id, t.id
      from unnest(v_found) k(id)
     cross join lateral (select t.tenant_id, t.id, t.state from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t
     where t.state = v_from),
  turned as (
    update bpm_core.task_instance t
       set state = v_to, available_at = case when p_hold then t.available_at else greatest(t.available_at, bpm_core.now()) end
      from standing s
     where t.tenant_id = s.tenant_id and t.id = s.id
    returning t.id, t.token_id, t.node_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  select p_tenant_id, p_instance_id, bpm_core.now(), case when p_hold then 'TaskHeld' else 'TaskReleased' end::bpm_core.history_kind,
         t.token_id, t.node_id, v_from::text, v_to::text, jsonb_build_object('task', t.id)
    from turned t;
  return cardinality(v_found);
end
$$;

-- from 50_work/is_completed_by.sql
-- Did this person complete this user task before, with the same variables?
-- Returns:  boolean.
create or replace function bpm_core.is_completed_by(p_tenant_id text, p_task_id uuid, p_actor text, p_variables jsonb)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return exists (
    select
      from bpm_core.task_instance t
      join bpm_core.result r on r.tenant_id = t.tenant_id and r.task_instance_id = t.id and r.attempt = t.attempt
     where t.tenant_id = p_tenant_id and t.id = p_task_id and t.state = 'Completed' and t.task_type = 'bpm:user'
       and t.worker_id = p_actor and r.content_hash = bpm_core.answer_hash(p_variables, null));
end
$$;

-- from 50_work/lock_instances_of_tasks.sql
-- Locks the instances of tasks and then the tasks. A task's instance never changes and may be read without a lock.
-- Returns:  uuid[], those of the instances that are suspended. Locks: workflow_instance, then task_instance.
create or replace function bpm_core.lock_instances_of_tasks(p_tenant_id text, p_tasks uuid[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_suspended uuid[];
begin
  v_suspended := bpm_core.lock_instances(p_tenant_id, array(
    select t.workflow_instance_id
      from (select p_tenant_id as tenant_id, k.* from unnest(p_tasks) k(id) offset 0) k
      join bpm_core.task_instance t on t.tenant_id = k.tenant_id and t.id = k.id));
  perform bpm_core.lock_tasks(p_tenant_id, p_tasks);
  return v_suspended;
end
$$;

-- from 50_work/lock_tasks.sql
-- Locks tasks in the order of their ids, after their instances: the second act of every command on tasks.
-- Returns:  nothing. Locks: task_instance, for no key update.
create or replace function bpm_core.lock_tasks(p_tenant_id text, p_tasks uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform 1
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_tasks) k(id) order by k.id offset 0) k
    cross join lateral (
      select
        from bpm_core.task_instance t
       where t.tenant_id = k.tenant_id and t.id = k.id
         for no key update) t;
end
$$;

-- from 50_work/lock_user_task.sql
-- Locks a user task that is open.
-- Returns:  task_instance.
-- Raises:   BP404 there is none, BP409 it is not open any more, BP423 it is held: its instance is suspended.
create or replace function bpm_core.lock_user_task(p_tenant_id text, p_task_id uuid)
returns bpm_core.task_instance
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_task bpm_core.task_instance;
begin
  select t.* into r_task
    from bpm_core.task_instance t
   where t.tenant_id = p_tenant_id and t.id = p_task_id
     for no key update;
  if r_task.id is null or r_task.task_type <> 'bpm:user' then
    perform bpm_core.fail('BP404', format('There is no user task %s.', p_task_id), null, 'People''s tasks are those of type bpm:user in the view bpm.task.');
  elsif r_task.state = 'Held' then
    perform bpm_core.fail('BP423', format('User task %s is held: its instance is suspended.', p_task_id), null, 'Resume it first.');
  elsif r_task.state <> 'Ready' then
    perform bpm_core.fail('BP409',
      format('User task %s is %s%s.', p_task_id, r_task.state, case when r_task.state = 'Completed' then ', answered by ' || r_task.worker_id else '' end),
      jsonb_strip_nulls(jsonb_build_object('state', r_task.state, 'by', r_task.worker_id)), 'It is no longer open; an answer counts once.');
  end if;
  return r_task;
end
$$;

-- from 50_work/mapped_outputs.sql
-- What a completed task's output mappings make of what it brought: they see the variables, its inputs, and that, the nearest last.
-- Returns:  one row: patch, or problem and detail, which keeps what was brought, so that resolving the incident maps it again.
create or replace function bpm_core.mapped_outputs(
  p_tenant_id text, p_instance_id uuid, p_scope_id uuid, p_outputs jsonb, p_input jsonb, p_brought jsonb, out patch jsonb, out problem text, out detail jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  select m.mapped, m.problem, m.detail || jsonb_build_object('brought', p_brought)
    into patch, problem, detail
    from bpm_core.token_variables(p_tenant_id, p_instance_id, coalesce(p_scope_id, bpm_core.root_scope())) v
   cross join lateral bpm_core.map_values(p_outputs, v.variables || coalesce(p_input, '{}') || p_brought) m;
end
$$;

-- from 50_work/moment_of.sql
-- The moment a value names: an ISO 8601 date with or without time, or a duration from now.
-- Returns:  timestamptz; null when it is neither.
create or replace function bpm_core.moment_of(p_value jsonb)
returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when jsonb_typeof(p_value) = 'string'
    then coalesce(bpm_core.parse_timestamp(p_value #>> '{}'), bpm_core.now() + bpm_core.parse_duration(p_value #>> '{}')) end;
end
$$;

-- from 50_work/next_due.sql
-- When should a worker of these types ask again?
-- Returns:  timestamptz: now when something is ready, else when the next task becomes ready; null when none is planned.
-- Raises:   BP403, BP422 types.
create or replace function bpm.next_due(p_types text[], p_tenant_id text default '')
returns timestamptz
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_due timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  perform bpm_core.check_claim('next_due', p_types, 1, null, null);
  v_due := bpm_core.next_task_due(p_tenant_id, p_types, '-infinity');
  -- greatest() passes over nulls: without the question an empty queue would be due now.
  return case when v_due is not null then greatest(v_due, bpm_core.now()) end;
end
$$;

-- from 50_work/next_task_due.sql
-- When does the next task of these types become ready after p_after?
-- Returns:  timestamptz, null when none is planned.
create or replace function bpm_core.next_task_due(p_tenant_id text, p_types text[], p_after timestamptz)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
begin
  return (
    select min(c.available_at)
      from unnest(p_types) y(task_type)
     cross join generate_series(0, 2) l(level)
     cross join lateral (
       select t.available_at
         from bpm_core.task_instance t
        where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = y.task_type and t.priority_level = l.level and t.available_at > p_after
        order by t.available_at
        limit 1) c);
end
$$;

-- from 50_work/offer_tasks.sql
-- Offers the task of the node each resting token stands on, for the token's present visit: what an approval grants.
-- What cannot be evaluated stops the token; what waited on it is closed.
-- Writes:   task_instance; incident and what close_waits writes.
create or replace function bpm_core.offer_tasks(p_tenant_id text, p_tokens uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_troubles bpm_core.trouble[];
begin
  with offer as materialized (
    select t.*, w.workflow_version_id, b.task_version_id, b.task_type, b.priority_level, b.max_attempts, b.lease, b.assignee, b.candidate_groups, b.headers,
           b.expressions -> 'outputs' as outputs, s as settings
      from (select p_tenant_id as tenant_id, k.* from unnest(p_tokens) k(id) offset 0) k
     cross join lateral (select t.* from bpm_core.token t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     cross join lateral (select b.* from bpm_core.workflow_task_binding b
                          where b.tenant_id = t.tenant_id and b.workflow_version_id = w.workflow_version_id and b.node_id = t.node_id offset 0) b
      left join lateral (
        select s.*
          from bpm_core.token_variables(t.tenant_id, t.workflow_instance_id, t.scope_id) v
         cross join lateral bpm_core.task_settings(b.expressions, v.variables) s
         where b.expressions is not null offset 0) s on true),
  offered as (
    insert into bpm_core.task_instance (
      tenant_id, id, workflow_instance_id, token_id, scope_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease,
      input, outputs, headers, due_at, follow_up_at)
    select o.tenant_id, bpm_core.new_id(), o.workflow_instance_id, o.id, nullif(o.scope_id, bpm_core.root_scope()), o.visit, o.node_id, o.task_version_id,
           o.task_type, coalesce((o.settings).priority_level, o.priority_level), bpm_core.now(), o.max_attempts, o.lease,
           (o.settings).input, o.outputs, o.headers, (o.settings).due_at, (o.settings).follow_up_at
      from offer o
     where (o.settings).problem is null)
  select array_agg(bpm_core.task_trouble(
           row(o.tenant_id, o.workflow_instance_id, o.workflow_version_id, o.scope_id, o.id, o.node_id, o.via_flow_id, null)::bpm_core.moving,
           (o.settings).problem, (o.settings).detail))
    into v_troubles
    from offer o
   where (o.settings).problem is not null;
  if v_troubles is not null then
    perform bpm_core.close_waits(array(select x.token from unnest(v_troubles) x));
    perform bpm_core.open_incidents(v_troubles);
  end if;
end
$$;

-- from 50_work/open_slots.sql
-- The slots of a claim (task type × priority level, high first) with where each scan begins.
-- Returns:  slot_scan[] in claim order.
-- Raises:   BP400 positions of another shape.
create or replace function bpm_core.open_slots(p_types text[], p_positions jsonb, p_now timestamptz)
returns bpm_core.slot_scan[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.check_positions(p_positions, 'array');
  return array(
    select row(y.task_type, l.level, s.from_at, s.from_id, s.look_back, s.settled, s.whole, k.position)::bpm_core.slot_scan
      from generate_series(0, 2) l(level)
     cross join unnest(p_types) with ordinality y(task_type, n)
     -- Fenced: pulled up, each position would be read twice.
     cross join lateral (select bpm_core.read_position(p_positions -> y.task_type -> l.level) offset 0) k(position)
     cross join lateral bpm_core.pick_start(k.position, p_now) s
     order by l.level, y.n);
end
$$;

-- from 50_work/park_answers.sql
-- Parks accepted answers of suspended instances in the inbox, one row for those of one call: kept and counted now, their tokens go on after
-- resume. What else waited on the tokens is closed: an answer that was accepted is not overtaken by a timer that came due meanwhile.
-- Returns:  accepted[], those of the other instances. Writes: inbox, and what close_events writes.
create or replace function bpm_core.park_answers(p_tenant_id text, p_accepted bpm_core.accepted[], p_suspended uuid[])
returns bpm_core.accepted[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select p_tenant_id, bpm_core.inbox_id(p.instance_id), 'WorkflowInstance', p.instance_id, 'Answer', jsonb_build_object('answers', p.answers), 'infinity'
    from (select a.instance_id,
                 jsonb_agg(jsonb_build_object('task', a.task_id, 'token', a.token_id, 'variables', a.variables) order by a.item) as answers
            from unnest(p_accepted) a
           where a.instance_id = any (p_suspended)
           group by a.instance_id) p;
  perform bpm_core.close_events(p_tenant_id, array(select a.token_id from unnest(p_accepted) a where a.instance_id = any (p_suspended)));
  return array(select a from unnest(p_accepted) a where a.instance_id <> all (p_suspended) order by a.item);
end
$$;

-- from 50_work/park_error.sql
-- Under the locks: parks a BPMN error thrown by the running attempt of a suspended instance, which a boundary will catch after resume. The
-- attempt ends now.
-- Writes:   task_instance, execution, inbox, history_event, and what close_events writes.
create or replace function bpm_core.park_error(p_task bpm_core.task_instance, p_error jsonb, p_variables jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.task_instance t
     set state = 'Cancelled'
   where t.tenant_id = p_task.tenant_id and t.id = p_task.id;
  insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome, error)
  values (p_task.tenant_id, p_task.id, p_task.attempt, p_task.worker_id, p_task.fencing_token, p_task.claimed_at, p_task.lease_until, v_now, 'Failed',
          'Done', p_error);
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  values (p_task.tenant_id, bpm_core.inbox_id(p_task.workflow_instance_id), 'WorkflowInstance', p_task.workflow_instance_id, 'Answer',
          jsonb_build_object('task', p_task.id, 'token', p_task.token_id, 'variables', p_variables, 'error', p_error - 'variables'), 'infinity');
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  values (p_task.tenant_id, p_task.workflow_instance_id, v_now, 'TaskHeld', p_task.token_id, p_task.node_id, 'Executing', 'Cancelled', p_task.worker_id,
          jsonb_build_object('task', p_task.id, 'attempt', p_task.attempt, 'parked', true, 'error', p_error - 'variables'));
  perform bpm_core.close_events(p_task.tenant_id, array[p_task.token_id]);
end
$$;

-- from 50_work/parse_answers.sql
-- Reads the items of complete_tasks. An item whose variables or result we do not take has variables null: its outcome will be Rejected.
-- Returns:  answer[], item counts from 1.
-- Raises:   as check_items.
create or replace function bpm_core.parse_answers(p_items jsonb)
returns bpm_core.answer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.check_items(p_items, 'task_id', '{task_id,fencing_token,variables,result}');
  return array(
    select row(i.n, (i.item ->> 'task_id')::uuid, (i.item ->> 'fencing_token')::bigint,
               case when pg_column_size(i.item -> 'result') > 16384 and bpm_core.result_fault(i.item -> 'result') is not null then null
                    when v.is_plain then v.variables
                    when bpm_core.variables_fault(v.variables) is null then bpm_core.decode_variables(v.variables) end,
               coalesce(i.item -> 'result', v.variables),
               bpm_core.answer_hash(v.variables, i.item -> 'result'))::bpm_core.answer
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     cross join lateral (
       select c.variables, bpm_core.is_plain(c.variables) as is_plain
         from (select coalesce(nullif(i.item -> 'variables', 'null'), '{}')) c(variables)) v
     order by i.n);
end
$$;

-- from 50_work/parse_failures.sql
-- Reads the items of fail_tasks.
-- Returns:  failure[], item counts from 1.
-- Raises:   BP400 as check_items, or retryable / retry_in_seconds of the wrong type or range.
create or replace function bpm_core.parse_failures(p_items jsonb)
returns bpm_core.failure[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad bigint;
begin
  perform bpm_core.check_items(p_items, 'task_id', '{task_id,fencing_token,error,retryable,retry_in_seconds}');
  select i.n into v_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where coalesce(jsonb_typeof(i.item -> 'retryable'), 'null') not in ('boolean', 'null')
      or case coalesce(jsonb_typeof(i.item -> 'retry_in_seconds'), 'null')
           when 'null' then false
           when 'number' then (i.item ->> 'retry_in_seconds')::numeric not between 0 and 31536000
           else true end
      or pg_column_size(i.item -> 'error') > 65536
   order by i.n
   limit 1;
  if v_bad is not null then
    perform bpm_core.fail('BP400', format('Item %s: retryable is a boolean, retry_in_seconds 0 to 31536000, error at most 64 kB.', v_bad),
      jsonb_build_object('item', v_bad));
  end if;
  return array(
    select row(i.n, (i.item ->> 'task_id')::uuid, (i.item ->> 'fencing_token')::bigint,
               coalesce(nullif(i.item -> 'error', 'null'), '"no reason given"'),
               coalesce((i.item ->> 'retryable')::boolean, true),
               make_interval(secs => round((i.item ->> 'retry_in_seconds')::numeric, 6)::float8))::bpm_core.failure
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     order by i.n);
end
$$;

-- from 50_work/put_back_claimed.sql
-- Puts tasks just claimed of suspended instances back: suspending has not come to them yet. They go to the end of the queue, so that a claim
-- never meets the same ones again and again. No instance is locked here, so they are not marked Held: a resume may be on its way.
-- Returns:  claimed_task[], the others. Writes: task_instance, execution.
create or replace function bpm_core.put_back_claimed(p_tenant_id text, p_claimed bpm_core.claimed_task[])
returns bpm_core.claimed_task[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with held as materialized (
    select t.tenant_id, t.id, t.worker_id, t.claimed_at, t.lease_until
      from unnest(p_claimed) c
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = c.task_id offset 0) t
     where c.suspended),
  released as (
    -- Attempts never fall, so the maximum rises instead.
    update bpm_core.task_instance t
       set state = 'Ready', available_at = v_now + interval '1 second', worker_id = null, claimed_at = null, lease_until = null,
           max_attempts = t.max_attempts + 1
      from held h
     where t.tenant_id = h.tenant_id and t.id = h.id
    returning t.id, t.attempt, t.fencing_token, h.worker_id, h.claimed_at, h.lease_until)
  insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
  select p_tenant_id, r.id, r.attempt, r.worker_id, r.fencing_token, r.claimed_at, r.lease_until, v_now, 'Released', 'Released'
    from released r;
  return array(select c from unnest(p_claimed) c where not c.suspended);
end
$$;

-- from 50_work/raise_outcome.sql
-- Turns the outcome of a set-based command into the error of its single form.
-- Returns:  nothing when the outcome is the one hoped for.
-- Raises:   BP404, BP409, BP410, BP422, BP423.
create or replace function bpm_core.raise_outcome(p_what text, p_id uuid, p_outcome bpm.outcome, p_hoped bpm.outcome, p_reason text default null)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_detail jsonb := jsonb_build_object('id', p_id, 'outcome', p_outcome);
begin
  case p_outcome
    when p_hoped then
      return;
    when 'NotFound' then
      perform bpm_core.fail('BP404', format('There is no %s %s.', p_what, p_id), v_detail);
    when 'LeaseLost' then
      perform bpm_core.fail('BP410', format('The lease of %s %s is lost: it ran out, or another claim holds it.', p_what, p_id), v_detail,
        'Do not apply the work; claim again. Extend the lease in time for long work.');
    when 'Conflict' then
      perform bpm_core.fail('BP409', format('The %s %s was answered before, with something else.', p_what, p_id), v_detail);
    when 'Rejected' then
      perform bpm_core.fail('BP422', coalesce(p_reason, format('The answer for %s %s was refused.', p_what, p_id)), v_detail);
    when 'Suspended' then
      perform bpm_core.fail('BP423', format('The instance of %s %s is suspended.', p_what, p_id), v_detail);
    else
      perform bpm_core.fail('BP409', format('The %s %s is not in a state for this: %s.', p_what, p_id, p_outcome), v_detail);
  end case;
end
$$;

-- from 50_work/redo_outputs.sql
-- Evaluates the output mappings of a completed task again, from what it brought: what resolving their incident means. The work is not done twice.
-- The instance is locked and the incident resolved. If they still cannot be evaluated the token stops again at once.
-- Returns:  boolean, whether the incident was about such mappings.
-- Writes:   history_event, workflow_instance, and what the path ahead writes; incident.
create or replace function bpm_core.redo_outputs(p_incident bpm_core.incident, p_actor text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_task    bpm_core.task_instance;
  v_patch   jsonb;
  v_problem text;
  v_detail  jsonb;
begin
  if not p_incident.detail ? 'completed' then
    return false;
  end if;
  select t.* into r_task
    from bpm_core.task_instance t
   where t.tenant_id = p_incident.tenant_id and t.id = (p_incident.detail ->> 'completed')::uuid and t.state = 'Completed';
  if not found then
    return false;
  end if;
  select coalesce(m.patch, '{}'), m.problem, m.detail
    into v_patch, v_problem, v_detail
    from bpm_core.mapped_outputs(r_task.tenant_id, r_task.workflow_instance_id, r_task.scope_id, r_task.outputs, r_task.input, p_incident.detail -> 'brought') m;
  if v_problem is not null then
    perform bpm_core.stop_unmapped(r_task.tenant_id, array[row(
      row(1, r_task.id, r_task.workflow_instance_id, r_task.token_id, r_task.node_id, r_task.attempt, v_patch, r_task.scope_id)::bpm_core.accepted,
      v_problem, v_detail)::bpm_core.unmapped]);
    return true;
  end if;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (r_task.tenant_id, r_task.workflow_instance_id, bpm_core.now(), 'TaskCompleted', r_task.token_id, r_task.node_id, p_actor,
          jsonb_build_object('task', r_task.id, 'attempt', r_task.attempt, 'variables', v_patch)
          || bpm_core.local_names(r_task.tenant_id, r_task.scope_id, v_patch));
  perform bpm_core.continue_accepted(r_task.tenant_id, array[
    row(1, r_task.id, r_task.workflow_instance_id, r_task.token_id, r_task.node_id, r_task.attempt, v_patch, r_task.scope_id)::bpm_core.accepted]);
  return true;
end
$$;

-- from 50_work/release_tasks.sql
-- Gives leased tasks back unworked, for instance when a worker shuts down: ready again at once, and the attempt does not count against the maximum.
-- p_items: [{"task_id", "fencing_token"}], at most 1,000.
-- Returns:  one row per item: item, task_id, outcome (Released, also for a repeat; LeaseLost, Cancelled, NotFound).
-- Raises:   BP400 ill-formed items, BP403, BP429.
-- Writes:   task_instance, execution.
-- Locks:    workflow_instance, then task_instance, both sorted; the instances for the reason told at extend_leases.
create or replace function bpm.release_tasks(p_items jsonb, p_tenant_id text default '')
returns table (item integer, task_id uuid, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_suspended uuid[];
  v_now       timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_items(p_items, 'task_id', '{task_id,fencing_token}');
  v_suspended := bpm_core.lock_instances_of_tasks(p_tenant_id, array(select (i ->> 'task_id')::uuid from jsonb_array_elements(p_items) i));
  v_now := bpm_core.now();
  with held as materialized (
    select distinct t.tenant_id, t.id, t.worker_id, t.claimed_at, t.lease_until
      from jsonb_array_elements(p_items) i(item)
     cross join lateral (select t.* from bpm_core.task_instance t
                          where t.tenant_id = p_tenant_id and t.id = (i.item ->> 'task_id')::uuid offset 0) t
     where t.state = 'Executing' and t.fencing_token = (i.item ->> 'fencing_token')::bigint and t.lease_until > v_now),
  released as (
    -- Attempts never fall, so the maximum rises instead.
    update bpm_core.task_instance t
       set state = case when t.workflow_instance_id = any (v_suspended) then 'Held' else 'Ready' end::bpm_core.task_state,
           available_at = bpm_core.now(), worker_id = null, claimed_at = null, lease_until = null,
           max_attempts = t.max_attempts + 1
      from held h
     where t.tenant_id = h.tenant_id and t.id = h.id
    returning t.id, t.attempt, t.fencing_token, h.worker_id, h.claimed_at, h.lease_until)
  insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
  select p_tenant_id, r.id, r.attempt, r.worker_id, r.fencing_token, r.claimed_at, r.lease_until, v_now, 'Released', 'Released'
    from released r;
  return query
  select i.n::integer, (i.item ->> 'task_id')::uuid,
         case when t.id is null then 'NotFound'
              when e.state = 'Released' then 'Released'
              when t.state = 'Cancelled' then 'Cancelled'
              else 'LeaseLost' end::bpm.outcome
    from (select p_tenant_id as tenant_id, i.* from jsonb_array_elements(p_items) with ordinality i(item, n) offset 0) i
    left join lateral (select t.id, t.state from bpm_core.task_instance t
                        where t.tenant_id = i.tenant_id and t.id = (i.item ->> 'task_id')::uuid offset 0) t on true
    left join lateral (select e.state from bpm_core.execution e
                        where e.tenant_id = i.tenant_id and e.task_instance_id = t.id
                          and e.fencing_token = (i.item ->> 'fencing_token')::bigint offset 0) e on true
   order by i.n;
end
$$;

-- from 50_work/requeue_dead_letter.sql
-- Gives the work of a dead letter fresh attempts, on the same token, or what came in from outside another try; the same as resolving its incident.
-- Returns:  one row: dead_letter_id, outcome Done (also when it was requeued before).
-- Raises:   BP403, BP404, BP409 it was discarded, comes from a rejected approval or a command, or its instance ended; BP422 attempts.
-- Writes:   as resolve_incident.
create or replace function bpm.requeue_dead_letter(p_dead_letter_id uuid, p_attempts integer default 1, p_actor text default null, p_tenant_id text default '')
returns table (dead_letter_id uuid, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  r_letter bpm_core.dead_letter;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  select d.* into r_letter from bpm_core.dead_letter d where d.tenant_id = p_tenant_id and d.id = p_dead_letter_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no dead letter %s.', p_dead_letter_id));
  elsif r_letter.kind = 'Approval' then
    perform bpm_core.fail('BP409', 'The work was refused by an approver; it cannot be requeued.', null, 'Start the process again if it is to be decided anew.');
  elsif r_letter.kind = 'Command' then
    perform bpm_core.fail('BP409', 'A command is not requeued.', null, 'See bpm.reconcile_command.');
  elsif r_letter.state = 'Discarded' then
    perform bpm_core.fail('BP409', format('The dead letter was discarded by %s.', r_letter.closed_by));
  end if;
  perform bpm.resolve_incident(r_letter.incident_id, p_attempts, p_actor, p_tenant_id);
  return query select p_dead_letter_id, 'Done'::bpm.outcome;
end
$$;

-- from 50_work/result_fault.sql
-- Is this a result we keep? One of at most as many bytes as a map of variables may have; what is larger belongs into a store of its own.
-- Returns:  text, what is wrong; null when nothing is.
create or replace function bpm_core.result_fault(p_result jsonb)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_size  integer := octet_length(p_result::text);  -- not pg_column_size: a value from a table may arrive compressed
  v_limit integer;
begin
  if v_size > 65536 then
    v_limit := (bpm_core.setting_value('engine.max_variables_bytes', '1048576'))::integer;
    if v_size > v_limit then
      return format('A result of %s bytes exceeds the limit of %s bytes.', v_size, v_limit);
    end if;
  end if;
  return null;
end
$$;

-- from 50_work/retry_delay.sql
-- How long until the next attempt: the backoff of the task version, growing by its factor, capped, lengthened at random by its jitter.
-- Returns:  interval.
create or replace function bpm_core.retry_delay(p_version bpm_core.task_version, p_attempt integer)
returns interval
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select least(p_version.backoff_cap, p_version.backoff * least(power(p_version.backoff_factor::float8, least(p_attempt - 1, 60)), 1e9))
         * (1 + p_version.jitter::float8 * random())
$$;

-- from 50_work/revive_task.sql
-- Gives a failed task fresh attempts: the same row, the same token. The instance is locked.
-- Returns:  boolean, whether there was one to revive.
-- Writes:   task_instance, token, history_event.
create or replace function bpm_core.revive_task(p_tenant_id text, p_task_id uuid, p_attempts integer, p_actor text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now  timestamptz := bpm_core.now();
  r_task bpm_core.task_instance;
begin
  update bpm_core.task_instance t
     set state = 'Ready', available_at = v_now, max_attempts = t.attempt + p_attempts, worker_id = null, claimed_at = null, lease_until = null
   where t.tenant_id = p_tenant_id and t.id = p_task_id and t.state = 'Failed'
  returning t.* into r_task;
  if not found then
    return false;
  end if;
  update bpm_core.token t
     set state = 'Waiting', attempt = t.attempt + 1, version = t.version + 1, updated_at = v_now
   where t.tenant_id = r_task.tenant_id and t.id = r_task.token_id and t.state = 'Failed';
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  values (p_tenant_id, r_task.workflow_instance_id, v_now, 'TaskRequeued', r_task.token_id, r_task.node_id, 'Failed', 'Waiting', p_actor,
          jsonb_build_object('task', p_task_id, 'attempts', p_attempts));
  return true;
end
$$;

-- from 50_work/settle_failures.sql
-- Under the locks: ends attempts that failed (reported, p_expired false) or whose lease ran out (p_expired true).
-- With attempts left the task is Ready again after its backoff (Held, where the instance is suspended); else task and token are Failed with a
-- dead letter and an incident.
-- Returns:  the tasks touched, as they are now.
-- Writes:   task_instance, execution, history_event; for exhausted ones token, incident, dead_letter.
create or replace function bpm_core.settle_failures(p_tenant_id text, p_failures bpm_core.failure[], p_expired boolean, p_now timestamptz)
returns setof bpm_core.task_instance
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_settled   bpm_core.task_instance[];
  v_exhausted uuid[];
begin
  with failed as materialized (
    select distinct on (f.task_id) f.tenant_id, f.task_id, f.error, f.retryable, f.retry_in, t.worker_id, t.claimed_at, t.lease_until,
           coalesce(f.retry_in, bpm_core.retry_delay(v.version, t.attempt)) as delay, w.status = 'Suspended' as suspended
      from (select p_tenant_id as tenant_id, f.* from unnest(p_failures) f offset 0) f
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = f.tenant_id and t.id = f.task_id offset 0) t
     cross join lateral (select v as version from bpm_core.task_version v where v.tenant_id = t.tenant_id and v.id = t.task_version_id offset 0) v
     cross join lateral (select w.status from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     where t.state = 'Executing' and t.fencing_token = f.fencing_token and (t.lease_until <= p_now) = p_expired
     order by f.task_id, f.item),
  ended as (
    update bpm_core.task_instance t
       set state        = case when not (f.retryable and t.attempt < t.max_attempts) then 'Failed'
                               when f.suspended then 'Held' else 'Ready' end::bpm_core.task_state,
           available_at = case when f.retryable and t.attempt < t.max_attempts then bpm_core.now() + f.delay else t.available_at end,
           worker_id    = case when f.retryable and t.attempt < t.max_attempts then null else t.worker_id end,
           claimed_at   = case when f.retryable and t.attempt < t.max_attempts then null else t.claimed_at end,
           lease_until  = case when f.retryable and t.attempt < t.max_attempts then null else t.lease_until end
      from failed f
     where t.tenant_id = f.tenant_id and t.id = f.task_id
    returning t as task, f.error, f.worker_id, f.claimed_at, f.lease_until),
  executed as (
    insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome, error)
    select p_tenant_id, (e.task).id, (e.task).attempt, e.worker_id, (e.task).fencing_token, e.claimed_at, e.lease_until, p_now,
           case when p_expired then 'Expired' else 'Failed' end::bpm_core.execution_state,
           case when (e.task).state = 'Failed' then 'Failed' else 'Retrying' end::bpm.outcome, e.error
      from ended e),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
    select p_tenant_id, (e.task).workflow_instance_id, p_now,
           case when (e.task).state = 'Failed' then 'TaskFailed' else 'TaskRetried' end::bpm_core.history_kind,
           (e.task).token_id, (e.task).node_id, e.worker_id,
           jsonb_build_object('task', (e.task).id, 'attempt', (e.task).attempt, 'expired', p_expired, 'error', e.error)
      from ended e)
  select array_agg(e.task), array_agg((e.task).id) filter (where (e.task).state = 'Failed')
    into v_settled, v_exhausted
    from ended e;
  perform bpm_core.bury_tasks(p_tenant_id, v_exhausted, 'AttemptsExhausted', p_now);
  return query select s.* from unnest(v_settled) s;
end
$$;

-- from 50_work/stop_unmapped.sql
-- Stops the tokens of completed tasks whose output mappings could not be evaluated. What else waited on them is closed: the task is done.
-- Writes:   token, incident, history_event, and what close_events writes.
create or replace function bpm_core.stop_unmapped(p_tenant_id text, p_unmapped bpm_core.unmapped[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.close_events(p_tenant_id, array(select (u.task).token_id from unnest(p_unmapped) u));
  perform bpm_core.open_incidents(array(
    select bpm_core.task_trouble(
             row(p_tenant_id, (u.task).instance_id, null, (u.task).scope_id, (u.task).token_id, (u.task).node_id, t.via_flow_id, null)::bpm_core.moving,
             u.problem, u.detail || jsonb_build_object('completed', (u.task).task_id))
      from (select p_tenant_id as tenant_id, (u.task).token_id, u.* from unnest(p_unmapped) u offset 0) u
     cross join lateral (select t.via_flow_id from bpm_core.token t where t.tenant_id = u.tenant_id and t.id = u.token_id offset 0) t));
end
$$;

-- from 50_work/take_user_task.sql
-- Under the locks: a person's answer begins: one attempt, which ends in the same transaction.
-- Returns:  task_instance as it is now.
-- Raises:   BP409 somebody else holds it; BP409, BP423 the instance is not running.
-- Writes:   task_instance.
create or replace function bpm_core.take_user_task(p_task bpm_core.task_instance, p_state bpm_core.task_state, p_actor text)
returns bpm_core.task_instance
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now  timestamptz := bpm_core.now();
  r_task bpm_core.task_instance;
begin
  perform bpm_core.check_running(p_task.tenant_id, p_task.workflow_instance_id);
  if p_task.assignee is not null and p_task.assignee <> p_actor then
    perform bpm_core.fail('BP409', format('User task %s is claimed by %s.', p_task.id, p_task.assignee),
      jsonb_build_object('claimed_by', p_task.assignee));
  end if;
  update bpm_core.task_instance t
     set state = p_state, attempt = t.attempt + 1, max_attempts = greatest(t.max_attempts, t.attempt + 1), fencing_token = t.fencing_token + 1,
         assignee = p_actor, worker_id = p_actor, claimed_at = v_now, lease_until = v_now
   where t.tenant_id = p_task.tenant_id and t.id = p_task.id
  returning t.* into r_task;
  return r_task;
end
$$;

-- from 50_work/task_settings.sql
-- What a task gets besides its node's fixed values when it is offered: its inputs, for whom it is, by when, how urgent.
-- p_expressions: as drawn_binding compiles them. The expressions see the inputs.
-- Returns:  one row; null where nothing is said. problem: what could not be evaluated, and detail with the values seen; then no task may be offered.
create or replace function bpm_core.task_settings(
  p_expressions jsonb, p_variables jsonb,
  out input jsonb, out assignee text, out candidate_groups text[], out candidate_users text[], out due_at timestamptz, out follow_up_at timestamptz,
  out priority_level smallint, out problem text, out detail jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name  text;
  v_wish  jsonb;
  v_value jsonb;
  v_sound boolean;
begin
  if p_expressions ? 'inputs' then
    select m.mapped, m.problem, m.detail into input, problem, detail from bpm_core.map_values(p_expressions -> 'inputs', p_variables) m;
    if problem is not null then
      return;
    end if;
  end if;
  for v_name, v_wish in select e.key, e.value from jsonb_each(p_expressions) e where e.key not in ('inputs', 'outputs') loop
    v_value := bpm_core.evaluate(v_wish -> 'tree', p_variables, coalesce(input, '{}'));
    continue when v_value = 'null';
    if bpm_core.is_hidden(v_value) then
      v_value := null;
    end if;
    case v_name
      when 'assignee' then v_sound := jsonb_typeof(v_value) in ('string', 'number'); assignee := case when v_sound then nullif(v_value #>> '{}', '') end;
      when 'groups' then candidate_groups := bpm_core.name_list(v_value); v_sound := candidate_groups is not null;
      when 'users' then candidate_users := bpm_core.name_list(v_value); v_sound := candidate_users is not null;
      when 'due' then due_at := bpm_core.moment_of(v_value); v_sound := due_at is not null;
      when 'follow_up' then follow_up_at := bpm_core.moment_of(v_value); v_sound := follow_up_at is not null;
      else priority_level := bpm_core.priority_level(v_value, (v_wish ->> 'middle')::integer); v_sound := priority_level is not null;
    end case;
    if v_sound is not true then
      problem := format('the %s %s cannot be evaluated', replace(v_name, '_', ' '), v_wish ->> 'source');
      detail := jsonb_build_object('expression', v_wish ->> 'source', 'seen', bpm_core.describe_tree(v_wish -> 'tree', p_variables || coalesce(input, '{}')));
      return;
    end if;
  end loop;
end
$$;

-- from 50_work/task_trouble.sql
-- Says why a task could not be offered, or what it brought not be taken over.
-- Returns:  trouble, code ExpressionUndecidable.
create or replace function bpm_core.task_trouble(p_token bpm_core.moving, p_problem text, p_detail jsonb)
returns bpm_core.trouble
language sql immutable
as $$
  select row(p_token, 'ExpressionUndecidable', format('Task %s: %s.', p_token.node_id, p_problem), p_detail)::bpm_core.trouble
$$;

-- from 50_work/throw_error.sql
-- Ends a task with a BPMN error: the nearest error boundary that catches the code takes the token; without one it is an incident.
-- While the instance is suspended the error is kept; the boundary takes the token on resume.
-- Returns:  one row: task_id, outcome (Done caught, Failed not caught), instance_status.
-- Raises:   BP403, BP404, BP409 answered before, BP410 lease lost, BP422 bad code or variables.
-- Writes:   task_instance, execution, workflow_instance, history_event, and what the path ahead writes.
create or replace function bpm.throw_error(
  p_task_id uuid, p_fencing_token bigint, p_error_code text, p_message text default null, p_variables jsonb default '{}', p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  -- The attempt keeps all that was said, so that a repeat can be told from another answer.
  v_error jsonb := jsonb_build_object('code', p_error_code, 'message', p_message)
                   || case when coalesce(p_variables, '{}') = '{}' then '{}' else jsonb_build_object('variables', p_variables) end;
  r_task      bpm_core.task_instance;
  v_suspended uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  if coalesce(length(btrim(p_error_code)), 0) not between 1 and 200 then
    perform bpm_core.fail('BP422', 'An error code has 1 to 200 characters.', jsonb_build_object('code', p_error_code));
  elsif bpm_core.variables_fault(coalesce(p_variables, '{}')) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_variables));
  end if;
  v_suspended := bpm_core.lock_instances_of_tasks(p_tenant_id, array[p_task_id]);
  select t.* into r_task from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = p_task_id;
  task_id := p_task_id;
  if r_task.state = 'Executing' and r_task.fencing_token = p_fencing_token and r_task.lease_until > bpm_core.now() then
    outcome := bpm_core.end_task_in_error(r_task, v_error, bpm_core.decode_variables(coalesce(p_variables, '{}')),
                                          cardinality(v_suspended) > 0);
  else
    outcome := bpm_core.failure_outcome(p_tenant_id, row(1, p_task_id, p_fencing_token, v_error, false, null)::bpm_core.failure);
    if outcome not in ('Done', 'Failed') then
      perform bpm_core.raise_outcome('task', p_task_id, outcome, 'Done');
    end if;
  end if;
  instance_status := (select w.status::text from bpm_core.workflow_instance w where w.tenant_id = r_task.tenant_id and w.id = r_task.workflow_instance_id);
  return next;
end
$$;

-- from 50_work/throw_user_task_error.sql
-- A person ends a user task with a BPMN error, as throw_error does for a worker: the nearest boundary or event sub-process that catches the code
-- takes the token; without one it is an incident. An unclaimed task is claimed by it.
-- Returns:  one row: task_id, outcome (Done caught, Failed not caught; also for an unchanged repeat by the same person), instance_status.
-- Raises:   BP403, BP404, BP409 somebody else holds it, or it is no longer open; BP422 bad code or variables; BP423 suspended.
-- Writes:   task_instance, execution, workflow_instance, history_event, audit_event, and what the path ahead writes.
-- Locks:    workflow_instance, then task_instance.
create or replace function bpm.throw_user_task_error(
  p_task_id uuid, p_error_code text, p_message text default null, p_variables jsonb default '{}', p_actor text default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_error jsonb := jsonb_build_object('code', p_error_code, 'message', p_message)
                   || case when coalesce(p_variables, '{}') = '{}' then '{}' else jsonb_build_object('variables', p_variables) end;
  r_task  bpm_core.task_instance;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(length(btrim(p_error_code)), 0) not between 1 and 200 then
    perform bpm_core.fail('BP422', 'An error code has 1 to 200 characters.', jsonb_build_object('code', p_error_code));
  elsif bpm_core.variables_fault(coalesce(p_variables, '{}')) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_variables));
  end if;
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array[p_task_id]);
  select e.outcome into outcome
    from bpm_core.task_instance t
   cross join lateral (select e.outcome from bpm_core.execution e
                        where e.tenant_id = t.tenant_id and e.task_instance_id = t.id and e.attempt = t.attempt
                          and e.state = 'Failed' and e.worker_id = v_actor and e.error = v_error offset 0) e
   where t.tenant_id = p_tenant_id and t.id = p_task_id and t.task_type = 'bpm:user' and t.state in ('Cancelled', 'Failed');
  if outcome is null then
    r_task := bpm_core.take_user_task(bpm_core.lock_user_task(p_tenant_id, p_task_id), 'Executing', v_actor);
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'ThrowUserTaskError', 'task_instance', p_task_id::text);
    outcome := bpm_core.end_task_in_error(r_task, v_error, bpm_core.decode_variables(coalesce(p_variables, '{}')), false);
  end if;
  return query
  select p_task_id, outcome, w.status::text
    from bpm_core.task_instance t
   cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.tenant_id = p_tenant_id and t.id = p_task_id;
end
$$;

-- from 50_work/tick_leases.sql
-- The reaper: leases that ran out are failures of kind LeaseExpired. Picks unlocked, locks the instances nobody holds, then the tasks, then looks again.
-- Returns:  tick_result: rows done, the next position. Not when the next falls due: finding out would walk every entry of the index that
--           was given up before its time, and these come with every poll anyway.
-- Writes:   as settle_failures. Locks: workflow_instance skip locked, then task_instance.
create or replace function bpm_core.tick_leases(
  p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_now      timestamptz;
  v_result bpm_core.tick_result;
  r_scan     record;
  v_found    bpm_core.candidate[];
  v_locked   uuid[];
  v_failures bpm_core.failure[];
  v_last     bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_found := array(
    select row(t.lease_until, t.id, t.workflow_instance_id)::bpm_core.candidate
      from bpm_core.task_instance t
     where t.state = 'Executing' and t.tenant_id = p_tenant_id and t.lease_until <= p_now and (t.lease_until, t.id) > (r_scan.from_at, r_scan.from_id)
     order by t.lease_until, t.id
     limit p_limit);
  v_result.done := 0;
  if cardinality(v_found) > 0 then
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    perform bpm_core.lock_tasks(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked)));
    -- The clock once more, after the locks: it is what history will say.
    v_now := bpm_core.now();
    v_failures := array(
      select row(1, t.id, t.fencing_token,
                 jsonb_build_object('kind', 'LeaseExpired', 'message', format('The lease of worker %s ran out.', t.worker_id)), true, null)::bpm_core.failure
        from unnest(v_found) c
       cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = c.id offset 0) t
       where c.instance_id = any (v_locked) and t.state = 'Executing' and t.lease_until <= v_now);
    v_result.done := (select count(*)::integer from bpm_core.settle_failures(p_tenant_id, v_failures, true, v_now));
    v_last := bpm_core.last_handled(v_found, v_locked);
  end if;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     cardinality(v_found) < p_limit and cardinality(v_found) = v_result.done, p_now);
  return v_result;
end
$$;

-- from 50_work/unclaim_user_task.sql
-- A person gives a user task back.
-- Returns:  one row: task_id, outcome Done, assignee (null).
-- Raises:   BP403, BP404, BP409 somebody else holds it, or it is no longer open.
-- Writes:   task_instance, audit_event. Locks: task_instance.
create or replace function bpm.unclaim_user_task(p_task_id uuid, p_actor text default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, assignee text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  r_task  bpm_core.task_instance;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  r_task := bpm_core.lock_user_task(p_tenant_id, p_task_id);
  if r_task.assignee is not null then
    if r_task.assignee <> v_actor then
      perform bpm_core.fail('BP409', format('User task %s is claimed by %s.', p_task_id, r_task.assignee),
        jsonb_build_object('claimed_by', r_task.assignee));
    end if;
    update bpm_core.task_instance t set assignee = null where t.tenant_id = p_tenant_id and t.id = p_task_id;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'UnclaimUserTask', 'task_instance', p_task_id::text);
  end if;
  return query select p_task_id, 'Done'::bpm.outcome, null::text;
end
$$;

-- from 60_decision/apply_approval_effects.sql
-- Lets decided approvals take effect whose effect is still pending; tick does so by itself.
-- Returns:  integer, how many took effect.
-- Raises:   BP403, BP422 limit not 1 to 1000.
-- Locks:    workflow_instance, skip locked.
-- Source:   kernel design, 2.3, the startup sweep.
create or replace function bpm.apply_approval_effects(p_limit integer default 100, p_tenant_id text default '')
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  -- Nothing is decided here, so whoever works or operates may drive it.
  perform bpm_core.enter_call(p_tenant_id,
    case when bpm_core.is_granted(bpm_core.caller(), p_tenant_id, 'worker') then 'worker' else 'operator' end::bpm_core.capability);
  if p_limit is null or p_limit not between 1 and 1000 then
    perform bpm_core.fail('BP422', format('The limit must be 1 to 1000, not %s.', coalesce(p_limit::text, 'null')), jsonb_build_object('limit', p_limit));
  end if;
  return bpm_core.drive_approval_effects(p_tenant_id, p_limit);
end
$$;

-- from 60_decision/apply_decisions.sql
-- Under the locks of their instances: lets decided approvals take effect, each exactly once. Approved offers the task; Rejected and Expired
-- raise the BPMN error ApprovalRejected where the token rests; where nobody catches it the instance fails (bury_rejections).
-- A decision whose token has left in the meantime (a timer, an error) is void: Applied without effect. One of a suspended instance waits.
-- Give it at most one approval per instance: the first may end what the second stands on.
-- Returns:  integer, how many are Applied now.
-- Writes:   approval_record, workflow_instance, history_event, and what the effect writes.
create or replace function bpm_core.apply_decisions(p_tenant_id text, p_approvals uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_decided  bpm_core.decided_approval[];
  v_uncaught bpm_core.thrown[];
begin
  with due as materialized (
    select a.tenant_id, a.id, a.status, a.node_id, a.decided_by, a.note, a.workflow_instance_id as instance_id, w.workflow_version_id, t.scope_id, a.token_id,
           t.state = 'Waiting' and t.node_id = a.node_id and t.visit = a.visit as standing
      from unnest(p_approvals) i(id)
     cross join lateral (select a.* from bpm_core.approval_record a where a.tenant_id = p_tenant_id and a.id = i.id offset 0) a
     cross join lateral (select w.workflow_version_id, w.status from bpm_core.workflow_instance w
                          where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id offset 0) w
     cross join lateral (select t.scope_id, t.state, t.node_id, t.visit from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = a.token_id offset 0) t
     where a.effect = 'Pending' and a.status in ('Approved', 'Rejected', 'Expired') and w.status <> 'Suspended'),
  applied as (
    update bpm_core.approval_record a
       set effect = 'Applied'
      from due d
     where a.tenant_id = d.tenant_id and a.id = d.id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
    select d.tenant_id, d.instance_id, bpm_core.now(), 'ApprovalApplied', d.token_id, d.node_id, 'Pending', 'Applied',
           jsonb_build_object('approval', d.id, 'status', d.status) || case when d.standing then '{}'::jsonb else '{"void": true}'::jsonb end
      from due d)
  select array_agg(row(d.id, d.status, row(d.tenant_id, d.instance_id, d.workflow_version_id, d.scope_id, d.token_id, d.node_id, null, null)::bpm_core.moving,
                       d.standing, d.decided_by, d.note)::bpm_core.decided_approval)
    into v_decided
    from due d;
  perform bpm_core.bump_instances(p_tenant_id, array(select (d.token).instance_id from unnest(v_decided) d));
  perform bpm_core.offer_tasks(p_tenant_id, array(
    select (d.token).token_id from unnest(v_decided) d where d.standing and d.status = 'Approved'));
  v_uncaught := bpm_core.raise_errors(array(
    select row(d.n, d.token, 'ApprovalRejected', d.note)::bpm_core.thrown
      from unnest(v_decided) with ordinality d(approval_id, status, token, standing, decided_by, note, n)
     where d.standing and d.status <> 'Approved'));
  perform bpm_core.bury_rejections(p_tenant_id, array(select v_decided[u.handle] from unnest(v_uncaught) u));
  return coalesce(cardinality(v_decided), 0);
end
$$;

-- from 60_decision/bury_rejections.sql
-- Rejections nobody caught: a dead letter each, which cannot be requeued, and the instances fail with everything in them.
-- No incident: nothing could resolve it.
-- Writes:   dead_letter, and what fail_instances writes.
create or replace function bpm_core.bury_rejections(p_tenant_id text, p_rejected bpm_core.decided_approval[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  if cardinality(p_rejected) = 0 then
    return;
  end if;
  insert into bpm_core.dead_letter (tenant_id, id, workflow_instance_id, token_id, kind, error, variables, created_at)
  select (r.token).tenant_id, bpm_core.new_id(), (r.token).instance_id, (r.token).token_id, 'Approval',
         jsonb_build_object('code', 'ApprovalRejected', 'approval', r.approval_id, 'node', (r.token).node_id, 'status', r.status,
                            'decided_by', r.decided_by, 'message', r.note),
         v.variables, v_now
    from unnest(p_rejected) r
   cross join lateral bpm_core.token_variables((r.token).tenant_id, (r.token).instance_id, (r.token).scope_id) v;
  perform bpm_core.fail_instances(p_tenant_id, array(select (r.token).instance_id from unnest(p_rejected) r),
                                  jsonb_build_object('code', 'ApprovalRejected'));
end
$$;

-- from 60_decision/check_decidable.sql
-- Under the lock: may this be decided so by this actor, or was it?
-- Raises:   BP403 the actor is excluded. BP409 closed, or decided otherwise; the detail is the first outcome.
create or replace function bpm_core.check_decidable(p_approval bpm_core.approval_record, p_decision text, p_actor text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first jsonb := jsonb_build_object('approval_id', p_approval.id, 'status', p_approval.status, 'effect', p_approval.effect,
                                      'decided_by', p_approval.decided_by, 'decided_at', p_approval.decided_at, 'note', p_approval.note);
begin
  if p_approval.status = 'Cancelled' then
    perform bpm_core.fail('BP409', format('Approval %s is closed: its step was left or its instance ended.', p_approval.id), v_first);
  elsif p_approval.status = 'Pending' then
    if p_actor = any (p_approval.excluded_actors) then
      perform bpm_core.fail('BP403', format('%s may not decide approval %s.', p_actor, p_approval.id),
        jsonb_build_object('approval_id', p_approval.id, 'actor', p_actor), 'Let somebody decide who had no part in it.');
    end if;
  elsif p_approval.status::text <> p_decision then
    perform bpm_core.fail('BP409', format('Approval %s was %s by %s before.', p_approval.id, lower(p_approval.status::text), p_approval.decided_by),
      v_first, 'A decision is taken once.');
  end if;
end
$$;

-- from 60_decision/check_decision.sql
-- The arguments of a decision.
-- Raises:   BP422 decision or note out of range.
create or replace function bpm_core.check_decision(p_decision text, p_note text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_decision is null or p_decision not in ('Approved', 'Rejected') then
    perform bpm_core.fail('BP422', format('%s is no decision.', coalesce(quote_literal(p_decision), 'null')),
      jsonb_build_object('decision', p_decision), 'Decide Approved or Rejected.');
  elsif length(p_note) > 4000 then
    perform bpm_core.fail('BP422', format('The note has %s characters; at most 4000.', length(p_note)), jsonb_build_object('length', length(p_note)));
  end if;
end
$$;

-- from 60_decision/close_approvals.sql
-- Closes the open approvals of tokens that are taken off their node, or end with their instance.
-- Writes:   approval_record, history_event. The instances are locked.
create or replace function bpm_core.close_approvals(p_tenant_id text, p_tokens uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with open as materialized (
    select a.tenant_id, a.id
      from unnest(p_tokens) k(id)
     cross join lateral (select t.workflow_instance_id from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t
     cross join lateral (select a.tenant_id, a.id, a.token_id, a.status from bpm_core.approval_record a
                          where a.workflow_instance_id = t.workflow_instance_id offset 0) a
     where a.tenant_id = p_tenant_id and a.token_id = k.id and a.status = 'Pending'),
  closed as (
    update bpm_core.approval_record a
       set status = 'Cancelled'
      from open o
     where a.tenant_id = o.tenant_id and a.id = o.id
    returning a.tenant_id, a.workflow_instance_id, a.token_id, a.node_id, a.id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  select c.tenant_id, c.workflow_instance_id, bpm_core.now(), 'ApprovalClosed', c.token_id, c.node_id, 'Pending', 'Cancelled',
         jsonb_build_object('approval', c.id)
    from closed c;
end
$$;

-- from 60_decision/decide_approval.sql
-- Decides an approval, once, and lets the decision take effect in the same transaction.
-- The same decision again gets the first outcome, and drives its effect if that is still pending.
-- Returns:  one row: approval_id, status, effect, decided_by and decided_at of the first decision, instance_status (workflow).
-- Raises:   BP403 not granted, or the actor is excluded. BP404 no such approval. BP409 decided otherwise before, or closed (detail: the first outcome).
--           BP422 decision neither Approved nor Rejected, note over 4,000 characters. 55P03, 40P01: repeat the call.
-- Writes:   approval_record, history_event, audit_event, and what the effect writes.
-- Locks:    workflow_instance.
-- Source:   kernel design, 2.3; runtime design, transaction cookbook, "Review".
create or replace function bpm.decide_approval(
  p_approval_id uuid, p_decision text, p_note text default null, p_actor text default null, p_tenant_id text default '')
returns table (approval_id uuid, status text, effect text, decided_by text, decided_at timestamptz, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  v_instance uuid;
  r_approval bpm_core.approval_record;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_decision(p_decision, p_note);
  select a.workflow_instance_id into v_instance from bpm_core.approval_record a where a.tenant_id = p_tenant_id and a.id = p_approval_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no approval %s.', p_approval_id), jsonb_build_object('approval_id', p_approval_id));
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array[v_instance]);
  select a.* into r_approval from bpm_core.approval_record a where a.tenant_id = p_tenant_id and a.id = p_approval_id;
  perform bpm_core.check_decidable(r_approval, p_decision, v_actor);
  if r_approval.status = 'Pending' then
    perform bpm_core.record_decision(r_approval, p_decision::bpm_core.approval_status, v_actor, p_note);
  end if;
  perform bpm_core.apply_decisions(p_tenant_id, array[p_approval_id]);
  return query
  select a.id, a.status::text, a.effect::text, a.decided_by, a.decided_at, w.status::text
    from bpm_core.approval_record a
   cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id offset 0) w
   where a.tenant_id = p_tenant_id and a.id = p_approval_id;
end
$$;

-- from 60_decision/drive_approval_effects.sql
-- Picks decided approvals whose effect is pending, oldest decision first, at most one per instance, and lets them take effect.
-- Ordinarily there are none: a decision takes effect in its own transaction. Those of a suspended instance are passed over.
-- Returns:  integer, how many took effect.
-- Locks:    workflow_instance, skip locked.
create or replace function bpm_core.drive_approval_effects(p_tenant_id text, p_limit integer)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_found     uuid[];
  v_instances uuid[];
  v_locked    uuid[];
begin
  with oldest as materialized (
    select a.id, a.workflow_instance_id, a.decided_at
      from bpm_core.approval_record a
     cross join lateral (select w.status from bpm_core.workflow_instance w
                          where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id offset 0) w
     where a.effect = 'Pending' and a.status in ('Approved', 'Rejected', 'Expired') and a.tenant_id = p_tenant_id and w.status <> 'Suspended'
     order by a.decided_at, a.id
     limit p_limit)
  select array_agg(f.id), array_agg(f.workflow_instance_id)
    into v_found, v_instances
    from (select distinct on (o.workflow_instance_id) o.id, o.workflow_instance_id
            from oldest o
           order by o.workflow_instance_id, o.decided_at, o.id) f;
  if v_found is null then
    return 0;
  end if;
  v_locked := bpm_core.try_lock_instances(p_tenant_id, v_instances);
  return bpm_core.apply_decisions(p_tenant_id, array(
    select f.id from unnest(v_found, v_instances) f(id, instance_id) where f.instance_id = any (v_locked)));
end
$$;

-- from 60_decision/enter_approval_tasks.sql
-- KIND approval task: the token rests and a decision is asked for. No task exists before it is approved.
-- Returns:  moving[], the message waits of its boundary events. Writes: token, approval_record, history_event; timer where the node has boundary timers.
create or replace function bpm_core.enter_approval_tasks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with rested as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, steps = 0, version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id
    returning a.tenant_id, a.instance_id, a.version_id, a.token_id, a.node_id, a.flow_id, t.visit),
  asked as (
    insert into bpm_core.approval_record (tenant_id, id, workflow_instance_id, node_id, token_id, visit, task_type, created_at)
    select r.tenant_id, bpm_core.new_id(), r.instance_id, r.node_id, r.token_id, r.visit, b.task_type, v_now
      from rested r
     cross join lateral (select b.task_type from bpm_core.workflow_task_binding b
                          where b.tenant_id = r.tenant_id and b.workflow_version_id = r.version_id and b.node_id = r.node_id offset 0) b
    returning tenant_id, workflow_instance_id, id, token_id, node_id, task_type, visit)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
  select a.tenant_id, a.workflow_instance_id, v_now, 'ApprovalRequested', a.token_id, a.node_id, 'Pending',
         jsonb_build_object('approval', a.id, 'task_type', a.task_type, 'visit', a.visit)
    from asked a;
  return bpm_core.arm_boundaries(p_arriving);
end
$$;

-- from 60_decision/record_decision.sql
-- Under the lock: writes the decision of a pending approval. Its effect is still to come.
-- Writes:   approval_record, history_event, audit_event.
create or replace function bpm_core.record_decision(p_approval bpm_core.approval_record, p_status bpm_core.approval_status, p_actor text, p_note text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.approval_record a
     set status = p_status, decided_by = p_actor, decided_at = v_now, note = p_note
   where a.tenant_id = p_approval.tenant_id and a.id = p_approval.id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  values (p_approval.tenant_id, p_approval.workflow_instance_id, v_now, 'ApprovalDecided', p_approval.token_id, p_approval.node_id,
          'Pending', p_status::text, p_actor, jsonb_strip_nulls(jsonb_build_object('approval', p_approval.id, 'note', p_note)));
  perform bpm_core.write_audit(p_approval.tenant_id, p_actor, 'DecideApproval', 'approval', p_approval.id::text, null, p_note,
    jsonb_build_object('decision', p_status, 'workflow_instance_id', p_approval.workflow_instance_id, 'node_id', p_approval.node_id,
                       'task_type', p_approval.task_type));
end
$$;

-- from 70_delivery/accept_marks.sql
-- Under the locks: takes the marks of attempts that are still leased under the fencing token shown. Beyond that, only one late answer counts:
-- that an attempt whose end nobody knew did arrive. Of several such marks of one command the first counts.
-- Writes:   as move_commands.
create or replace function bpm_core.accept_marks(p_tenant_id text, p_marks bpm_core.mark[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  perform bpm_core.move_commands(p_tenant_id, array(
    -- The first that counts, not the first: a late mark under an old token must not stand before the right one in the same call.
    select distinct on (o.id)
           row(o.id, v.state, v.arrived, v.failure, m.reported, m.receipt, m.detail, m.retry_in, m.content_hash,
               coalesce(a.attempt, o.attempt), null)::bpm_core.command_move
      from (select p_tenant_id as tenant_id, x.* from unnest(p_marks) x offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.command_id = m.command_id
     cross join lateral jsonb_populate_record(null::bpm_core.destination, o.destination_snapshot) d
     cross join lateral bpm_core.judge_delivery(m.reported, m.receipt, d, o.attempt < o.max_attempts, o.first_sent_at is not null) v
      left join lateral (
        select t.attempt
          from bpm_core.delivery_attempt t
         where t.tenant_id = o.tenant_id and t.outbox_id = o.id and t.fencing_token = m.fencing_token and t.outcome = 'Unknown') a on true
     where case
             when o.state = 'Sending' then o.fencing_token = m.fencing_token and (o.lease_until > v_now or v.state = 'Sent')
             when o.state in ('Unknown', 'Reconciling', 'Manual') then v.state = 'Sent' and a.attempt is not null
             else false end
     order by o.id, m.item));
end
$$;

-- from 70_delivery/allow_resend.sql
-- May this Unknown command be sent again by hand? If so it gets one attempt more, should it have none left.
-- Raises:   BP422 the receiver's profile does not allow it, or the receiver may have forgotten the key.
-- Writes:   outbox.
create or replace function bpm_core.allow_resend(p_command bpm_core.outbox)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_until timestamptz := bpm_core.resend_until(p_command.first_sent_at, p_command.destination_snapshot);
begin
  if not (p_command.destination_snapshot ->> 'resend_allowed')::boolean then
    perform bpm_core.fail('BP422', format('Destination %s does not allow sending a command again.', p_command.destination_code),
      jsonb_build_object('command_id', p_command.command_id, 'cause', 'ResendNotAllowed'),
      'Find out at the receiver whether it arrived, then reconcile it as Sent or Failed.');
  elsif v_until <= bpm_core.now() then
    perform bpm_core.fail('BP422', format('Destination %s may have forgotten the key of command %s.', p_command.destination_code, p_command.command_id),
      jsonb_build_object('command_id', p_command.command_id, 'cause', 'RetentionOver', 'until', v_until),
      'Find out at the receiver whether it arrived, then reconcile it as Sent or Failed.');
  end if;
  update bpm_core.outbox o
     set max_attempts = greatest(o.max_attempts, o.attempt + 1)
   where o.tenant_id = p_command.tenant_id and o.id = p_command.id;
end
$$;

-- from 70_delivery/bury_commands.sql
-- Failed commands: an incident and a dead letter each. The token has moved on long ago, so the incident stops nothing and carries no token.
-- Writes:   incident, dead_letter, history_event.
create or replace function bpm_core.bury_commands(p_tenant_id text, p_failed bpm_core.command_move[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  if cardinality(p_failed) = 0 then
    return;
  end if;
  with buried as materialized (
    select o.tenant_id, bpm_core.new_id() as incident_id, o.workflow_instance_id, o.node_id, o.id, o.payload, m.failure,
           format('Command %s to %s at %s failed in attempt %s of %s: %s.', o.command_id, o.destination_code, o.node_id, o.attempt, o.max_attempts,
                  m.failure) as message,
           jsonb_build_object('command', o.command_id, 'destination', o.destination_code, 'attempt', o.attempt, 'error', o.last_error,
                              'may_have_arrived', o.first_sent_at is not null) as detail
      from (select p_tenant_id as tenant_id, m.* from unnest(p_failed) m offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.id = m.outbox_id),
  opened as (
    insert into bpm_core.incident (tenant_id, id, workflow_instance_id, node_id, code, message, detail, created_at)
    select b.tenant_id, b.incident_id, b.workflow_instance_id, b.node_id, b.failure, b.message, b.detail, v_now
      from buried b),
  kept as (
    insert into bpm_core.dead_letter (tenant_id, id, workflow_instance_id, outbox_id, incident_id, kind, error, payload, created_at)
    select b.tenant_id, bpm_core.new_id(), b.workflow_instance_id, b.id, b.incident_id, 'Command',
           b.detail || jsonb_build_object('code', b.failure), b.payload, v_now
      from buried b)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, node_id, detail)
  select b.tenant_id, b.workflow_instance_id, v_now, 'IncidentOpened', b.node_id,
         jsonb_build_object('incident', b.incident_id, 'code', b.failure, 'message', b.message)
    from buried b;
end
$$;

-- from 70_delivery/cancel_commands.sql
-- Cancels the commands of ended instances that never left: Pending and never possibly seen by the receiver. What is being sent, is Unknown, or is
-- to be sent again finishes its own life.
-- Writes:   outbox, history_event. The instances are locked; a claim holds its rows only for a moment and waits for nobody.
create or replace function bpm_core.cancel_commands(p_tenant_id text, p_instances uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with unsent as materialized (
    select o.tenant_id, o.id
      from unnest(p_instances) i(id)
     cross join lateral (select o.tenant_id, o.id, o.state, o.first_sent_at from bpm_core.outbox o where o.workflow_instance_id = i.id offset 0) o
     where o.tenant_id = p_tenant_id and o.state = 'Pending' and o.first_sent_at is null),
  cancelled as (
    update bpm_core.outbox o
       set state = 'Cancelled', ended_at = v_now
      from unsent u
     where o.tenant_id = u.tenant_id and o.id = u.id
    returning o.tenant_id, o.workflow_instance_id, o.token_id, o.node_id, o.command_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  select c.tenant_id, c.workflow_instance_id, v_now, 'CommandCancelled', c.token_id, c.node_id, 'Pending', 'Cancelled',
         jsonb_build_object('command', c.command_id)
    from cancelled c;
end
$$;

-- from 70_delivery/cap_json.sql
-- Keeps what a receiver said within bounds: beyond 64 kB only its size and hash are kept. To refuse it would turn a delivery into an unknown one.
-- Returns:  jsonb.
create or replace function bpm_core.cap_json(p_value jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select case when octet_length(p_value::text) > 65536
              then jsonb_build_object('omitted_bytes', octet_length(p_value::text),
                                      'sha256', encode(sha256(convert_to(p_value::text, 'UTF8')), 'hex'))
              else p_value end
$$;

-- from 70_delivery/check_reconciliation.sql
-- The arguments of a reconciliation.
-- Raises:   BP422 outcome, receipt or reason out of range.
create or replace function bpm_core.check_reconciliation(p_outcome text, p_receipt jsonb, p_reason text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_outcome is null or p_outcome not in ('Sent', 'Failed', 'Resend', 'Manual') then
    perform bpm_core.fail('BP422', format('%s is no outcome of a reconciliation.', coalesce(quote_literal(p_outcome), 'null')),
      jsonb_build_object('outcome', p_outcome), 'Say Sent, Failed, Resend or Manual.');
  elsif octet_length(p_receipt::text) > 65536 then
    perform bpm_core.fail('BP422', format('The receipt has %s bytes; at most 65536.', octet_length(p_receipt::text)),
      jsonb_build_object('bytes', octet_length(p_receipt::text)));
  elsif length(p_reason) > 4000 then
    perform bpm_core.fail('BP422', format('The reason has %s characters; at most 4000.', length(p_reason)),
      jsonb_build_object('length', length(p_reason)));
  end if;
end
$$;

-- from 70_delivery/claim_commands.sql
-- Hands out commands that are due to one worker, oldest first, each with a lease and a fencing token. Commit, then send, then bpm.mark_commands.
-- Send with command_id as the key, every time. Runners that claim again and again use claim_commands_at.
-- Returns:  one row per command; destination is the frozen row of the destination (config, key_header, secret_ref, profile), payload_hash sha256 in hex.
-- Raises:   BP403, BP422 worker, limit (1..1000) or lease (1 s..1 day) out of range.
-- Writes:   outbox. Locks: outbox, skip locked. Never an instance row.
-- Source:   runtime design, transaction cookbook, "Deliver".
create or replace function bpm.claim_commands(p_worker text, p_limit integer default 1, p_lease interval default null, p_tenant_id text default '')
returns table (command_id uuid, attempt integer, fencing_token bigint, lease_until timestamptz, destination_code text, destination jsonb, task_type text,
               business_key text, process_instance_id uuid, payload jsonb, payload_hash text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_picker(p_worker, p_limit, p_lease);
  return query
  select c.command_id, c.attempt, c.fencing_token, c.lease_until, c.destination_code, c.destination, c.task_type, c.business_key,
         c.process_instance_id, c.payload, c.payload_hash
    from bpm_core.claim_pending_commands(p_tenant_id, p_worker, '-infinity', '00000000-0000-0000-0000-000000000000', p_limit, p_lease,
                                         bpm_core.now()) c;
end
$$;

-- from 70_delivery/claim_commands_at.sql
-- Like claim_commands, from where the caller's positions stand; what runners use. Hand back the positions with the next claim, also after an
-- empty one. After a rolled-back claim drop them.
-- Returns:  one row: commands jsonb (array of objects with the columns of claim_commands), positions jsonb (opaque),
--           next_due_at (when the next command falls due; null: none known).
-- Raises:   BP403, BP422 as claim_commands; BP400 positions that are not ours.
-- Writes:   outbox. Locks: outbox, skip locked.
create or replace function bpm.claim_commands_at(
  p_worker text, p_limit integer default 1, p_lease interval default null, p_positions jsonb default null, p_tenant_id text default '')
returns table (commands jsonb, positions jsonb, next_due_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz;
  v_position bpm_core.pick_position;
  r_scan     record;
  v_claimed  bpm_core.claimed_command[];
  v_count    integer;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_picker(p_worker, p_limit, p_lease);
  perform bpm_core.check_positions(p_positions, 'object');
  v_now := bpm_core.now();
  v_position := bpm_core.read_position(p_positions -> 'pending');
  select s.* into r_scan from bpm_core.pick_start(v_position, v_now) s;
  v_claimed := array(
    select c from bpm_core.claim_pending_commands(p_tenant_id, p_worker, r_scan.from_at, r_scan.from_id, p_limit, p_lease, v_now) c);
  v_count := cardinality(v_claimed);
  commands := coalesce((select jsonb_agg(to_jsonb(c) - '{available_at,outbox_id}'::text[]) from unnest(v_claimed) c), '[]');
  positions := jsonb_build_object('pending', to_jsonb(bpm_core.pick_end(
    v_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_claimed[v_count].available_at, v_claimed[v_count].outbox_id,
    v_count < p_limit, v_now)));
  if v_count < p_limit then
    next_due_at := bpm_core.commands_due(p_tenant_id, v_now);
  end if;
  return next;
end
$$;

-- from 70_delivery/claim_pending_commands.sql
-- The picker of commands: leases what is due behind (p_from_at, p_from_id), oldest first.
-- Never handed out: a command the receiver may have seen when its memory of our key could end within the lease (tick makes it Unknown), and
-- one whose payload is not the one that was hashed (check_invariants shows it).
-- Returns:  the commands as leased.
-- Locks:    outbox, skip locked. Never an instance row.
create or replace function bpm_core.claim_pending_commands(
  p_tenant_id text, p_worker text, p_from_at timestamptz, p_from_id uuid, p_limit integer, p_lease interval, p_now timestamptz)
returns setof bpm_core.claimed_command
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
begin
  return query
  with picked as materialized (
    select o.tenant_id, o.id, coalesce(p_lease, (o.destination_snapshot ->> 'lease')::interval) as lease
      from bpm_core.outbox o
     where o.state = 'Pending' and o.tenant_id = p_tenant_id
       and o.available_at <= p_now and (o.available_at, o.id) > (p_from_at, p_from_id)
       and (o.review_at is null or o.review_at > p_now + coalesce(p_lease, (o.destination_snapshot ->> 'lease')::interval))
       and o.payload_hash = bpm_core.payload_hash(o.payload)
     order by o.available_at, o.id
     limit p_limit
       for no key update skip locked),
  leased as (
    update bpm_core.outbox o
       set state = 'Sending', attempt = o.attempt + 1, fencing_token = o.fencing_token + 1, worker_id = p_worker, claimed_at = p_now,
           lease_until = p_now + p.lease, review_at = null
      from picked p
     where o.tenant_id = p.tenant_id and o.id = p.id
    returning o.*)
  select l.available_at, l.id, l.command_id, l.attempt, l.fencing_token, l.lease_until, l.destination_code, l.destination_snapshot, l.task_type,
         p.business_key, w.process_instance_id, l.payload, encode(l.payload_hash, 'hex')
    from leased l
   cross join lateral (select w.tenant_id, w.process_instance_id from bpm_core.workflow_instance w
                        where w.tenant_id = l.tenant_id and w.id = l.workflow_instance_id offset 0) w
   cross join lateral (select p.business_key from bpm_core.process_instance p
                        where p.tenant_id = w.tenant_id and p.id = w.process_instance_id offset 0) p
   order by l.available_at, l.id;
end
$$;

-- from 70_delivery/command_delay.sql
-- How long until a command is tried again: the destination's backoff, doubled with every attempt, capped, lengthened at random by up to a tenth
-- so that what failed together does not come back together.
-- Returns:  interval.
create or replace function bpm_core.command_delay(p_profile bpm_core.destination, p_attempt integer)
returns interval
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select least(p_profile.backoff_cap, p_profile.backoff * power(2, least(greatest(p_attempt, 1) - 1, 20))) * (1 + random() / 10)
$$;

-- from 70_delivery/commands_due.sql
-- When does the next command fall due after p_after?
-- Returns:  timestamptz, null when none is planned.
create or replace function bpm_core.commands_due(p_tenant_id text, p_after timestamptz)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
begin
  return (
    select o.available_at
      from bpm_core.outbox o
     where o.state = 'Pending' and o.tenant_id = p_tenant_id and o.available_at > p_after
     order by o.available_at
     limit 1);
end
$$;

-- from 70_delivery/enter_send_tasks.sql
-- KIND send task: a command is written, with the variables, and its inputs over them, as its payload and its destination as it is now, and the token moves on at once.
-- The command has an id of its own, which the receiver will see at every attempt. Without a destination the token stops: UnknownDestination.
-- Writes:   outbox, history_event; incident.
create or replace function bpm_core.enter_send_tasks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set intervalstyle = 'iso_8601'
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_leaving  bpm_core.moving[];
  v_troubles bpm_core.trouble[];
begin
  with sending as materialized (
    select a.tenant_id, a.instance_id, a.token_id, a.node_id, b.task_type, coalesce(b.destination_code, b.task_type) as destination_code,
           d.id as destination_id, d.max_attempts, d.snapshot,
           v.variables || coalesce(i.mapped, '{}') as payload, i.problem, i.detail, bpm_core.new_id() as command_id, a::bpm_core.moving as token
      from unnest(p_arriving) a
     cross join lateral (select b.task_type, b.destination_code, b.expressions -> 'inputs' as inputs from bpm_core.workflow_task_binding b
                          where b.tenant_id = a.tenant_id and b.workflow_version_id = a.version_id and b.node_id = a.node_id offset 0) b
      left join lateral (select d.id, d.max_attempts, to_jsonb(d) - '{tenant_id,created_by,created_at,updated_at}'::text[] as snapshot
                           from bpm_core.destination d
                          where d.tenant_id = a.tenant_id and d.code = coalesce(b.destination_code, b.task_type) offset 0) d on true
     cross join lateral bpm_core.token_variables(a.tenant_id, a.instance_id, a.scope_id) v
      left join lateral (select m.* from bpm_core.map_values(b.inputs, v.variables) m where b.inputs is not null offset 0) i on true),
  written as (
    insert into bpm_core.outbox (
      tenant_id, id, command_id, workflow_instance_id, token_id, node_id, task_type, destination_id, destination_code, destination_snapshot,
      payload, payload_hash, available_at, max_attempts, created_at)
    select s.tenant_id, bpm_core.new_id(), s.command_id, s.instance_id, s.token_id, s.node_id, s.task_type, s.destination_id, s.destination_code,
           s.snapshot, s.payload, bpm_core.payload_hash(s.payload), bpm_core.now(), s.max_attempts, v_now
      from sending s
     where s.destination_id is not null and s.problem is null),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select s.tenant_id, s.instance_id, v_now, 'CommandWritten', s.token_id, s.node_id, 'Pending',
           jsonb_build_object('command', s.command_id, 'destination', s.destination_code)
      from sending s
     where s.destination_id is not null and s.problem is null)
  select array_agg(row((s.token).tenant_id, (s.token).instance_id, (s.token).version_id, (s.token).scope_id, (s.token).token_id, (s.token).node_id,
                       null, null)::bpm_core.moving) filter (where s.destination_id is not null and s.problem is null),
         array_agg(case when s.problem is not null then bpm_core.task_trouble(s.token, s.problem, s.detail) else row(s.token, 'UnknownDestination', format('Send task %s: there is no destination %s.', s.node_id, s.destination_code),
                       jsonb_build_object('destination', s.destination_code, 'task_type', s.task_type))::bpm_core.trouble end)
           filter (where s.destination_id is null or s.problem is not null)
    into v_leaving, v_troubles
    from sending s;
  perform bpm_core.open_incidents(v_troubles);
  return coalesce(v_leaving, '{}');
end
$$;

-- from 70_delivery/expire_commands.sql
-- Under the locks of their instances: of these commands, those whose lease ran out while Sending become Unknown.
-- Returns:  integer, how many.
-- Writes:   as move_commands.
create or replace function bpm_core.expire_commands(p_tenant_id text, p_commands uuid[], p_now timestamptz)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_moves bpm_core.command_move[] := array(
    select row(o.id, 'Unknown', true, null, null, null, jsonb_build_object('error', 'LeaseExpired'), null, null, o.attempt, null)::bpm_core.command_move
      from unnest(p_commands) i(id)
     cross join lateral (select o.id, o.state, o.lease_until, o.attempt from bpm_core.outbox o where o.tenant_id = p_tenant_id and o.id = i.id offset 0) o
     where o.state = 'Sending' and o.lease_until <= p_now);
begin
  perform bpm_core.move_commands(p_tenant_id, v_moves);
  return cardinality(v_moves);
end
$$;

-- from 70_delivery/first_reconciliation.sql
-- The answer to a reconciliation of a command that is not (or no longer) Unknown: the first answer if it was reconciled just so.
-- Returns:  text, the state it was given.
-- Raises:   BP409 in every other case; the detail is what stands.
create or replace function bpm_core.first_reconciliation(p_command bpm_core.outbox, p_outcome text, p_receipt jsonb)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_last jsonb := (
    select e.detail
      from bpm_core.audit_event e
     where e.tenant_id = p_command.tenant_id and e.aggregate_type = 'command' and e.aggregate_id = p_command.command_id::text
       and e.action = 'ReconcileCommand'
     order by e.at desc
     limit 1);
begin
  if v_last ->> 'outcome' is distinct from p_outcome or coalesce(v_last -> 'receipt', 'null') <> coalesce(p_receipt, 'null') then
    perform bpm_core.fail('BP409',
      format('Command %s is %s; only one that is Unknown can be reconciled.', p_command.command_id, p_command.state),
      jsonb_build_object('command_id', p_command.command_id, 'state', p_command.state, 'reconciled', v_last ->> 'outcome', 'receipt', p_command.receipt));
  end if;
  return v_last ->> 'state';
end
$$;

-- from 70_delivery/judge_delivery.sql
-- What an attempt's outcome means for the command: the table "what happened / goes to" of the model, with the receiver's profile.
-- p_tries_left: attempts are left. p_arrived: an earlier attempt may have arrived; then a command that cannot be tried again is Unknown, not Failed.
-- Returns:  state; arrived, whether the receiver may have seen the command by now; failure, the incident's code when the state is Failed.
create or replace function bpm_core.judge_delivery(
  p_reported text, p_receipt jsonb, p_profile bpm_core.destination, p_tries_left boolean, p_arrived boolean,
  out state bpm_core.command_state, out arrived boolean, out failure text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_meaning text := p_reported;
begin
  if p_reported = 'Conflict' then
    v_meaning := case p_profile.conflict_means when 'Sent' then 'AlreadyDone' when 'Pending' then 'InProgress' else 'KeyReused' end;
  elsif p_reported = 'ReceiverError' then
    v_meaning := case when p_profile.server_error_safe then 'NotSent' else 'Unknown' end;
  elsif p_reported = 'Sent' and p_profile.receipt_path is not null
        and coalesce(jsonb_typeof(bpm_core.path_value(p_receipt, p_profile.receipt_path)), 'null') = 'null' then
    v_meaning := 'Unknown';
  end if;
  arrived := p_arrived or v_meaning in ('Sent', 'AlreadyDone', 'Unknown', 'InProgress');
  case v_meaning
    when 'Sent', 'AlreadyDone' then
      state := 'Sent';
    when 'Unknown' then
      state := 'Unknown';
    when 'InProgress', 'NotSent', 'Throttled' then
      state := (case when p_tries_left then 'Pending' when arrived then 'Unknown' else 'Failed' end)::bpm_core.command_state;
      failure := case when state = 'Failed' then 'DeliveryExhausted' end;
    when 'Refused', 'KeyReused' then
      state := 'Failed';
      failure := case v_meaning when 'Refused' then 'DeliveryRefused' else 'KeyReused' end;
  end case;
end
$$;

-- from 70_delivery/mark_commands.sql
-- Says what became of attempts to deliver. Which state follows the database decides, by the profile of the receiver frozen in the command.
-- p_items: [{"command_id", "fencing_token", "outcome", "receipt": {…}, "detail": {…}, "retry_after_seconds": n}], at most 1,000; outcome is
--   Sent (with its receipt), NotSent (nothing left this machine), Unknown (written, then silence), InProgress (the receiver is at it),
--   Conflict (409: what it means is in the profile), Refused (3xx, 4xx), KeyReused (with another payload), Throttled (429, 503 with a time),
--   ReceiverError (500, 502, 504, 503 without a time).
-- Returns:  one row per item: item (from 1), command_id, outcome (Sent, Pending, Failed, Unknown; the same for an unchanged repeat; Conflict,
--           LeaseLost, Cancelled, NotFound), state.
-- Raises:   BP400 ill-formed items, BP403, BP429 too many. 55P03, 40P01: repeat the call.
-- Writes:   outbox, delivery_attempt, history_event; when Failed incident, dead_letter.
-- Locks:    workflow_instance. No command row is waited for: under this lock only claims touch any, and those Pending.
-- Source:   runtime design, transaction cookbook, "Deliver".
create or replace function bpm.mark_commands(p_items jsonb, p_tenant_id text default '')
returns table (item integer, command_id uuid, outcome bpm.outcome, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_marks bpm_core.mark[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_marks := bpm_core.parse_marks(p_items);
  perform bpm_core.lock_instances(p_tenant_id, array(
    select o.workflow_instance_id
      from (select p_tenant_id as tenant_id, m.command_id from unnest(v_marks) m offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.command_id = m.command_id));
  perform bpm_core.accept_marks(p_tenant_id, v_marks);
  return query
  select m.item, m.command_id, a.outcome, a.state
    from unnest(v_marks) m
   cross join lateral bpm_core.mark_outcome(p_tenant_id, m) a
   order by m.item;
end
$$;

-- from 70_delivery/mark_outcome.sql
-- The answer to one mark, after those that counted were taken: an unchanged repeat gets the first answer.
-- Returns:  outcome and state.
create or replace function bpm_core.mark_outcome(p_tenant_id text, p_mark bpm_core.mark, out outcome bpm.outcome, out state text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_outbox_id uuid;
  r_attempt   record;
begin
  select o.id, o.state::text into v_outbox_id, state
    from bpm_core.outbox o
   where o.tenant_id = p_tenant_id and o.command_id = p_mark.command_id;
  if not found then
    outcome := 'NotFound';
    return;
  end if;
  select a.outcome, a.content_hash = p_mark.content_hash as repeated
    into r_attempt
    from bpm_core.delivery_attempt a
   where a.tenant_id = p_tenant_id and a.outbox_id = v_outbox_id and a.fencing_token = p_mark.fencing_token and a.content_hash is not null
   order by a.content_hash = p_mark.content_hash desc
   limit 1;
  if found and r_attempt.repeated then
    outcome := r_attempt.outcome::text::bpm.outcome;
    state := r_attempt.outcome::text;
  else
    outcome := (case when found then 'Conflict' when state = 'Cancelled' then 'Cancelled' else 'LeaseLost' end)::bpm.outcome;
  end if;
end
$$;

-- from 70_delivery/move_commands.sql
-- Under the locks of their instances: moves commands to another state, with the attempt that ended and history. The one place that does, but for
-- claim (Pending to Sending) and cancel. An Unknown command is planned to be sent again where the profile allows and while the receiver
-- still knows our key; one that is Pending again although it may have been seen carries the time after which it must not be sent.
-- Writes:   outbox, delivery_attempt, history_event; when Failed incident, dead_letter.
create or replace function bpm_core.move_commands(p_tenant_id text, p_moves bpm_core.command_move[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with move as materialized (
    select o.tenant_id, o.id, o.command_id, o.workflow_instance_id, o.token_id, o.node_id, o.state as was, o.worker_id, o.fencing_token, o.claimed_at,
           m.state, m.reported, bpm_core.cap_json(m.receipt) as receipt, bpm_core.cap_json(m.detail) as detail, m.content_hash, m.attempt, m.actor,
           case when m.arrived then coalesce(o.first_sent_at, o.claimed_at) else o.first_sent_at end as first_sent_at,
           coalesce(m.retry_in, bpm_core.command_delay(d, o.attempt)) as delay,
           d.resend_allowed and o.attempt < o.max_attempts as resend, d.key_retention, d.lease
      from (select p_tenant_id as tenant_id, m.* from unnest(p_moves) m offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.id = m.outbox_id
     cross join lateral jsonb_populate_record(null::bpm_core.destination, o.destination_snapshot) d),
  moved as (
    update bpm_core.outbox o
       set state         = m.state,
           worker_id     = null,
           lease_until   = null,
           available_at  = case when m.state = 'Pending' then v_now + m.delay else o.available_at end,
           first_sent_at = m.first_sent_at,
           review_at     = case when m.state = 'Pending' then m.first_sent_at + m.key_retention
                                when m.state = 'Unknown' and m.resend and m.first_sent_at + m.key_retention > v_now + m.delay + m.lease
                                  then v_now + m.delay end,
           receipt       = coalesce(m.receipt, o.receipt),
           last_error    = case when m.state <> 'Sent' then m.detail || jsonb_strip_nulls(jsonb_build_object('outcome', m.reported)) end,
           ended_at      = case when m.state in ('Sent', 'Failed') then v_now end
      from move m
     where o.tenant_id = m.tenant_id and o.id = m.id),
  attempted as (
    insert into bpm_core.delivery_attempt (
      tenant_id, outbox_id, attempt, late, worker_id, fencing_token, claimed_at, ended_at, reported, outcome, receipt, detail, content_hash)
    select m.tenant_id, m.id, m.attempt, m.was <> 'Sending', coalesce(a.worker_id, m.worker_id), coalesce(a.fencing_token, m.fencing_token),
           coalesce(a.claimed_at, m.claimed_at), v_now, m.reported, m.state, m.receipt, m.detail, m.content_hash
      from move m
      left join bpm_core.delivery_attempt a
        on a.tenant_id = m.tenant_id and a.outbox_id = m.id and a.attempt = m.attempt and not a.late
     where m.was = 'Sending' or m.reported is not null)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  select m.tenant_id, m.workflow_instance_id, v_now,
         case when m.actor is not null then 'CommandReconciled' when m.state = 'Pending' then 'CommandRetried'
              else 'Command' || m.state end::bpm_core.history_kind,
         m.token_id, m.node_id, m.was::text, m.state::text, coalesce(m.actor, m.worker_id),
         jsonb_strip_nulls(jsonb_build_object('command', m.command_id, 'attempt', m.attempt, 'reported', m.reported))
         || jsonb_build_object('detail', m.detail)
    from move m;
  perform bpm_core.bury_commands(p_tenant_id, array(select m from unnest(p_moves) m where m.state = 'Failed'));
end
$$;

-- from 70_delivery/parse_marks.sql
-- Reads the items of mark_commands.
-- Returns:  mark[], item counts from 1.
-- Raises:   BP400 as check_items, unknown outcome, detail that is no object, retry_after_seconds of the wrong type or range.
create or replace function bpm_core.parse_marks(p_items jsonb)
returns bpm_core.mark[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_outcomes constant text[] := array['Sent', 'NotSent', 'Unknown', 'InProgress', 'Conflict', 'Refused', 'KeyReused', 'Throttled', 'ReceiverError'];
  v_bad      bigint;
begin
  perform bpm_core.check_items(p_items, 'command_id', '{command_id,fencing_token,outcome,receipt,detail,retry_after_seconds}');
  select i.n into v_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where (i.item ->> 'outcome') is null or (i.item ->> 'outcome') <> all (v_outcomes)
      or coalesce(jsonb_typeof(i.item -> 'detail'), 'null') not in ('object', 'null')
      or case coalesce(jsonb_typeof(i.item -> 'retry_after_seconds'), 'null')
           when 'null' then false
           when 'number' then (i.item ->> 'retry_after_seconds')::numeric < 0
           else true end
   order by i.n
   limit 1;
  if v_bad is not null then
    perform bpm_core.fail('BP400', format('Item %s: outcome must be one we know, detail an object, retry_after_seconds a number from 0.', v_bad),
      jsonb_build_object('item', v_bad, 'outcomes', v_outcomes));
  end if;
  return array(
    select row(i.n, (i.item ->> 'command_id')::uuid, (i.item ->> 'fencing_token')::bigint, i.item ->> 'outcome',
               nullif(i.item -> 'receipt', 'null'), coalesce(nullif(i.item -> 'detail', 'null'), '{}'),
               -- A receiver may ask for patience, not for being forgotten.
               case when (i.item ->> 'retry_after_seconds') is not null
                    then make_interval(secs => round(least((i.item ->> 'retry_after_seconds')::numeric, 86400), 6)::float8) end,
               sha256(convert_to((i.item - '{command_id,fencing_token}'::text[])::text, 'UTF8')))::bpm_core.mark
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     order by i.n);
end
$$;

-- from 70_delivery/payload_hash.sql
-- What freezes a payload: kept when the command is written, compared before every attempt.
-- Returns:  bytea, sha256 of the payload's text in UTF-8.
create or replace function bpm_core.payload_hash(p_payload jsonb)
returns bytea
language sql immutable parallel safe
as $$ select sha256(convert_to(p_payload::text, 'UTF8')) $$;

-- from 70_delivery/reconcile_command.sql
-- A person, or a probe, says what became of a command whose delivery is Unknown: Sent, Failed, Resend (the same key again, where the receiver's
-- profile allows it and while it still knows the key), or Manual (a person takes it over; later Sent, Failed or Resend).
-- Returns:  one row: command_id, state. The same call again gets the first answer.
-- Raises:   BP403. BP404 no such command. BP409 it is not Unknown (detail: its state). BP422 no such outcome, receipt over 64 kB, reason over 4,000
--           characters, Resend not allowed or too late. 55P03, 40P01: repeat the call.
-- Writes:   outbox, history_event, audit_event; when Failed incident, dead_letter.
-- Locks:    workflow_instance.
create or replace function bpm.reconcile_command(
  p_command_id uuid, p_outcome text, p_receipt jsonb default null, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (command_id uuid, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  v_instance uuid;
  v_state    bpm_core.command_state;
  r_command  bpm_core.outbox;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reconciliation(p_outcome, p_receipt, p_reason);
  select o.workflow_instance_id into v_instance from bpm_core.outbox o where o.tenant_id = p_tenant_id and o.command_id = p_command_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no command %s.', p_command_id), jsonb_build_object('command_id', p_command_id));
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array[v_instance]);
  select o.* into r_command from bpm_core.outbox o where o.tenant_id = p_tenant_id and o.command_id = p_command_id;
  if r_command.state not in ('Unknown', 'Reconciling', 'Manual') then
    return query select p_command_id, bpm_core.first_reconciliation(r_command, p_outcome, p_receipt);
    return;
  end if;
  v_state := (case p_outcome when 'Resend' then 'Pending' else p_outcome end)::bpm_core.command_state;
  if v_state <> r_command.state then
    if v_state = 'Pending' then
      perform bpm_core.allow_resend(r_command);
    end if;
    perform bpm_core.move_commands(p_tenant_id, array[
      row(r_command.id, v_state, true, case when v_state = 'Failed' then 'DeliveryFailed' end, null, p_receipt,
          jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), interval '0', null, r_command.attempt, v_actor)::bpm_core.command_move]);
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'ReconcileCommand', 'command', p_command_id::text, null, p_reason,
      jsonb_build_object('outcome', p_outcome, 'from', r_command.state, 'state', v_state, 'receipt', p_receipt));
  end if;
  return query select p_command_id, v_state::text;
end
$$;

-- from 70_delivery/resend_until.sql
-- Until when a command the receiver may have seen may be sent again: its whole lease must lie within the receiver's memory of our key.
-- Returns:  timestamptz.
create or replace function bpm_core.resend_until(p_first_sent_at timestamptz, p_destination jsonb)
returns timestamptz
language sql stable parallel safe
as $$ select p_first_sent_at + (p_destination ->> 'key_retention')::interval - (p_destination ->> 'lease')::interval $$;

-- from 70_delivery/review_commands.sql
-- Under the locks of their instances: goes on with commands whose review_at has come. Unknown ones are released to be sent again, as long as an
-- attempt ends within the receiver's memory of our key; released ones that nobody claimed in that time are Unknown for good.
-- Returns:  integer, how many.
-- Writes:   as move_commands.
create or replace function bpm_core.review_commands(p_tenant_id text, p_commands uuid[], p_now timestamptz)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_moves   bpm_core.command_move[];
  v_dropped integer;
begin
  -- A tick that came too late: the plan to send again is dropped, the state stays.
  update bpm_core.outbox o
     set review_at = null
    from (select p_tenant_id as tenant_id, i.id from unnest(p_commands) i(id) offset 0) i
   where o.tenant_id = i.tenant_id and o.id = i.id and o.state = 'Unknown' and o.review_at <= p_now
     and bpm_core.resend_until(o.first_sent_at, o.destination_snapshot) <= p_now;
  get diagnostics v_dropped = row_count;
  v_moves := array(
    select row(o.id, case when o.state = 'Unknown' then 'Pending' else 'Unknown' end, true, null, null, null,
               jsonb_build_object('reason', case when o.state = 'Unknown' then 'Resend' else 'RetentionOver' end),
               interval '0', null, o.attempt, null)::bpm_core.command_move
      from (select p_tenant_id as tenant_id, i.id from unnest(p_commands) i(id) offset 0) i
      join bpm_core.outbox o on o.tenant_id = i.tenant_id and o.id = i.id
     where o.state in ('Unknown', 'Pending') and o.review_at <= p_now);
  perform bpm_core.move_commands(p_tenant_id, v_moves);
  return cardinality(v_moves) + v_dropped;
end
$$;

-- from 70_delivery/tick_commands.sql
-- Commands still Sending when their lease runs out become Unknown: whether they left, and arrived, nobody knows. Oldest first.
-- Returns:  tick_result: rows done, the next position. Not when the next falls due: finding out would walk every entry of the index that
--           was given up before its time, and these come with every poll anyway.
-- Writes:   as move_commands. Locks: workflow_instance, skip locked.
create or replace function bpm_core.tick_commands(
  p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_result bpm_core.tick_result;
  r_scan   record;
  v_found  bpm_core.candidate[];
  v_locked uuid[];
  v_last   bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_found := array(
    select row(o.lease_until, o.id, o.workflow_instance_id)::bpm_core.candidate
      from bpm_core.outbox o
     where o.state = 'Sending' and o.tenant_id = p_tenant_id
       and o.lease_until <= p_now and (o.lease_until, o.id) > (r_scan.from_at, r_scan.from_id)
     order by o.lease_until, o.id
     limit p_limit);
  v_result.done := 0;
  if cardinality(v_found) > 0 then
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    v_result.done := bpm_core.expire_commands(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked)), p_now);
    v_last := bpm_core.last_handled(v_found, v_locked);
  end if;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     cardinality(v_found) < p_limit and cardinality(v_found) = v_result.done, p_now);
  return v_result;
end
$$;

-- from 70_delivery/tick_unknown.sql
-- Unknown commands whose receiver's profile allows it are Pending again when their backoff is over, with the same key, while the receiver still
-- knows it. Those released so and not claimed in time are Unknown again. The others only a person moves (reconcile_command).
-- Returns:  tick_result: rows done, the next position, when the next falls due.
-- Writes:   as move_commands. Locks: workflow_instance, skip locked.
create or replace function bpm_core.tick_unknown(
  p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_result bpm_core.tick_result;
  r_scan   record;
  v_found  bpm_core.candidate[];
  v_locked uuid[];
  v_last   bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_found := array(
    select row(o.review_at, o.id, o.workflow_instance_id)::bpm_core.candidate
      from bpm_core.outbox o
     where o.tenant_id = p_tenant_id and o.review_at <= p_now and (o.review_at, o.id) > (r_scan.from_at, r_scan.from_id)
     order by o.review_at, o.id
     limit p_limit);
  v_result.done := 0;
  if cardinality(v_found) > 0 then
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    v_result.done := bpm_core.review_commands(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked)), p_now);
    v_last := bpm_core.last_handled(v_found, v_locked);
  end if;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     cardinality(v_found) < p_limit and cardinality(v_found) = v_result.done, p_now);
  v_result.next_due_at := (
    select o.review_at
      from bpm_core.outbox o
     where o.tenant_id = p_tenant_id and o.review_at > p_now
     order by o.review_at
     limit 1);
  return v_result;
end
$$;

-- from 80_operation/api_version.sql
-- Which versions of this interface the database serves; a driver outside the range refuses to work.
-- Returns:  one row (lowest, highest). Open to all four roles, whatever their tenants.
create or replace function bpm.api_version()
returns table (lowest integer, highest integer)
language sql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$ select 1, 1 $$;

-- from 80_operation/backlog_checks.sql
-- ready(): what waits in one tenant: work nobody takes, time nobody keeps, and what only a person can mend. Warnings all.
-- Returns:  health_check rows.
create or replace function bpm_core.backlog_checks(p_tenant_id text)
returns setof bpm_core.health_check
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_ready numeric := coalesce(extract(epoch from v_now - bpm_core.oldest_ready(p_tenant_id)), 0);
  v_due   numeric;
  v_count bigint;
begin
  return next row('ready_tasks', v_ready < 900, false, jsonb_build_object('oldest_seconds', round(greatest(v_ready, 0), 1)))::bpm_core.health_check;
  select coalesce(extract(epoch from v_now - least(
           (select t.due_at from bpm_core.timer t where t.status = 'Scheduled' and t.tenant_id = p_tenant_id order by t.due_at limit 1),
           (select i.available_at from bpm_core.inbox i where i.tenant_id = p_tenant_id and i.available_at < 'infinity' order by i.available_at limit 1),
           (select t.lease_until from bpm_core.task_instance t where t.state = 'Executing' and t.tenant_id = p_tenant_id order by t.lease_until limit 1),
           (select t.ready_at from bpm_core.token t where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.ready_at < 'infinity' order by t.ready_at limit 1))), 0)
    into v_due;
  return next row('tick', v_due < 300, false,
    jsonb_build_object('overdue_seconds', round(greatest(v_due, 0), 1), 'remedy', 'a runner, or bpm.tick()'))::bpm_core.health_check;
  select count(*) into v_count
    from (select from bpm_core.dead_letter d where d.state = 'Open' and d.tenant_id = p_tenant_id limit 1000) c;
  return next row('dead_letters', v_count = 0, false, jsonb_build_object('open', v_count))::bpm_core.health_check;
  select count(*) into v_count
    from (select from bpm_core.incident i where i.state = 'Open' and i.tenant_id = p_tenant_id limit 1000) c;
  return next row('incidents', v_count = 0, false, jsonb_build_object('open', v_count))::bpm_core.health_check;
  select count(*) into v_count
    from (select from bpm_core.outbox o where o.state = 'Unknown' and o.tenant_id = p_tenant_id limit 1000) c;
  return next row('unknown_commands', v_count = 0, false,
    jsonb_build_object('unknown', v_count, 'remedy', 'bpm.reconcile_command()'))::bpm_core.health_check;
end
$$;

-- from 80_operation/check_invariants.sql
-- The engine audits itself: every invariant, every violating row. Reads whole tables; all in one snapshot, so that it may run beside work.
-- Without nested loops: everything is read anyway, and where statistics are missing the planner would walk the whole tenant once per row.
-- Returns:  rows (invariant, tenant_id, subject, detail with the rule and the values seen); none when all is well.
-- Raises:   BP403.
create or replace function bpm.check_invariants(p_tenant_id text default '')
returns table (invariant text, tenant_id text, subject text, detail jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
set work_mem = '32MB'
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return query
  select v.* from bpm_core.invariant_i_01(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_02(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_03(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_04(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_06(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_07(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_08(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_09(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_10(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_11(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_12(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_13(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_14(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_16(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_18(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_21(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_22(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_23(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_27(p_tenant_id) v;
end
$$;

-- from 80_operation/count_ready.sql
-- How many tasks of each type are ready, each counted to p_cap at most.
-- Returns:  jsonb {task type: count}, at most 100 types.
create or replace function bpm_core.count_ready(p_tenant_id text, p_cap integer)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_object_agg(y.task_type, n.tasks), '{}')
    from bpm_core.ready_types(p_tenant_id, 100) y(task_type)
   cross join lateral (
     select count(*) as tasks
       from (select from bpm_core.task_instance t
              where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = y.task_type
              limit p_cap) c) n
$$;

-- from 80_operation/create_history_partitions.sql
-- Creates what is missing of the monthly partitions of history_event: the month before this one, this one, and p_months ahead.
-- A table is made first and attached then, since attaching blocks no reader or writer of its siblings, unlike create … partition of.
-- Months begin at midnight UTC, wherever the server stands.
-- Returns:  one row per month, with action Created or Present.
-- Raises:   55P03 when the lock cannot be had in time.
-- Writes:   tables bpm_core.history_event_yYYYYmMM. Locks: history_event, share update exclusive.
create or replace function bpm_core.create_history_partitions(p_months integer)
returns table (partition text, action text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
  v_this  timestamp := date_trunc('month', bpm_core.now() at time zone 'UTC');
  v_month timestamp;
begin
  for v_month in
    select generate_series(v_this - interval '1 month', v_this + make_interval(months => p_months), interval '1 month')
  loop
    partition := 'history_event_' || to_char(v_month, '"y"YYYY"m"MM');
    action := 'Present';
    if to_regclass(format('bpm_core.%I', partition)) is null then
      execute format(
        'create table bpm_core.%I (like bpm_core.history_event including defaults including constraints including storage) '
        'with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05)', partition);
      execute format(
        'alter table bpm_core.history_event attach partition bpm_core.%I for values from (%L) to (%L)',
        partition, v_month at time zone 'UTC', (v_month + interval '1 month') at time zone 'UTC');
      action := 'Created';
    end if;
    return next;
  end loop;
end
$$;

-- from 80_operation/events_awaited.sql
-- The events a token waits for at its node: the node itself, the boundary events attached to it, what an event-based gateway leads to.
-- Returns:  one row per event: node_id, kind.
create or replace function bpm_core.events_awaited(p_token bpm_core.token, p_version_id uuid)
returns table (node_id text, kind bpm_core.node_kind)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select n.node_id, n.kind
    from bpm_core.workflow_node n
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_version_id and n.node_id = p_token.node_id
  union all
  select n.node_id, n.kind
    from bpm_core.workflow_node n
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_version_id and n.attached_to = p_token.node_id
     -- An interrupting event sub-process has begun: the others there no longer can.
     and not (n.element = 'startEvent' and exists (
       select
         from bpm_core.scope s
         join bpm_core.scope c on c.tenant_id = s.tenant_id and c.parent_scope_id = s.id
         join bpm_core.workflow_node x on x.tenant_id = c.tenant_id and x.workflow_version_id = p_version_id and x.scope_node_id = c.node_id
                                      and x.attached_to = p_token.node_id and x.interrupting
        where s.tenant_id = p_token.tenant_id and s.host_token_id = p_token.id and s.state = 'Open'))
  union all
  select f.target_id, f.target_kind
    from bpm_core.workflow_node n
    join bpm_core.workflow_flow f on f.tenant_id = n.tenant_id and f.workflow_version_id = n.workflow_version_id and f.source_id = n.node_id
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_version_id and n.node_id = p_token.node_id and n.kind = 'EventGateway'
$$;

-- from 80_operation/held_astray.sql
-- What is held without its instance being suspended, or not held although it is, while no sweep is under way that would mend it.
-- Returns:  rows (kind, id, status: of the instance, state).
create or replace function bpm_core.held_astray(p_tenant_id text)
returns table (kind text, id uuid, status bpm_core.workflow_status, state text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select x.kind, x.id, w.status, x.state
    from (
      select 'task' as kind, t.id, t.workflow_instance_id, t.state::text as state, t.state = 'Held' as held
        from bpm_core.task_instance t
       where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Held')
      union all
      select 'timer', t.id, t.workflow_instance_id, t.status::text, t.status = 'Held'
        from bpm_core.timer t
       where t.tenant_id = p_tenant_id and t.status in ('Scheduled', 'Held')
      union all
      select 'token', t.id, t.workflow_instance_id, 'set aside', true
        from bpm_core.token t
       where t.tenant_id = p_tenant_id and t.state = 'Ready' and t.ready_at = 'infinity'
      union all
      select 'inbox', i.id, i.target_id, 'set aside', true
        from bpm_core.inbox i
       where i.tenant_id = p_tenant_id and i.available_at = 'infinity') x
    join bpm_core.workflow_instance w on w.tenant_id = p_tenant_id and w.id = x.workflow_instance_id
   where x.held <> (w.status = 'Suspended') and (w.status in ('Running', 'Suspended') or x.kind = 'inbox')
     and not exists (select from bpm_core.inbox i where i.tenant_id = w.tenant_id and i.target_id = w.id and i.kind = 'Sweep')
$$;

-- from 80_operation/history_since.sql
-- From when on is history kept? Instances older than the oldest partition have lost theirs and cannot be judged by it.
-- Returns:  timestamptz, the lower bound of the oldest partition.
create or replace function bpm_core.history_since()
returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(min((regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \(''([^'']+)''\)'))[1]::timestamptz), 'infinity')
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'bpm_core.history_event'::regclass
$$;

-- from 80_operation/horizon_holders.sql
-- Who keeps old row versions from being removed: sessions with an old snapshot, prepared transactions, replication slots.
-- Returns:  rows, worst first: holder (text), transactions (how many the snapshot is behind), seconds (null where unknown).
--           Sees the sessions of other users only where bpm_owner is a member of pg_read_all_stats (the bootstrap tries to make it one).
create or replace function bpm_core.horizon_holders()
returns table (holder text, transactions integer, seconds numeric)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select h.holder, h.transactions, h.seconds
    from (
      select format('session %s (%s, %s, %s)', a.pid, a.usename, coalesce(nullif(a.application_name, ''), a.backend_type), a.state) as holder,
             greatest(age(a.backend_xmin), age(a.backend_xid)) as transactions,
             round(extract(epoch from clock_timestamp() - a.xact_start), 1) as seconds
        from pg_stat_activity a
       where a.pid <> pg_backend_pid() and a.datid = (select d.oid from pg_database d where d.datname = current_database())
         and (a.backend_xmin is not null or a.backend_xid is not null)
      union all
      select format('prepared transaction %s (%s)', p.gid, p.owner), age(p.transaction),
             round(extract(epoch from clock_timestamp() - p.prepared), 1)
        from pg_prepared_xacts p
       where p.database = current_database()
      union all
      select format('replication slot %s (%s)', s.slot_name, case when s.active then 'active' else 'inactive' end),
             greatest(age(s.xmin), age(s.catalog_xmin)), null
        from pg_replication_slots s
       where s.xmin is not null or s.catalog_xmin is not null) h
   order by h.seconds desc nulls last, h.transactions desc
   limit 5
$$;

-- from 80_operation/invariant_i_01.sql
-- I-01: a token reaches a final state once and never leaves it. As history tells it.
create or replace function bpm_core.invariant_i_01(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-01', s.tenant_id, 'token', s.token_id::text, 'a final token moved again',
           jsonb_build_object('seq', s.seq, 'kind', s.kind, 'was', s.before, 'became', s.state))
    from (select t.tenant_id, t.token_id, t.seq, t.kind, t.state, lag(t.state) over (partition by t.token_id order by t.seq) as before
            from bpm_core.token_step t
           where t.tenant_id = p_tenant_id) s
   where s.before in ('Completed', 'Terminated')
$$;

-- from 80_operation/invariant_i_02.sql
-- I-02: only moves listed in token_transition happen. History does not tell of the states Ready and Executing that a token passes through
-- within one command, so one of them may lie between two rows.
create or replace function bpm_core.invariant_i_02(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-02', s.tenant_id, 'token', s.token_id::text, 'a move that is not listed',
           jsonb_build_object('seq', s.seq, 'kind', s.kind, 'from', s.before, 'to', s.state))
    from (select t.tenant_id, t.token_id, t.seq, t.kind, t.state, lag(t.state) over (partition by t.token_id order by t.seq) as before
            from bpm_core.token_step t
           where t.tenant_id = p_tenant_id) s
   where s.before not in ('Completed', 'Terminated')
     and s.before <> s.state
     and not exists (
       select from bpm_core.token_transition d where d.from_state::text = s.before and d.to_state::text = s.state)
     and not exists (
       select
         from bpm_core.token_transition d
         join bpm_core.token_transition e on e.from_state = d.to_state
        where d.from_state::text = s.before and d.to_state in ('Ready', 'Executing') and e.to_state::text = s.state)
  union all
  select bpm_core.violation_of('I-02', t.tenant_id, 'token', t.id::text, 'Executing outlived its command', jsonb_build_object('since', t.updated_at))
    from bpm_core.token t
   where t.tenant_id = p_tenant_id and t.state = 'Executing'
$$;

-- from 80_operation/invariant_i_03.sql
-- I-03: at most one claim succeeds per task attempt. A running attempt has not ended; no two attempts share a fencing token.
create or replace function bpm_core.invariant_i_03(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-03', t.tenant_id, 'task', t.id::text, 'the running attempt has ended already',
           jsonb_build_object('attempt', t.attempt, 'worker', t.worker_id, 'ended_by', e.worker_id, 'ended', e.state))
    from bpm_core.task_instance t
    join bpm_core.execution e on e.tenant_id = t.tenant_id and e.task_instance_id = t.id and e.attempt = t.attempt
   where t.tenant_id = p_tenant_id and t.state = 'Executing'
  union all
  select bpm_core.violation_of('I-03', p_tenant_id, 'task', a.task_id::text, 'two attempts share a fencing token',
           jsonb_build_object('fencing_token', a.fencing_token, 'attempts', array_agg(a.attempt order by a.attempt)))
    from (select e.task_instance_id as task_id, e.attempt, e.fencing_token
            from bpm_core.execution e
           where e.tenant_id = p_tenant_id
          union
          select t.id, t.attempt, t.fencing_token
            from bpm_core.task_instance t
           where t.tenant_id = p_tenant_id and t.state = 'Executing') a
   group by a.task_id, a.fencing_token
  having count(*) > 1
$$;

-- from 80_operation/invariant_i_04.sql
-- I-04: a stale fence or lease changes nothing. What a task became was brought by its last attempt: an accepted result belongs to the attempt
-- that succeeded, and the attempt that succeeded is the last.
create or replace function bpm_core.invariant_i_04(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-04', r.tenant_id, 'task', r.task_instance_id::text, 'a result of an attempt that did not succeed was accepted',
           jsonb_build_object('attempt', r.attempt, 'execution', e.state))
    from bpm_core.result r
    left join bpm_core.execution e on e.tenant_id = r.tenant_id and e.task_instance_id = r.task_instance_id and e.attempt = r.attempt
   where r.tenant_id = p_tenant_id and r.verdict = 'Accepted' and e.state is distinct from 'Succeeded'
  union all
  select bpm_core.violation_of('I-04', t.tenant_id, 'task', t.id::text, 'an attempt succeeded that was not the last',
           jsonb_build_object('succeeded', e.attempt, 'fencing_token', e.fencing_token, 'last', t.attempt, 'last_fencing_token', t.fencing_token))
    from bpm_core.execution e
    join bpm_core.task_instance t on t.tenant_id = e.tenant_id and t.id = e.task_instance_id
   where e.tenant_id = p_tenant_id and e.state = 'Succeeded' and (t.attempt <> e.attempt or t.fencing_token <> e.fencing_token)
$$;

-- from 80_operation/invariant_i_06.sql
-- I-06: a join fires once per round, with one token from every distinct incoming flow; join counts equal arrivals. An inclusive join takes one
-- from every flow that has brought one, at least one, and fires as soon as it may (unsettled_inclusive_joins).
create or replace function bpm_core.invariant_i_06(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with round as (
    select j.tenant_id, j.workflow_instance_id, j.scope_id, j.node_id, j.round, j.expected, j.joined, j.fired_at is not null as fired,
           n.kind, n.incoming, w.created_at >= (select bpm_core.history_since()) as recorded,
           (select count(*)
              from bpm_core.parallel_join_arrival a
              join bpm_core.workflow_flow f
                on f.tenant_id = w.tenant_id and f.workflow_version_id = w.workflow_version_id and f.flow_id = a.flow_id and f.target_id = a.node_id
             where a.tenant_id = j.tenant_id and a.workflow_instance_id = j.workflow_instance_id and a.scope_id = j.scope_id
               and a.node_id = j.node_id and a.round = j.round) as arrived
      from bpm_core.parallel_join j
      join bpm_core.workflow_instance w on w.tenant_id = j.tenant_id and w.id = j.workflow_instance_id
      left join bpm_core.workflow_node n
        on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = j.node_id
     where j.tenant_id = p_tenant_id),
  firing as (
    select h.workflow_instance_id, coalesce(k.scope_id, bpm_core.root_scope()) as scope_id, h.node_id, (h.detail ->> 'round')::integer as round, count(*) as times
      from bpm_core.history_event h
      left join bpm_core.token k on k.tenant_id = h.tenant_id and k.id = h.token_id
     where h.tenant_id = p_tenant_id and h.kind = 'JoinFired'
     group by h.workflow_instance_id, coalesce(k.scope_id, bpm_core.root_scope()), h.node_id, (h.detail ->> 'round')::integer)
  select bpm_core.violation_of('I-06', p_tenant_id, 'join', format('%s round %s of instance %s', r.node_id, r.round, r.workflow_instance_id), x.rule,
           jsonb_build_object('expected', r.expected, 'incoming', r.incoming, 'joined', r.joined, 'arrived', r.arrived, 'fired', r.fired,
                              'times', coalesce(f.times, 0)))
    from round r
    left join firing f on f.workflow_instance_id = r.workflow_instance_id and f.scope_id = r.scope_id and f.node_id = r.node_id and f.round = r.round
   cross join lateral (values
     ('joined is not the number of arrivals', r.joined <> r.arrived),
     ('expected is not the number of incoming flows',
      case when r.kind = 'InclusiveJoin' then r.expected > r.incoming else r.expected is distinct from r.incoming end),
     ('an inclusive join that did not fire keeps a round', r.kind = 'InclusiveJoin' and not r.fired),
     ('complete, but did not fire', r.joined = r.expected and not r.fired),
     ('fired not once', r.recorded and coalesce(f.times, 0) <> r.fired::integer)) x(rule, broken)
   where x.broken
  union all
  select bpm_core.violation_of('I-06', p_tenant_id, 'join', format('%s round %s of instance %s', a.node_id, a.round, a.workflow_instance_id),
           'an arrival without its round', jsonb_build_object('flow', a.flow_id, 'token', a.token_id))
    from bpm_core.parallel_join_arrival a
   where a.tenant_id = p_tenant_id
     and not exists (select
                       from bpm_core.parallel_join j
                      where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.workflow_instance_id and j.scope_id = a.scope_id
                        and j.node_id = a.node_id and j.round = a.round)
     and not exists (select
                       from bpm_core.inclusive_join j
                      where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.workflow_instance_id and j.scope_id = a.scope_id
                        and j.node_id = a.node_id and j.round <= a.round)
  union all
  select bpm_core.violation_of('I-06', p_tenant_id, 'join', format('%s of instance %s', u.node_id, u.workflow_instance_id), u.rule, u.seen)
    from bpm_core.unsettled_inclusive_joins(p_tenant_id) u
$$;

-- from 80_operation/invariant_i_07.sql
-- I-07: a live task has exactly one live token, resting where the task stands; a token has at most one live task. The other way round:
-- a token that rests at a task node has its task, or the answer to it is parked.
create or replace function bpm_core.invariant_i_07(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-07', t.tenant_id, 'task', t.id::text, 'a live task without a live token at its node and visit',
           jsonb_build_object('state', t.state, 'node', t.node_id, 'visit', t.visit, 'token_state', k.state, 'token_node', k.node_id, 'token_visit', k.visit))
    from bpm_core.task_instance t
    left join bpm_core.token k on k.tenant_id = t.tenant_id and k.id = t.token_id
   where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Held')
     and (k.id is null or k.state in ('Completed', 'Terminated') or k.node_id <> t.node_id or k.visit <> t.visit)
  union all
  select bpm_core.violation_of('I-07', p_tenant_id, 'token', t.token_id::text, 'a token with several live tasks',
           jsonb_build_object('tasks', array_agg(t.id order by t.id)))
    from bpm_core.task_instance t
   where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Held')
   group by t.token_id
  having count(*) > 1
  union all
  select bpm_core.violation_of('I-07', k.tenant_id, 'token', k.id::text, 'a token waits at a task node without a task',
           jsonb_build_object('node', k.node_id, 'visit', k.visit))
    from bpm_core.token k
    join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id
    join bpm_core.workflow_node n on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = k.node_id
   where k.tenant_id = p_tenant_id and k.state = 'Waiting' and n.kind in ('ServiceTask', 'UserTask')
     and not exists (select
                       from bpm_core.task_instance t
                      where t.tenant_id = k.tenant_id and t.workflow_instance_id = k.workflow_instance_id and t.token_id = k.id
                        and t.visit = k.visit and t.state in ('Ready', 'Executing', 'Held'))
     and not exists (select
                       from bpm_core.inbox i
                      where i.tenant_id = k.tenant_id and i.target_id = k.workflow_instance_id and i.kind = 'Answer'
                        and (i.payload ->> 'token' = k.id::text
                             or i.payload -> 'answers' @> jsonb_build_array(jsonb_build_object('token', k.id))))
$$;

-- from 80_operation/invariant_i_08.sql
-- I-08: attempts never fall and never pass the maximum except by an audited requeue; fencing tokens only grow.
-- A release gives its attempt back by raising the maximum by one.
create or replace function bpm_core.invariant_i_08(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-08', p_tenant_id, 'task', a.task_id::text, 'a later attempt has no higher fencing token',
           jsonb_build_object('attempt', a.attempt, 'fencing_token', a.fencing_token, 'before', a.before))
    from (select e.task_instance_id as task_id, e.attempt, e.fencing_token,
                 lag(e.fencing_token) over (partition by e.task_instance_id order by e.attempt) as before
            from bpm_core.execution e
           where e.tenant_id = p_tenant_id) a
   where a.fencing_token < a.before
  union all
  select bpm_core.violation_of('I-08', t.tenant_id, 'task', t.id::text, 'attempt or fencing token fell',
           jsonb_build_object('attempt', t.attempt, 'fencing_token', t.fencing_token, 'highest_attempt', e.attempt, 'highest_fencing_token', e.fencing_token))
    from bpm_core.task_instance t
    join (select e.task_instance_id, max(e.attempt) as attempt, max(e.fencing_token) as fencing_token
            from bpm_core.execution e
           where e.tenant_id = p_tenant_id
           group by e.task_instance_id) e on e.task_instance_id = t.id
   where t.tenant_id = p_tenant_id and (t.attempt < e.attempt or t.fencing_token < e.fencing_token)
  union all
  select bpm_core.violation_of('I-08', t.tenant_id, 'task', t.id::text, 'the maximum was raised without a requeue',
           jsonb_build_object('max_attempts', t.max_attempts, 'of_binding', b.max_attempts, 'released', coalesce(r.times, 0)))
    from bpm_core.task_instance t
    join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
    join bpm_core.workflow_task_binding b
      on b.tenant_id = w.tenant_id and b.workflow_version_id = w.workflow_version_id and b.node_id = t.node_id
    left join (select e.task_instance_id, count(*) as times
                 from bpm_core.execution e
                where e.tenant_id = p_tenant_id and e.state = 'Released'
                group by e.task_instance_id) r on r.task_instance_id = t.id
   where t.tenant_id = p_tenant_id and t.max_attempts > b.max_attempts + coalesce(r.times, 0) and w.created_at >= (select bpm_core.history_since())
     and not exists (select
                       from bpm_core.history_event h
                      where h.tenant_id = t.tenant_id and h.workflow_instance_id = t.workflow_instance_id and h.kind = 'TaskRequeued'
                        and h.detail ->> 'task' = t.id::text)
$$;

-- from 80_operation/invariant_i_09.sql
-- I-09: a Completed or Cancelled task is never claimed again; an expired lease never completes.
create or replace function bpm_core.invariant_i_09(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-09', e.tenant_id, 'task', e.task_instance_id::text, 'completed after its lease had run out',
           jsonb_build_object('attempt', e.attempt, 'lease_until', e.lease_until, 'ended_at', e.ended_at))
    from bpm_core.execution e
   where e.tenant_id = p_tenant_id and e.state = 'Succeeded' and e.ended_at > e.lease_until
  union all
  select bpm_core.violation_of('I-09', e.tenant_id, 'task', e.task_instance_id::text, 'claimed again after it was completed',
           jsonb_build_object('completed_in', e.attempt, 'claimed_in', l.attempt))
    from bpm_core.execution e
    join bpm_core.execution l on l.tenant_id = e.tenant_id and l.task_instance_id = e.task_instance_id and l.attempt > e.attempt
   where e.tenant_id = p_tenant_id and e.state = 'Succeeded'
  union all
  select bpm_core.violation_of('I-09', t.tenant_id, 'task', t.id::text, 'in hand again after it was completed',
           jsonb_build_object('state', t.state, 'completed_in', e.attempt, 'attempt', t.attempt))
    from bpm_core.execution e
    join bpm_core.task_instance t on t.tenant_id = e.tenant_id and t.id = e.task_instance_id
   where e.tenant_id = p_tenant_id and e.state = 'Succeeded' and t.state <> 'Completed'
  union all
  select bpm_core.violation_of('I-09', h.tenant_id, 'task', e.task_instance_id::text, 'claimed again after it was cancelled',
           jsonb_build_object('attempt', e.attempt, 'cancelled_at', h.at, 'claimed_at', e.claimed_at))
    from bpm_core.history_event h
    join bpm_core.execution e on e.tenant_id = h.tenant_id and e.task_instance_id = (h.detail ->> 'task')::uuid
   where h.tenant_id = p_tenant_id and h.kind = 'TaskCancelled' and e.claimed_at > h.at
$$;

-- from 80_operation/invariant_i_10.sql
-- I-10: timers take effect once; a cancelled or fired timer is never due. A scheduled one waits on a live token of the same visit, and a token
-- at a timer event, or at an event-based gateway before one, has its timer.
create or replace function bpm_core.invariant_i_10(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with ended as (
    select (h.detail ->> 'timer')::uuid as timer_id,
           count(*) filter (where h.kind = 'TimerFired') as fired,
           count(*) filter (where h.kind = 'TimerCancelled') as cancelled
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id and h.kind in ('TimerFired', 'TimerCancelled')
     group by (h.detail ->> 'timer')::uuid)
  select bpm_core.violation_of('I-10', t.tenant_id, 'timer', t.id::text, x.rule,
           jsonb_build_object('status', t.status, 'node', t.node_id, 'fired', coalesce(e.fired, 0), 'cancelled', coalesce(e.cancelled, 0)))
    from bpm_core.timer t
    left join ended e on e.timer_id = t.id
   cross join lateral (values
     ('fired more than once', coalesce(e.fired, 0) > 1),
     ('fired and cancelled', coalesce(e.fired, 0) > 0 and coalesce(e.cancelled, 0) > 0),
     ('due again after it had fired or was cancelled', t.status in ('Scheduled', 'Held') and e.timer_id is not null)) x(rule, broken)
   where t.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-10', t.tenant_id, 'timer', t.id::text, 'due, but nothing waits for it',
           jsonb_build_object('node', t.node_id, 'visit', t.visit, 'token_state', k.state, 'token_node', k.node_id, 'token_visit', k.visit))
    from bpm_core.timer t
    left join bpm_core.token k on k.tenant_id = t.tenant_id and k.id = t.token_id
   where t.tenant_id = p_tenant_id and t.status in ('Scheduled', 'Held') and t.workflow_instance_id is not null
     and (k.id is null or k.state in ('Completed', 'Terminated') or k.visit <> t.visit)
  union all
  select bpm_core.violation_of('I-10', k.tenant_id, 'token', k.id::text, 'a token waits at a timer event without a timer',
           jsonb_build_object('node', k.node_id, 'visit', k.visit, 'event', e.node_id))
    from bpm_core.token k
    join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id
   cross join lateral bpm_core.events_awaited(k, w.workflow_version_id) e
   where k.tenant_id = p_tenant_id and k.state = 'Waiting' and e.kind = 'TimerCatch'
     and not exists (select
                       from bpm_core.timer t
                      where t.tenant_id = k.tenant_id and t.token_id = k.id and t.visit = k.visit and t.node_id = e.node_id
                        and t.status in ('Scheduled', 'Held'))
$$;

-- from 80_operation/invariant_i_11.sql
-- I-11: instance Completed <=> all its tokens are final; Running => a live token, an open incident, or work in the inbox.
-- Where the workflow is its process's only one, both have the same status. A token has the waits of all events of its node. What is held is
-- held because the instance is suspended, and the other way round.
create or replace function bpm_core.invariant_i_11(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-11', w.tenant_id, 'workflow_instance', w.id::text, 'running with nothing left to do', jsonb_build_object('status', w.status))
    from bpm_core.workflow_instance w
   where w.tenant_id = p_tenant_id and w.status in ('Running', 'Suspended')
     and not exists (select from bpm_core.token k
                      where k.tenant_id = w.tenant_id and k.workflow_instance_id = w.id and k.state in ('Ready', 'Executing', 'Waiting', 'Failed'))
     and not exists (select from bpm_core.incident i where i.tenant_id = w.tenant_id and i.workflow_instance_id = w.id and i.state = 'Open')
     and not exists (select from bpm_core.inbox i where i.tenant_id = w.tenant_id and i.target_id = w.id)
  union all
  select bpm_core.violation_of('I-11', w.tenant_id, 'process_instance', p.id::text, 'another status than its only workflow',
           jsonb_build_object('process', p.status, 'workflow', w.status))
    from bpm_core.workflow_instance w
    join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
   where w.tenant_id = p_tenant_id and w.ends_process and p.status::text <> w.status::text
  union all
  select bpm_core.violation_of('I-11', k.tenant_id, 'token', k.id::text, 'a token waits for an event without a subscription',
           jsonb_build_object('node', k.node_id, 'visit', k.visit, 'event', e.node_id))
    from bpm_core.token k
    join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id
   cross join lateral bpm_core.events_awaited(k, w.workflow_version_id) e
   where k.tenant_id = p_tenant_id and k.state = 'Waiting' and e.kind in ('MessageCatch', 'MessageBoundary', 'SignalCatch', 'SignalBoundary', 'ConditionalCatch', 'ConditionalBoundary')
     and not exists (select
                       from bpm_core.subscription s
                      where s.tenant_id = k.tenant_id and s.token_id = k.id and s.visit = k.visit and s.node_id = e.node_id and s.state = 'Open')
     and not exists (select from bpm_core.inbox i where i.tenant_id = k.tenant_id and i.target_id = w.id)
  union all
  select bpm_core.violation_of('I-11', p_tenant_id, h.kind, h.id::text, 'held, or not, unlike its instance',
           jsonb_build_object('instance_status', h.status, 'state', h.state))
    from bpm_core.held_astray(p_tenant_id) h
$$;

-- from 80_operation/invariant_i_12.sql
-- I-12: a final instance has no live token, task, timer, subscription, pending approval, open scope, multi-instance.
create or replace function bpm_core.invariant_i_12(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-12', w.tenant_id, 'workflow_instance', w.id::text, 'final, but not everything in it is',
           jsonb_build_object('status', w.status, 'open', o.kind, 'id', o.id, 'state', o.state))
    from bpm_core.workflow_instance w
    join (
      select 'token' as kind, k.workflow_instance_id, k.id, k.state::text as state
        from bpm_core.token k
       where k.tenant_id = p_tenant_id and k.state in ('Ready', 'Executing', 'Waiting', 'Failed')
      union all
      select 'task', t.workflow_instance_id, t.id, t.state::text
        from bpm_core.task_instance t
       where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Held')
      union all
      select 'timer', t.workflow_instance_id, t.id, t.status::text
        from bpm_core.timer t
       where t.tenant_id = p_tenant_id and t.status in ('Scheduled', 'Held')
      union all
      select 'subscription', s.workflow_instance_id, s.id, s.state::text
        from bpm_core.subscription s
       where s.tenant_id = p_tenant_id and s.state = 'Open'
      union all
      select 'approval', a.workflow_instance_id, a.id, a.status::text
        from bpm_core.approval_record a
       where a.tenant_id = p_tenant_id and a.status = 'Pending'
      union all
      select 'scope', s.workflow_instance_id, s.id, s.state
        from bpm_core.scope s
       where s.tenant_id = p_tenant_id and s.state = 'Open'
      union all
      select 'multi_instance', m.workflow_instance_id, m.host_token_id, m.mode
        from bpm_core.multi_instance m
       where m.tenant_id = p_tenant_id) o on o.workflow_instance_id = w.id
   where w.tenant_id = p_tenant_id and w.status in ('Completed', 'Failed', 'Cancelled', 'Skipped')
$$;

-- from 80_operation/invariant_i_13.sql
-- I-13: history is append-only, its order per instance is the commit order, and every change has its row; attempts appear when they end.
create or replace function bpm_core.invariant_i_13(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-13', s.tenant_id, 'token', s.token_id::text, 'history goes back in time',
           jsonb_build_object('seq', s.seq, 'kind', s.kind, 'at', s.at, 'before', s.before))
    from (select t.tenant_id, t.token_id, t.seq, t.kind, t.at, lag(t.at) over (partition by t.token_id order by t.seq) as before
            from bpm_core.token_step t
           where t.tenant_id = p_tenant_id) s
   where s.at < s.before
  union all
  select bpm_core.violation_of('I-13', s.tenant_id, 'token', s.token_id::text, 'history does not begin with its birth, or tells of two',
           jsonb_build_object('seq', s.seq, 'kind', s.kind))
    from (select t.tenant_id, t.token_id, t.seq, t.kind, row_number() over (partition by t.token_id order by t.seq) as n
            from bpm_core.token_step t
           where t.tenant_id = p_tenant_id) s
   where case when s.n = 1 then s.kind not in ('InstanceStarted', 'TokenBorn', 'ScopeOpened') else s.kind in ('InstanceStarted', 'TokenBorn') end
  union all
  select bpm_core.violation_of('I-13', m.tenant_id, m.kind, m.id, 'a change without its row in history', m.seen)
    from (select u.* from bpm_core.unrecorded_changes(p_tenant_id) u
          union all
          select u.* from bpm_core.unrecorded_decisions(p_tenant_id) u) m
  union all
  select bpm_core.violation_of('I-13', t.tenant_id, 'task', t.id::text, 'an attempt ended without a trace',
           jsonb_build_object('attempt', t.attempt, 'state', t.state, 'ended', coalesce(e.ended, 0)))
    from bpm_core.task_instance t
    left join (select e.task_instance_id, count(*) as ended
                 from bpm_core.execution e
                where e.tenant_id = p_tenant_id
                group by e.task_instance_id) e on e.task_instance_id = t.id
   where t.tenant_id = p_tenant_id and coalesce(e.ended, 0) <> t.attempt - (t.state = 'Executing')::integer
$$;

-- from 80_operation/invariant_i_14.sql
-- I-14: replay of history gives the live state: every token, where it stands, in which state; and the variables, patch by patch.
create or replace function bpm_core.invariant_i_14(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-14', p_tenant_id, 'token', coalesce(k.id, r.token_id)::text, 'history tells otherwise',
           jsonb_build_object('node', k.node_id, 'state', k.state, 'replayed_node', r.node_id, 'replayed_state', r.state))
    from (select k.id, k.node_id, k.state
            from bpm_core.token k
            join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id
           where k.tenant_id = p_tenant_id and w.created_at >= (select bpm_core.history_since())) k
    full join (select r.token_id, r.node_id, r.state
                 from bpm_core.replay_tokens(p_tenant_id, null, null) r
                 join bpm_core.workflow_instance w on w.tenant_id = p_tenant_id and w.id = r.workflow_instance_id
                where w.created_at >= (select bpm_core.history_since())) r on r.token_id = k.id
   where k.node_id is distinct from r.node_id or k.state::text is distinct from r.state
  union all
  select bpm_core.violation_of('I-14', p_tenant_id, 'workflow_instance', w.id::text, 'its variables are not what the patches make',
           jsonb_build_object('names', (
             select jsonb_agg(coalesce(l.key, r.key))
               from jsonb_each(w.variables) l
               full join jsonb_each(coalesce(p.variables, '{}')) r on r.key = l.key
              where l.value is distinct from r.value)))
    from bpm_core.workflow_instance w
    left join (select h.workflow_instance_id, bpm_core.jsonb_merge(case when h.detail ? 'local' then (h.detail -> 'variables') - array(select jsonb_array_elements_text(h.detail -> 'local'))
                                                             else h.detail -> 'variables' end order by h.seq) as variables
                 from bpm_core.history_event h
                where h.tenant_id = p_tenant_id and h.detail ? 'variables'
                  and h.kind in ('TaskCompleted', 'ErrorThrown', 'MessageReceived', 'SignalReceived', 'VariablesSet', 'CallCompleted', 'NodeSkipped', 'ScopeCompleted')
                group by h.workflow_instance_id) p on p.workflow_instance_id = w.id
   where w.tenant_id = p_tenant_id and w.created_at >= (select bpm_core.history_since())
     and w.variables <> coalesce(p.variables, '{}')
$$;

-- from 80_operation/invariant_i_16.sql
-- I-16: one approval per step visit, decided once, in effect exactly once; no task before approval. A token that rests at such a step has a
-- decision to come, an effect to come, or its task.
create or replace function bpm_core.invariant_i_16(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with told as (
    select (h.detail ->> 'approval')::uuid as approval_id,
           count(*) filter (where h.kind = 'ApprovalDecided') as decided,
           count(*) filter (where h.kind = 'ApprovalApplied') as applied,
           coalesce(bool_or(h.detail @> '{"void": true}'), false) as void
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id and h.kind in ('ApprovalDecided', 'ApprovalApplied')
     group by (h.detail ->> 'approval')::uuid),
  offered as (
    select t.token_id, t.visit, count(*) as tasks
      from bpm_core.task_instance t
     where t.tenant_id = p_tenant_id
     group by t.token_id, t.visit)
  select bpm_core.violation_of('I-16', a.tenant_id, 'approval', a.id::text, x.rule,
           jsonb_build_object('status', a.status, 'effect', a.effect, 'decided', d.decided, 'applied', d.applied, 'tasks', coalesce(o.tasks, 0)))
    from bpm_core.approval_record a
    left join told d on d.approval_id = a.id
    left join offered o on o.token_id = a.token_id and o.visit = a.visit
   cross join lateral (values
     ('decided more than once', d.decided > 1),
     ('took effect more than once', d.applied > 1),
     ('a task before the approval', coalesce(o.tasks, 0) > 0 and (a.status <> 'Approved' or a.effect <> 'Applied')),
     ('approved and applied, but no task', coalesce(o.tasks, 0) = 0 and a.status = 'Approved' and a.effect = 'Applied' and not coalesce(d.void, false)),
     ('more than one task', coalesce(o.tasks, 0) > 1)) x(rule, broken)
   where a.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-16', t.tenant_id, 'task', t.id::text, 'a task at a gated step without an approval', jsonb_build_object('node', t.node_id))
    from bpm_core.task_instance t
    join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
    join bpm_core.workflow_node n on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = t.node_id
    left join bpm_core.approval_record a
      on a.tenant_id = t.tenant_id and a.workflow_instance_id = t.workflow_instance_id and a.node_id = t.node_id
     and a.token_id = t.token_id and a.visit = t.visit
   where t.tenant_id = p_tenant_id and n.kind = 'ApprovalTask' and a.id is null
  union all
  select bpm_core.violation_of('I-16', k.tenant_id, 'token', k.id::text, 'a token waits at a gated step for nothing',
           jsonb_build_object('node', k.node_id, 'visit', k.visit, 'status', a.status, 'effect', a.effect))
    from bpm_core.token k
    join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id
    join bpm_core.workflow_node n on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = k.node_id
    left join bpm_core.approval_record a
      on a.tenant_id = k.tenant_id and a.workflow_instance_id = k.workflow_instance_id and a.node_id = k.node_id
     and a.token_id = k.id and a.visit = k.visit and a.status <> 'Cancelled'
   where k.tenant_id = p_tenant_id and k.state = 'Waiting' and n.kind = 'ApprovalTask'
     and (a.id is null
          or a.effect = 'Applied'
             and not exists (select
                               from bpm_core.task_instance t
                              where t.tenant_id = k.tenant_id and t.token_id = k.id and t.visit = k.visit and t.state in ('Ready', 'Executing', 'Held')))
$$;

-- from 80_operation/invariant_i_18.sql
-- I-18: same tenant, operation, key and payload -> same answer; another payload -> conflict; concurrent callers -> one effect. What is kept of a
-- key must be able to do that: a whole hash, an answer, and the instance it speaks of.
create or replace function bpm_core.invariant_i_18(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-18', k.tenant_id, 'idempotency_key', k.operation || ' ' || k.key, x.rule,
           jsonb_build_object('instance_id', k.instance_id, 'response', k.response, 'hash_bytes', length(k.request_hash)))
    from bpm_core.idempotency_key k
    left join bpm_core.process_instance p on p.tenant_id = k.tenant_id and p.id = k.instance_id
    left join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = (k.response ->> 'workflow_instance_id')::uuid
   cross join lateral (values
     ('the request hash is no sha256', length(k.request_hash) <> 32),
     ('the answer is missing', k.operation = 'start_process' and (k.response is null or k.instance_id is null)),
     ('the answer speaks of another instance',
      k.operation = 'start_process' and k.response is not null
      and ((k.response ->> 'process_instance_id')::uuid is distinct from k.instance_id
           or w.id is not null and w.process_instance_id is distinct from k.instance_id)),
     ('the instance was never started', k.operation = 'start_process' and k.instance_id is not null and p.id is null)) x(rule, broken)
   where k.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-18', k.tenant_id, 'idempotency_key', k.operation || ' ' || min(k.key), 'two keys answer with one instance',
           jsonb_build_object('instance_id', k.instance_id, 'keys', array_agg(k.key order by k.key)))
    from bpm_core.idempotency_key k
   where k.tenant_id = p_tenant_id and k.instance_id is not null
   group by k.tenant_id, k.operation, k.instance_id
  having count(*) > 1
$$;

-- from 80_operation/invariant_i_21.sql
-- I-21: the version an instance is pinned to never changes under it: neither which one it is, nor what it says.
create or replace function bpm_core.invariant_i_21(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-21', w.tenant_id, 'workflow_instance', w.id::text, 'pinned to another version than at its start',
           jsonb_build_object('started_with', h.detail ->> 'workflow_version', 'is', w.workflow_version_id))
    from bpm_core.workflow_instance w
    join bpm_core.history_event h on h.tenant_id = w.tenant_id and h.workflow_instance_id = w.id and h.kind = 'InstanceStarted'
   where w.tenant_id = p_tenant_id and (h.detail ->> 'workflow_version')::uuid <> w.workflow_version_id
  union all
  select bpm_core.violation_of('I-21', w.tenant_id, 'workflow_instance', w.id::text, 'its workflow version is not the one its process version binds',
           jsonb_build_object('bound', b.workflow_version_id, 'is', w.workflow_version_id))
    from bpm_core.workflow_instance w
    join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
    left join bpm_core.process_workflow_binding b
      on b.tenant_id = w.tenant_id and b.process_version_id = p.process_version_id and b.binding_key = w.binding_key
   where w.tenant_id = p_tenant_id and w.parent_token_id is null and b.workflow_version_id is distinct from w.workflow_version_id
  union all
  select bpm_core.violation_of('I-21', v.tenant_id, 'workflow_version', v.id::text, x.rule, jsonb_build_object('version', v.version, 'status', v.status))
    from bpm_core.workflow_version v
   cross join lateral (values
     ('its rows are not the graph that was published',
      v.graph is distinct from bpm_core.graph_of(
        array(select n from bpm_core.workflow_node n where n.tenant_id = v.tenant_id and n.workflow_version_id = v.id),
        array(select f from bpm_core.workflow_flow f where f.tenant_id = v.tenant_id and f.workflow_version_id = v.id),
        array(select b from bpm_core.workflow_task_binding b where b.tenant_id = v.tenant_id and b.workflow_version_id = v.id))),
     ('its file is not the one that was published', v.checksum <> sha256(convert_to(v.bpmn_xml, 'UTF8')))) x(rule, broken)
   where v.tenant_id = p_tenant_id and v.status <> 'Draft' and x.broken
$$;

-- from 80_operation/invariant_i_22.sql
-- I-22: migrations were applied each once and in order, without a gap. Looked at with the tenant without a name; nothing where there is no ledger.
create or replace function bpm_core.invariant_i_22(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ledger regclass := to_regclass('bpm_core.schema_migrations');
begin
  if p_tenant_id <> '' or v_ledger is null then
    return;
  end if;
  return query execute format($ledger$
    select (bpm_core.violation_of('I-22', '', 'migration', m.version::text, 'a version is missing before it, or it was applied before an earlier one',
              jsonb_build_object('name', m.name, 'place', m.place, 'applied_at', m.applied_at, 'before', m.before))).*
      from (select s.version, s.name, s.applied_at, row_number() over (order by s.version) as place,
                   lag(s.applied_at) over (order by s.version) as before
              from %s s) m
     where m.version <> m.place or m.applied_at < m.before
  $ledger$, v_ledger);
end
$$;

-- from 80_operation/invariant_i_23.sql
-- I-23: a command that may have been sent is never Pending again by itself: only where the receiver's profile allows it, while the receiver
-- still knows the key, or by a person. command_id and payload never change.
create or replace function bpm_core.invariant_i_23(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with told as (
    select (h.detail ->> 'command')::uuid as command_id,
           bool_or(h.kind = 'CommandWritten') as written,
           bool_or(h.kind = 'CommandRetried' and h.from_state = 'Unknown') as resent,
           array_agg((h.detail ->> 'attempt')::integer) filter (where h.to_state = 'Pending' and h.from_state <> 'Sending') as released
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id and h.kind in ('CommandWritten', 'CommandRetried', 'CommandReconciled')
     group by (h.detail ->> 'command')::uuid),
  lost as (
    select a.outbox_id, max(a.attempt) as attempt
      from bpm_core.delivery_attempt a
     where a.tenant_id = p_tenant_id and a.outcome = 'Unknown'
     group by a.outbox_id)
  select bpm_core.violation_of('I-23', o.tenant_id, 'command', o.command_id::text, x.rule,
           jsonb_build_object('state', o.state, 'attempt', o.attempt, 'first_sent_at', o.first_sent_at, 'destination', o.destination_code))
    from bpm_core.outbox o
    left join told t on t.command_id = o.command_id
    left join lost l on l.outbox_id = o.id
   cross join lateral (values
     ('its payload is not the one that was hashed', o.payload_hash <> bpm_core.payload_hash(o.payload)),
     ('history does not know its id', o.created_at >= (select bpm_core.history_since()) and not coalesce(t.written, false)),
     ('sent again by itself although the profile forbids it', t.resent and not (o.destination_snapshot ->> 'resend_allowed')::boolean),
     ('on its way again though nobody decided so',
      l.attempt = case o.state when 'Pending' then o.attempt when 'Sending' then o.attempt - 1 end
      and l.attempt <> all (coalesce(t.released, '{}'))))
     x(rule, broken)
   where o.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-23', o.tenant_id, 'command', o.command_id::text, x.rule,
           jsonb_build_object('state', o.state, 'attempt', a.attempt, 'claimed_at', a.claimed_at, 'first_sent_at', o.first_sent_at))
    from bpm_core.outbox o
    join bpm_core.delivery_attempt a on a.tenant_id = o.tenant_id and a.outbox_id = o.id
   cross join lateral (values
     ('it was Sent once, and is not any more', a.outcome = 'Sent' and o.state <> 'Sent'),
     ('sent again after the receiver may have forgotten the key',
      a.claimed_at > o.first_sent_at + (o.destination_snapshot ->> 'key_retention')::interval)) x(rule, broken)
   where o.tenant_id = p_tenant_id and x.broken
$$;

-- from 80_operation/invariant_i_27.sql
-- I-27: live_tokens of instances and scopes equals the count, an open scope has its host, and every reference that is not a foreign key points at a row (orphans).
create or replace function bpm_core.invariant_i_27(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-27', w.tenant_id, 'workflow_instance', w.id::text, 'live_tokens is not the count',
           jsonb_build_object('live_tokens', w.live_tokens, 'counted', coalesce(k.live, 0)))
    from bpm_core.workflow_instance w
    left join (select k.workflow_instance_id, count(*) as live
                 from bpm_core.token k
                where k.tenant_id = p_tenant_id and k.state in ('Ready', 'Executing', 'Waiting', 'Failed')
                group by k.workflow_instance_id) k on k.workflow_instance_id = w.id
   where w.tenant_id = p_tenant_id and w.live_tokens <> coalesce(k.live, 0)
  union all
  select bpm_core.violation_of('I-27', s.tenant_id, 'scope', s.id::text, x.rule,
           jsonb_build_object('state', s.state, 'live_tokens', s.live_tokens, 'counted', coalesce(k.live, 0), 'host', h.state, 'host_node', h.node_id))
    from bpm_core.scope s
    left join bpm_core.token h on h.tenant_id = s.tenant_id and h.id = s.host_token_id
    left join (select k.scope_id, count(*) as live
                 from bpm_core.token k
                where k.tenant_id = p_tenant_id and k.state in ('Ready', 'Executing', 'Waiting', 'Failed')
                group by k.scope_id) k on k.scope_id = s.id
   cross join lateral (values
     ('live_tokens is not the count', s.live_tokens <> coalesce(k.live, 0)),
     ('open without a token in it', s.state = 'Open' and s.live_tokens = 0),
     ('open, but its host is elsewhere', s.state = 'Open' and (h.state is distinct from 'Waiting' or h.node_id <> s.node_id
        or h.scope_id <> coalesce(s.parent_scope_id, bpm_core.root_scope()) or h.workflow_instance_id <> s.workflow_instance_id))) x(rule, broken)
   where s.tenant_id = p_tenant_id and x.broken
  union all
  select v from bpm_core.invariant_i_27_loops(p_tenant_id) v
  union all
  select bpm_core.violation_of('I-27', p_tenant_id, o.kind, o.id, 'orphan', jsonb_build_object('refers_to', o.refers_to, 'which', o.which))
    from bpm_core.orphans_of_catalog(p_tenant_id) o
  union all
  select bpm_core.violation_of('I-27', p_tenant_id, o.kind, o.id, 'orphan', jsonb_build_object('refers_to', o.refers_to, 'which', o.which))
    from bpm_core.orphans_of_instances(p_tenant_id) o
  union all
  select bpm_core.violation_of('I-27', p_tenant_id, o.kind, o.id, 'orphan', jsonb_build_object('refers_to', o.refers_to, 'which', o.which))
    from bpm_core.orphans_of_tasks(p_tenant_id) o
$$;

-- from 80_operation/invariant_i_27_loops.sql
-- I-27, of multi-instances and loops: the host waits at the node; the items that have ended, those that go on and those not begun are all there are;
-- items to come of a parallel one have their row in the inbox.
create or replace function bpm_core.invariant_i_27_loops(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-27', m.tenant_id, 'multi_instance', m.host_token_id::text, x.rule,
           jsonb_build_object('total', m.total, 'created', m.created, 'done', m.done, 'open', coalesce(s.open, 0), 'completed', coalesce(s.completed, 0),
                              'host', h.state, 'host_node', h.node_id))
    from bpm_core.multi_instance m
    left join bpm_core.token h on h.tenant_id = m.tenant_id and h.id = m.host_token_id
    left join (select s.host_token_id, s.visit, count(*) filter (where s.state = 'Open') as open, count(*) filter (where s.state = 'Completed') as completed
                 from bpm_core.scope s
                where s.tenant_id = p_tenant_id and s.mi_index is not null
                group by s.host_token_id, s.visit) s on s.host_token_id = m.host_token_id and s.visit = m.visit
    left join (select i.payload ->> 'host' as host
                 from bpm_core.inbox i
                where i.tenant_id = p_tenant_id and i.kind = 'Continue'
                group by i.payload ->> 'host') i on i.host = m.host_token_id::text
   cross join lateral (values
     ('the host does not wait at it', h.state is distinct from 'Waiting' or h.node_id <> m.node_id or h.visit <> m.visit
        or h.workflow_instance_id <> m.workflow_instance_id),
     ('ended, going on and not begun are not the total', m.done <> coalesce(s.completed, 0) or m.created - m.done <> coalesce(s.open, 0)),
     ('nothing goes on, and nothing will', m.created = m.done and (m.mode <> 'Parallel' or m.created = m.total)),
     ('items to come that nobody begins', m.mode = 'Parallel' and m.created < m.total and i.host is null
        and not exists (select from bpm_core.dead_letter d where d.tenant_id = m.tenant_id and d.payload ->> 'host' = m.host_token_id::text and d.state = 'Open'))
     ) x(rule, broken)
   where m.tenant_id = p_tenant_id and x.broken
$$;

-- from 80_operation/maintain_partitions.sql
-- Creates the monthly partitions of history that are missing: last month, this month, p_months ahead. Run it now and then; ready() warns in time.
-- Returns:  one row per month: partition, action Created or Present.
-- Raises:   BP403 not admin of the tenant without a name. BP422 months (1..120). BP503 the lock was not to be had in time.
-- Writes:   tables. Locks: history_event, share update exclusive: readers and writers go on.
create or replace function bpm.maintain_partitions(p_months integer default 24, p_tenant_id text default '')
returns table (partition text, action text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_tenant_id <> '' then
    perform bpm_core.fail('BP403', 'Partitions hold the history of all tenants; only an admin of the tenant without a name maintains them.');
  elsif p_months is null or p_months not between 1 and 120 then
    perform bpm_core.fail('BP422', format('The months must be 1 to 120, not %s.', coalesce(p_months::text, 'null')), jsonb_build_object('months', p_months));
  end if;
  return query select c.partition, c.action from bpm_core.create_history_partitions(p_months) c;
exception
  when lock_not_available then
    perform bpm_core.fail('BP503', 'The history table is locked by somebody else.', null, 'Try again; nothing was changed.');
end
$$;

-- from 80_operation/metrics.sql
-- Numbers for monitoring: what is open in one tenant. Each is counted along its own small index, and no further than counted_to.
-- Returns:  jsonb {at, counted_to, tasks, tokens, timers, inbox, messages, approvals, commands, incidents, dead_letters,
--           rows (estimates over all tenants, for the tenant without a name only)}.
-- Raises:   BP403.
create or replace function bpm.metrics(p_tenant_id text default '')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cap constant integer := 10000;
  v_now timestamptz := bpm_core.now();
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return jsonb_strip_nulls(jsonb_build_object(
    'at', v_now,
    'counted_to', v_cap,
    'tasks', jsonb_build_object(
      'ready', bpm_core.count_ready(p_tenant_id, v_cap),
      'executing', (select count(*) from (select from bpm_core.task_instance t where t.state = 'Executing' and t.tenant_id = p_tenant_id limit v_cap) c),
      'oldest_ready_seconds', round(extract(epoch from greatest(v_now - bpm_core.oldest_ready(p_tenant_id), interval '0')), 3)),
    'tokens', jsonb_build_object(
      'ready', (select count(*) from (select from bpm_core.token t where t.state = 'Ready' and t.tenant_id = p_tenant_id limit v_cap) c)),
    'timers', jsonb_build_object(
      'scheduled', (select count(*) from (select from bpm_core.timer t where t.status = 'Scheduled' and t.tenant_id = p_tenant_id limit v_cap) c),
      'due', (select count(*) from (select from bpm_core.timer t where t.status = 'Scheduled' and t.tenant_id = p_tenant_id and t.due_at <= v_now limit v_cap) c)),
    'inbox', (select count(*) from (select from bpm_core.inbox i where i.tenant_id = p_tenant_id limit v_cap) c),
    'messages', jsonb_build_object(
      'buffered', (select count(*) from (select from bpm_core.message m where m.state = 'Buffered' and m.tenant_id = p_tenant_id limit v_cap) c)),
    'approvals', jsonb_build_object(
      'pending', (select count(*) from (select from bpm_core.approval_record a where a.status = 'Pending' and a.tenant_id = p_tenant_id limit v_cap) c)),
    'commands', jsonb_build_object(
      'pending', (select count(*) from (select from bpm_core.outbox o where o.state = 'Pending' and o.tenant_id = p_tenant_id limit v_cap) c),
      'sending', (select count(*) from (select from bpm_core.outbox o where o.state = 'Sending' and o.tenant_id = p_tenant_id limit v_cap) c),
      'unknown', (select count(*) from (select from bpm_core.outbox o where o.state = 'Unknown' and o.tenant_id = p_tenant_id limit v_cap) c)),
    'incidents', jsonb_build_object(
      'open', (select count(*) from (select from bpm_core.incident i where i.state = 'Open' and i.tenant_id = p_tenant_id limit v_cap) c)),
    'dead_letters', jsonb_build_object(
      'open', (select count(*) from (select from bpm_core.dead_letter d where d.state = 'Open' and d.tenant_id = p_tenant_id limit v_cap) c)),
    'rows', case when p_tenant_id = '' then bpm_core.size_estimates() end));
end
$$;

-- from 80_operation/months_ahead.sql
-- For how many months after this one does history have a partition, without a gap?
-- Returns:  integer; -1 when this month itself has none.
create or replace function bpm_core.months_ahead()
returns integer
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(min(m.n), 121) - 1
    from generate_series(0, 120) m(n)
   where not exists (
     select
       from pg_inherits i
      where i.inhparent = 'bpm_core.history_event'::regclass
        and i.inhrelid = to_regclass('bpm_core.' || to_char(date_trunc('month', bpm_core.now() at time zone 'UTC') + make_interval(months => m.n),
                                                            '"history_event_y"YYYY"m"MM')))
$$;

-- from 80_operation/oldest_ready.sql
-- Since when has the oldest ready task waited? One index probe per task type and priority.
-- Returns:  timestamptz, null when nothing is ready.
create or replace function bpm_core.oldest_ready(p_tenant_id text)
returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select min(c.available_at)
    from bpm_core.ready_types(p_tenant_id, 1000) y(task_type)
   cross join generate_series(0, 2) l(level)
   cross join lateral (
     select t.available_at
       from bpm_core.task_instance t
      where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = y.task_type and t.priority_level = l.level
      order by t.available_at
      limit 1) c
$$;

-- from 80_operation/orphans_of_catalog.sql
-- References of the catalog and of shared tables that are no foreign keys, and point at nothing.
-- Returns:  rows (kind, id, refers_to, which).
create or replace function bpm_core.orphans_of_catalog(p_tenant_id text)
returns table (kind text, id text, refers_to text, which text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'workflow_node', n.node_id, 'host node', n.attached_to
    from bpm_core.workflow_node n
   where n.tenant_id = p_tenant_id and n.attached_to is not null
     and not exists (select from bpm_core.workflow_node h
                      where h.tenant_id = n.tenant_id and h.workflow_version_id = n.workflow_version_id and h.node_id = n.attached_to)
  union all
  select 'workflow_flow', f.flow_id, 'kind of its target', f.target_id
    from bpm_core.workflow_flow f
   where f.tenant_id = p_tenant_id
     and not exists (select from bpm_core.workflow_node n
                      where n.tenant_id = f.tenant_id and n.workflow_version_id = f.workflow_version_id and n.node_id = f.target_id
                        and n.kind = f.target_kind)
  union all
  select 'workflow_node', n.node_id, 'task binding', n.workflow_version_id::text
    from bpm_core.workflow_node n
   where n.tenant_id = p_tenant_id and n.kind in ('ServiceTask', 'UserTask', 'ApprovalTask', 'SendTask')
     and not exists (select from bpm_core.workflow_task_binding b
                      where b.tenant_id = n.tenant_id and b.workflow_version_id = n.workflow_version_id and b.node_id = n.node_id)
  union all
  select 'message', m.id::text, 'subscription', m.correlated_to::text
    from bpm_core.message m
   where m.tenant_id = p_tenant_id and m.correlated_to is not null
     and not exists (select from bpm_core.subscription s where s.tenant_id = m.tenant_id and s.id = m.correlated_to)
$$;

-- from 80_operation/orphans_of_instances.sql
-- References of instances, tokens, joins, timers, waits, the inbox and incidents that are no foreign keys, and point at nothing.
-- Returns:  rows (kind, id, refers_to, which).
create or replace function bpm_core.orphans_of_instances(p_tenant_id text)
returns table (kind text, id text, refers_to text, which text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'workflow_instance', w.id::text, x.refers_to, x.which
    from bpm_core.workflow_instance w
    left join bpm_core.role_version r on r.tenant_id = w.tenant_id and r.id = w.role_version_id
    left join bpm_core.token k on k.tenant_id = w.tenant_id and k.id = w.parent_token_id
   cross join lateral (values
     ('role version', w.role_version_id::text, r.id is null),
     ('parent token', w.parent_token_id::text, w.parent_token_id is not null and k.id is null)) x(refers_to, which, broken)
   where w.tenant_id = p_tenant_id and x.broken
  union all
  select o.kind, o.id::text, 'node', o.node_id
    from (
      select 'token' as kind, k.id, k.workflow_instance_id, k.node_id from bpm_core.token k where k.tenant_id = p_tenant_id
      union all
      select 'timer', t.id, t.workflow_instance_id, t.node_id from bpm_core.timer t where t.tenant_id = p_tenant_id
      union all
      select 'subscription', s.id, s.workflow_instance_id, s.node_id from bpm_core.subscription s where s.tenant_id = p_tenant_id
      union all
      select 'incident', i.id, i.workflow_instance_id, i.node_id from bpm_core.incident i where i.tenant_id = p_tenant_id and i.node_id is not null) o
    join bpm_core.workflow_instance w on w.tenant_id = p_tenant_id and w.id = o.workflow_instance_id
    left join bpm_core.workflow_node n
      on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = o.node_id
   where n.node_id is null
  union all
  select o.kind, o.id::text, 'token of its instance', o.token_id::text
    from (
      select 'timer' as kind, t.id, t.workflow_instance_id, t.token_id from bpm_core.timer t where t.tenant_id = p_tenant_id
      union all
      select 'subscription', s.id, s.workflow_instance_id, s.token_id from bpm_core.subscription s where s.tenant_id = p_tenant_id
      union all
      select 'incident', i.id, i.workflow_instance_id, i.token_id from bpm_core.incident i where i.tenant_id = p_tenant_id
      union all
      select 'parallel_join_arrival', a.token_id, a.workflow_instance_id, a.token_id
        from bpm_core.parallel_join_arrival a where a.tenant_id = p_tenant_id) o
    left join bpm_core.token k on k.tenant_id = p_tenant_id and k.id = o.token_id and k.workflow_instance_id = o.workflow_instance_id
   where o.token_id is not null and k.id is null
  union all
  select 'token', k.id::text, 'scope', k.scope_id::text
    from bpm_core.token k
    left join bpm_core.scope s on s.tenant_id = k.tenant_id and s.id = k.scope_id
   where k.tenant_id = p_tenant_id and k.scope_id <> '00000000-0000-0000-0000-000000000000' and s.id is null
  union all
  select 'multi_instance_part', p.host_token_id::text, 'multi_instance', p.part::text
    from bpm_core.multi_instance_part p
    left join bpm_core.multi_instance m on m.tenant_id = p.tenant_id and m.host_token_id = p.host_token_id
   where p.tenant_id = p_tenant_id and m.host_token_id is null
  union all
  select 'inbox', i.id::text, 'target', i.target_id::text
    from bpm_core.inbox i
    left join bpm_core.workflow_instance w on w.tenant_id = i.tenant_id and w.id = i.target_id and i.target_kind = 'WorkflowInstance'
    left join bpm_core.process_instance p on p.tenant_id = i.tenant_id and p.id = i.target_id and i.target_kind = 'ProcessInstance'
   where i.tenant_id = p_tenant_id and w.id is null and p.id is null
$$;

-- from 80_operation/orphans_of_tasks.sql
-- References of tasks, attempts, results, dead letters, approvals and commands that are no foreign keys, and point at nothing.
-- Returns:  rows (kind, id, refers_to, which).
create or replace function bpm_core.orphans_of_tasks(p_tenant_id text)
returns table (kind text, id text, refers_to text, which text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'task', t.id::text, x.refers_to, x.which
    from bpm_core.task_instance t
    left join bpm_core.token k on k.tenant_id = t.tenant_id and k.id = t.token_id and k.workflow_instance_id = t.workflow_instance_id
    left join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
    left join bpm_core.workflow_task_binding b
      on b.tenant_id = w.tenant_id and b.workflow_version_id = w.workflow_version_id and b.node_id = t.node_id
   cross join lateral (values
     ('token of its instance', t.token_id::text, k.id is null),
     ('binding of its node to its task version', t.node_id, b.task_version_id is distinct from t.task_version_id)) x(refers_to, which, broken)
   where t.tenant_id = p_tenant_id and x.broken
  union all
  select o.kind, o.task_id::text, 'task', o.task_id::text
    from (
      select 'execution' as kind, e.task_instance_id as task_id from bpm_core.execution e where e.tenant_id = p_tenant_id
      union all
      select 'result', r.task_instance_id from bpm_core.result r where r.tenant_id = p_tenant_id
      union all
      select 'dead_letter', d.task_instance_id from bpm_core.dead_letter d where d.tenant_id = p_tenant_id and d.task_instance_id is not null) o
    left join bpm_core.task_instance t on t.tenant_id = p_tenant_id and t.id = o.task_id
   where t.id is null
  union all
  select 'dead_letter', d.id::text, x.refers_to, x.which
    from bpm_core.dead_letter d
    left join bpm_core.token k on k.tenant_id = d.tenant_id and k.id = d.token_id and k.workflow_instance_id = d.workflow_instance_id
    left join bpm_core.outbox c on c.tenant_id = d.tenant_id and c.id = d.outbox_id
    left join bpm_core.incident i on i.tenant_id = d.tenant_id and i.id = d.incident_id
   cross join lateral (values
     ('token of its instance', d.token_id::text, d.token_id is not null and k.id is null),
     ('command', d.outbox_id::text, d.outbox_id is not null and c.id is null),
     ('incident', d.incident_id::text, d.incident_id is not null and i.id is null)) x(refers_to, which, broken)
   where d.tenant_id = p_tenant_id and x.broken
  union all
  select o.kind, o.id::text, 'token of its instance', o.token_id::text
    from (
      select 'command' as kind, c.id, c.workflow_instance_id, c.token_id from bpm_core.outbox c where c.tenant_id = p_tenant_id
      union all
      select 'approval', a.id, a.workflow_instance_id, a.token_id from bpm_core.approval_record a where a.tenant_id = p_tenant_id) o
    left join bpm_core.token k on k.tenant_id = p_tenant_id and k.id = o.token_id and k.workflow_instance_id = o.workflow_instance_id
   where k.id is null
$$;

-- from 80_operation/ready.sql
-- Is the database fit to work, and what should somebody look at? Cheap: index probes and counts of at most 1,000 rows.
-- Returns:  jsonb {ready, checks: [{name, ok, required, detail}]}; ready is false only when a required check fails.
-- Raises:   BP403.
create or replace function bpm.ready(p_tenant_id text default '')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return (
    select jsonb_build_object('ready', bool_and(c.ok or not c.required), 'checks', jsonb_agg(to_jsonb(c)))
      from (select u.* from bpm_core.upkeep_checks() u
            union all
            select b.* from bpm_core.backlog_checks(p_tenant_id) b) c);
end
$$;

-- from 80_operation/ready_types.sql
-- The task types that have ready tasks: hops from type to type along the claim index instead of walking it.
-- Returns:  setof text, at most p_limit.
create or replace function bpm_core.ready_types(p_tenant_id text, p_limit integer)
returns setof text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive hop(task_type) as (
    (select t.task_type
       from bpm_core.task_instance t
      where t.state = 'Ready' and t.tenant_id = p_tenant_id
      order by t.task_type
      limit 1)
    union all
    select (select t.task_type
              from bpm_core.task_instance t
             where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type > h.task_type
             order by t.task_type
             limit 1)
      from hop h
     where h.task_type is not null)
  select h.task_type
    from hop h
   where h.task_type is not null
   limit p_limit
$$;

-- from 80_operation/replay.sql
-- Rebuilds the tokens of one workflow instance from history: as they were after the row p_upto, or as they are.
-- Returns:  one row per token born until then: token_id, node_id, state. The same every time; without p_upto equal to the live tokens (I-14).
-- Raises:   BP403, BP404.
create or replace function bpm.replay(p_workflow_instance_id uuid, p_upto bigint default null, p_tenant_id text default '')
returns table (token_id uuid, node_id text, state text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  if not exists (select from bpm_core.workflow_instance w where w.tenant_id = p_tenant_id and w.id = p_workflow_instance_id) then
    perform bpm_core.fail('BP404', format('There is no workflow instance %s.', coalesce(p_workflow_instance_id::text, 'null')),
      jsonb_build_object('workflow_instance_id', p_workflow_instance_id), 'bpm.instance and bpm.history name them.');
  end if;
  return query
  select r.token_id, r.node_id, r.state
    from bpm_core.replay_tokens(p_tenant_id, p_workflow_instance_id, p_upto) r
   order by r.token_id;
end
$$;

-- from 80_operation/replay_tokens.sql
-- Rebuilds tokens from history and the immutable graph alone.
-- p_instance_id null: of all instances of the tenant. p_upto null: to the end, else up to that seq.
-- Returns:  one row per token ever born: where it stands and in which state.
create or replace function bpm_core.replay_tokens(p_tenant_id text, p_instance_id uuid, p_upto bigint)
returns table (workflow_instance_id uuid, token_id uuid, node_id text, state text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select distinct on (s.workflow_instance_id, s.token_id) s.workflow_instance_id, s.token_id, s.node_id, s.state
    from bpm_core.token_step s
   where s.tenant_id = p_tenant_id
     and (p_instance_id is null or s.workflow_instance_id = p_instance_id)
     and (p_upto is null or s.seq <= p_upto)
   order by s.workflow_instance_id, s.token_id, s.seq desc
$$;

-- from 80_operation/run_until_idle.sql
-- Calls tick until there is nothing to do: for tests and for people at psql, all in the caller's transaction. Runners call tick themselves.
-- Returns:  integer, how many things were done.
-- Raises:   BP403, as tick; BP429 still not idle after 1,000 ticks.
create or replace function bpm.run_until_idle(p_limit integer default 1000, p_tenant_id text default '')
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_done  integer;
  v_total integer := 0;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  for v_round in 1 .. 1000 loop
    select coalesce(sum(d.value::integer), 0)::integer into v_done
      from bpm.tick(p_limit, null, p_tenant_id) k
     cross join lateral jsonb_each_text(k.done) d;
    v_total := v_total + v_done;
    if v_done = 0 then
      return v_total;
    end if;
  end loop;
  perform bpm_core.fail('BP429', format('Not idle after 1000 ticks; %s things done.', v_total), null, 'Is there a process that never rests?');
end
$$;

-- from 80_operation/schema_check.sql
-- ready(): which migration the database stands at, and which interface it serves.
-- Returns:  health_check. Without a ledger (loaded from sources, as tests do) it is a warning.
create or replace function bpm_core.schema_check()
returns bpm_core.health_check
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ledger  regclass := to_regclass('bpm_core.schema_migrations');
  v_version integer;
  v_name    text;
  v_detail  jsonb := (select jsonb_build_object('api_lowest', v.lowest, 'api_highest', v.highest) from bpm.api_version() v);
begin
  if v_ledger is null then
    return row('schema', false, false, v_detail || '{"ledger": "absent: run pgbpm migrate"}')::bpm_core.health_check;
  end if;
  execute format('select m.version, m.name from %s m order by m.version desc limit 1', v_ledger) into v_version, v_name;
  return row('schema', v_version is not null, true, v_detail || jsonb_build_object('version', v_version, 'name', v_name))::bpm_core.health_check;
end
$$;

-- from 80_operation/size_estimates.sql
-- How many rows the tables hold, as the statistics know it: of all tenants together, without counting.
-- Returns:  jsonb {table: rows}.
create or replace function bpm_core.size_estimates()
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_object_agg(s.name, s.rows order by s.name)
    from (
      select coalesce(parent.relname, c.relname) as name, sum(greatest(c.reltuples, 0))::bigint as rows
        from pg_class c
        left join pg_inherits i on i.inhrelid = c.oid
        left join pg_class parent on parent.oid = i.inhparent
       where c.relnamespace = 'bpm_core'::regnamespace and c.relkind = 'r'
       group by coalesce(parent.relname, c.relname)) s
$$;

-- from 80_operation/tenants_with_work.sql
-- The tenants a runner of this caller should look after: those it is granted as worker and that are not suspended.
-- Returns:  setof text, tenant ids, sorted.
create or replace function bpm.tenants_with_work()
returns setof text
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select t.tenant_id
    from bpm_core.tenant t
   where t.state = 'Active'
     and bpm_core.is_granted(bpm_core.caller(), t.tenant_id, 'worker')
   order by t.tenant_id
$$;

-- from 80_operation/tick.sql
-- Does what time and others have made due: timers, inbox, parked tokens, expired leases, pending approval effects, expired messages, commands.
-- Idempotent; any number of callers at once. Each kind handles at most p_limit rows (null: the setting engine.timer_batch_size, 100); call again while something was done.
-- Returns:  one row: done jsonb {"timers": n, …}, positions jsonb (opaque; hand back with the next call), next_due_at (null: nothing planned within the next minute).
-- Raises:   BP400 positions that are not ours, BP403, BP422 limit out of 1..1000.
-- Locks:    pickers only skip; instances one kind at a time, never waited for.
create or replace function bpm.tick(p_limit integer default null, p_positions jsonb default null, p_tenant_id text default '')
returns table (done jsonb, positions jsonb, next_due_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_limit    integer;
  v_kind     text;
  v_position bpm_core.pick_position;
  v_tick     bpm_core.tick_result;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_limit := coalesce(p_limit, (bpm_core.setting_value('engine.timer_batch_size', '100'))::integer);
  perform bpm_core.check_picker('tick', v_limit, null);
  perform bpm_core.check_positions(p_positions, 'object');
  done := '{}';
  positions := '{}';
  foreach v_kind in array array['timers', 'inbox', 'tokens', 'leases', 'messages', 'commands', 'unknown'] loop
    v_position := bpm_core.read_position(p_positions -> v_kind);
    v_tick := bpm_core.tick_kind(v_kind, p_tenant_id, v_limit, v_position, bpm_core.now());
    done := done || jsonb_build_object(v_kind, v_tick.done);
    positions := positions || jsonb_build_object(v_kind, to_jsonb(v_tick.next_position));
    next_due_at := least(next_due_at, v_tick.next_due_at);
  end loop;
  done := done || jsonb_build_object('approvals', bpm_core.drive_approval_effects(p_tenant_id, v_limit));
  return next;
end
$$;

-- from 80_operation/tick_kind.sql
-- Which picker does which part of a tick.
-- Returns:  tick_result: rows done, the next position, when the next falls due.
create or replace function bpm_core.tick_kind(p_kind text, p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  case p_kind
    when 'timers' then
      return bpm_core.tick_timers(p_tenant_id, p_limit, p_position, p_now);
    when 'inbox' then
      return bpm_core.tick_inbox(p_tenant_id, p_limit, p_position, p_now);
    when 'tokens' then
      return bpm_core.tick_tokens(p_tenant_id, p_limit, p_position, p_now);
    when 'leases' then
      return bpm_core.tick_leases(p_tenant_id, p_limit, p_position, p_now);
    when 'messages' then
      return bpm_core.tick_messages(p_tenant_id, p_limit, p_position, p_now);
    when 'commands' then
      return bpm_core.tick_commands(p_tenant_id, p_limit, p_position, p_now);
    when 'unknown' then
      return bpm_core.tick_unknown(p_tenant_id, p_limit, p_position, p_now);
    else
      raise case_not_found;
  end case;
end
$$;

-- from 80_operation/unrecorded_changes.sql
-- Instances, tasks, timers, waits and incidents whose state history does not tell of. Those older than history are left out.
-- Returns:  rows (tenant_id, kind, id, seen).
create or replace function bpm_core.unrecorded_changes(p_tenant_id text)
returns table (tenant_id text, kind text, id text, seen jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with kept as materialized (
    select w.id, w.status
      from bpm_core.workflow_instance w
     where w.tenant_id = p_tenant_id and w.created_at >= (select bpm_core.history_since())),
  told as materialized (
    select h.workflow_instance_id, h.kind::text as kind,
           coalesce(h.detail ->> 'task', h.detail ->> 'timer', h.detail ->> 'incident', h.detail ->> 'subscription') as about, count(*) as times
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id
       and h.kind in ('InstanceStarted', 'InstanceCompleted', 'InstanceFailed', 'InstanceCancelled', 'TaskCompleted', 'TaskFailed', 'TaskCancelled',
                      'TaskHeld', 'ErrorThrown', 'TimerFired', 'TimerCancelled', 'IncidentOpened', 'IncidentResolved', 'MessageAwaited', 'SignalAwaited', 'ConditionAwaited',
                      'SubscriptionClosed')
       and (h.kind <> 'TaskHeld' or h.detail ? 'parked')
     group by 1, 2, 3)
  select p_tenant_id, 'workflow_instance', k.id::text, jsonb_build_object('status', k.status, 'missing', e.kind)
    from kept k
   cross join lateral (values
     ('InstanceStarted', 1),
     ('InstanceCompleted', (k.status = 'Completed')::integer),
     ('InstanceFailed', (k.status = 'Failed')::integer),
     ('InstanceCancelled', (k.status = 'Cancelled')::integer)) e(kind, times)
    left join told t on t.workflow_instance_id = k.id and t.kind = e.kind
   where coalesce(t.times, 0) <> e.times
  union all
  select p_tenant_id, s.kind, s.id::text, jsonb_build_object('state', s.state, 'missing', s.kinds)
    from (
      select 'task' as kind, t.id, t.workflow_instance_id, t.state::text as state,
             case t.state when 'Completed' then '{TaskCompleted,TaskHeld}' when 'Failed' then '{TaskFailed,ErrorThrown}'
                          else '{TaskCancelled,ErrorThrown,TaskHeld}' end::text[] as kinds
        from bpm_core.task_instance t
       where t.tenant_id = p_tenant_id and t.state in ('Completed', 'Failed', 'Cancelled')
      union all
      select 'timer', t.id, t.workflow_instance_id, t.status::text, array['Timer' || t.status]
        from bpm_core.timer t
       where t.tenant_id = p_tenant_id and t.status in ('Fired', 'Cancelled')
      union all
      select 'subscription', s.id, s.workflow_instance_id, s.state::text,
             case s.state when 'Closed' then '{SubscriptionClosed}' else '{MessageAwaited,SignalAwaited,ConditionAwaited}' end::text[]
        from bpm_core.subscription s
       where s.tenant_id = p_tenant_id
      union all
      select 'incident', i.id, i.workflow_instance_id, i.state::text,
             case i.state when 'Open' then '{IncidentOpened}' else '{IncidentResolved}' end::text[]
        from bpm_core.incident i
       where i.tenant_id = p_tenant_id) s
    join kept k on k.id = s.workflow_instance_id
   where not exists (
     select from told t where t.workflow_instance_id = s.workflow_instance_id and t.about = s.id::text and t.kind = any (s.kinds))
$$;

-- from 80_operation/unrecorded_decisions.sql
-- Approvals and commands whose state history does not tell of: the last row about each must lead to where it is.
-- Returns:  rows (tenant_id, kind, id, seen).
create or replace function bpm_core.unrecorded_decisions(p_tenant_id text)
returns table (tenant_id text, kind text, id text, seen jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with since as materialized (
    select bpm_core.history_since() as at),
  told as materialized (
    select h.detail ->> 'approval' as approval_id, h.detail ->> 'command' as command_id, h.kind = 'ApprovalApplied' as effect,
           (array_agg(h.to_state order by h.seq desc))[1] as to_state
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id
       and h.kind in ('ApprovalRequested', 'ApprovalDecided', 'ApprovalClosed', 'ApprovalApplied', 'CommandWritten', 'CommandSent', 'CommandFailed',
                      'CommandUnknown', 'CommandRetried', 'CommandCancelled', 'CommandReconciled')
     group by 1, 2, 3)
  select p_tenant_id, 'approval', a.id::text, jsonb_build_object('status', a.status, 'effect', a.effect, 'told', s.to_state, 'told_effect', e.to_state)
    from bpm_core.approval_record a
   cross join since n
    left join told s on s.approval_id = a.id::text and not s.effect
    left join told e on e.approval_id = a.id::text and e.effect
   where a.tenant_id = p_tenant_id and a.created_at >= n.at
     and (s.to_state is distinct from a.status::text or coalesce(e.to_state, 'Pending') <> a.effect::text)
  union all
  -- Claims write no history, so a command on its way was Pending before.
  select p_tenant_id, 'command', o.command_id::text, jsonb_build_object('state', o.state, 'told', s.to_state)
    from bpm_core.outbox o
   cross join since n
    left join told s on s.command_id = o.command_id::text
   where o.tenant_id = p_tenant_id and o.created_at >= n.at
     and s.to_state is not null and s.to_state <> case o.state when 'Sending' then 'Pending' else o.state::text end
$$;

-- from 80_operation/unsettled_inclusive_joins.sql
-- Inclusive joins of running instances that do not say what waits at them, or that wait although they may fire. Which flows a token can still
-- come over is found here by walking the flows of the graph backwards, not from what was worked out at deploy.
-- Returns:  rows (workflow_instance_id, node_id, rule, seen).
create or replace function bpm_core.unsettled_inclusive_joins(p_tenant_id text)
returns table (workflow_instance_id uuid, node_id text, rule text, seen jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive waits as materialized (
    select j.workflow_instance_id, j.scope_id, j.node_id, j.round, j.waiting, bit_count(j.filled) as filled, w.workflow_version_id, w.status,
           coalesce(a.flows, '{}') as flows, coalesce(a.arrivals, 0) as arrivals, coalesce(a.live, 0) as live
      from bpm_core.inclusive_join j
      join bpm_core.workflow_instance w on w.tenant_id = j.tenant_id and w.id = j.workflow_instance_id
      left join lateral (
        select array_agg(a.flow_id) filter (where a.round = j.round) as flows, count(*) as arrivals,
               count(*) filter (where k.state = 'Waiting' and k.node_id = j.node_id) as live
          from bpm_core.parallel_join_arrival a
          join bpm_core.token k on k.tenant_id = a.tenant_id and k.id = a.token_id
         where a.tenant_id = j.tenant_id and a.workflow_instance_id = j.workflow_instance_id and a.scope_id = j.scope_id
           and a.node_id = j.node_id and a.round >= j.round) a on true
     where j.tenant_id = p_tenant_id and w.status in ('Running', 'Suspended')),
  -- Steps backwards; a boundary event is reached from its host.
  step as materialized (
    select f.workflow_version_id, f.source_id, f.target_id, f.flow_id
      from bpm_core.workflow_flow f
     where f.tenant_id = p_tenant_id and f.workflow_version_id in (select w.workflow_version_id from waits w)
    union all
    select n.workflow_version_id, n.attached_to, n.node_id, null
      from bpm_core.workflow_node n
     where n.tenant_id = p_tenant_id and n.workflow_version_id in (select w.workflow_version_id from waits w)
       and n.attached_to is not null and n.element <> 'startEvent'),
  -- From which nodes a flow into a join is reached without passing the join.
  reaching (workflow_version_id, join_id, flow_id, node_id) as (
    select s.workflow_version_id, s.target_id, s.flow_id, s.source_id
      from step s
     where (s.workflow_version_id, s.target_id) in (select w.workflow_version_id, w.node_id from waits w where w.live > 0)
    union
    select r.workflow_version_id, r.join_id, r.flow_id, s.source_id
      from reaching r
      join step s on s.workflow_version_id = r.workflow_version_id and s.target_id = r.node_id
     where r.node_id <> r.join_id),
  elsewhere as (
    select w.workflow_instance_id, w.scope_id, w.node_id, w.workflow_version_id, w.flows, k.id, k.node_id as at_id, k.via_flow_id
      from waits w
      join bpm_core.token k on k.tenant_id = p_tenant_id and k.workflow_instance_id = w.workflow_instance_id and k.scope_id = w.scope_id
     where k.state in ('Ready', 'Executing', 'Waiting', 'Failed') and (k.node_id <> w.node_id or k.state <> 'Waiting')),
  comes as (
    select e.workflow_instance_id, e.scope_id, e.node_id, e.id, bool_or(r.flow_id = any (e.flows)) as over_filled
      from elsewhere e
      join reaching r on r.workflow_version_id = e.workflow_version_id and r.join_id = e.node_id and r.node_id = e.at_id
     where e.at_id <> e.node_id
     group by e.workflow_instance_id, e.scope_id, e.node_id, e.id
    union all
    select e.workflow_instance_id, e.scope_id, e.node_id, e.id, e.via_flow_id = any (e.flows) from elsewhere e where e.at_id = e.node_id),
  blocked as (select distinct c.workflow_instance_id, c.scope_id, c.node_id from comes c where not c.over_filled)
  select w.workflow_instance_id, w.node_id, x.rule,
         jsonb_build_object('round', w.round, 'waiting', w.waiting, 'filled', w.filled, 'arrivals', w.arrivals, 'live', w.live, 'flows', w.flows)
    from waits w
    left join blocked b on b.workflow_instance_id = w.workflow_instance_id and b.scope_id = w.scope_id and b.node_id = w.node_id
   cross join lateral (values
     ('waiting is not the number of arrivals', w.waiting <> w.arrivals),
     ('filled is not the number of flows that brought a token', w.filled <> cardinality(w.flows)),
     ('some of what waits is no longer there', w.live <> w.arrivals),
     ('may fire, but did not', w.status = 'Running' and b.node_id is null)) x(rule, broken)
   where w.live > 0 and x.broken
$$;

-- from 80_operation/upkeep_checks.sql
-- ready(): what holds for the whole database: schema, partitions, clock, settings, the vacuum horizon.
-- Returns:  health_check rows.
create or replace function bpm_core.upkeep_checks()
returns setof bpm_core.health_check
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ahead   integer := bpm_core.months_ahead();
  v_faults  jsonb;
  v_holders jsonb;
  v_worst   numeric;
begin
  return next bpm_core.schema_check();
  return next row('history_partitions', v_ahead >= 3, v_ahead < 0,
    jsonb_build_object('months_ahead', v_ahead, 'wanted', 3, 'remedy', 'bpm.maintain_partitions()'))::bpm_core.health_check;
  return next row('clock', abs(extract(epoch from bpm_core.now() - clock_timestamp())) < 1, false,
    jsonb_build_object('engine', bpm_core.now(), 'server', clock_timestamp(), 'can_be_set', to_regclass('bpm_core.test_clock') is not null))::bpm_core.health_check;
  select coalesce(jsonb_object_agg(s.name, bpm_core.setting_fault(s.name, s.value)), '{}') into v_faults
    from bpm_core.setting s
   where bpm_core.setting_fault(s.name, s.value) is not null;
  return next row('settings', v_faults = '{}', false, v_faults)::bpm_core.health_check;
  select coalesce(jsonb_agg(to_jsonb(h)), '[]'), max(h.seconds) into v_holders, v_worst
    from bpm_core.horizon_holders() h
   where h.seconds > 60 or h.seconds is null or h.transactions > 100000;
  return next row('vacuum_horizon', coalesce(v_worst, 0) < 600, false, jsonb_build_object('holders', v_holders))::bpm_core.health_check;
end
$$;

-- from 80_operation/violation_of.sql
-- One violation, with the rule it breaks and the values seen.
create or replace function bpm_core.violation_of(p_invariant text, p_tenant_id text, p_kind text, p_id text, p_rule text, p_seen jsonb default '{}')
returns bpm_core.violation
language sql immutable parallel safe
as $$ select row(p_invariant, p_tenant_id, p_kind || ' ' || p_id, jsonb_build_object('rule', p_rule) || p_seen)::bpm_core.violation $$;

-- from 90_access/apply_grants.sql
-- Makes the privileges of the database equal to bpm_core.function_grant: nobody but the four roles may do anything, each what the list says.
-- Run at the end of every migration that creates or replaces a function or a view. Not hot, so dynamic SQL is fine here.
-- Writes:   privileges only. Run by the owner.
create or replace function bpm_core.apply_grants()
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  r_object record;
begin
  -- Only the global form can take from PUBLIC what PostgreSQL gives it by default on functions.
  alter default privileges revoke execute on functions from public;
  revoke all on schema bpm, bpm_core from public;
  revoke all on all tables in schema bpm_core from public, bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  revoke all on all tables in schema bpm from public, bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  revoke all on all sequences in schema bpm_core from public, bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  revoke all on all routines in schema bpm, bpm_core from public, bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  grant usage on schema bpm to bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  grant select on all tables in schema bpm to bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  -- The one private function that runs with the rights of whoever reads a view.
  grant execute on function bpm_core.visible_tenants() to bpm_reader, bpm_worker, bpm_operator, bpm_admin;
  for r_object in
    select p.oid::regprocedure as signature, r.role_name
      from pg_proc p
      left join bpm_core.function_grant g on g.function_name = p.proname
     cross join lateral (values
       ('bpm_reader', g.reader), ('bpm_worker', g.worker), ('bpm_operator', g.operator), ('bpm_admin', true)) r(role_name, may)
     where p.pronamespace = 'bpm'::regnamespace and r.may
  loop
    execute format('grant execute on function %s to %I', r_object.signature, r_object.role_name);
  end loop;
end
$$;

-- from 10_record/views.sql
-- What happened, for looking at. Filtered by the caller's tenants once per query (an InitPlan).

create or replace view bpm.history with (security_barrier) as
select h.tenant_id,
       w.process_instance_id,
       h.workflow_instance_id,
       h.seq,
       h.at,
       case
         when h.kind in ('InstanceStarted', 'InstanceCompleted', 'InstanceFailed', 'InstanceCancelled', 'InstanceSuspended', 'InstanceResumed',
                         'InstanceMigrated', 'VariablesSet', 'IncidentOpened', 'IncidentResolved') then 'instance'
         when h.kind in ('TaskCompleted', 'TaskFailed', 'TaskRetried', 'TaskCancelled', 'TaskRequeued', 'TaskExpired', 'TaskReassigned',
                         'TaskHeld', 'TaskReleased') then 'task'
         when h.kind in ('TimerStarted', 'TimerFired', 'TimerCancelled', 'TimerHeld', 'TimerReleased') then 'timer'
         when h.kind in ('MessageAwaited', 'MessageReceived', 'SignalAwaited', 'SignalReceived', 'SignalThrown', 'ConditionAwaited',
                         'ConditionMet', 'SubscriptionClosed') then 'message'
         when h.kind in ('ApprovalRequested', 'ApprovalDecided', 'ApprovalApplied', 'ApprovalClosed') then 'decision'
         when h.kind in ('CommandWritten', 'CommandSent', 'CommandFailed', 'CommandUnknown', 'CommandRetried', 'CommandCancelled',
                         'CommandReconciled') then 'delivery'
         when h.kind in ('CompensationRecorded', 'CompensationStarted', 'CompensationCompleted', 'CompensationFailed') then 'compensation'
         else 'token'
       end as category,
       h.kind::text as kind,
       h.token_id,
       h.node_id,
       h.from_state,
       h.to_state,
       h.actor,
       h.detail
  from bpm_core.history_event h
  left join bpm_core.workflow_instance w on w.tenant_id = h.tenant_id and w.id = h.workflow_instance_id
 where h.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.history is 'Every change of instance, token, task, timer, message, decision and delivery; per instance in order of seq.';

-- from 20_catalog/views.sql
-- What the catalog shows: every version of every process of the caller's tenants.

create or replace view bpm.definition with (security_barrier) as
select d.tenant_id,
       d.code,
       v.version,
       v.status::text as status,
       v.name,
       d.published_version_id = v.id as is_current,
       v.created_by,
       v.published_at,
       encode(v.content_hash, 'hex') as content_hash
  from bpm_core.process_definition d
  join bpm_core.process_version v on v.tenant_id = d.tenant_id and v.definition_id = d.id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.definition is 'Deployed processes, one row per version; is_current is the one that starts without a version.';

-- from 40_flow/views.sql
-- How it stands, for looking at. Filtered by the caller's tenants once per query (an InitPlan). Joins are outer and on whole keys, so
-- that the planner drops those whose columns nobody asked for.

-- Open incidents are few, so they are counted once for all rows and not once per row.
create or replace view bpm.instance with (security_barrier) as
with open_incident as (
  select l.tenant_id, l.process_instance_id, count(*)::integer as incidents
    from bpm_core.incident i
    join bpm_core.workflow_instance l on l.tenant_id = i.tenant_id and l.id = i.workflow_instance_id
   where i.state = 'Open'
   group by l.tenant_id, l.process_instance_id
)

select p.tenant_id,
       p.id as process_instance_id,
       w.id as workflow_instance_id,
       d.code as process_code,
       v.version as process_version,
       p.business_key,
       p.status::text as status,
       p.variables || coalesce(w.variables, '{}') as variables,
       p.started_by,
       p.created_at,
       p.updated_at,
       p.ended_at,
       coalesce(w.live_tokens, 0) as live_tokens,
       coalesce(o.incidents, 0) as open_incidents
  from bpm_core.process_instance p
  left join bpm_core.process_version v on v.tenant_id = p.tenant_id and v.id = p.process_version_id
  left join bpm_core.process_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
  left join bpm_core.workflow_instance w
    on w.tenant_id = p.tenant_id and w.process_instance_id = p.id and w.binding_key = 'main' and w.trigger_key = ''
  left join open_incident o on o.tenant_id = p.tenant_id and o.process_instance_id = p.id
 where p.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.instance is 'Process instances, with the variables of their main workflow, how many tokens are live and how many incidents open.';

create or replace view bpm.timer with (security_barrier) as
select t.tenant_id,
       t.id as timer_id,
       w.process_instance_id,
       t.workflow_instance_id,
       t.token_id,
       t.node_id,
       t.kind,
       t.rule,
       t.time_zone,
       t.status::text as status,
       t.scheduled_at,
       t.due_at,
       t.remaining,
       t.catch_up
  from bpm_core.timer t
  left join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
 where t.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.timer is 'Timers of waits and boundaries: Scheduled, Held, Fired or Cancelled.';

create or replace view bpm.message with (security_barrier) as
select m.tenant_id,
       m.id,
       m.name,
       m.correlation_key,
       m.message_id,
       m.payload,
       m.state::text as state,
       m.received_at,
       m.expires_at,
       w.process_instance_id,
       s.workflow_instance_id,
       s.node_id
  from bpm_core.message m
  left join bpm_core.subscription s on s.tenant_id = m.tenant_id and s.id = m.correlated_to
  left join bpm_core.workflow_instance w on w.tenant_id = s.tenant_id and w.id = s.workflow_instance_id
 where m.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.message is 'Messages received: Buffered until somebody waits, Correlated with the wait that gets them, or Expired. id is what correlate_message returns, message_id what the sender called it.';

create or replace view bpm.signal with (security_barrier) as
select g.tenant_id,
       g.id as signal_id,
       g.name,
       g.payload,
       g.receivers,
       g.sent_at
  from bpm_core.signal g
 where g.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.signal is 'Signals sent, by broadcast_signal or thrown by a process, with the number of waits that were open then.';

create or replace view bpm.incident with (security_barrier) as
select i.tenant_id,
       i.id as incident_id,
       w.process_instance_id,
       i.workflow_instance_id,
       p.business_key,
       i.token_id,
       i.node_id,
       n.name as node_name,
       i.code,
       i.message,
       i.detail,
       i.state::text as state,
       i.created_at,
       i.resolved_at,
       i.resolved_by
  from bpm_core.incident i
  left join bpm_core.workflow_instance w on w.tenant_id = i.tenant_id and w.id = i.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.workflow_node n
    on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = i.node_id
 where i.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.incident is 'What cannot go on, and why. resolve_incident drives the same token again.';

-- from 50_work/views.sql
-- Who does it, for looking at. Filtered by the caller's tenants once per query (an InitPlan).

create or replace view bpm.task with (security_barrier) as
select t.tenant_id,
       t.id as task_id,
       w.process_instance_id,
       t.workflow_instance_id,
       p.business_key,
       t.token_id,
       t.node_id,
       n.name as node_name,
       t.task_type,
       t.state::text as state,
       t.priority_level,
       t.available_at,
       t.attempt,
       t.max_attempts,
       t.fencing_token,
       t.worker_id,
       t.claimed_at,
       t.lease_until,
       t.input,
       t.assignee,
       t.candidate_groups,
       t.due_at,
       t.follow_up_at,
       t.candidate_users,
       t.headers
  from bpm_core.task_instance t
  left join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.workflow_node n
    on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = t.node_id
 where t.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.task is 'Offers of work, for machines and (type bpm:user) for people. worker_id and lease_until are those of the running attempt while the state is Executing.';

-- While an attempt runs it lives in its task row; when it ends it becomes a row of execution.
create or replace view bpm.execution with (security_barrier) as
select e.tenant_id,
       e.task_instance_id as task_id,
       e.attempt,
       t.workflow_instance_id,
       t.node_id,
       t.task_type,
       e.state::text as state,
       e.worker_id,
       e.fencing_token,
       e.claimed_at,
       e.lease_until,
       e.ended_at,
       e.outcome,
       e.error
  from bpm_core.execution e
  left join bpm_core.task_instance t on t.tenant_id = e.tenant_id and t.id = e.task_instance_id
 where e.tenant_id = any (array(select bpm_core.visible_tenants()))
union all
select t.tenant_id,
       t.id,
       t.attempt,
       t.workflow_instance_id,
       t.node_id,
       t.task_type,
       'Running',
       t.worker_id,
       t.fencing_token,
       t.claimed_at,
       t.lease_until,
       null,
       null,
       null
  from bpm_core.task_instance t
 where t.state = 'Executing'
   and t.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.execution is 'Attempts: Running, or how they ended (Succeeded, Failed, Expired, Released, Cancelled).';

create or replace view bpm.dead_letter with (security_barrier) as
select l.tenant_id,
       l.id as dead_letter_id,
       w.process_instance_id,
       l.workflow_instance_id,
       p.business_key,
       l.kind,
       l.token_id,
       l.task_instance_id as task_id,
       l.outbox_id,
       l.incident_id,
       l.error,
       l.payload,
       l.variables,
       l.state::text as state,
       l.created_at,
       l.closed_by,
       l.closed_at
  from bpm_core.dead_letter l
  left join bpm_core.workflow_instance w on w.tenant_id = l.tenant_id and w.id = l.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
 where l.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.dead_letter is 'Work that used up its attempts or was refused. requeue_dead_letter gives it fresh attempts, discard_dead_letter closes it.';

-- from 60_decision/views.sql
-- Who allows it, for looking at. Filtered by the caller's tenants once per query (an InitPlan).

create or replace view bpm.approval with (security_barrier) as
select a.tenant_id,
       a.id as approval_id,
       w.process_instance_id,
       a.workflow_instance_id,
       p.business_key,
       a.token_id,
       a.node_id,
       n.name as node_name,
       a.task_type,
       a.status::text as status,
       a.effect::text as effect,
       a.decided_by,
       a.decided_at,
       a.note,
       a.required_approvals,
       a.expires_at,
       a.created_at
  from bpm_core.approval_record a
  left join bpm_core.workflow_instance w on w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.workflow_node n
    on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = a.node_id
 where a.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.approval is 'Decisions asked for: Pending until bpm.decide_approval, then Approved or Rejected; Expired; Cancelled when the step was left. effect Applied: the decision has had its consequence.';

-- from 70_delivery/views.sql
-- What leaves, for looking at. Filtered by the caller's tenants once per query (an InitPlan).

create or replace view bpm.command with (security_barrier) as
select o.tenant_id,
       o.command_id,
       w.process_instance_id,
       o.workflow_instance_id,
       p.business_key,
       o.node_id,
       n.name as node_name,
       o.task_type,
       o.destination_code,
       o.state::text as state,
       o.available_at,
       o.attempt,
       o.max_attempts,
       o.fencing_token,
       o.worker_id,
       o.lease_until,
       o.first_sent_at,
       case when o.state = 'Unknown' then o.review_at end as sent_again_at,
       o.payload,
       encode(o.payload_hash, 'hex') as payload_hash,
       o.receipt,
       o.last_error,
       o.created_at,
       o.ended_at
  from bpm_core.outbox o
  left join bpm_core.workflow_instance w on w.tenant_id = o.tenant_id and w.id = o.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.workflow_node n
    on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = o.node_id
 where o.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.command is 'Commands to the outside: Pending, Sending, Sent, Failed, Unknown (nobody knows whether it arrived), Manual (a person has it), Cancelled. sent_again_at: an Unknown one is sent again by itself then; null: only bpm.reconcile_command moves it. first_sent_at null: the receiver cannot have seen it.';

-- from 80_operation/views.sql
-- What each row of history did to its token: where it stands after it, and in which state. The immutable graph tells where a token that left
-- a node went. Executing is a token on its way through nodes that do not hold it; the next row of the same command says more.
-- Private; replay and the invariants fold it.

create or replace view bpm_core.token_step as
select s.tenant_id,
       s.workflow_instance_id,
       s.seq,
       s.at,
       s.kind,
       s.token_id,
       case when s.leaves then coalesce(f.target_id, s.node_id) else s.node_id end as node_id,
       case
         when not s.leaves then s.state
         when bpm_core.holds_tokens(f.target_kind) then 'Waiting'
         else 'Executing'
       end as state
  from (
    select h.tenant_id, h.workflow_instance_id, h.seq, h.at, h.kind, h.token_id, w.workflow_version_id, n.node_id, h.detail ->> 'flow' as flow_id,
           case
             when h.kind in ('TokenForked', 'TokenCompleted') then 'Completed'
             when h.kind = 'TokenTerminated' then 'Terminated'
             when h.kind in ('JoinReached', 'TaskRequeued', 'ScopeOpened') then 'Waiting'
             when h.kind in ('TokenParked', 'TokenPlaced') then 'Ready'
             when h.kind in ('TaskFailed', 'IncidentOpened') then 'Failed'
             when h.kind = 'TokenResumed'
               then case when bpm_core.holds_tokens(n.kind) then 'Waiting' else 'Executing' end
           end as state,
           h.kind in ('InstanceStarted', 'TokenMoved', 'FlowChosen', 'TokenBorn', 'JoinFired', 'TaskCompleted', 'TimerFired', 'MessageReceived',
                      'SignalReceived', 'SignalThrown', 'EscalationThrown', 'EscalationCaught', 'ErrorCaught', 'CommandWritten', 'ScopeCompleted', 'CallCompleted', 'ConditionMet', 'NodeSkipped') as leaves
      from bpm_core.history_event h
      join bpm_core.workflow_instance w on w.tenant_id = h.tenant_id and w.id = h.workflow_instance_id
      left join bpm_core.workflow_node n
        on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = h.node_id
     where h.token_id is not null
       and h.kind in ('InstanceStarted', 'TokenMoved', 'FlowChosen', 'TokenForked', 'TokenBorn', 'JoinReached', 'JoinFired', 'TokenParked',
                      'TokenResumed', 'TokenCompleted', 'TokenTerminated', 'TaskCompleted', 'TaskFailed', 'TaskRequeued', 'TimerFired',
                      'MessageReceived', 'SignalReceived', 'SignalThrown', 'EscalationThrown', 'EscalationCaught', 'ErrorCaught', 'IncidentOpened', 'CommandWritten',
                      'ScopeOpened', 'ScopeCompleted', 'CallCompleted', 'ConditionMet', 'TokenPlaced', 'NodeSkipped')
       -- A boundary event that does not interrupt leaves its host where it is; an incident may be about something else than its token.
       and not (h.kind in ('TimerFired', 'MessageReceived', 'SignalReceived', 'ConditionMet', 'ErrorCaught', 'EscalationCaught') and h.detail @> '{"interrupting": false}')
       and not (h.kind = 'IncidentOpened' and h.to_state is distinct from 'Failed')) s
  left join bpm_core.workflow_flow f
    on s.leaves and f.tenant_id = s.tenant_id and f.workflow_version_id = s.workflow_version_id and f.source_id = s.node_id
   and (s.flow_id is null or f.flow_id = s.flow_id);
comment on view bpm_core.token_step is 'History as moves of tokens: the node and state of the token after each row that moved it.';

-- from 90_access/views.sql
-- Which role may call which public function. Grants as data: bpm_core.apply_grants makes the database equal to this list, a test proves it.
-- A role that is named may call; bpm_admin may call everything, so it is not repeated. Reading is for all four.

create or replace view bpm_core.function_grant (function_name, reader, worker, operator) as
values
  -- everybody
  ('api_version', true, true, true),
  ('check_bpmn', true, true, true),
  ('check_invariants', true, true, true),
  ('get_bpmn', true, true, true),
  ('get_definition', true, true, true),
  ('get_history', true, true, true),
  ('get_process', true, true, true),
  ('get_variables', true, true, true),
  ('metrics', true, true, true),
  ('next_due', true, true, true),
  ('ready', true, true, true),
  ('replay', true, true, true),
  ('tenants_with_work', true, true, true),
  -- machines: start, claim, complete, deliver, keep time
  ('apply_approval_effects', false, true, true),
  ('broadcast_signal', false, true, true),
  ('claim_commands', false, true, false),
  ('claim_commands_at', false, true, false),
  ('claim_tasks', false, true, false),
  ('claim_tasks_at', false, true, false),
  ('complete_task', false, true, false),
  ('complete_tasks', false, true, false),
  ('correlate_message', false, true, true),
  ('extend_leases', false, true, false),
  ('fail_task', false, true, false),
  ('fail_tasks', false, true, false),
  ('mark_commands', false, true, false),
  ('release_tasks', false, true, false),
  ('run_until_idle', false, true, true),
  ('start_process', false, true, true),
  ('start_processes', false, true, true),
  ('throw_error', false, true, false),
  ('tick', false, true, true),
  -- people: user tasks, decisions, repair
  ('cancel_process', false, false, true),
  ('claim_user_task', false, false, true),
  ('complete_user_task', false, false, true),
  ('decide_approval', false, false, true),
  ('discard_dead_letter', false, false, true),
  ('move_token', false, false, true),
  ('reconcile_command', false, false, true),
  ('requeue_dead_letter', false, false, true),
  ('resume_process', false, false, true),
  ('resolve_incident', false, false, true),
  ('set_variables', false, false, true),
  ('skip_node', false, false, true),
  ('suspend_process', false, false, true),
  ('throw_user_task_error', false, false, true),
  ('unclaim_user_task', false, false, true),
  -- admins alone: catalog, settings, grants, upkeep
  ('create_tenant', false, false, false),
  ('deploy_bpmn', false, false, false),
  ('grant_access', false, false, false),
  ('maintain_partitions', false, false, false),
  ('publish_task', false, false, false),
  ('register_destination', false, false, false),
  ('set_setting', false, false, false);
comment on view bpm_core.function_grant is 'Which role may call which public function; bpm_admin may call all. Applied by bpm_core.apply_grants.';

-- from 90_access/grants.sql
-- Privileges, then the first rows: the tenant of those who have none, its admin (whoever installs), and the partitions of history.

do $$ begin perform bpm_core.apply_grants(); end $$;

insert into bpm_core.tenant (tenant_id, name, created_at)
values ('', 'default', bpm_core.now())
on conflict do nothing;

insert into bpm_core.tenant_grant (role_name, tenant_pattern, capability, granted_by, granted_at)
values (session_user, '', 'admin', session_user, bpm_core.now())
on conflict do nothing;

do $$ begin perform bpm_core.create_history_partitions(24); end $$;
