-- Task versions: what is new, what is not, what is refused.
begin;
select plan(27);

select results_eq($$select * from bpm.publish_task('charge')$$, $$values (1, true)$$, 'the first version');
select results_eq($$select * from bpm.publish_task('charge')$$, $$values (1, false)$$, 'the same is the same');
select results_eq($$select * from bpm.publish_task(p_task_type => 'charge', p_max_attempts => 5)$$, $$values (2, true)$$, 'another is the next; code or type, either will do');
select results_eq($$select * from bpm.publish_task('charge')$$, $$values (1, false)$$, 'what is not given is the default again: version 1 is the current one again');
select results_eq($$select v.version, v.max_attempts, v.status::text from bpm_core.task_version v where v.task_type = 'charge' order by 1$$,
  $$values (1, 3, 'Published'), (2, 5, 'Published')$$, 'published versions stay');
select is((select v.version from bpm_core.task_definition d join bpm_core.task_version v on v.id = d.published_version_id where d.code = 'charge'), 1, 'the last that was published is the current one');
select results_eq($$select * from bpm.publish_task('slow-charge', 'charge', p_lease => '5 minutes')$$, $$values (1, true)$$, 'a second definition of the same type');
select is((select p.lease from bpm_core.pinned_tasks('', '{charge}') p), interval '30 seconds', 'the definition with the type''s own name is the one that counts');
select results_eq($$select * from bpm.publish_task('by-hand', 'stamp', p_executor_kind => 'Human')$$, $$values (1, true)$$, 'a definition with another name');
select is((select count(*)::integer from bpm_core.pinned_tasks('', '{stamp}') p), 1, 'counts when there is no better one');
select is((select count(*)::integer from bpm_core.audit_event a where a.action = 'PublishTask'), 5, 'audited, when something moved');
select isnt((select v.content_hash from bpm_core.task_version v where v.task_type = 'charge' and v.version = 2), (select v.content_hash from bpm_core.task_version v where v.task_type = 'charge' and v.version = 1 and v.lease = '30 seconds'), 'the hash is over what it says');
set local intervalstyle = 'sql_standard';
select results_eq($$select * from bpm.publish_task('charge')$$, $$values (1, false)$$, 'whatever the session''s styles are');

select throws_ok(x.call, x.code, null, x.code || ' ' || x.call)
  from (values
    ('select * from bpm.publish_task()', 'BP400'), ($$select * from bpm.publish_task(' ')$$, 'BP400'), ($$select * from bpm.publish_task(repeat('x', 201))$$, 'BP400'),
    ($$select * from bpm.publish_task('bpm:user')$$, 'BP422'), ($$select * from bpm.publish_task('a', p_max_attempts => 0)$$, 'BP422'), ($$select * from bpm.publish_task('a', p_lease => '0')$$, 'BP422'),
    ($$select * from bpm.publish_task('a', p_backoff => '-1 s')$$, 'BP422'), ($$select * from bpm.publish_task('a', p_backoff => '1 hour')$$, 'BP422'), ($$select * from bpm.publish_task('a', p_jitter => 2)$$, 'BP422'),
    ($$select * from bpm.publish_task('a', p_backoff_factor => 0.5)$$, 'BP422'), ($$select * from bpm.publish_task('a', p_executor_kind => 'Robot')$$, 'BP422'), ($$select * from bpm.publish_task('a', p_approval_required => null)$$, 'BP422'),
    ($$select * from bpm.publish_task('a', p_max_attempts => null)$$, 'BP422'), ($$select * from bpm.publish_task('a', p_tenant_id => 'nobody')$$, 'BP403')) x (call, code);

select * from finish();
rollback;
