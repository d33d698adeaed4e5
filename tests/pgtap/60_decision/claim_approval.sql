-- Approvals for groups, and who says that they are at one: a courtesy that keeps nobody from deciding.
begin;
select plan(59);
create function pg_temp.gated(p_code text, p_said text) returns void language sql as $$
  select kit.deploy(p_code, format('<serviceTask id="a" bpm:type="release" bpm:approval="required" %s/><endEvent id="end"/><sequenceFlow id="on" sourceRef="a" targetRef="end"/>', p_said))
$$;
create function pg_temp.id(p_instance uuid) returns uuid language sql as $$ select (a).id from kit.approval(p_instance) a $$;
create function pg_temp.vote(p_instance uuid, p_actor text, p_groups text[] default '{}', p_decision text default 'Approved') returns text language sql as $$
  select d.status || '/' || d.effect || ' ' || d.approvals || ':' || d.rejections from bpm.decide_approval(pg_temp.id(p_instance), p_decision, null, p_actor, p_groups => p_groups) d
$$;
create function pg_temp.claim(p_instance uuid, p_actor text, p_groups text[] default '{}') returns text language sql as $$
  select c.outcome || ' ' || c.claimed_by::text from bpm.claim_approval(pg_temp.id(p_instance), p_actor, p_groups) c
$$;
create function pg_temp.refused(p_call text, p_instance uuid, p_actor text, p_groups text[] default '{}') returns jsonb language sql as $$
  select kit.raised(format(case p_call when 'claim' then 'select from bpm.claim_approval(%L, p_actor => %L, p_groups => %L)'
                                       else 'select from bpm.decide_approval(%L, ''Approved'', p_actor => %L, p_groups => %L)' end, pg_temp.id(p_instance), p_actor, p_groups))
$$;
create function pg_temp.listed(p_actor text, p_groups text[] default '{}') returns bigint language sql as $$ select count(*) from bpm.list_approvals(p_actor, p_groups => p_groups) $$;

