-- Functions, views, grants.
-- Written from sql/ by `make baseline` until the first release; from then on it never changes.

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

-- Who calls: the role set with SET ROLE, else the login. Inside definer functions too, since neither changes there.
create or replace function bpm_core.caller()
returns text
language sql stable parallel safe
as $$ select coalesce(nullif(current_setting('role'), 'none'), session_user::text) $$;

-- Creates a tenant, or changes its name.
-- Returns:  text, the tenant id.
-- Raises:   BP400 bad id. BP403 the caller is not admin of the tenant without a name, or of a pattern that covers the new one.
-- Writes:   tenant, audit_event.
create or replace function bpm.create_tenant(p_name text, p_new_tenant_id text, p_actor text default null, p_tenant_id text default '')
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_new_tenant_id is null or p_new_tenant_id !~ '^[^%[:cntrl:]]{1,200}$' then
    perform bpm_core.fail('BP400', 'A tenant id is 1 to 200 characters, without % and control characters.',
      jsonb_build_object('tenant_id', p_new_tenant_id));
  end if;
  insert into bpm_core.tenant as t (tenant_id, name, created_at)
  values (p_new_tenant_id, coalesce(p_name, p_new_tenant_id), bpm_core.now())
  on conflict (tenant_id) do update set name = excluded.name;
  perform bpm_core.write_audit(p_tenant_id, bpm_core.acting_as(p_tenant_id, p_actor), 'CreateTenant', 'tenant', p_new_tenant_id);
  return p_new_tenant_id;
end
$$;

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

-- Raises an error of the BP class. The one place where the engine raises on purpose.
-- Raises:   p_code (five characters, BP and three digits that echo HTTP), with machine-readable detail and a hint what to do next.
create or replace function bpm_core.fail(p_code text, p_message text, p_detail jsonb default null, p_hint text default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = p_code,
    message = p_message,
    detail  = coalesce(p_detail::text, ''),
    hint    = coalesce(p_hint, '');
end
$$;

-- Grants a database role a capability for the tenants a pattern covers.
-- Returns:  nothing. Granting twice changes nothing.
-- Raises:   BP400 unknown capability or empty pattern. BP403 the caller is not admin. BP404 no such role.
-- Writes:   tenant_grant, audit_event.
create or replace function bpm.grant_access(p_role text, p_tenant_pattern text, p_capability text, p_actor text default null, p_tenant_id text default '')
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if p_tenant_pattern is null then
    perform bpm_core.fail('BP400', 'The tenant pattern is null.');
  elsif p_capability is null or p_capability not in ('reader', 'worker', 'operator', 'admin') then
    perform bpm_core.fail('BP400', format('Unknown capability %L.', p_capability), null, 'Use reader, worker, operator or admin.');
  elsif not exists (select from pg_roles r where r.rolname = p_role) then
    perform bpm_core.fail('BP404', format('There is no database role %L.', p_role), null, 'Create the role first.');
  end if;
  insert into bpm_core.tenant_grant (role_name, tenant_pattern, capability, granted_by, granted_at)
  values (p_role, p_tenant_pattern, p_capability::bpm_core.capability, v_actor, bpm_core.now())
  on conflict do nothing;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'GrantAccess', 'role', p_role, null, null,
    jsonb_build_object('tenant_pattern', p_tenant_pattern, 'capability', p_capability));
end
$$;

-- Does a grant give this role this capability for this tenant? Grants to roles the caller is a member of count.
-- Returns:  boolean. admin includes every capability, operator and worker include reader.
create or replace function bpm_core.is_granted(p_role text, p_tenant_id text, p_capability bpm_core.capability)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select
      from bpm_core.tenant_grant g
     where (g.tenant_pattern = p_tenant_id
            or (right(g.tenant_pattern, 1) = '%' and starts_with(p_tenant_id, left(g.tenant_pattern, -1))))
       and (g.capability = p_capability or g.capability = 'admin' or (p_capability = 'reader'))
       and (g.role_name = p_role
            or exists (select from pg_roles r where r.rolname = g.role_name and pg_has_role(p_role, r.oid, 'member'))))
$$;

-- A fresh identifier: uuid version 7, so that keys arrive in the order of time and indexes grow at their right edge.
-- Returns:  uuid; the first 48 bits are milliseconds of the clock.
create or replace function bpm_core.new_id()
returns uuid
language sql volatile parallel safe
as $$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid()) placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

-- The engine's clock: the wall clock, not the start of the transaction. Test kits replace this function to move time.
-- Returns:  timestamptz, now. Volatile: read it once into a local, after the lock (a volatile call cannot be an index condition).
create or replace function bpm_core.now()
returns timestamptz
language sql volatile parallel safe
as $$ select clock_timestamp() $$;

-- Reads an engine setting.
-- Returns:  jsonb, the value set or p_default.
create or replace function bpm_core.setting_value(p_name text, p_default jsonb)
returns jsonb
language sql stable parallel safe
as $$ select coalesce((select s.value from bpm_core.setting s where s.name = p_name), p_default) $$;

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

-- Takes the wire form off values: __var:1: + JSON becomes that JSON. Encrypted values stay as they are, opaque. Call variables_fault first.
-- Returns:  jsonb object.
create or replace function bpm_core.decode_variables(p_variables jsonb)
returns jsonb
language plpgsql stable
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

-- Is this text the wire form __var:1: followed by JSON?
-- Returns:  boolean.
create or replace function bpm_core.is_wire_json(p_text text)
returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return starts_with(p_text, '__var:1:') and substr(p_text, 9)::jsonb is not null;
exception
  when data_exception then
    return false;
end
$$;

-- Is this a map of variables we take? An object, within the caps, no text that forges a wire form of ours.
-- Returns:  text, what is wrong; null when nothing is.
create or replace function bpm_core.variables_fault(p_variables jsonb)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit integer;
  v_name  text;
begin
  if jsonb_typeof(p_variables) is distinct from 'object' then
    return format('Variables must be a JSON object, not %s.', coalesce(jsonb_typeof(p_variables), 'missing'));
  end if;
  if pg_column_size(p_variables) > 65536 then
    v_limit := (bpm_core.setting_value('engine.max_variables_bytes', '1048576'))::integer;
    if pg_column_size(p_variables) > v_limit then
      return format('Variables of %s bytes exceed the limit of %s bytes.', pg_column_size(p_variables), v_limit);
    end if;
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
  v_elements bpm_core.bpmn_element[] := '{}';
  v_above    integer[] := '{}';
  v_element  bpm_core.bpmn_element;
  r_row      record;
