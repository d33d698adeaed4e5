-- Inclusive joins are asked again when something other than their tokens has changed: the graph under the instance.
begin;
select plan(10);
create function pg_temp.join_of(p_process_instance_id uuid) returns text language sql as $$
  select format('%s %s %s', j.round, j.waiting, j.filled) from bpm_core.inclusive_join j where j.workflow_instance_id = test.workflow(p_process_instance_id) $$;
-- To the second version, as if by a migration.
create function pg_temp.shift(p_process_instance_id uuid) returns text language sql as $$
  update bpm_core.workflow_instance w
     set workflow_version_id = v.id
    from bpm_core.workflow_version v
    join bpm_core.workflow_definition d on d.id = v.definition_id and d.code = 'shifting'
   where v.version = 2 and w.id = test.workflow(p_process_instance_id)
  returning '' $$;
select test.deploy('shifting', test.service('a') || test.service('b') || test.service('after') || '<parallelGateway id="f"/><exclusiveGateway id="x" default="x_j"/><inclusiveGateway id="j"/><endEvent id="end"/><endEvent id="out"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>j', 'b>x', 'x>j', 'j>after', 'after>end') || test.when('x>out', '${leave == true}')) \gset
select test.start('shifting') as p, test.start('shifting') as q, test.start('shifting') as m \gset
select test.complete_next('a') as a1, test.complete_next('a') as a2, test.complete_next('a') as a3 \gset
select is(test.standing(:'p') || test.standing(:'q'), '{"b Waiting","j Waiting","b Waiting","j Waiting"}', 'both wait for b');
-- In the second version b leads out, and there is another join before this one.
select test.deploy('shifting', test.service('a') || test.service('b') || test.service('c') || test.service('d') || test.service('after') || '<parallelGateway id="f"/><exclusiveGateway id="x"/><inclusiveGateway id="first"/><inclusiveGateway id="j"/><endEvent id="end"/><endEvent id="out"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'f>c', 'f>d', 'a>j', 'c>first', 'd>first', 'first>x', 'x>j', 'b>out', 'j>after', 'after>end')) \gset

select bpm_core.revisit_inclusive_joins('', test.workflow(:'p')) \gset
select is(test.standing(:'p'), '{"b Waiting","j Waiting"}', 'nothing changed: nothing happens');
select pg_temp.shift(:'p') as shifted \gset
select is((select count(*) from bpm_core.unsettled_inclusive_joins('') u where u.rule = 'may fire, but did not'), 1::bigint, 'in the other version it may fire');
select bpm_core.revisit_inclusive_joins('', test.workflow(:'p')) \gset
select is(test.standing(:'p') || pg_temp.join_of(:'p'), '{"after Waiting","b Waiting","2 0 00"}', 'asked again it does');
select is((select count(*) from bpm_core.unsettled_inclusive_joins('')), 0::bigint, 'nothing is left to do');

-- Suspended
select bpm.suspend_process(:'q') is not null as suspended \gset
select pg_temp.shift(:'q') as shifted \gset
select bpm_core.revisit_inclusive_joins('', test.workflow(:'q')) \gset
select is(test.standing(:'q'), '{"b Waiting","j Waiting"}', 'of a suspended instance nothing moves');
select is((select count(*) from bpm_core.unsettled_inclusive_joins('')), 0::bigint, 'and nothing is missing');
select bpm.resume_process(:'q') is not null as resumed \gset
select is(test.standing(:'q'), '{"after Waiting","b Waiting"}', 'when it goes on, it fires');

-- By a migration
select m.to_version as migrated from bpm.migrate_process(:'m', 2) m \gset
select is(test.standing(:'m'), '{"after Waiting","b Waiting"}', 'moving an instance asks by itself');
select bpm_core.revisit_inclusive_joins('', bpm_core.new_id()) \gset
select is(test.standing(:'p'), '{"after Waiting","b Waiting"}', 'an instance that is not there: nothing');
select * from finish();
rollback;