-- Groups
select pg_temp.gated('money', 'bpm:requiredApprovals="2" bpm:approvers="zoe" bpm:approverGroups="finance, board" bpm:approvalExclude="eve, delegates"');
select kit.start('money') as wi \gset
select is((select a.approvers::text || a.approver_groups::text from bpm.approval a), '{zoe}{finance,board}', 'people and groups are asked');
select is(pg_temp.listed('ann'), 0::bigint, 'nobody sees it who is in no group');
select is(pg_temp.listed('ann', '{sales}'), 0::bigint, 'or in another');
select is(pg_temp.listed('ann', '{sales,finance}'), 1::bigint, 'who is in one of them does');
select is(pg_temp.listed('zoe'), 1::bigint, 'and who is named');
select is(pg_temp.listed('eve', '{finance}'), 0::bigint, 'not who is excluded, whatever group they are in');
select is(pg_temp.refused('decide', :'wi', 'ann') #>> '{detail,reason}', 'NotAsked', 'who is in no group may not decide');
select is(pg_temp.refused('decide', :'wi', 'ann') ->> 'hint', 'It names those who may, and groups; say with p_groups which of them the person is in.', 'and is told why');
select is(pg_temp.refused('decide', :'wi', 'ann') #> '{detail,approver_groups}', '["finance", "board"]', 'and who may');
select is(pg_temp.refused('decide', :'wi', 'ann', '{sales}') ->> 'code', 'BP403', 'nor who is in another');
select is(pg_temp.refused('claim', :'wi', 'ann', '{sales}') #>> '{detail,reason}', 'NotAsked', 'nor claim it');
select is(pg_temp.refused('claim', :'wi', 'eve', '{finance}') #>> '{detail,reason}', 'Excluded', 'who is excluded can neither claim');
select is(pg_temp.refused('decide', :'wi', 'eve', '{finance}') #>> '{detail,reason}', 'Excluded', 'nor decide');
select is(pg_temp.vote(:'wi', 'ann', '{finance,sales}'), 'Pending/Pending 1:0', 'ann of finance votes');
select is((select v.groups from bpm.approval_vote v), '{finance}', 'and it is kept for which of the groups');
select is(pg_temp.vote(:'wi', 'zoe'), 'Approved/Applied 2:0', 'zoe for herself');
select is(pg_temp.refused('claim', :'wi', 'bob', '{board}') #>> '{detail,decided_by}', 'zoe', 'who comes to claim it then hears who decided');
select is(test.broken(), '{}', 'invariants hold: strangers are told from people of a group');
select pg_temp.gated('plain', 'bpm:requiredApprovals="2" bpm:approverGroups="finance" bpm:approvalVeto="false"');
select kit.start('plain') as wi \gset
select is(pg_temp.vote(:'wi', 'ann', '{finance}', 'Rejected'), 'Pending/Pending 0:1', 'of a group nobody can count who is left');
select is(pg_temp.vote(:'wi', 'bob', '{finance}', 'Rejected'), 'Rejected/Applied 0:2', 'so as many refuse as would approve');
select pg_temp.gated('late', 'bpm:approverGroups="finance" bpm:approvalEscalates="PT1H" bpm:escalateTo="zoe"');
select kit.start('late') as wi \gset
select is(pg_temp.listed('zoe'), 0::bigint, 'before it is escalated she is not asked');
select from bpm.advance_clock('1 hour');
select from bpm.tick();
select is((select l.is_escalated from bpm.list_approvals('zoe') l), true, 'then she is');
select is((select l.is_escalated from bpm.list_approvals('zoe', p_groups => '{finance}') l), false, 'unless she was anyway');
select is(pg_temp.vote(:'wi', 'zoe'), 'Approved/Applied 1:0', 'and decides');
select is(kit.raised($$select pg_temp.gated('bad', 'bpm:approverGroups=""')$$) #>> '{detail,faults,0,message}', 'serviceTask "a": the approver groups are 1 to 100 names, none twice.', 'no groups at all');
select lives_ok($$select pg_temp.gated('more', 'bpm:requiredApprovals="3" bpm:approvers="ann" bpm:approverGroups="finance"')$$, 'a group may have any number of people');
select throws_ok($$select from bpm.list_approvals(p_groups => '{" x"}')$$, 'BP422', null, 'a group that is no name');
select throws_ok(format($$select from bpm.decide_approval(%L, 'Approved', p_groups => array_fill('g'::text, '{101}'))$$, :'wi'), 'BP422', null, 'too many groups');

-- At it
select pg_temp.gated('one', 'bpm:approvers="ann, bob, cid" bpm:approvalExpires="P1D"');
select kit.start('one') as wi \gset
select is(pg_temp.claim(:'wi', 'ann'), 'Done {ann}', 'ann is at it');
select is(pg_temp.claim(:'wi', 'ann'), 'Done {ann}', 'again changes nothing');
select is(pg_temp.refused('claim', :'wi', 'bob') ->> 'code', 'BP409', 'bob cannot be at it too, where one decides');
select is(pg_temp.refused('claim', :'wi', 'bob') #> '{detail,claimed_by}', '["ann"]', 'and hears who is');
select is((select l.claimed_by from bpm.list_approvals('bob') l), '{ann}', 'he sees it all the same, with her');
select is((select a.claimed_by from bpm.approval a where a.workflow_instance_id = :'wi'), '{ann}', 'as everybody can');
select is((select c.claimed_by from bpm.unclaim_approval(pg_temp.id(:'wi'), 'bob') c), '{ann}', 'what he gives back is his own, which is nothing');
select throws_ok(format($$select from bpm.unclaim_approval(%L, 'bob', 'ann')$$, pg_temp.id(:'wi')), 'BP422', null, 'to take her off takes a reason');
select throws_ok(format($$select from bpm.unclaim_approval(%L, 'bob', 'ann', %L)$$, pg_temp.id(:'wi'), repeat('x', 4001)), 'BP422', null, 'not too long a one');
select is((select c.claimed_by from bpm.unclaim_approval(pg_temp.id(:'wi'), 'bob', 'ann', 'she is ill') c), '{}', 'which is recorded');
select is((select e.actor || ' ' || e.reason || ' ' || (e.detail ->> 'person') from bpm_core.audit_event e where e.action = 'UnclaimApproval'), 'bob she is ill ann', 'in the audit');
select is(pg_temp.claim(:'wi', 'ann'), 'Done {ann}', 'ann is back');
select is((select c.claimed_by from bpm.unclaim_approval(pg_temp.id(:'wi'), 'ann') c), '{}', 'and gives it back');
select is(pg_temp.claim(:'wi', 'ann'), 'Done {ann}', 'and takes it');
select is(pg_temp.vote(:'wi', 'bob'), 'Approved/Applied 1:0', 'bob decides all the same: it was a courtesy');
select is((select a.claimed_by from bpm.approval a where a.workflow_instance_id = :'wi'), '{}', 'with which nobody is at it any more');
select throws_ok(format($$select from bpm.unclaim_approval(%L, 'ann')$$, pg_temp.id(:'wi')), 'BP409', null, 'nor can be taken off');
select kit.start('one') as wi \gset
select is(pg_temp.claim(:'wi', 'ann'), 'Done {ann}', 'one that expires');
select from bpm.advance_clock('1 day');
select is(pg_temp.refused('claim', :'wi', 'ann') ->> 'code', 'BP409', 'is too late to be claimed');
select from bpm.tick();
select is((select a.status || a.claimed_by::text from bpm.approval a where a.workflow_instance_id = :'wi'), 'Expired{}', 'and is nobody''s then');
select kit.start('one') as wi \gset
select is(pg_temp.claim(:'wi', 'ann'), 'Done {ann}', 'one that is cancelled');
select from bpm.cancel_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select is((select a.status || a.claimed_by::text from bpm.approval a where a.workflow_instance_id = :'wi'), 'Cancelled{}', 'neither');
select is(pg_temp.refused('claim', :'wi', 'bob') ->> 'code', 'BP409', 'nor can it be claimed');
select pg_temp.gated('two', 'bpm:requiredApprovals="2"');
select kit.start('two') as wi \gset
select is(pg_temp.claim(:'wi', 'ann') || pg_temp.claim(:'wi', 'bob'), 'Done {ann}Done {ann,bob}', 'as many are at it as it takes');
select is(pg_temp.refused('claim', :'wi', 'cid') #> '{detail,claimed_by}', '["ann", "bob"]', 'not one more');
select is(pg_temp.vote(:'wi', 'ann'), 'Pending/Pending 1:0', 'one of them votes');
select is((select a.claimed_by from bpm.approval a where a.workflow_instance_id = :'wi'), '{bob}', 'and is no longer at it');
select is(pg_temp.refused('claim', :'wi', 'ann') ->> 'code', 'BP409', 'nor again');
select is(pg_temp.refused('claim', :'wi', 'cid') ->> 'code', 'BP409', 'one more is needed, and bob is at it');
select is(kit.raised('select from bpm.claim_approval(bpm_core.new_id())') ->> 'code', 'BP404', 'none that is there');
select is(test.broken(), '{}', 'invariants hold');
select * from finish();
rollback;