begin
  for r_row in
    with element as materialized (
      select x.*
        from xmltable(
               xmlnamespaces('http://www.omg.org/spec/BPMN/20100524/MODEL' as b),
               '/b:definitions/*[namespace-uri() != "http://www.omg.org/spec/BPMN/20100524/DI"]/descendant-or-self::*'
               passing p_document
               columns pos for ordinality, uri text path 'namespace-uri()', tag text path 'local-name()', depth integer path 'count(ancestor::*)',
                       attributes integer path 'count(@*)', body text path 'string(self::*[not(*)])') x
    ),
    attribute as materialized (
      select a.k, bpm_core.bpmn_namespace(a.uri) as space, a.name, a.value
        from xmltable(
               xmlnamespaces('http://www.omg.org/spec/BPMN/20100524/MODEL' as b),
               '/b:definitions/*[namespace-uri() != "http://www.omg.org/spec/BPMN/20100524/DI"]/descendant-or-self::*/@*'
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
                       nullif(btrim(r_row.attributes ->> 'id'), ''), r_row.attributes, r_row.body);
      v_elements := v_elements || v_element;
    end if;
  end loop;
  return v_elements;
end
$$;

-- The event definitions of all events, those by reference resolved.
-- Returns:  one row per event that has any: its pos, the kind (timer, message, …; several), and of a single one its attributes,
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
    select r.parent, d.pos, coalesce(d.tag, 'missingEventDefinition'), coalesce(d.attributes, jsonb_build_object('missing', btrim(r.body))), r.pos
      from element r
      left join element d on d.parent = 0 and d.tag like '%EventDefinition'
                         and (d.id = btrim(r.body) or d.id = regexp_replace(btrim(r.body), '^[^:]*:', ''))
     where r.tag = 'eventDefinitionRef'
  ),
  timer as (
    select t.parent as pos, min(t.tag) as tag, min(btrim(t.body)) as rule
      from element t
     where t.tag in ('timeDuration', 'timeDate', 'timeCycle')
     group by t.parent
  )
  select d.node_pos,
         case when count(*) > 1 then 'several' else regexp_replace(min(d.tag), 'EventDefinition$', '') end,
         case when count(*) = 1 then
           (array_agg(d.attributes))[1] || jsonb_strip_nulls(jsonb_build_object(
             'timer_kind', case min(t.tag) when 'timeDuration' then 'Duration' when 'timeDate' then 'Date' when 'timeCycle' then 'Cycle' end,
             'timer_rule', min(t.rule),
             'definition_pos', min(d.pos)))
         end
    from drawn d left join timer t on t.pos = d.pos
   group by d.node_pos
$$;

-- The extension elements of every element that has some.
-- Returns:  one row per owner: an object keyed alias:tag (the first of each), with the attributes and, as body, the text.
create or replace function bpm_core.bpmn_extensions(p_elements bpm_core.bpmn_element[])
returns table (owner_pos integer, extensions jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select h.parent, jsonb_object_agg(e.space || ':' || e.tag, e.attributes || jsonb_build_object('body', btrim(e.body)) order by e.pos desc)
    from unnest(p_elements) h
    join unnest(p_elements) e on e.parent = h.pos
   where h.space = 'bpmn' and h.tag = 'extensionElements'
   group by h.parent
$$;

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

-- The innermost lane of every flow node that stands in one.
-- Returns:  node id as referred to, and the lane's name (its id when it has none).
create or replace function bpm_core.bpmn_lanes(p_elements bpm_core.bpmn_element[])
returns table (node_id text, lane text)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select distinct on (btrim(r.body)) btrim(r.body), coalesce(nullif(btrim(l.attributes ->> 'name'), ''), l.id)
    from unnest(p_elements) r
    join unnest(p_elements) l on l.pos = r.parent
   where r.space = 'bpmn' and r.tag = 'flowNodeRef' and l.tag = 'lane'
   order by btrim(r.body), l.pos desc
$$;

-- The short name under which the compiler knows an XML namespace; Operaton speaks Camunda 7's dialect, Activiti Flowable's.
-- Returns:  text: bpmn, bpm (ours), camunda, flowable, zeebe, '' (none); null for every other namespace.
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
  end
$$;

-- Which node kind executes an element, from its tag, its event, the number of its flows and whether approval gates it.
-- Returns:  node_kind; null: not executed.
create or replace function bpm_core.bpmn_node_kind(p_tag text, p_event text, p_incoming integer, p_outgoing integer, p_conditional integer, p_gated boolean)
returns bpm_core.node_kind
language sql immutable parallel safe
as $$
  select (case p_tag
    when 'startEvent' then case p_event when 'none' then 'StartEvent' end
    when 'endEvent' then case p_event when 'none' then 'EndEvent' when 'terminate' then 'TerminateEnd' when 'error' then 'ErrorEnd' end
    when 'intermediateThrowEvent' then case p_event when 'none' then 'PassThrough' end
    when 'intermediateCatchEvent' then case p_event when 'timer' then 'TimerCatch' when 'message' then 'MessageCatch' end
    when 'boundaryEvent' then case p_event when 'timer' then 'TimerBoundary' when 'error' then 'ErrorBoundary' end
    when 'task' then 'PassThrough'
    when 'manualTask' then 'PassThrough'
    when 'receiveTask' then 'MessageCatch'
    when 'userTask' then 'UserTask'
    when 'sendTask' then 'SendTask'
    when 'serviceTask' then case when p_gated then 'ApprovalTask' else 'ServiceTask' end
    when 'exclusiveGateway' then case when p_outgoing <= 1 and p_conditional = 0 then 'PassThrough' else 'ExclusiveGateway' end
    when 'parallelGateway' then
      case when p_incoming > 1 then 'ParallelJoin' when p_outgoing > 1 then 'ParallelFork' else 'PassThrough' end
  end)::bpm_core.node_kind
$$;

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
    return bpm_core.fault('InvalidXml', 'The file carries a document type declaration (<!DOCTYPE …>), which is never read.', null, null,
      'Remove it: BPMN needs none, and it could name files or addresses.');
  end if;
  return null;
end
$$;

-- All sequence flows of the processes that are deployed, their ends looked up among the nodes of the same scope.
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
  node as materialized (
    select distinct on (n.scope_pos, n.node_id) n.scope_pos, n.node_id, n.default_ref from unnest(p_nodes) n order by n.scope_pos, n.node_id, n.pos
  ),
  condition as materialized (
    select distinct on (c.parent) c.parent, nullif(btrim(c.body), '') as source, nullif(btrim(c.attributes ->> 'language'), '') as language
      from unnest(p_elements) c
     where c.space = 'bpmn' and c.tag = 'conditionExpression'
     order by c.parent, c.pos
  )
  select coalesce(array_agg(row(
           f.pos, f.process_pos, f.scope_pos, f.flow_id, f.name, f.source_ref, f.target_ref, s.node_id, t.node_id,
           coalesce(s.default_ref = f.flow_id, false),
           case when s.default_ref = f.flow_id then null else c.source end, c.language, null, null, 0)::bpm_core.draft_flow order by f.pos), '{}')
    from flow f
    left join node s on s.scope_pos = f.scope_pos and s.node_id = f.source_ref
    left join node t on t.scope_pos = f.scope_pos and t.node_id = f.target_ref
    left join condition c on c.parent = f.pos
$$;

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
           min(left(btrim(c.body), 2000)) filter (where c.tag = 'documentation') as documentation
      from unnest(p_elements) c
     where c.space = 'bpmn' and (c.tag = 'documentation' or c.tag like '%LoopCharacteristics')
     group by c.parent
  )
  select coalesce(array_agg(row(
           n.pos, n.process_pos, n.scope_pos, n.scope_id, n.scope_tag, n.node_id, n.tag, nullif(btrim(n.attributes ->> 'name'), ''),
           n.attributes, coalesce(x.extensions, '{}'),
           case when n.tag ~ 'Event$' then coalesce(v.event, 'none') end, v.definition,
           nullif(btrim(n.attributes ->> 'default'), ''), nullif(btrim(n.attributes ->> 'attachedToRef'), ''),
           coalesce(lower(btrim(n.attributes ->> 'cancelActivity')), 'true') not in ('false', '0'),
           c.loop, l.lane, nullif(c.documentation, ''),
           0, 0, 0, null, null, null, null, null, null, null, null)::bpm_core.draft_node order by n.pos), '{}')
    from node n
    left join bpm_core.bpmn_extensions(p_elements) x on x.owner_pos = n.pos
    left join bpm_core.bpmn_events(p_elements) v on v.node_pos = n.pos
    left join bpm_core.bpmn_lanes(p_elements) l on l.node_id = n.node_id
    left join child c on c.parent = n.pos
