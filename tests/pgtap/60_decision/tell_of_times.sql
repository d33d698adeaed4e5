-- What subscribers hear of approvals and reviews: that somebody is asked, reminded, escalated to; that a result waits.
begin;
select plan(16);
select kit.deploy('quiet', '<serviceTask id="a" bpm:type="release" bpm:approval="required" bpm:approvalReminds="P1D"/><endEvent id="end"/><sequenceFlow id="on" sourceRef="a" targetRef="end"/>');
select kit.deploy('timed', '<serviceTask id="a" bpm:type="release" bpm:approval="required" bpm:approvers="ann, bob" bpm:approverGroups="board" bpm:approvalReminds="P1D" bpm:approvalEscalates="P2D"
  bpm:escalateTo="zoe" bpm:approvalExpires="P5D"/><endEvent id="end"/><sequenceFlow id="on" sourceRef="a" targetRef="end"/>');
create function pg_temp.heard(p_from bigint default 0) returns text language sql as $$
  select string_agg(e.event_type || coalesce(' ' || (e.payload #>> '{detail,reminder}'), '') || coalesce(' ' || (e.payload #>> '{detail,to}'), ''), ', ' order by o.seq)
    from bpm_core.event_outbox o join bpm.domain_event e on e.event_id = o.id where o.seq > p_from
$$;
create function pg_temp.last() returns bigint language sql as $$ select coalesce(max(o.seq), 0) from bpm_core.event_outbox o $$;
create function pg_temp.detail(p_type text) returns jsonb language sql as $$
  select e.payload -> 'detail' from bpm_core.event_outbox o join bpm.domain_event e on e.event_id = o.id where e.event_type = p_type order by o.seq desc limit 1
$$;

-- Nobody listens
select kit.start('quiet') as quiet \gset
select from bpm.advance_clock('1 day');
select from bpm.tick();
select is((select a.reminded from bpm.approval a), 1, 'a reminder');
select is(pg_temp.heard(), null, 'that nobody subscribed to leaves no event');

-- Somebody does, to the kinds that ask for people
select from bpm.subscribe_events('mailer', null, '{ApprovalRequested,ApprovalReminded,ApprovalEscalated,ReviewRequested}');
select kit.start('timed') as wi \gset
select is(pg_temp.heard(), 'ApprovalRequested', 'asked');
select is(pg_temp.detail('ApprovalRequested') - '{approval,expires_at}'::text[],
          '{"node": "a", "task_type": "release", "required": 1, "approvers": ["ann", "bob"], "approver_groups": ["board"]}', 'with who is asked');
select is(pg_temp.detail('ApprovalRequested') ->> 'approval', (select (a).id::text from kit.approval(:'wi') a), 'what about');
select is((pg_temp.detail('ApprovalRequested') ->> 'expires_at')::timestamptz, (select (a).expires_at from kit.approval(:'wi') a), 'and by when');
select from bpm.claim_approval((select (a).id from kit.approval(:'wi') a), 'ann');
select from bpm.cancel_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'quiet'));
select pg_temp.last() as seen \gset
select from bpm.advance_clock('1 day');
select from bpm.tick();
select is(pg_temp.heard(:seen), 'ApprovalReminded 1', 'reminded');
select is(pg_temp.detail('ApprovalReminded') -> 'claimed_by', '["ann"]', 'with who is at it');
select pg_temp.last() as seen \gset
select from bpm.tick();
select is(pg_temp.heard(:seen), null, 'once');
select from bpm.advance_clock('1 day');
select from bpm.tick();
select is(pg_temp.heard(:seen), 'ApprovalEscalated zoe, ApprovalReminded 2', 'escalated, and reminded again');
select pg_temp.last() as seen \gset
select from bpm.advance_clock('3 days');
select from bpm.tick();
select is(pg_temp.heard(:seen), null, 'expired: no reminder any more, and of decisions this one does not want to hear');
select from bpm.subscribe_events('all');
select kit.start('timed') as wi \gset
select pg_temp.last() as seen \gset
select from bpm.advance_clock('5 days');
select from bpm.tick();
select is(pg_temp.heard(:seen), 'ApprovalDecided, InstanceFailed', 'who wants to hear everything does');
select is(pg_temp.detail('ApprovalDecided') - 'approval', '{"node": "a", "decision": "Expired", "actor": "bpm:expiry"}', 'with what was decided');

-- Results that wait
select from bpm.publish_task(p_task_type => 'weigh', p_review_required => true);
select kit.deploy('weigh', '<serviceTask id="a" bpm:type="weigh"/><endEvent id="end"/><sequenceFlow id="on" sourceRef="a" targetRef="end"/>');
select kit.start('weigh') as wi \gset
select pg_temp.last() as seen \gset
select from bpm.claim_tasks('w', '{weigh}', 1) c cross join lateral bpm.complete_task(c.task_id, c.fencing_token);
select is(pg_temp.heard(:seen), 'ReviewRequested', 'a result waits for somebody');
select is((pg_temp.detail('ReviewRequested') ->> 'review')::uuid, (select r.review_id from bpm.review r), 'which');
select is(pg_temp.detail('ReviewRequested') - '{review,task}'::text[], '{"node": "a", "attempt": 1, "expected_version": 0}', 'where');
select * from finish();
rollback;
