-- How an approval is decided: by several people, by named ones, without those who took part, within a time.
begin;
select plan(104);
create function pg_temp.gated(p_code text, p_said text) returns void language sql as $$
  select kit.deploy(p_code, format('<serviceTask id="a" bpm:type="release" bpm:approval="required" %s/><endEvent id="end"/><sequenceFlow id="on" sourceRef="a" targetRef="end"/>', p_said))
$$;
create function pg_temp.vote(p_instance uuid, p_actor text, p_decision text default 'Approved') returns text language sql as $$
  select d.status || '/' || d.effect || ' ' || d.approvals || ':' || d.rejections from kit.approval(p_instance) a cross join lateral bpm.decide_approval((a).id, p_decision, null, p_actor) d
$$;
create function pg_temp.refused(p_instance uuid, p_actor text, p_decision text default 'Approved') returns jsonb language sql as $$
  select kit.raised(format('select from bpm.decide_approval(%L, %L, null, %L)', (a).id, p_decision, p_actor)) from kit.approval(p_instance) a
$$;
create function pg_temp.fault(p_said text) returns text language sql as $$
  select kit.raised(format('select pg_temp.gated(''bad'', %L)', p_said)) #>> '{detail,faults,0,message}'
$$;
create function pg_temp.listed(p_actor text) returns bigint language sql as $$ select count(*) from bpm.list_approvals(p_actor) $$;

-- Names in lists are names, whatever is around them
select is(bpm_core.name_list('[" ann ", "bob"]'), '{ann,bob}', 'blanks around a name are nobody''s');
select is(bpm_core.exclusion_problem('{"actors": ["eve "]}') like '%blanks%', true, 'a rule that would exclude nobody is refused');