$$;

-- The message an element waits for, and the path of its correlation key: on the element or the message (bpm:correlationKey),
-- or Zeebe's subscription; null is the business key.
-- Returns:  message_name, correlation_path, and problem: what is wrong with the key.
create or replace function bpm_core.drawn_message(
  p_attributes jsonb, p_message_id text, p_message_name text, p_message_attributes jsonb, p_message_extensions jsonb,
  out message_name text, out correlation_path text, out problem text)
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
      problem := format('The correlation key %s is not a dotted path into the variables.', v_source);
    end if;
  end if;
end
$$;

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

-- A timer's rule as people write it: plain, in quotes, as a literal in an expression, or as an expression naming a variable.
-- Returns:  kind, rule (a literal without quotes; the source of an expression), path (of the variable an expression names), and
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
    rule := btrim(p_source);
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
    problem := format('%s is not an ISO 8601 repeating interval.', quote_literal(left(rule, 100)));
    hint := 'Examples: R/PT10M, R3/PT10M, R3/2030-01-31T12:00:00Z/P1D. Cron rules are not executed yet.';
  end if;
end
$$;

-- How messages name an element: serviceTask "charge-card" (Charge the card).
create or replace function bpm_core.element_label(p_tag text, p_id text, p_name text)
returns text
language sql immutable parallel safe
as $$ select p_tag || ' "' || left(p_id, 200) || '"' || coalesce(' (' || left(nullif(regexp_replace(p_name, '\s+', ' ', 'g'), ''), 100) || ')', '') $$;

-- Makes one fault of a BPMN file. Lines are filled in at the end, from the id, for all findings at once (locate_findings).
create or replace function bpm_core.fault(p_code text, p_message text, p_node_id text default null, p_flow_id text default null, p_hint text default null)
returns bpm_core.finding
language sql immutable parallel safe
as $$ select row('fault', p_code, p_message, p_node_id, p_flow_id, null, p_hint)::bpm_core.finding $$;

-- The local part of a qualified name: BPMN writes references as QNames, with any prefix or none.
create or replace function bpm_core.local_reference(p_reference text)
returns text
language sql immutable parallel safe
as $$ select nullif(regexp_replace(btrim(p_reference), '^[^:]*:', ''), '') $$;

-- Reads an ISO 8601 repeating interval: R[n]/[start/]duration. Without n (or with -1) it repeats for ever.
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
  if (v_parts[2] is not null and starts_at is null) or repeats = 0 or step <= interval '0' then
    repeats := null;
    starts_at := null;
    step := null;
  end if;
end
$$;

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

-- Looks a dotted path up in the variables.
-- Returns:  jsonb; null when missing.
create or replace function bpm_core.path_value(p_variables jsonb, p_path text)
returns jsonb
language sql immutable parallel safe
as $$ select p_variables #> string_to_array(p_path, '.') $$;

-- The reader: BPMN text to element rows. Knows XML, not BPMN; a server without libxml can be fed the same rows by the driver.
-- Returns:  elements, or a fault (TooLarge, InvalidXml) and no elements.
create or replace function bpm_core.read_bpmn(p_xml text, out elements bpm_core.bpmn_element[], out fault bpm_core.finding)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_message text;
  v_detail  text;
begin
  fault := bpm_core.bpmn_text_fault(p_xml);
  if fault.code is not null then
    return;
  end if;
  begin
    elements := bpm_core.bpmn_elements(xmlparse(document ltrim(p_xml, E'\ufeff')));
  exception
    when data_exception or internal_error or invalid_xml_document or invalid_xml_content then
      get stacked diagnostics v_message = message_text, v_detail = pg_exception_detail;
      fault := bpm_core.xml_fault(p_xml, v_message, v_detail);
  end;
end
$$;

