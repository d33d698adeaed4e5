-- bpm_core.enter_send_tasks: a command is written, the token goes on.
begin;
select plan(25);
select kit.deploy_sending('courier', '{"resend_allowed": true, "key_retention": "2 days", "secret_ref": "env:COURIER"}');

select kit.start('courier', '{"amount": 1200.10, "ship": {"to": "Huế"}}', 'K-1') as wi \gset
select (c).* from kit.command(:'wi') c \gset c_
select is(:'c_state'::text, 'Pending', 'a command is waiting');
select is(:'c_attempt' || ' of ' || :'c_max_attempts', '0 of 3', 'not tried yet, with the attempts of its destination');
select is(:'c_payload'::jsonb, '{"amount": 1200.10, "ship": {"to": "Huế"}}', 'the variables are its payload');
select is((select o.payload_hash from bpm_core.outbox o where o.id = :'c_id'), sha256(convert_to(:'c_payload', 'UTF8')), 'whose hash is kept');
select isnt(:'c_command_id'::uuid, :'c_id'::uuid, 'the id the receiver will see is its own');
select is(:'c_destination_code'::text, 'courier', 'the task type names the destination');
select is((:'c_destination_snapshot'::jsonb) #>> '{config,url}', 'http://receiver.test/', 'its address is frozen');
select is((:'c_destination_snapshot'::jsonb) ->> 'resend_allowed', 'true', 'and its profile');
select is(((:'c_destination_snapshot'::jsonb) ->> 'key_retention')::interval, interval '2 days', 'with durations that read back');
select is((:'c_destination_snapshot'::jsonb) ->> 'secret_ref', 'env:COURIER', 'the secret by reference');
select is((:'c_destination_snapshot'::jsonb) ? 'tenant_id', false, 'without what is ours alone');
select is((select t.node_id || ' ' || t.state from bpm_core.token t where t.workflow_instance_id = :'wi'), 'b Waiting', 'the token moved on at once');
select is(kit.history(:'wi', 'Command%'), 'CommandWritten', 'history has the command');
select is((select h.node_id || ' ' || (h.detail ->> 'command') from bpm_core.history_event h where h.workflow_instance_id = :'wi' and h.kind = 'CommandWritten'),
          'a ' || :'c_command_id', 'of that node');

update bpm_core.destination d set config = '{"url": "http://elsewhere.test/"}', resend_allowed = false where d.code = 'courier';
select is((select (c).destination_snapshot from kit.command(:'wi') c), :'c_destination_snapshot'::jsonb, 'a destination that changes does not change the command');
select from bpm.set_variables((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'), '{"amount": 1}');
select is((select (c).payload from kit.command(:'wi') c), :'c_payload'::jsonb, 'nor do variables that change');

select count(*) from bpm.start_processes('[{"code": "courier", "variables": {"n": 1}}, {"code": "courier", "variables": {"n": 2}}]') \gset s_
select is((select string_agg(c.payload ->> 'n', ' ' order by c.payload ->> 'n') from bpm.command c where c.payload ? 'n'), '1 2', 'a set of tokens writes one command each, with its own payload');
select is((select count(distinct c.command_id) from bpm.command c), 3::bigint, 'each with an id of its own');

-- A destination named apart from the type, and one that is not there
select kit.deploy('named', '<sendTask id="a" bpm:type="anything" bpm:destination="courier"/><endEvent id="end"/><sequenceFlow id="f" sourceRef="a" targetRef="end"/>');
select kit.start('named') as named \gset
select is((select (c).destination_code || ' ' || (c).task_type from kit.command(:'named') c), 'courier anything', 'bpm:destination names the destination');
select kit.deploy('lost', '<sendTask id="a" bpm:type="nowhere"/><endEvent id="end"/><sequenceFlow id="f" sourceRef="a" targetRef="end"/>');
select kit.start('lost') as lost \gset
select is((select count(*) from bpm.command c where c.workflow_instance_id = :'lost'), 0::bigint, 'without a destination no command is written');
select is((select i.code || ' ' || (i.detail ->> 'destination') from bpm.incident i where i.workflow_instance_id = :'lost'), 'UnknownDestination nowhere', 'but an incident, which names it');
select is((select t.node_id || ' ' || t.state from bpm_core.token t where t.workflow_instance_id = :'lost'), 'a Failed', 'the token stands there');
insert into bpm_core.destination (tenant_id, id, code, kind, created_by, created_at, updated_at)
values ('', bpm_core.new_id(), 'nowhere', 'http', 'test', bpm_core.now(), bpm_core.now());
select from bpm.resolve_incident((select i.incident_id from bpm.incident i where i.workflow_instance_id = :'lost'));
select is((select (c).state::text from kit.command(:'lost') c), 'Pending', 'once it is registered, resolving writes the command');
select is((select w.status::text from bpm_core.workflow_instance w where w.id = :'lost'), 'Completed', 'and the token goes on');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
