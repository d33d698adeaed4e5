-- What a worker says about its own result: it may ask for somebody to look at it before it counts.
begin;
select plan(35);
select test.deploy('plain', test.service('first') || test.service('second') || '<endEvent id="end"/>' || test.flows('start>first', 'first>second', 'second>end')) \gset
select from bpm.publish_task(p_task_type => 'strict', p_result_schema => '{"required": ["kg"]}');
select test.deploy('scales', test.service('strict') || '<endEvent id="end"/>' || test.flows('start>strict', 'strict>end')) \gset
create function pg_temp.answer(p_tasks jsonb, p_more jsonb) returns text language sql as $$
  select string_agg(c.outcome || coalesce(' ' || c.message, ''), ', ' order by c.item) from bpm.complete_tasks(test.items(p_tasks, p_more)) c
$$;
create function pg_temp.task(p_type text) returns jsonb language sql as $$ select c.tasks from bpm.claim_tasks_at('w', array[p_type]) c $$;

-- In doubt: the step waits, as if its task version said so
select test.start('plain') as a \gset
select pg_temp.task('first') as t \gset
select is(pg_temp.answer(:'t', '{"variables": {"kg": 7}, "verdict": "NeedsReview", "reasons": ["the scales jumped"], "facts": [{"subject_type": "parcel", "subject_key": "P1", "name": "kg", "value": 7}]}'),
          'Completed', 'the worker is done with it');
select is((select r.verdict || r.reasons::text from bpm.result r), 'NeedsReview["the scales jumped"]', 'the result is kept as one that waits, with why');
select is((select r.state || ' ' || r.expected_version from bpm.review r), 'Open 0', 'somebody is asked to look');
select is((select l.reasons::text || (l.record #>> '{facts,0,value}') from bpm.list_reviews('ann') l), '["the scales jumped"]7', 'and told why');
select is((select count(*) from bpm.fact), 0::bigint, 'no fact is taken yet');
select is(test.standing(:'a'), '{"first Waiting"}', 'the token rests');
select is(bpm.get_variables(:'a'), '{}'::jsonb, 'without the variables');
select is(pg_temp.answer(:'t', '{"variables": {"kg": 7}, "verdict": "NeedsReview", "reasons": ["the scales jumped"], "facts": [{"subject_type": "parcel", "subject_key": "P1", "name": "kg", "value": 7}]}'),
          'Completed', 'the same again changes nothing');
select is(pg_temp.answer(:'t', '{"variables": {"kg": 7}}'), 'Conflict', 'without the verdict it is another answer');
select is((select count(*) from bpm.review), 1::bigint, 'asked once');
select is((select d.state || '/' || d.decision from bpm.review r cross join lateral bpm.decide_review(r.review_id, 0, 'Approve', null, 'ann', r.content_hash) d), 'Decided/Approve', 'approved');
select is(bpm.get_variables(:'a'), '{"kg": 7}'::jsonb, 'it counts');
select is((select f.value::text || ' ' || f.confirmed_by from bpm_core.fact f), '7 ann', 'with its facts');
select is(test.standing(:'a'), '{"second Waiting"}', 'and the step goes on');
select is((select count(*) from bpm.review r where r.task_id <> (:'t'::jsonb #>> '{0,task_id}')::uuid), 0::bigint, 'the next one is ordinary again');

-- Returned: the next attempt is as its task version says
select test.start('plain') as b \gset
select pg_temp.task('first') as t \gset
select is(pg_temp.answer(:'t', '{"verdict": "NeedsReview"}'), 'Completed', 'in doubt without a reason');
select is((select d.decision from bpm.review r cross join lateral bpm.decide_review(r.review_id, 0, 'Return', 'weigh it again', 'ann') d where r.state = 'Open'), 'Return', 'returned');
select is(pg_temp.answer(pg_temp.task('first'), '{"variables": {"kg": 8}, "verdict": "Accepted"}'), 'Completed', 'this time it is sure');
select is(test.standing(:'b'), '{"second Waiting"}', 'and goes on at once');
select is((select count(*) from bpm.result r where r.verdict = 'NeedsReview'), 2::bigint, 'a verdict that is Accepted says nothing');

-- Among others, in one call; and one that is rejected is not in doubt the next time
select test.start('plain') as c, test.start('plain') as d, test.start('scales') as e \gset
select c.tasks as both from bpm.claim_tasks_at('w', '{first}', 2) c \gset
select pg_temp.task('strict') as t \gset
select jsonb_agg(i || case when n = 1 then '{"verdict": "NeedsReview"}' else '{"variables": {"n": 1}}' end::jsonb order by n) as items from jsonb_array_elements(test.items(:'both')) with ordinality i(i, n) \gset
select is((select string_agg(c.outcome::text, ' ' order by c.item) from bpm.complete_tasks(:'items') c), 'Completed Completed', 'one of two is in doubt');
select is(test.standing(:'c')::text || test.standing(:'d')::text, '{"first Waiting"}{"second Waiting"}', 'the other one goes on');
select is(pg_temp.answer(:'t', '{"verdict": "NeedsReview"}') like 'Rejected The result does not meet the schema%', true, 'what does not meet its schema is rejected all the same');
select is(pg_temp.answer(:'t', '{"variables": {"kg": 1}}'), 'Completed', 'and may be answered again');
select is(test.status(:'e'), 'Completed', 'then it counts at once');

-- What is no verdict
select test.start('plain') as f \gset
select pg_temp.task('first') as t \gset
select is(pg_temp.answer(:'t', '{"verdict": "Perhaps"}'), 'Rejected A verdict is Accepted or NeedsReview.', 'another word');
select is(pg_temp.answer(:'t', '{"verdict": 1}'), 'Rejected A verdict is Accepted or NeedsReview.', 'no word');
select is(pg_temp.answer(:'t', '{"reasons": ["why"]}') like 'Rejected Reasons come with%', true, 'reasons of nothing');
select is(pg_temp.answer(:'t', '{"verdict": "NeedsReview", "reasons": "why"}') like 'Rejected Reasons come with%', true, 'reasons are texts');
select is(pg_temp.answer(:'t', '{"verdict": null, "reasons": null}'), 'Completed', 'null is none');

-- The single form; while suspended
select test.start('plain') as g \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{first}', 1) c \gset
select throws_ok(format($$select from bpm.complete_task(%L, %s, p_verdict => 'Perhaps')$$, :'task_id', :fencing_token), 'BP422', 'A verdict is Accepted or NeedsReview.', 'the single form raises');
select from bpm.suspend_process(:'g');
select is((select c.outcome || ' ' || c.instance_status from bpm.complete_task(:'task_id', :fencing_token, '{"kg": 1}', p_verdict => 'NeedsReview', p_reasons => '["unsure"]') c), 'Completed Suspended', 'an answer while it is suspended');
select from bpm.resume_process(:'g');
select from bpm.run_until_idle();
select is(test.standing(:'g'), '{"first Waiting"}', 'waits for its review when it goes on');
select is((select d.decision from bpm.review r cross join lateral bpm.decide_review(r.review_id, 0, 'Approve', null, 'ann') d where r.process_instance_id = :'g'), 'Approve', 'and is approved then');
select is(test.broken(), '{}', 'invariants hold');
select * from finish();
rollback;