-- Fills in what a node needs to run: the number of its flows, task type, error code, message, timer, kind.
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
  definition as materialized (select d.* from bpm_core.bpmn_definitions(p_elements) d)
  select coalesce(array_agg(row(
           n.pos, n.process_pos, n.scope_pos, n.scope_id, n.scope_tag, n.node_id, n.tag, n.name, n.attributes, n.extensions, n.event, n.definition,
           n.default_ref, coalesce(h.node_id, regexp_replace(n.attached_to, '^[^:]*:', '')), n.interrupting, n.loop, n.lane, n.documentation,
           coalesce(a.flows, 0), coalesce(l.flows, 0), coalesce(l.conditional, 0),
           bpm_core.bpmn_node_kind(n.tag, n.event, coalesce(a.flows, 0), coalesce(l.flows, 0), coalesce(l.conditional, 0),
                                   n.attributes ->> 'bpm:approval' = 'required' or tt.task_type = any (p_approval_types)),
           case n.tag when 'userTask' then 'bpm:user' else tt.task_type end,
           e.error_code, m.message_name, m.correlation_path, t.kind, t.rule, t.path)::bpm_core.draft_node order by n.pos), '{}')
    from node n
    left join leaving l on l.scope_pos = n.scope_pos and l.node_id = n.node_id
    left join arriving a on a.scope_pos = n.scope_pos and a.node_id = n.node_id
    left join host h on h.scope_pos = n.scope_pos and h.node_id = n.attached_to
    left join lateral bpm_core.drawn_task_type(n.node_id, n.attributes, n.extensions) tt on n.tag in ('serviceTask', 'sendTask')
    left join definition d on d.id = bpm_core.local_reference(coalesce(n.definition ->> 'errorRef', n.definition ->> 'messageRef', n.attributes ->> 'messageRef'))
    left join lateral (select nullif(btrim(d.attributes ->> 'errorCode'), '') as error_code) e on n.event = 'error'
    left join lateral bpm_core.drawn_message(n.attributes, d.id, d.name, d.attributes, d.extensions) m on n.event = 'message' or n.tag = 'receiveTask'
    left join lateral bpm_core.drawn_timer(n.definition ->> 'timer_kind', n.definition ->> 'timer_rule') t on n.event = 'timer'
$$;

-- The k-th point of a timer's grid (k = 0 is the anchor). Months and days are added in UTC, whatever the session's zone is.
create or replace function bpm_core.timer_at(p_anchor timestamptz, p_step interval, p_k bigint)
returns timestamptz
language sql immutable parallel safe
as $$ select (p_anchor at time zone 'UTC' + p_step * p_k) at time zone 'UTC' $$;

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
    remaining := v_repeats - (v_k - case when v_starts is null then 1 else 0 end);
  end if;
  if scheduled_at is not null then
    return next;
  end if;
end
$$;

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
    return 0;
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

-- An attribute under whichever extension namespace carries it.
-- Returns:  text, trimmed; null when absent or empty.
create or replace function bpm_core.vendor_attribute(p_attributes jsonb, p_name text)
returns text
language sql immutable parallel safe
as $$
  select coalesce(nullif(btrim(p_attributes ->> ('bpm:' || p_name)), ''), nullif(btrim(p_attributes ->> ('camunda:' || p_name)), ''),
                  nullif(btrim(p_attributes ->> ('flowable:' || p_name)), ''))
$$;

-- Makes one warning about a BPMN file: odd but runnable.
create or replace function bpm_core.warning(p_code text, p_message text, p_node_id text default null, p_flow_id text default null, p_hint text default null)
returns bpm_core.finding
language sql immutable parallel safe
as $$ select row('warning', p_code, p_message, p_node_id, p_flow_id, null, p_hint)::bpm_core.finding $$;

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
      || coalesce(format(' (line %s', v_line) || coalesce(format(', column %s', nullif(v_column, 0)), '') || ')', '') || '.',
    null, null, 'Open the file in an XML editor or export it again.');
  v_finding.line := v_line;
  return v_finding;
end
$$;

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

-- The hop loop: groups arriving tokens by the kind of node they enter, hands each group to its kind, follows what moves on.
-- Kinds run in the order of bpm_core.node_kind: those that end an instance first, so that their victims leave the moving set.
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
  v_waiting     bpm_core.moving[] := '{}';
  v_hops        integer := 0;
  v_some_ended  boolean;
  r_group       record;
begin
  while cardinality(v_arriving) > 0 and v_hops < v_step_budget loop
    v_hops := v_hops + 1;
    v_leaving := '{}';
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
      v_leaving := v_leaving || bpm_core.enter_nodes(r_group.kind, r_group.arriving);
      if r_group.kind = 'MessageCatch' then
        v_waiting := v_waiting || r_group.arriving;
      end if;
      v_some_ended := v_some_ended or r_group.kind in ('TerminateEnd', 'ErrorEnd');
    end loop;
    v_arriving := bpm_core.follow_flows(v_leaving);
  end loop;
  perform bpm_core.park_tokens(v_arriving, v_hops);
  perform bpm_core.open_waits(v_waiting);
end
$$;

-- Drives arriving tokens inside the one subtransaction of a command (law 11): if it raises, half by half, and one that raises alone
-- becomes an incident where it arrived. What was accepted before (results, decisions) and the locks stay.
-- Raises:   40P01, 40001, 55P03 and cancellation as they come: the caller repeats the whole command.
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
    when deadlock_detected or serialization_failure or lock_not_available or query_canceled then
      raise;
    when others then
      v_error := format('%s (%s)', sqlerrm, sqlstate);
  end;
  if v_count = 1 then
    perform bpm_core.open_incidents(array[row(p_arriving[1], 'AdvanceFailed', v_error, null)::bpm_core.trouble]);
  else
    -- Halving costs a logarithm of subtransactions when one token among many is bad.
    perform bpm_core.drive_isolated(p_arriving[ : v_count / 2]);
    perform bpm_core.drive_isolated(p_arriving[v_count / 2 + 1 : ]);
  end if;
end
$$;

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

-- What follows from workflow instances having ended: their history row and, where it is the only binding, the end of the process.
-- The instances carry their final status already. Writes: history_event, process_instance.
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
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, from_state, to_state, detail)
  select p_tenant_id, e.id, p_at, ('Instance' || p_status)::bpm_core.history_kind, 'Running', p_status::text, p_detail
    from unnest(p_instances) e(id);
  -- Shared parents come after tasks and tokens in the lock order, each class once and sorted.
  v_processes := array(
    select w.process_instance_id
      from unnest(p_instances) e(id)
      join bpm_core.workflow_instance w on w.tenant_id = p_tenant_id and w.id = e.id
     where w.ends_process);
  perform 1
     from bpm_core.process_instance p
    where p.tenant_id = p_tenant_id and p.id = any (v_processes)
    order by p.id
      for no key update;
  update bpm_core.process_instance p
     set status = p_status::text::bpm_core.process_status, version = p.version + 1, updated_at = p_at, ended_at = p_at
    from unnest(v_processes) e(id)
   where p.tenant_id = p_tenant_id and p.id = e.id;
