-- bpm.get_trail: who decided what on which version, and what went out with which receipt.
begin;
select plan(25);
select from bpm.register_destination('courier', p_config => '{"url": "http://c.example/"}');
select kit.deploy('booked',
  '<serviceTask id="a" name="Release" bpm:type="release" bpm:approval="required" bpm:requiredApprovals="2"/><sendTask id="b" bpm:destination="courier"/><endEvent id="end"/>
   <sequenceFlow id="f1" sourceRef="a" targetRef="b"/><sequenceFlow id="f2" sourceRef="b" targetRef="end"/>');
select kit.start('booked', '{"amount": 7}', 'T-1') as wi \gset
select (a).id as approval from kit.approval(:'wi') a \gset
select from bpm.decide_approval(:'approval', 'Approved', 'known to us', 'ann', jsonb_build_array(jsonb_build_object('object_key', 'mails/1', 'sha256', repeat('ab', 32))));
select from bpm.decide_approval(:'approval', 'Approved', null, 'bob');
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{release}') c \gset
select from bpm.complete_task(:'task_id', :fencing_token, p_facts => '[{"subject_type": "order", "subject_key": "T-1", "name": "released", "value": true}]', p_evidence => '[]');
select from bpm.claim_commands('c', 1) c cross join lateral bpm.mark_commands(jsonb_build_array(jsonb_build_object(
  'command_id', c.command_id, 'fencing_token', c.fencing_token, 'outcome', 'Sent', 'receipt', jsonb_build_object('number', 'R-1')))) m;
create temp table trail as select * from bpm.get_trail(p_business_key => 'T-1');

select is((select string_agg(t.kind, ' ' order by t.seq) from trail t),
  'InstanceStarted ApprovalRequested ApprovalVoted ApprovalDecided ApprovalApplied TaskCompleted CommandWritten InstanceCompleted CommandSent', 'what matters, oldest first');
select is((select t.actor || ' ' || t.what || ': ' || t.note from trail t where t.kind = 'ApprovalVoted'), 'ann voted for it: known to us', 'who said what');
select is((select t.evidence #>> '{0,object_key}' from trail t where t.kind = 'ApprovalVoted'), 'mails/1', 'on which evidence');
select is((select t.actor || ' ' || t.what from trail t where t.kind = 'ApprovalDecided'), 'bob approved', 'whose vote decided');
select is((select distinct t.version from trail t), 'booked 1', 'on which version');
select is((select t.node_name from trail t where t.kind = 'ApprovalDecided'), 'Release', 'at which step');
select is((select t.facts from trail t where t.kind = 'TaskCompleted'), '[{"subject": "order T-1", "name": "released", "value": true}]', 'which facts came of it');
select is((select t.what from trail t where t.kind = 'CommandWritten'), 'a command for courier', 'what went out');
select is((select t.command #>> '{receipt,number}' from trail t where t.kind = 'CommandSent'), 'R-1', 'with which receipt');
select is((select t.command ->> 'state' from trail t where t.kind = 'CommandWritten'), 'Sent', 'the command as it is now');
select is((select count(*) from trail t where t.command is not null), 2::bigint, 'and only there');

-- Votes for groups
select kit.deploy('grouped', '<serviceTask id="a" bpm:type="release" bpm:approval="required" bpm:approverGroups="finance,board" bpm:requiredApprovals="2"/><endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="a" targetRef="end"/>');
select kit.start('grouped', '{}', 'T-2') as wi2 \gset
select from bpm.decide_approval((kit.approval(:'wi2')).id, 'Approved', null, 'ann', p_groups => '{board,staff}');
select from bpm.decide_approval((kit.approval(:'wi2')).id, 'Rejected', null, 'bob', p_groups => '{finance,board}');
select is((select t.actor || ' ' || t.what from bpm.get_trail(p_business_key => 'T-2') t where t.kind = 'ApprovalVoted'), 'ann voted for it for group board', 'for which of the groups that were asked');
select is((select t.actor || ' ' || t.what from bpm.get_trail(p_business_key => 'T-2') t where t.kind = 'ApprovalDecided'), 'bob rejected for group finance, board', 'also the vote that decides');
select is((select t.detail -> 'groups' from bpm.get_trail(p_business_key => 'T-2') t where t.kind = 'ApprovalDecided'), '["finance", "board"]', 'for programs, too');

-- Pages, and by instance
select is((select count(*) from bpm.get_trail(p_business_key => 'T-1', p_limit => 4)), 4::bigint, 'a page');
select is((select string_agg(t.kind, ' ') from bpm.get_trail(p_business_key => 'T-1', p_limit => 2, p_after_seq => (select t.seq from trail t where t.kind = 'TaskCompleted')) t),
          'CommandWritten InstanceCompleted', 'and the one after it');
select is((select count(*) from bpm.get_trail((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'))), 9::bigint, 'by the instance');
select kit.start('booked', '{}', 'T-1') as other \gset
select is((select count(distinct t.process_instance_id) from bpm.get_trail(p_business_key => 'T-1') t), 2::bigint, 'all instances of a key');
select kit.deploy('booked', '<serviceTask id="a" bpm:type="release" bpm:approval="required"/><endEvent id="end"/><sequenceFlow id="f1" sourceRef="a" targetRef="end"/>');
select from bpm.migrate_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'other'), 2);
select is((select string_agg(distinct t.version, ', ' order by t.version) from bpm.get_trail((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'other')) t),
          'booked 1, booked 2', 'each row with the version of then');

select throws_ok('select from bpm.get_trail()', 'BP400', null, 'neither instance nor key');
select throws_ok('select from bpm.get_trail(bpm_core.new_id(), ''T-1'')', 'BP400', null, 'both');
select throws_ok('select from bpm.get_trail(bpm_core.new_id())', 'BP404', null, 'an instance that is not there');
select throws_ok('select from bpm.get_trail(p_business_key => ''nothing'')', 'BP404', null, 'a key of nothing');
select throws_ok('select from bpm.get_trail(p_business_key => ''T-1'', p_limit => 0)', 'BP422', null, 'limit');
select throws_ok('select from bpm.get_trail(p_business_key => ''T-1'', p_tenant_id => ''nobody'')', 'BP403', null, 'tenant');
select * from finish();
rollback;
