-- Helpers of the tests of approvals and commands. Loaded once into the test database; tests roll back everything they do with them.
create schema if not exists kit;

-- What a statement raises: {code, message, detail, hint}; null when it raises nothing. Its effects are undone when it raises.
create or replace function kit.raised(p_sql text)
returns jsonb
language plpgsql
as $$
declare
  v_detail text;
  v_hint   text;
begin
  execute p_sql;
  return null;
exception
  when others then
    get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
    return jsonb_build_object('code', sqlstate, 'message', sqlerrm, 'detail', nullif(v_detail, '')::jsonb, 'hint', v_hint);
end
$$;

-- Deploys a process: start → p_body, from node "a" on, whose elements and flows are given.
create or replace function kit.deploy(p_code text, p_body text)
returns void
language sql
as $$
  select from bpm.deploy_bpmn(format(
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpm="urn:pgbpm:bpmn:1" targetNamespace="t">
     <error id="rejected" errorCode="ApprovalRejected"/><process id="%s" isExecutable="true"><startEvent id="start"/>
     <sequenceFlow id="to_a" sourceRef="start" targetRef="a"/>%s</process></definitions>', p_code, p_body))
$$;

-- Deploys: start → service task a (type release), gated → end; a rejection is caught if p_caught.
create or replace function kit.deploy_gated(p_code text, p_caught boolean)
returns void
language sql
as $$
  select kit.deploy(p_code,
    '<serviceTask id="a" bpm:type="release" bpm:approval="required"/><endEvent id="end"/><sequenceFlow id="f_done" sourceRef="a" targetRef="end"/>
     <boundaryEvent id="late" attachedToRef="a"><timerEventDefinition><timeDuration>P30D</timeDuration></timerEventDefinition></boundaryEvent>
     <endEvent id="too_late"/><sequenceFlow id="f_late" sourceRef="late" targetRef="too_late"/>'
    || case when p_caught then
    '<boundaryEvent id="no" attachedToRef="a"><errorEventDefinition errorRef="rejected"/></boundaryEvent>
     <serviceTask id="tell" bpm:type="tell"/><sequenceFlow id="f_no" sourceRef="no" targetRef="tell"/>
     <endEvent id="refused"/><sequenceFlow id="f_told" sourceRef="tell" targetRef="refused"/>' else '' end)
$$;

-- Registers a destination, with what p_profile says of its columns, and deploys: start → send task a to it → service task b → end.
create or replace function kit.deploy_sending(p_code text, p_profile jsonb default '{}')
returns void
language plpgsql
as $$
begin
  insert into bpm_core.destination
  select (jsonb_populate_record(d, p_profile)).*
    from (select '' as tenant_id, bpm_core.new_id() as id, p_code as code, 'http' as kind, null as secret_ref,
                 '{"url": "http://receiver.test/", "method": "POST"}'::jsonb as config, 'Idempotency-Key' as key_header, interval '1 hour' as key_retention,
                 'Failed' as conflict_means, false as resend_allowed, false as server_error_safe, null as receipt_path, 3 as max_attempts,
                 interval '10 seconds' as backoff, interval '1 minute' as backoff_cap, interval '1 minute' as lease, false as ordered,
                 'Unknown' as absent_means, interval '1 second' as rate_period, interval '10 seconds' as breaker_delay,
                 'test' as created_by, bpm_core.now() as created_at, bpm_core.now() as updated_at) x
   cross join lateral jsonb_populate_record(null::bpm_core.destination, to_jsonb(x)) d;
  perform kit.deploy(p_code, format(
    '<sendTask id="a" bpm:type="%s"/><serviceTask id="b" bpm:type="rest"/><endEvent id="end"/>
     <sequenceFlow id="f_sent" sourceRef="a" targetRef="b"/><sequenceFlow id="f_done" sourceRef="b" targetRef="end"/>', p_code));
end
$$;

-- Starts an instance. Returns its workflow instance.
create or replace function kit.start(p_code text, p_variables jsonb default '{}', p_key text default null)
returns uuid
language sql
as $$ select s.workflow_instance_id from bpm.start_process(p_code, p_variables, p_key) s $$;

-- The one approval, or command, of a workflow instance; the latest if there are several.
create or replace function kit.approval(p_instance uuid)
returns bpm_core.approval_record
language sql
as $$ select a from bpm_core.approval_record a where a.workflow_instance_id = p_instance order by a.created_at desc, a.id desc limit 1 $$;

create or replace function kit.command(p_instance uuid)
returns bpm_core.outbox
language sql
as $$ select o from bpm_core.outbox o where o.workflow_instance_id = p_instance order by o.created_at desc, o.id desc limit 1 $$;

-- History of an instance as one line: its kinds, or those like p_pattern, in order.
create or replace function kit.history(p_instance uuid, p_pattern text default '%')
returns text
language sql
as $$
  select string_agg(h.kind::text, ' ' order by h.seq)
    from bpm_core.history_event h
   where h.workflow_instance_id = p_instance and h.kind::text like p_pattern
$$;

-- Marks the command of an instance with what it was claimed under (or p_fence). Returns outcome and state, separated by a blank.
create or replace function kit.mark(p_instance uuid, p_outcome text, p_more jsonb default '{}', p_fence bigint default null)
returns text
language sql
as $$
  select m.outcome || ' ' || m.state
    from bpm.mark_commands((
           select jsonb_build_array(jsonb_build_object('command_id', (c).command_id, 'fencing_token', coalesce(p_fence, (c).fencing_token),
                                                       'outcome', p_outcome) || p_more)
             from kit.command(p_instance) c)) m
$$;

-- A new instance of p_code whose command was claimed.
create or replace function kit.sending(p_code text, p_variables jsonb default '{}')
returns uuid
language plpgsql
as $$
declare
  v_instance uuid := kit.start(p_code, p_variables);
begin
  perform from bpm.claim_commands('w1', 1000);
  return v_instance;
end
$$;