end
$$;

-- KIND end event: the token ends; an instance without a live token ends with it, in the same row write.
-- Writes:   token, workflow_instance, process_instance, history_event.
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
  return '{}';
end
$$;

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
     cross join lateral bpm_core.token_variables(a.tenant_id, a.instance_id, a.scope_id) v(variables)
      left join lateral (
        select f.flow_id, f.condition_source, e.verdict
          from bpm_core.workflow_flow f
         cross join lateral (
           select case when f.condition is null then true
                       else jsonb_path_match(v.variables, f.condition, f.condition_constants, true) end) e(verdict)
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
  perform bpm_core.open_incidents(v_troubles);
  return v_leaving;
end
$$;

-- Which function handles which kind. A new element is a new file and a line here.
-- Returns:  moving[], the tokens that move on at once.
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
    return '{}';
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
    when 'ParallelJoin' then
      return bpm_core.enter_parallel_joins(p_arriving);
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
    when 'TerminateEnd' then
      return bpm_core.enter_terminate_ends(p_arriving);
    when 'ErrorEnd' then
      return bpm_core.enter_error_ends(p_arriving);
    else
      -- Start events and boundaries are left, never entered; a graph that says otherwise was not made by the compiler.
      perform bpm_core.fail('BP500', format('Nothing enters a node of kind %s (node %s).', p_kind, (p_arriving[1]).node_id));
  end case;
end
$$;

-- KIND parallel fork: the token ends, one is born per outgoing flow. Its id is the group of its children.
create or replace function bpm_core.enter_parallel_forks(p_arriving bpm_core.moving[])
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
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Completed', version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
  select a.tenant_id, a.instance_id, v_now, 'TokenForked', a.token_id, a.node_id, 'Completed'
    from unnest(p_arriving) a;
  with born as materialized (
    select a.tenant_id, a.instance_id, a.version_id, a.scope_id, bpm_core.new_id() as token_id, a.node_id, f.flow_id, a.token_id as group_id
      from unnest(p_arriving) a
      join bpm_core.workflow_flow f
        on f.tenant_id = a.tenant_id and f.workflow_version_id = a.version_id and f.source_id = a.node_id),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, via_flow_id, state, parallel_group_id, updated_at)
    select b.tenant_id, b.token_id, b.instance_id, b.scope_id, b.node_id, b.flow_id, 'Waiting', b.group_id, v_now
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
  return v_leaving;
end
$$;

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
      join bpm_core.workflow_node n
        on n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id
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
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, steps = 0, version = t.version + 1, updated_at = v_now
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
  return '{}';
end
$$;

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

-- Fires complete rounds: of each round's tokens one goes on, the others are consumed.
-- Returns:  moving[], the survivors, leaving. Writes: parallel_join, token, workflow_instance (live_tokens), history_event.
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
  with member as materialized (
    select r.tenant_id, r.workflow_instance_id, r.scope_id, r.node_id, r.round, a.token_id, w.workflow_version_id,
           row_number() over (partition by r.tenant_id, r.workflow_instance_id, r.scope_id, r.node_id, r.round order by a.flow_id) = 1 as survives
      from unnest(p_rounds) r
      join bpm_core.workflow_instance w on w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id
      join bpm_core.workflow_flow f
        on f.tenant_id = r.tenant_id and f.workflow_version_id = w.workflow_version_id and f.target_id = r.node_id
      join bpm_core.parallel_join_arrival a
        on a.tenant_id = r.tenant_id and a.workflow_instance_id = r.workflow_instance_id and a.scope_id = r.scope_id
       and a.node_id = r.node_id and a.flow_id = f.flow_id and a.round = r.round),
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
      join bpm_core.workflow_flow f
        on f.tenant_id = l.tenant_id and f.workflow_version_id = l.version_id and f.source_id = l.node_id
       and (l.flow_id is null or f.flow_id = l.flow_id));
end
$$;

-- Says why a gateway could not choose: which flow was undecidable, or that none was true, with the values seen.
-- Returns:  trouble, codes ConditionUndecidable and NoFlowTrue.
create or replace function bpm_core.gateway_trouble(p_token bpm_core.moving, p_flow_id text, p_condition_source text, p_variables jsonb)
returns bpm_core.trouble
language plpgsql stable
set search_path = pg_catalog, pg_temp
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

-- Locks workflow instances, all at once and in the order of their ids: the first act of every command (law 1).
-- A statement of its own: what follows must take its snapshot after the lock is held, and the order of an UPDATE belongs to the planner.
-- Returns:  nothing; unknown ids lock nothing. Locks: workflow_instance, for no key update.
create or replace function bpm_core.lock_instances(p_tenant_id text, p_instances uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform 1
     from bpm_core.workflow_instance w
    where w.tenant_id = p_tenant_id
      and w.id = any (p_instances)
    order by w.id
      for no key update;
end
$$;

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

-- Leaves tokens Ready where they would have entered next, for tick to go on with; past the loop budget they become incidents.
-- p_hops is how far they have come in this command. Writes: token, incident, history_event.
create or replace function bpm_core.park_tokens(p_arriving bpm_core.moving[], p_hops integer)
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
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Ready', ready_at = v_now, steps = t.steps + p_hops,
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
  v_zero     constant uuid := '00000000-0000-0000-0000-000000000000';
  v_position bpm_core.pick_position := p_position;
  v_now      timestamptz;
begin
  if p_last_at is not null
     and (p_last_at, p_last_id) > (coalesce(p_position.reached_at, '-infinity'), coalesce(p_position.reached_id, v_zero)) then
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
  if p_whole and p_exhausted then
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
  whole := p_position.full_at is null or p_now > p_position.full_at + interval '30 seconds';
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

-- What a token sees: process variables, then those of its workflow; the nearer wins. Called in FROM, where it is inlined.
-- Returns:  one row, variables jsonb object.
create or replace function bpm_core.token_variables(p_tenant_id text, p_instance_id uuid)
returns table (variables jsonb)
language sql stable
as $$
  select p.variables || w.variables
    from bpm_core.workflow_instance w
    join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
   where w.tenant_id = p_tenant_id and w.id = p_instance_id
$$;

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
      from bpm_core.workflow_instance w
     where w.tenant_id = p_tenant_id
       and w.id = any (p_instances)
     order by w.id
       for no key update skip locked);
