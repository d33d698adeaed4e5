-- Results that are looked at before they count: asked for, approved, rejected, returned, superseded.
begin;
select plan(90);
select from bpm.publish_task(p_task_type => 'weigh', p_review_required => true);
select from bpm.publish_task(p_task_type => 'inspect', p_executor_kind => 'Human', p_review_required => true, p_exclusion_rule => '{"actors": ["eve"]}');
create function pg_temp.reviewed(p_code text, p_more text) returns void language sql as $$
  select kit.deploy(p_code, '<serviceTask id="a" bpm:type="weigh"/><endEvent id="end"/><sequenceFlow id="on" sourceRef="a" targetRef="end"/>' || p_more)
$$;
select pg_temp.reviewed('plain', '');
select from bpm.deploy_bpmn('<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpm="urn:pgbpm:bpmn:1" targetNamespace="t"><error id="bad" errorCode="ReviewRejected"/>
  <process id="caught" isExecutable="true"><startEvent id="start"/><sequenceFlow id="to_a" sourceRef="start" targetRef="a"/>
  <serviceTask id="a" bpm:type="weigh"/><endEvent id="end"/><sequenceFlow id="on" sourceRef="a" targetRef="end"/>
  <boundaryEvent id="no" attachedToRef="a"><errorEventDefinition errorRef="bad"/></boundaryEvent><endEvent id="refused"/><sequenceFlow id="f_no" sourceRef="no" targetRef="refused"/>
  <boundaryEvent id="late" attachedToRef="a"><timerEventDefinition><timeDuration>P1D</timeDuration></timerEventDefinition></boundaryEvent><endEvent id="too_late"/>
  <sequenceFlow id="f_late" sourceRef="late" targetRef="too_late"/></process></definitions>');
select from bpm.publish_task(p_task_type => 'probe', p_executor_kind => 'Human', p_review_required => true, p_exclusion_rule => '{"delegates": true}');
select kit.deploy('handed', '<userTask id="a" bpm:type="probe"/><endEvent id="end"/><sequenceFlow id="on" sourceRef="a" targetRef="end"/>');
select kit.deploy('visit', '<userTask id="a" bpm:type="inspect"/><endEvent id="end"/><sequenceFlow id="on" sourceRef="a" targetRef="end"/>');
-- Starts one and lets worker w answer, with a fact about a parcel.
create function pg_temp.answered(p_code text, p_parcel text default null, p_kg integer default 7) returns uuid language plpgsql as $$
declare
  v_instance uuid := kit.start(p_code);
begin
  perform from bpm.claim_tasks('w', '{weigh}', 1) c cross join lateral bpm.complete_task(c.task_id, c.fencing_token, jsonb_build_object('kg', p_kg), p_result => jsonb_build_object('ok', true),
    p_evidence => case when p_parcel is not null then jsonb_build_array(jsonb_build_object('object_key', 'photos/' || p_parcel || p_kg, 'sha256', repeat('ab', 32))) end,
    p_facts => case when p_parcel is not null then jsonb_build_array(jsonb_build_object('subject_type', 'parcel', 'subject_key', p_parcel, 'name', 'kg', 'value', p_kg, 'evidence', '[0]'::jsonb)) end);
  return v_instance;
end $$;
create function pg_temp.review(p_instance uuid) returns uuid language sql as $$
  select r.review_id from bpm.review r where r.workflow_instance_id = p_instance and r.state = 'Open'
$$;
create function pg_temp.decide(p_review uuid, p_version integer, p_decision text, p_actor text default 'ann') returns text language sql as $$
  select d.state || coalesce('/' || d.decision || ' by ' || d.decided_by, '') || ' ' || d.instance_status from bpm.decide_review(p_review, p_version, p_decision, 'because', p_actor) d
$$;
create function pg_temp.refused(p_review uuid, p_version integer, p_decision text, p_actor text default 'ann', p_reason text default 'because') returns jsonb language sql as $$
  select kit.raised(format('select from bpm.decide_review(%L, %L, %L, %L, %L)', p_review, p_version, p_decision, p_reason, p_actor))
$$;

-- It waits
select pg_temp.answered('plain', 'P1') as wi \gset
select pg_temp.review(:'wi') as id \gset
select is((select r.state || ' ' || r.attempt || ' ' || r.expected_version from bpm.review r where r.review_id = :'id'), 'Open 1 0', 'a review is asked for');
select is((select t.state || ' ' || t.node_id from bpm_core.token t where t.workflow_instance_id = :'wi'), 'Waiting a', 'the token rests');
select is((select r.verdict::text from bpm.result r join bpm.task t on t.task_id = r.task_id where t.workflow_instance_id = :'wi'), 'NeedsReview', 'the result is kept as one that waits');
select is((select count(*) from bpm.fact), 0::bigint, 'no fact before it is approved');
select is((select count(*) from bpm.evidence), 0::bigint, 'nor evidence');
select is(kit.history(:'wi', 'Review%'), 'ReviewRequested', 'history says what it waits for');
select is((select i.variables from bpm.instance i where i.workflow_instance_id = :'wi'), '{}', 'its variables are not taken');
select is_empty('select * from bpm.check_invariants()', 'invariants hold while it waits');

-- The list
select is((select l.done_by || ' ' || (l.output ->> 'ok') || ' ' || (l.record #>> '{facts,0,value}') from bpm.list_reviews('ann') l), 'w true 7', 'the list shows what is to be looked at');
select is((select count(*) from bpm.list_reviews('w')), 0::bigint, 'not to who gave it');
select is((select count(*) from bpm.list_reviews('ann', p_after => :'id')), 0::bigint, 'the page after it is empty');

-- What is refused
select is(pg_temp.refused(:'id', 0, 'Approve', 'w') #>> '{detail,reason}', 'own', 'nobody reviews their own result');
select is(pg_temp.refused(:'id', 1, 'Approve') ->> 'code', 'BP409', 'another version than it is of');
select is(pg_temp.refused(:'id', null, 'Approve') ->> 'code', 'BP409', 'or none');
select is(pg_temp.refused(:'id', 0, 'Perhaps') ->> 'code', 'BP422', 'no decision');
select is(pg_temp.refused(:'id', 0, 'Reject', p_reason => null) ->> 'code', 'BP422', 'a refusal without a reason');
select is(pg_temp.refused(:'id', 0, 'Return', p_reason => ' ') ->> 'code', 'BP422', 'a return neither');
select is(pg_temp.refused(:'id', 0, 'Approve', p_reason => repeat('x', 4001)) ->> 'code', 'BP422', 'a reason that is too long');
select is(pg_temp.refused(bpm_core.new_id(), 0, 'Approve') ->> 'code', 'BP404', 'a review that is not there');
select is(kit.raised(format('select from bpm.decide_review(%L, 0, ''Approve'', p_tenant_id => ''nobody'')', :'id')) ->> 'code', 'BP403', 'a tenant not granted');
select is((select r.state from bpm.review r where r.review_id = :'id'), 'Open', 'whatever was refused changed nothing');

-- The content that was looked at
create function pg_temp.hashed(p_review uuid, p_hash text, p_decision text default 'Approve') returns jsonb language sql as $$
  select kit.raised(format('select from bpm.decide_review(%L, 0, %L, ''because'', ''ann'', %L)', p_review, p_decision, p_hash))
$$;
select is(pg_temp.hashed(:'id', repeat('0', 64)) ->> 'code', 'BP409', 'another content than it is of');
select is(pg_temp.hashed(:'id', repeat('0', 64)) #>> '{detail,content_hash}', (select l.content_hash from bpm.list_reviews('ann') l), 'the answer says which it is of');
select is(pg_temp.hashed(:'id', 'abc') ->> 'code', 'BP422', 'no hash');
select is(kit.raised(format('select from bpm.decide_review(%L, 0, ''Approve'', null, ''w'', %L)', :'id', (select l.content_hash from bpm.list_reviews('ann') l))) ->> 'code', 'BP403',
          'the right one goes on to the next check');

-- Approved
select is(pg_temp.decide(:'id', 0, 'Approve'), 'Decided/Approve by ann Completed', 'approved: it goes on');
select is((select i.variables from bpm.instance i where i.workflow_instance_id = :'wi'), '{"kg": 7}', 'with its variables');
select is((select f.value::text || ' ' || f.confirmed_by || ' ' || (f.review_id = :'id') from bpm_core.fact f), '7 ann true', 'and its facts, which the reviewer confirms');
select is((select e.object_key from bpm.evidence e), 'photos/P17', 'and the evidence');
select is(kit.history(:'wi', 'Review%'), 'ReviewRequested ReviewDecided', 'history has it');
select is((select e.actor || ' ' || e.reason || ' ' || e.aggregate_version || ' ' || (e.detail ->> 'decision') from bpm_core.audit_event e where e.action = 'DecideReview'),
          'ann because 0 Approve', 'and the audit, with the version');
select is(pg_temp.decide(:'id', 0, 'Approve', 'bob'), 'Decided/Approve by ann Completed', 'again: the first outcome');
select is((select count(*) from bpm_core.fact), 1::bigint, 'once');
select is(pg_temp.refused(:'id', 0, 'Reject') #>> '{detail,decided_by}', 'ann', 'the opposite is refused with it');
select is((select t.what || ': ' || t.note from bpm.get_trail((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi')) t where t.kind = 'ReviewDecided'),
          'approved the result: because', 'the trail tells it');

-- What it speaks of has moved
select pg_temp.answered('plain', 'P1', 8) as one \gset
select pg_temp.answered('plain', 'P1', 9) as two \gset
select pg_temp.review(:'one') as first \gset
select pg_temp.review(:'two') as second \gset
select is((select r.expected_version from bpm.review r where r.review_id = :'second'), 1, 'both are of version 1');
select is(pg_temp.decide(:'first', 1, 'Approve'), 'Decided/Approve by ann Completed', 'the first is approved: the parcel is at version 2');
select is(pg_temp.decide(:'second', 1, 'Approve'), 'Superseded Running', 'the second decides nothing: it was of version 1');
select is((select count(*) from bpm_core.fact f where f.value = '9'), 0::bigint, 'no fact of it');
select is((select r.superseded_by = pg_temp.review(:'two') from bpm.review r where r.review_id = :'second'), true, 'another is asked for');
select is((select r.expected_version from bpm.review r where r.review_id = pg_temp.review(:'two')), 2, 'of the version of now');
select is(pg_temp.refused(:'second', 1, 'Approve') #>> '{detail,superseded_by}', pg_temp.review(:'two')::text, 'the old one says which');
select is(pg_temp.decide(pg_temp.review(:'two'), 2, 'Approve'), 'Decided/Approve by ann Completed', 'which can be approved');
select is((select f.value::text || ' ' || f.subject_version from bpm_core.fact f where f.superseded_by is null), '9 3', 'and is the last word');
select is(kit.history(:'two', 'Review%'), 'ReviewRequested ReviewSuperseded ReviewDecided', 'history has all of it');

-- Returned
select pg_temp.answered('plain') as wi \gset
select t.task_id as old from bpm.task t where t.workflow_instance_id = :'wi' \gset
select is(pg_temp.decide(pg_temp.review(:'wi'), 0, 'Return'), 'Decided/Return by ann Running', 'returned');
select is((select t.state || ' ' || t.attempt from bpm.task t where t.workflow_instance_id = :'wi' and t.task_id <> :'old'), 'Ready 0', 'the step is offered again');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select from bpm.claim_tasks('w', '{weigh}', 1) c cross join lateral bpm.complete_task(c.task_id, c.fencing_token, '{"kg": 5}');
select is(pg_temp.decide(pg_temp.review(:'wi'), 0, 'Approve'), 'Decided/Approve by ann Completed', 'the next answer is reviewed as well');
select is((select i.variables from bpm.instance i where i.workflow_instance_id = :'wi'), '{"kg": 5}', 'and counts');

-- Rejected, caught or not
select pg_temp.answered('caught', 'P2') as wi \gset
select is(pg_temp.decide(pg_temp.review(:'wi'), 0, 'Reject'), 'Decided/Reject by ann Completed', 'rejected: the error goes its way');
select is(kit.history(:'wi', 'Error%'), 'ErrorCaught', 'caught');
select is((select count(*) from bpm_core.fact f join bpm_core.subject s on s.id = f.subject_id where s.subject_key = 'P2'), 0::bigint, 'without a fact');
select pg_temp.answered('plain') as wi \gset
select is(pg_temp.decide(pg_temp.review(:'wi'), 0, 'Reject'), 'Decided/Reject by ann Running', 'nobody catches it');
select is((select i.code || ' ' || i.node_id from bpm.incident i where i.workflow_instance_id = :'wi' and i.state = 'Open'), 'ReviewRejected a', 'an incident');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select from (select i.incident_id from bpm.incident i where i.workflow_instance_id = :'wi') i cross join lateral bpm.resolve_incident(i.incident_id);
select is((select count(*) from bpm.task t where t.workflow_instance_id = :'wi' and t.state = 'Ready'), 1::bigint, 'resolving it does the step anew');
select from bpm.cancel_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));

-- What ends it otherwise
select pg_temp.answered('caught') as wi \gset
select pg_temp.review(:'wi') as id \gset
select from bpm.advance_clock('2 days');
select from bpm.run_until_idle();
select is((select r.state from bpm.review r where r.review_id = :'id'), 'Closed', 'a boundary timer takes the step away');
select is(pg_temp.refused(:'id', 0, 'Approve') ->> 'code', 'BP409', 'then it is closed');
select pg_temp.answered('plain') as wi \gset
select pg_temp.review(:'wi') as id \gset
select from bpm.cancel_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select is((select r.state from bpm.review r where r.review_id = :'id'), 'Closed', 'as it is when the instance is cancelled');
select pg_temp.answered('plain') as wi \gset
select pg_temp.review(:'wi') as id \gset
select from bpm.suspend_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select is(pg_temp.refused(:'id', 0, 'Approve') ->> 'code', 'BP423', 'not while it is suspended');
select from bpm.resume_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select is(pg_temp.decide(:'id', 0, 'Approve'), 'Decided/Approve by ann Completed', 'but afterwards');
select kit.start('plain') as wi \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{weigh}', 1) c where c.workflow_instance_id = :'wi' \gset
select from bpm.suspend_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :'fencing_token'::bigint))) c), 'Completed', 'an answer given meanwhile');
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :'fencing_token'::bigint))) c), 'Completed', 'and its repeat');
select is((select count(*) from bpm.review r where r.workflow_instance_id = :'wi' and r.state = 'Open'), 1::bigint, 'waits for its review');
select is((select count(*) from bpm_core.inbox), 0::bigint, 'and not in the inbox');
select from bpm.resume_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select from bpm.run_until_idle();
select is(pg_temp.decide(pg_temp.review(:'wi'), 0, 'Approve'), 'Decided/Approve by ann Completed', 'approved after the resume');