-- Two of three
select pg_temp.gated('pair', 'bpm:requiredApprovals="2" bpm:approvers="ann, bob, cid"');
select kit.start('pair') as wi \gset
select is((select a.required_approvals || ' ' || a.approvers::text || ' ' || a.veto from bpm.approval a where a.workflow_instance_id = :'wi'), '2 {ann,bob,cid} true', 'what the node says is asked');
select is(pg_temp.listed('ann'), 1::bigint, 'ann sees it in her list');
select is(pg_temp.listed('dan'), 0::bigint, 'dan, who is not asked, does not');
select is(pg_temp.refused(:'wi', 'dan') ->> 'code', 'BP403', 'nor may he decide');
select is(pg_temp.refused(:'wi', 'dan') #>> '{detail,reason}', 'NotAsked', 'because he is not asked');
select is(pg_temp.vote(:'wi', 'ann'), 'Pending/Pending 1:0', 'one approval is not enough');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 0::bigint, 'no task yet');
select is(pg_temp.listed('ann'), 0::bigint, 'ann has done her part');
select is(pg_temp.vote(:'wi', 'ann'), 'Pending/Pending 1:0', 'the same person again counts once');
select is(pg_temp.refused(:'wi', 'ann', 'Rejected') ->> 'code', 'BP409', 'nor can she change her mind');
select is(pg_temp.refused(:'wi', 'ann', 'Rejected') #>> '{detail,vote}', 'Approve', 'the answer says how she voted');
select is((select e.actor || ' ' || (e.detail ->> 'vote') from bpm_core.audit_event e where e.action = 'VoteOnApproval'), 'ann Approve', 'a vote is audited');
select is(pg_temp.vote(:'wi', 'bob'), 'Approved/Applied 2:0', 'the second one decides');
select is((select string_agg(t.state::text, ' ') from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 'Ready', 'and the task is offered');
select is(kit.history(:'wi', 'Approval%'), 'ApprovalRequested ApprovalVoted ApprovalDecided ApprovalApplied', 'history has every vote');
select is(pg_temp.vote(:'wi', 'cid'), 'Approved/Applied 2:0', 'a third one hears the outcome and adds nothing');
select is(pg_temp.refused(:'wi', 'cid', 'Rejected') #>> '{detail,decided_by}', 'bob', 'and the opposite is a conflict with the first outcome');
select is((select string_agg(v.actor || ' ' || v.vote, ', ' order by v.actor) from bpm.approval_vote v), 'ann Approve, bob Approve', 'the votes can be looked at');

-- One refusal refuses, or not
select kit.start('pair') as wi \gset
select is(pg_temp.vote(:'wi', 'ann'), 'Pending/Pending 1:0', 'one for it');
select is(pg_temp.vote(:'wi', 'bob', 'Rejected'), 'Rejected/Applied 1:1', 'one refusal is a veto');
select pg_temp.gated('majority', 'bpm:requiredApprovals="2" bpm:approvers="ann, bob, cid" bpm:approvalVeto="false"');
select kit.start('majority') as wi \gset
select is(pg_temp.vote(:'wi', 'ann', 'Rejected'), 'Pending/Pending 0:1', 'without one a refusal is a vote');
select is(pg_temp.vote(:'wi', 'bob'), 'Pending/Pending 1:1', 'which can be outvoted');
select is(pg_temp.vote(:'wi', 'cid'), 'Approved/Applied 2:1', 'by enough');
select kit.start('majority') as wi \gset
select is(pg_temp.vote(:'wi', 'ann', 'Rejected'), 'Pending/Pending 0:1', 'one against');
select is(pg_temp.vote(:'wi', 'bob', 'Rejected'), 'Rejected/Applied 0:2', 'two of three against two that are needed: it can no longer be approved');
select pg_temp.gated('crowd', 'bpm:requiredApprovals="2" bpm:approvalVeto="false"');
select kit.start('crowd') as wi \gset
select is(pg_temp.vote(:'wi', 'zoe', 'Rejected'), 'Pending/Pending 0:1', 'of a crowd nobody knows');
select is(pg_temp.vote(:'wi', 'yan', 'Rejected'), 'Rejected/Applied 0:2', 'as many refuse as would approve');

-- Those who took part
select kit.deploy('four_eyes',
  '<userTask id="a"/><serviceTask id="b" bpm:type="release" bpm:approval="required" bpm:approvalExclude="requester, earlier_actors, eve"/>
   <serviceTask id="c" bpm:type="release" bpm:approval="required" bpm:approvalExclude="earlier_actors"/><endEvent id="end"/>
   <sequenceFlow id="f1" sourceRef="a" targetRef="b"/><sequenceFlow id="f2" sourceRef="b" targetRef="c"/><sequenceFlow id="f3" sourceRef="c" targetRef="end"/>');
select kit.start('four_eyes') as wi \gset
select from (select t.task_id from bpm.task t where t.workflow_instance_id = :'wi') t cross join lateral bpm.complete_user_task(t.task_id, '{}', 'ann');
select is(pg_temp.refused(:'wi', 'ann') #>> '{detail,reason}', 'earlier_actors', 'who answered an earlier task may not decide');
select is(pg_temp.listed('ann'), 0::bigint, 'and does not see it listed');
select is(pg_temp.refused(:'wi', 'eve') #>> '{detail,reason}', 'Excluded', 'nor who is named');
select is(pg_temp.refused(:'wi', current_user) #>> '{detail,reason}', 'requester', 'nor who started it');
select is(pg_temp.listed('bob'), 1::bigint, 'somebody else does');
select is(pg_temp.vote(:'wi', 'bob'), 'Approved/Applied 1:0', 'and decides');
select from (select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{release}', 10) c where c.node_id = 'b') c cross join lateral bpm.complete_task(c.task_id, c.fencing_token);
create function pg_temp.second(p_actor text) returns jsonb language sql as $$
  select kit.raised(format('select from bpm.decide_approval(%L, ''Approved'', null, %L)', a.approval_id, p_actor)) from bpm.approval a where a.node_id = 'c' and a.status = 'Pending'
$$;
select is(pg_temp.second('bob') #>> '{detail,reason}', 'earlier_actors', 'who approved an earlier step may not approve the next');
select is(pg_temp.second('cid'), null, 'a third person may');

-- Nobody is left
select kit.deploy('narrow',
  '<userTask id="a"/><serviceTask id="b" bpm:type="release" bpm:approval="required" bpm:requiredApprovals="2" bpm:approvers="ann, bob" bpm:approvalExclude="earlier_actors"/>
   <endEvent id="end"/><sequenceFlow id="f1" sourceRef="a" targetRef="b"/><sequenceFlow id="f2" sourceRef="b" targetRef="end"/>');
select kit.start('narrow') as wi \gset
select from (select t.task_id from bpm.task t where t.workflow_instance_id = :'wi') t cross join lateral bpm.complete_user_task(t.task_id, '{}', 'ann');
select is((select i.code || ' ' || i.node_id from bpm.incident i where i.workflow_instance_id = :'wi' and i.state = 'Open'), 'NoApprover b', 'too few may decide: an incident');
select is((select a.status from bpm.approval a where a.workflow_instance_id = :'wi'), 'Cancelled', 'nothing stays open that nobody could close');
select is((select t.state::text from bpm_core.token t where t.workflow_instance_id = :'wi'), 'Failed', 'the step stops');
select from (select i.incident_id from bpm.incident i where i.workflow_instance_id = :'wi') i cross join lateral bpm.resolve_incident(i.incident_id);
select is((select count(*) from bpm.incident i where i.workflow_instance_id = :'wi' and i.state = 'Open'), 1::bigint, 'resolving asks anew, and stops again while nothing is mended');
select kit.deploy('beside',
  '<parallelGateway id="a"/><userTask id="u"/><serviceTask id="b" bpm:type="release" bpm:approval="required" bpm:requiredApprovals="2" bpm:approvers="ann, bob" bpm:approvalExclude="earlier_actors"/>
   <endEvent id="e1"/><endEvent id="e2"/><sequenceFlow id="f1" sourceRef="a" targetRef="u"/><sequenceFlow id="f2" sourceRef="a" targetRef="b"/>
   <sequenceFlow id="f3" sourceRef="u" targetRef="e1"/><sequenceFlow id="f4" sourceRef="b" targetRef="e2"/>');
select kit.start('beside') as wi \gset
select is((select count(*) from bpm.incident i where i.workflow_instance_id = :'wi'), 0::bigint, 'both are free at first');
select from (select t.task_id from bpm.task t where t.workflow_instance_id = :'wi' and t.node_id = 'u') t cross join lateral bpm.complete_user_task(t.task_id, '{}', 'ann');
select is(pg_temp.vote(:'wi', 'bob'), 'Cancelled/Pending 1:0', 'with the vote it shows that nobody is left for the second');
select is((select i.code from bpm.incident i where i.workflow_instance_id = :'wi' and i.state = 'Open'), 'NoApprover', 'an incident, not a silent stop');

-- Time
select pg_temp.gated('timed', 'bpm:approvers="ann" bpm:approvalReminds="P1D" bpm:approvalEscalates="P2D" bpm:escalateTo="zoe" bpm:approvalExpires="P5D"');
select kit.start('timed') as wi \gset
select is(pg_temp.refused(:'wi', 'zoe') #>> '{detail,reason}', 'NotAsked', 'the one it escalates to may not decide before');
select is((select t.done ->> 'decisions' from bpm.tick() t), '0', 'nothing is due');
select from bpm.advance_clock('1 day');
select is((select t.done ->> 'decisions' from bpm.tick() t), '1', 'a day later');
select is((select a.reminded from bpm.approval a where a.workflow_instance_id = :'wi'), 1, 'somebody is reminded');
select is((select t.done ->> 'decisions' from bpm.tick() t), '0', 'once');
select from bpm.advance_clock('2 days 12 hours');
select from bpm.tick();
select is((select a.reminded from bpm.approval a where a.workflow_instance_id = :'wi'), 2, 'missed reminders are made up for by one');
select is((select a.escalated_at is not null from bpm.approval a where a.workflow_instance_id = :'wi'), true, 'and it is escalated');
select is(kit.history(:'wi', 'Approval%'), 'ApprovalRequested ApprovalReminded ApprovalEscalated ApprovalReminded', 'history tells all of it');
select is((select l.is_escalated from bpm.list_approvals('zoe') l), true, 'zoe sees it now');
select is((select r.remind_at - r.created_at from bpm_core.approval_record r where r.workflow_instance_id = :'wi'), interval '4 days', 'the next reminder keeps the grid');
select is(pg_temp.vote(:'wi', 'zoe'), 'Approved/Applied 1:0', 'and decides');
select from bpm.advance_clock('10 days');
select is((select t.done ->> 'decisions' from bpm.tick() t), '0', 'what is decided does not expire');
select kit.start('timed') as wi \gset
select from bpm.advance_clock('5 days');
select is(pg_temp.refused(:'wi', 'ann') ->> 'code', 'BP409', 'too late, though the clock has not taken note');
select is((pg_temp.refused(:'wi', 'ann') -> 'detail') ? 'expires_at', true, 'the answer says since when');
select is(pg_temp.listed('ann'), 0::bigint, 'nor is it listed');
select is((select t.done ->> 'decisions' from bpm.tick() t), '1', 'tick takes note');
select is((select a.status || '/' || a.effect || ' ' || a.decided_by from bpm.approval a where a.workflow_instance_id = :'wi'), 'Expired/Applied bpm:expiry', 'expired, in effect');
select is((select w.status::text from bpm_core.workflow_instance w where w.id = :'wi'), 'Failed', 'nobody catches the error: the instance fails');
select is(pg_temp.refused(:'wi', 'ann') #>> '{detail,status}', 'Expired', 'a late decision hears the first outcome');
select throws_ok(format('select from bpm.requeue_dead_letter(%L)', (select d.dead_letter_id from bpm.dead_letter d where d.workflow_instance_id = :'wi')), 'BP409', null,
                 'what expired cannot be requeued');
select kit.start('timed') as wi \gset
select from bpm.suspend_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select from bpm.advance_clock('5 days');
select is((select t.done ->> 'decisions' from bpm.tick() t), '0', 'a suspended instance is left alone');
select from bpm.resume_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select from bpm.run_until_idle();
select is((select (a).status::text from kit.approval(:'wi') a), 'Expired', 'and its time is over when it is resumed');

-- Evidence, and who says so otherwise: task version, setting
select pg_temp.gated('plain', '');
select kit.start('plain') as wi \gset
select d.status from kit.approval(:'wi') a cross join lateral bpm.decide_approval((a).id, 'Approved', 'seen', 'ann',
  jsonb_build_array(jsonb_build_object('object_key', 'mails/1', 'sha256', repeat('ab', 32)))) d \gset
select is((select e.object_key from bpm.approval_vote v join bpm_core.evidence e on e.id = any (v.evidence_ids)), 'mails/1', 'what a decision rests on is kept with it');
select is(kit.raised('select from bpm.decide_approval(bpm_core.new_id(), ''Approved'', p_evidence => ''{}'')') ->> 'code', 'BP422', 'evidence is a list');
select from bpm.publish_task(p_task_type => 'release', p_approval_policy => '{"required": 2, "approvers": ["ann", "bob"]}');
select pg_temp.gated('by_type', 'bpm:requiredApprovals="1"');
select kit.start('by_type') as wi \gset
select is((select a.required_approvals || ' ' || a.approvers::text from bpm.approval a where a.workflow_instance_id = :'wi'), '1 {ann,bob}', 'the node over its task version');
select bpm.set_setting('engine.approval_policies', '{"release": {"required": 3, "veto": false}}');
select pg_temp.gated('by_setting', 'bpm:requiredApprovals="2"');
select kit.start('by_setting') as wi \gset
select is((select a.required_approvals || ' ' || a.veto from bpm.approval a where a.workflow_instance_id = :'wi'), '2 false', 'and that over the setting');
select throws_ok('select bpm.set_setting(''engine.approval_policies'', ''{"release": {"required": 0}}'')', 'BP400', null, 'a setting that is no policy');
select throws_ok('select from bpm.publish_task(p_task_type => ''release'', p_approval_policy => ''{"who": 1}'')', 'BP422', null, 'a task version with none');

-- Faults
select is(pg_temp.fault('bpm:requiredApprovals="two"'), 'serviceTask "a": two is no number of approvals from 1 to 100.', 'no number');
select is(pg_temp.fault('bpm:requiredApprovals="3"'), 'serviceTask "a": it takes 3 approvals and names 2 approvers.', 'more than there are');
select is(pg_temp.fault('bpm:approvalExpires="tomorrow"'), 'serviceTask "a": tomorrow is no ISO 8601 duration from PT1S to P10Y.', 'no duration');
select is(pg_temp.fault('bpm:escalateTo="zoe"'), 'serviceTask "a": escalation has a time and a name.', 'half an escalation');
select is(kit.raised($$select kit.deploy('bad', '<serviceTask id="a" bpm:type="other" bpm:approvers="ann"/><endEvent id="end"/><sequenceFlow id="on" sourceRef="a" targetRef="end"/>')$$)
          #>> '{detail,faults,0,message}', 'serviceTask "a": it says how it is approved, but needs no approval.', 'a rule without a gate');

-- Words for people by their part, and names that look like one
select is(bpm_core.near_symbol(x.name), x.symbol, x.name || ' looks like ' || coalesce(x.symbol, 'nobody'))
  from (values ('Requester', 'requester'), ('REQUESTER', 'requester'), ('requestor', 'requester'), ('requesters', 'requester'), ('reqeuster', 'requester'), ('initiator', 'requester'),
    ('earlierActors', 'earlier_actors'), ('earlier-actors', 'earlier_actors'), ('earlier actor', 'earlier_actors'), ('delegate', 'delegates'), ('Delegated', 'delegates'),
    ('person:requester', null), ('ann', null), ('requester@example.com', null), ('del', null), ('高橋', null)) x(name, symbol);
select is(pg_temp.fault('bpm:approvalExclude="Requester"'), 'serviceTask "a": excluded: Requester is nobody''s name: is requester meant? Somebody who is called so is person:Requester.', 'a near miss');
select is(pg_temp.fault('bpm:approvalExclude="eve, earlier actors"') like '%is earlier_actors meant?%', true, 'among names');
select is(pg_temp.fault('bpm:approvers="ann, bob, requester"') like '%here are names%', true, 'who may is said by names, not by their part');
select is(pg_temp.fault('bpm:escalateTo="Requester" bpm:approvalEscalates="PT1H"') like '%here are names%', true, 'to whom it goes as well');
select throws_like($$select from bpm.publish_task(p_task_type => 'release', p_approval_policy => '{"exclude": ["Requester"]}')$$, '%is requester meant?%', 'a task version');
select throws_ok($$select bpm.set_setting('engine.approval_policies', '{"release": {"exclude": ["Requester"]}}')$$, 'BP400', null, 'a setting');
select throws_like($$select from bpm.publish_task(p_task_type => 'r', p_executor_kind => 'Human', p_exclusion_rule => '{"actors": ["requester"]}')$$, '%here are names%', 'a rule of who may not do a task');
select from bpm.publish_task(p_task_type => 'release', p_approval_policy => '{"exclude": ["person:Requester", "requester"], "approvers": ["ann", "person:delegate", "Requester@example.com"]}');
select pg_temp.gated('called_so', '');
select kit.start('called_so') as wi \gset
select is((select a.excluded::text || a.approvers::text from bpm.approval a where a.workflow_instance_id = :'wi'), '{requester,Requester}{ann,delegate,Requester@example.com}', 'somebody who is called so can be named');

select throws_ok('select from bpm.list_approvals(p_limit => 0)', 'BP422', null, 'limit too small');
select throws_ok('select from bpm.list_approvals(p_tenant_id => ''nobody'')', 'BP403', null, 'tenant not granted');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