end
$$;

-- Under the locks: takes the answers whose task is leased under the fencing token shown, and stores them. Nothing moves yet.
-- Returns:  accepted[], in item order; who is missing has lost (answer_outcome says how).
-- Writes:   task_instance, execution, result, history_event: one row each per answer.
create or replace function bpm_core.accept_answers(p_tenant_id text, p_answers bpm_core.answer[], p_now timestamptz)
returns bpm_core.accepted[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_accepted bpm_core.accepted[];
begin
  with answer as materialized (
    select distinct on (a.task_id) a.item, a.task_id, a.fencing_token, a.variables, a.output, a.content_hash
      from unnest(p_answers) a
     where a.variables is not null
     order by a.task_id, a.item),
  done as (
    update bpm_core.task_instance t
       set state = 'Completed'
      from answer a
     where t.tenant_id = p_tenant_id and t.id = a.task_id
       and t.state = 'Executing' and t.fencing_token = a.fencing_token and t.lease_until > p_now
    returning a.item, t.id, t.workflow_instance_id, t.token_id, t.node_id, t.attempt, t.worker_id, t.fencing_token, t.claimed_at, t.lease_until,
              a.variables, a.output, a.content_hash),
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
    select p_tenant_id, d.workflow_instance_id, p_now, 'TaskCompleted', d.token_id, d.node_id, d.worker_id,
           jsonb_build_object('task', d.id, 'attempt', d.attempt, 'variables', d.variables)
      from done d
     order by d.item)
  select array_agg(row(d.item, d.id, d.workflow_instance_id, d.token_id, d.node_id, d.attempt, d.variables)::bpm_core.accepted order by d.item)
    into v_accepted
    from done d;
  return coalesce(v_accepted, '{}');
end
$$;

-- Tells a repeated answer from another one.
-- Returns:  bytea, sha256 over variables and result in canonical form.
create or replace function bpm_core.answer_hash(p_variables jsonb, p_result jsonb)
returns bytea
language sql immutable parallel safe
as $$ select sha256(convert_to(coalesce(p_variables::text, '') || chr(31) || coalesce(p_result::text, ''), 'UTF8')) $$;

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
    return 'NotFound';
  elsif p_answer.variables is null then
    return 'Rejected';
  elsif r_task.state = 'Cancelled' then
    return 'Cancelled';
  elsif r_task.fencing_token <> p_answer.fencing_token or r_task.state in ('Executing', 'Ready', 'Held') then
    return 'LeaseLost';
  elsif r_task.state = 'Completed' then
    select r.content_hash into v_hash
      from bpm_core.result r
     where r.tenant_id = p_tenant_id and r.task_instance_id = r_task.id and r.attempt = r_task.attempt;
    return case when v_hash = p_answer.content_hash then 'Completed' else 'Conflict' end;
  end if;
  return 'WrongState';
end
$$;

-- The arguments every claim of tasks shares.
-- Raises:   BP422 worker, types, limit or lease out of range, or the reserved type of user tasks.
create or replace function bpm_core.check_claim(p_worker text, p_types text[], p_limit integer, p_lease interval)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.check_picker(p_worker, p_limit, p_lease);
  if coalesce(cardinality(p_types), 0) not between 1 and 100 or array_position(p_types, null) is not null then
    perform bpm_core.fail('BP422', 'Name 1 to 100 task types.', jsonb_build_object('types', p_types));
  end if;
  if 'bpm:user' = any (p_types) then
    perform bpm_core.fail('BP422', 'Tasks of type bpm:user are for people.', null, 'Use bpm.claim_user_task and bpm.complete_user_task.');
  end if;
end
$$;

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

-- The picker of tasks: locks and leases what is ready in the given slots, slot by slot, oldest first within a slot.
-- Returns:  the task rows as leased, with the number of their slot. One statement, so that the outer limit stops the walk exactly.
-- Locks:    task_instance, skip locked. Never an instance row.
create or replace function bpm_core.claim_ready_tasks(
  p_tenant_id text, p_worker text, p_slots bpm_core.claim_slot[], p_limit integer, p_lease interval, p_request_id text, p_now timestamptz)