-- People's results
select kit.start('visit') as wi \gset
select t.task_id from bpm.task t where t.workflow_instance_id = :'wi' \gset
select is((select c.outcome || ' ' || c.instance_status from bpm.complete_user_task(:'task_id', '{"ok": true}', 'bob') c), 'Completed Running', 'what a person answers waits, too');
select is((select c.outcome || ' ' || c.instance_status from bpm.complete_user_task(:'task_id', '{"ok": true}', 'bob') c), 'Completed Running', 'also when it is repeated');
select is(pg_temp.refused(pg_temp.review(:'wi'), 0, 'Approve', 'bob') #>> '{detail,reason}', 'own', 'not by themselves');
select is(pg_temp.refused(pg_temp.review(:'wi'), 0, 'Approve', 'eve') #>> '{detail,reason}', 'actors', 'nor by who is excluded from the task');
select is((select count(*) from bpm.list_reviews('eve') l where l.process_instance_id = (select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi')), 0::bigint, 'who does not see it');
select is(pg_temp.decide(pg_temp.review(:'wi'), 0, 'Return'), 'Decided/Return by ann Running', 'returned');
select is((select t.assignee from bpm.task t where t.workflow_instance_id = :'wi' and t.state = 'Ready'), 'bob', 'to who did it');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');

-- Whom it was handed on to found out what the owner answered
select kit.start('handed') as wi \gset
select t.task_id from bpm.task t where t.workflow_instance_id = :'wi' \gset
select from bpm.claim_user_task(:'task_id', 'ann') c cross join lateral bpm.delegate_user_task(c.task_id, 'dan', null, 'ann') d
  cross join lateral bpm.resolve_user_task(d.task_id, 'looks right', 'dan') r cross join lateral bpm.complete_user_task(r.task_id, '{"ok": true}', 'ann');
select is(pg_temp.refused(pg_temp.review(:'wi'), 0, 'Approve', 'dan') #>> '{detail,reason}', 'delegates', 'a delegate does not review what they found out, where delegates are excluded');
select is((select count(*) from bpm.list_reviews('dan') l where l.process_instance_id = (select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi')), 0::bigint, 'nor see it');
select is(pg_temp.refused(pg_temp.review(:'wi'), 0, 'Approve', 'ann') #>> '{detail,reason}', 'own', 'the owner neither');
select is(pg_temp.decide(pg_temp.review(:'wi'), 0, 'Approve', 'bob'), 'Decided/Approve by bob Completed', 'somebody else does');

-- I-24, I-25, I-12: every rule is seen to fail
select pg_temp.answered('plain', 'P9') as wi \gset
select pg_temp.review(:'wi') as id \gset
select test.breaks(format('update bpm_core.review set content_hash = ''\x00'' where id = %L', :'id'), '{I-25}', 'a review of another content');
select test.breaks(format('delete from bpm_core.review where id = %L', :'id'), '{I-07,I-25}', 'a result nobody is asked to review');
select test.breaks($$update bpm_core.review set decision = 'Reject' where decision = 'Approve'$$, '{I-24,I-25}', 'in effect, but not approved');
select test.breaks($$update bpm_core.review r set expected_version = r.expected_version + 5 where r.decision = 'Approve' and exists (select from bpm_core.fact f where f.review_id = r.id)
  and not exists (select from bpm_core.review s where s.superseded_by = r.id)$$, '{I-25}', 'decided about another version');
-- Who comes with a review of before is told of the one that is open now
select pg_temp.answered('plain') as wi \gset
select pg_temp.review(:'wi') as id \gset
select r.content_hash as old from bpm.review r where r.review_id = :'id' \gset
select is((select d.decision from bpm.decide_review(:'id', 0, 'Return', 'weigh it again', 'ann', :'old') d), 'Return', 'returned, by its hash');
select is((pg_temp.hashed(:'id', :'old') -> 'detail') ? 'now', false, 'nothing new yet');
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{weigh}', 1) c \gset
select from bpm.complete_task(:'task_id', :fencing_token, '{"kg": 8}');
select is(pg_temp.hashed(:'id', :'old') ->> 'code', 'BP409', 'approved by somebody who looked at what came first');
select is(pg_temp.hashed(:'id', :'old') #>> '{detail,now,review_id}', pg_temp.review(:'wi')::text, 'is told of the one that came since');
select isnt(pg_temp.hashed(:'id', :'old') #>> '{detail,now,content_hash}', :'old', 'with its hash, which is another');
select is(pg_temp.hashed(:'id', repeat('0', 64), 'Return') ->> 'code', 'BP409', 'the same decision on something else is no repeat');
select is((select d.decision || ' by ' || d.decided_by from bpm.decide_review(:'id', 0, 'Return', 'again', 'bob', :'old') d), 'Return by ann', 'on the same it is');

select * from finish();
rollback;