returns setof bpm_core.claimed_task
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  with picked as materialized (
    select c.id, s.ordinality as slot
      from unnest(p_slots) with ordinality s(task_type, priority_level, from_at, from_id, ordinality)
     cross join lateral (
       select t.id
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
     where t.tenant_id = p_tenant_id and t.id = p.id
    returning t.*, p.slot)
  select l.slot::integer, l.available_at, l.id, w.process_instance_id, w.id, p.business_key, l.node_id, l.task_type, l.attempt, l.fencing_token,
         l.lease_until, p.variables || w.variables
    from leased l
    join bpm_core.workflow_instance w on w.tenant_id = p_tenant_id and w.id = l.workflow_instance_id
    join bpm_core.process_instance p on p.tenant_id = p_tenant_id and p.id = w.process_instance_id
   order by l.slot, l.available_at, l.id;
end
$$;

-- Hands out ready tasks to one worker, high priority first, then oldest first, each with a lease and a fencing token.
-- Commit before working on them. Runners that claim again and again use claim_tasks_at, which stays fast under old snapshots.
-- Returns:  one row per claimed task; none when nothing is due.
-- Raises:   BP403, BP422 worker, types, limit (1..1000) or lease (1 s..1 day) out of range.
-- Writes:   task_instance. Locks: task_instance, skip locked. Never an instance row.
-- Source:   seed B, transaction cookbook, "Complete step" and "Deliver".
create or replace function bpm.claim_tasks(
  p_worker text, p_types text[], p_limit integer default 1, p_lease interval default null, p_request_id text default null, p_tenant_id text default '')
returns table (task_id uuid, process_instance_id uuid, workflow_instance_id uuid, business_key text, node_id text, task_type text, attempt integer,
               fencing_token bigint, lease_until timestamptz, variables jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_claim(p_worker, p_types, p_limit, p_lease);
  return query
  select c.task_id, c.process_instance_id, c.workflow_instance_id, c.business_key, c.node_id, c.task_type, c.attempt, c.fencing_token,
         c.lease_until, c.variables
    from bpm_core.claim_ready_tasks(
           p_tenant_id, p_worker,
           array(select row(y.task_type, l.level, '-infinity', '00000000-0000-0000-0000-000000000000')::bpm_core.claim_slot
                   from generate_series(0, 2) l(level) cross join unnest(p_types) with ordinality y(task_type, n) order by l.level, y.n),
           p_limit, p_lease, p_request_id, bpm_core.now()) c;
end
$$;

-- Like claim_tasks, from where the caller's positions stand; what runners use. Hand back the positions with the next claim, also after an empty one.
-- After a rolled-back claim drop them.
-- Returns:  one row: tasks jsonb (array of objects with the columns of claim_tasks), positions jsonb (opaque),
--           next_due_at (when the next task of these types becomes ready; null: none known).
-- Raises:   BP403, BP422 as claim_tasks; BP400 positions that are not ours.
-- Writes:   task_instance. Locks: task_instance, skip locked.
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
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_claim(p_worker, p_types, p_limit, p_lease);
  v_now := bpm_core.now();
  v_scans := bpm_core.open_slots(p_types, p_positions, v_now);
  v_claimed := array(
    select c
      from bpm_core.claim_ready_tasks(
             p_tenant_id, p_worker,
             array(select row(s.task_type, s.priority_level, s.from_at, s.from_id)::bpm_core.claim_slot from unnest(v_scans) s),
             p_limit, p_lease, p_request_id, v_now) c);
  tasks := coalesce((
    select jsonb_agg(to_jsonb(c) - '{slot,available_at}'::text[]) from unnest(v_claimed) c), '[]');
  positions := bpm_core.close_slots(v_scans, v_claimed, cardinality(v_claimed) < p_limit, v_now);
  if cardinality(v_claimed) < p_limit then
    next_due_at := bpm_core.next_task_due(p_tenant_id, p_types, v_now);
  end if;
  return next;
end
$$;

-- The positions to hand back after a claim. Types that were not asked for this time are dropped: their position would grow stale.
-- Returns:  jsonb {task_type: [high, normal, low]}.
create or replace function bpm_core.close_slots(p_scans bpm_core.slot_scan[], p_claimed bpm_core.claimed_task[], p_exhausted boolean, p_began timestamptz)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select jsonb_object_agg(p.task_type, p.positions)
      from (
        select s.task_type,
               jsonb_agg(to_jsonb(bpm_core.pick_end(s.position, s.look_back, s.settled, s.whole, c.last_at, c.last_id, p_exhausted, p_began))
                         order by s.priority_level) as positions
          from unnest(p_scans) with ordinality s(task_type, priority_level, from_at, from_id, look_back, settled, whole, position, n)
          left join (
            select distinct on (k.slot) k.slot, k.available_at as last_at, k.task_id as last_id
              from unnest(p_claimed) k
             order by k.slot, k.available_at desc, k.task_id desc) c on c.slot = s.n
         group by s.task_type) p);
end
$$;

-- Completes one task. The single form of complete_tasks: what is an outcome there is an error here.
-- Returns:  one row: task_id, outcome Completed (also for an unchanged repeat), instance_status.
-- Raises:   BP404 no such task; BP409 completed before with another answer; BP410 the lease is lost; BP422 variables refused; else as complete_tasks.
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
  perform bpm_core.raise_outcome('task', p_task_id, r_done.outcome, 'Completed', bpm_core.variables_fault(coalesce(p_variables, '{}')));
  return query select r_done.task_id, r_done.outcome, r_done.instance_status;
end
$$;

-- Completes tasks their caller holds: the result is kept, the variables named are patched, the tokens go on. All in one transaction.
-- p_items: [{"task_id", "fencing_token", "variables": {…}, "result": any}], at most 1,000.
-- Returns:  one row per item: item (from 1), task_id, outcome (Completed also for an unchanged repeat; LeaseLost, Conflict, Cancelled, Rejected,
--           WrongState, NotFound), instance_status.
-- Raises:   BP400 ill-formed items, BP403, BP429 too many items. 55P03, 40P01: repeat the call.
-- Writes:   per ordinary step: workflow_instance, task_instance, execution, result, history_event, token, next task_instance.
-- Locks:    workflow_instance, then task_instance, both sorted.
-- Source:   seed B, transaction cookbook, "Complete step"; seed A, 9.1.
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
  v_answers  bpm_core.answer[];
  v_accepted bpm_core.accepted[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_answers := bpm_core.parse_answers(p_items);
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array(select a.task_id from unnest(v_answers) a));
  v_accepted := bpm_core.accept_answers(p_tenant_id, v_answers, bpm_core.now());
  if cardinality(v_accepted) > 0 then
    perform bpm_core.continue_accepted(p_tenant_id, v_accepted);
  end if;
  return query
  select a.item, a.task_id,
         case when a.item = any (v.items) then 'Completed' else bpm_core.answer_outcome(p_tenant_id, a) end,
         w.status::text
    from unnest(v_answers) a
   cross join (select array(select c.item from unnest(v_accepted) c)) v(items)
    left join bpm_core.task_instance t on t.tenant_id = p_tenant_id and t.id = a.task_id
    left join bpm_core.workflow_instance w on w.tenant_id = p_tenant_id and w.id = t.workflow_instance_id
   order by a.item;
end
$$;

-- Moves the tokens of accepted tasks on: patches merged per instance in item order, what else waited on the token closed, then advance.
-- Writes:   workflow_instance once, and whatever the nodes ahead write.
create or replace function bpm_core.continue_accepted(p_tenant_id text, p_accepted bpm_core.accepted[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[];
begin
  update bpm_core.workflow_instance w
     set lock_version = w.lock_version + 1, variables = w.variables || p.patch
    from (select a.instance_id, bpm_core.jsonb_merge(a.variables order by a.item) as patch
            from unnest(p_accepted) a group by a.instance_id) p
   where w.tenant_id = p_tenant_id and w.id = p.instance_id;
  v_leaving := array(
    select row(p_tenant_id, a.instance_id, w.workflow_version_id, t.scope_id, a.token_id, a.node_id, null, null)::bpm_core.moving
      from unnest(p_accepted) a
      join bpm_core.workflow_instance w on w.tenant_id = p_tenant_id and w.id = a.instance_id
      join bpm_core.token t on t.tenant_id = p_tenant_id and t.id = a.token_id
     order by a.item);
  perform bpm_core.close_timers_of_tokens(p_tenant_id, array(select a.token_id from unnest(p_accepted) a));
  perform bpm_core.advance_isolated(v_leaving);
end
$$;

-- KIND service task: the token rests, a task is offered. The row that made the token leave its last node tells history where it went.
-- Writes:   token, task_instance; timer where the task has boundary timers.
create or replace function bpm_core.enter_service_tasks(p_arriving bpm_core.moving[])
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
    returning a.tenant_id, a.instance_id, a.version_id, a.token_id, a.node_id, t.visit)
  insert into bpm_core.task_instance (
    tenant_id, id, workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease)
  select r.tenant_id, bpm_core.new_id(), r.instance_id, r.token_id, r.visit, r.node_id, b.task_version_id, b.task_type, b.priority_level,
         bpm_core.now(), b.max_attempts, b.lease
    from rested r
    join bpm_core.workflow_task_binding b
      on b.tenant_id = r.tenant_id and b.workflow_version_id = r.version_id and b.node_id = r.node_id;
  perform bpm_core.arm_boundary_timers(p_arriving);
  return '{}';
end
$$;

-- KIND user task: the token rests, a person's work item is offered. Its task type is bpm:user, which workers cannot claim.
-- Writes:   token, task_instance; timer where the task has boundary timers.
create or replace function bpm_core.enter_user_tasks(p_arriving bpm_core.moving[])
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
    returning a.tenant_id, a.instance_id, a.version_id, a.token_id, a.node_id, t.visit)
  insert into bpm_core.task_instance (
    tenant_id, id, workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease,
    assignee, candidate_groups)
  select r.tenant_id, bpm_core.new_id(), r.instance_id, r.token_id, r.visit, r.node_id, b.task_version_id, b.task_type, b.priority_level,
         bpm_core.now(), b.max_attempts, b.lease, bpm_core.text_value(b.assignee, v.variables), b.candidate_groups
    from rested r
    join bpm_core.workflow_task_binding b
      on b.tenant_id = r.tenant_id and b.workflow_version_id = r.version_id and b.node_id = r.node_id
   cross join lateral bpm_core.token_variables(r.tenant_id, r.instance_id) v;
  perform bpm_core.arm_boundary_timers(p_arriving);
  return '{}';
end
$$;

-- Locks the instances of tasks and then the tasks. A task's instance never changes and may be read without a lock.
-- Returns:  nothing. Locks: workflow_instance, then task_instance.
create or replace function bpm_core.lock_instances_of_tasks(p_tenant_id text, p_tasks uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.lock_instances(p_tenant_id, array(
    select t.workflow_instance_id
      from unnest(p_tasks) k(id)
      join bpm_core.task_instance t on t.tenant_id = p_tenant_id and t.id = k.id));
  perform bpm_core.lock_tasks(p_tenant_id, p_tasks);
end
$$;

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
     from bpm_core.task_instance t
    where t.tenant_id = p_tenant_id and t.id = any (p_tasks)
    order by t.id
      for no key update;
end
$$;

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
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  perform bpm_core.check_claim('next_due', p_types, 1, null);
  return greatest(bpm_core.next_task_due(p_tenant_id, p_types, '-infinity'), bpm_core.now());
end
$$;

-- When does the next task of these types become ready after p_after?
-- Returns:  timestamptz, null when none is planned.
create or replace function bpm_core.next_task_due(p_tenant_id text, p_types text[], p_after timestamptz)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
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

-- The slots of a claim (task type × priority level, high first) with where each scan begins.
-- Returns:  slot_scan[] in claim order.
-- Raises:   BP400 positions of another shape.
create or replace function bpm_core.open_slots(p_types text[], p_positions jsonb, p_now timestamptz)
returns bpm_core.slot_scan[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(y.task_type, l.level, s.from_at, s.from_id, s.look_back, s.settled, s.whole, k.position)::bpm_core.slot_scan
      from generate_series(0, 2) l(level)
     cross join unnest(p_types) with ordinality y(task_type, n)
     cross join lateral (
       select jsonb_populate_record(null::bpm_core.pick_position, p_positions -> y.task_type -> l.level)) k(position)
     cross join lateral bpm_core.pick_start(k.position, p_now) s
     order by l.level, y.n);
exception
  when data_exception then
    perform bpm_core.fail('BP400', 'The positions are not ones this function gave back.', null, 'Pass null to begin anew.');
end
$$;

-- Reads the items of complete_tasks. An item whose variables we do not take keeps variables null: its outcome will be Rejected.
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
               case when bpm_core.variables_fault(v.variables) is null then bpm_core.decode_variables(v.variables) end,
               coalesce(i.item -> 'result', v.variables),
               bpm_core.answer_hash(v.variables, i.item -> 'result'))::bpm_core.answer
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     cross join lateral (select coalesce(nullif(i.item -> 'variables', 'null'), '{}')) v(variables)
     order by i.n);
end
$$;

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
    select p.oid::regprocedure as signature,
           array_to_string(array['bpm_admin', case when g.reader then 'bpm_reader' end, case when g.worker then 'bpm_worker' end,
                                 case when g.operator then 'bpm_operator' end], ', ') as roles
      from pg_proc p
      left join bpm_core.function_grant g on g.function_name = p.proname
     where p.pronamespace = 'bpm'::regnamespace
  loop
    execute format('grant execute on function %s to %s', r_object.signature, r_object.roles);
  end loop;
end
$$;

-- Which role may call which public function. Grants as data: bpm_core.apply_grants makes the database equal to this list, a test proves it.
-- A role that is named may call; bpm_admin may call everything, so it is not repeated. Reading is for all four.

create or replace view bpm_core.function_grant (function_name, reader, worker, operator) as
values
  -- everybody
  ('api_version', true, true, true),
  ('check_bpmn', true, true, true),
  ('check_invariants', true, true, true),
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
  ('reconcile_command', false, false, true),
  ('requeue_dead_letter', false, false, true),
  ('resolve_incident', false, false, true),
  ('set_variables', false, false, true),
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

-- Privileges, then the first rows: the tenant of those who have none, its admin (whoever installs), and the partitions of history.

do $$ begin perform bpm_core.apply_grants(); end $$;

insert into bpm_core.tenant (tenant_id, name, created_at)
values ('', 'default', bpm_core.now())
on conflict do nothing;

insert into bpm_core.tenant_grant (role_name, tenant_pattern, capability, granted_by, granted_at)
values (session_user, '', 'admin', session_user, bpm_core.now())
on conflict do nothing;

do $$ begin perform bpm_core.create_history_partitions(24); end $$;
