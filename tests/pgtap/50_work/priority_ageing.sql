-- Priorities with ageing: what has waited for long overtakes what came later in higher levels (setting engine.priority_ageing_s).
begin;
select plan(26);
select test.deploy('levels', test.service('rush', 'bpm:priority="high"') || test.service('plain') || test.service('later', 'bpm:priority="low"')
  || '<parallelGateway id="fork"/><endEvent id="end"/>' || test.flows('start>fork', 'fork>rush', 'fork>plain', 'fork>later', 'rush>end', 'plain>end', 'later>end')) \gset
select test.deploy('one', '<serviceTask id="n" bpm:type="job" bpm:priority="normal"/>' || '<endEvent id="end"/>' || test.flows('start>n', 'n>end')),
       test.deploy('top', '<serviceTask id="h" bpm:type="job" bpm:priority="high"/>' || '<endEvent id="end"/>' || test.flows('start>h', 'h>end')),
       test.deploy('low', '<serviceTask id="l" bpm:type="job" bpm:priority="low"/>' || '<endEvent id="end"/>' || test.flows('start>l', 'l>end')) \g /dev/null
-- Jobs that have waited for so many seconds, by level.
create function pg_temp.next(p_limit integer default 1) returns text language sql as $$
  select string_agg(c.node_id, '' order by c.ordinality)
    from bpm.claim_tasks('w', '{job}', p_limit) with ordinality as c(a, b, d, e, node_id, f, g, h, i, variables, headers, ordinality) $$;
create function pg_temp.node(p_code text) returns text language sql as $$ select case p_code when 'one' then 'n' when 'top' then 'h' else 'l' end $$;
create function pg_temp.wait(p_code text, p_seconds integer, p_n integer default 1) returns void language sql as $$
  select test.start(p_code) from generate_series(1, p_n) n;
  update bpm_core.task_instance t set available_at = bpm_core.now() - make_interval(secs => p_seconds)
   where t.state = 'Ready' and t.node_id = pg_temp.node(p_code) and t.available_at > bpm_core.now() - interval '1 second' $$;

-- Five minutes per level
select pg_temp.wait('top', 10), pg_temp.wait('one', 305), pg_temp.wait('low', 500) \g /dev/null
select is(pg_temp.next(), 'h', 'high before normal that came 295 s earlier, and before low that came 490 s earlier');
select pg_temp.wait('top', 10) \g /dev/null
update bpm_core.task_instance t set available_at = bpm_core.now() - interval '311 seconds' where t.state = 'Ready' and t.node_id = 'n';
select is(pg_temp.next(), 'n', 'not before normal that came 301 s earlier');
select is(pg_temp.next(), 'h', 'then high');
select pg_temp.wait('top', 10), pg_temp.wait('one', 20) \g /dev/null
update bpm_core.task_instance t set available_at = bpm_core.now() - interval '611 seconds' where t.state = 'Ready' and t.node_id = 'l';
select is(pg_temp.next(), 'l', 'nor before low that came 601 s earlier');
select is(pg_temp.next(2), 'hn', 'then as ever');
select pg_temp.wait('one', 10), pg_temp.wait('low', 311) \g /dev/null
select is(pg_temp.next(2), 'ln', 'low and normal: one step');

-- A batch: what is older than the heads of higher levels, then level by level
select pg_temp.wait('top', 10, 3), pg_temp.wait('one', 400, 2), pg_temp.wait('one', 50, 2), pg_temp.wait('low', 900, 2), pg_temp.wait('low', 400, 2) \g /dev/null
select is(pg_temp.next(100), 'llnnhhhnnll', 'by stretches, each once');
select pg_temp.wait('top', 10, 3), pg_temp.wait('one', 400, 2), pg_temp.wait('one', 50, 2), pg_temp.wait('low', 900, 2), pg_temp.wait('low', 400, 2) \g /dev/null
select is((select string_agg(pg_temp.next(1), '' order by n) from generate_series(1, 11) n), 'llnnhhhllnn', 'one by one the order is exact: low that came 350 s before normal goes first');
select pg_temp.wait('low', 50), pg_temp.wait('one', 400) \g /dev/null
select is(pg_temp.next(9), 'nl', 'without any high ones');

-- With positions: what is cut off by the limit goes on, nothing is lost or handed out twice
create temp table kept (positions jsonb);
insert into kept values (null);
create function pg_temp.at(p_limit integer) returns text language plpgsql as $$
declare
  r_claim record;
begin
  select c.* into r_claim from bpm.claim_tasks_at('w', '{job}', p_limit, null, null, (select k.positions from kept k)) c;
  update kept set positions = r_claim.positions;
  return (select string_agg(t.task ->> 'node_id', '' order by t.n) from jsonb_array_elements(r_claim.tasks) with ordinality t(task, n));
end $$;
select is(pg_temp.at(5), null, 'all three levels are empty');
select bpm.advance_clock('1 hour') is not null as moved \gset
select pg_temp.wait('top', 10, 3), pg_temp.wait('one', 400, 2), pg_temp.wait('one', 50, 2), pg_temp.wait('low', 900, 2), pg_temp.wait('low', 400, 2) \g /dev/null
select k.positions as before from kept k \gset
select is(pg_temp.at(1), 'l', 'stopped in a stretch that overtakes');
select is((select array[k.positions #> '{job,0,reached_at}', k.positions #> '{job,1,reached_at}'] from kept k), array[:'before'::jsonb #> '{job,0,reached_at}', :'before'::jsonb #> '{job,1,reached_at}'],
          'the other levels stand where they stood');
select is((select array_agg(pg_temp.at(3) order by n) from generate_series(1, 4) n), '{lnn,hhh,lln,n}', 'the rest in order');
select is(pg_temp.at(3), null, 'and no more');
select pg_temp.wait('low', 700, 1) \g /dev/null
select is((select string_agg(pg_temp.at(3), '') from generate_series(1, 2) n), 'l', 'one that became ready behind the position of its level is found')
  from bpm.advance_clock('31 seconds');

-- High ones keep coming, faster than they are worked on: low and normal have their share
select bpm.advance_clock('1 hour') is not null as moved \gset
update kept set positions = null;
create temp table came (n integer, node text);
do $$
begin
  for n in 1 .. 60 loop
    perform test.start('top'), test.start('top');
    if n % 10 = 1 then
      perform test.start('low'), test.start('one');
    end if;
    insert into came select n, x from regexp_split_to_table(pg_temp.at(2), '') x;
    perform bpm.advance_clock('30 seconds');
  end loop;
end $$;
select is((select count(*) from came), 120::bigint, 'two per half minute for half an hour');
select is((select min(c.n) from came c where c.node = 'n'), 11, 'the first normal one when it is five minutes older than the oldest high one');
select is((select min(c.n) from came c where c.node = 'l'), 22, 'the first low one when it is ten minutes older');
select is((select count(*) from came c where c.node = 'l'), 4::bigint, 'low ones keep coming up');

-- Settings
select bpm.set_setting('engine.priority_ageing_s', '0') \g /dev/null
delete from kept;
select pg_temp.next(1000) is not null as emptied \gset
select pg_temp.wait('top', 10), pg_temp.wait('low', 100000) \g /dev/null
select is(pg_temp.next(2), 'hl', '0: never, as strict as it can be');
select bpm.set_setting('engine.priority_ageing_s', '60') \g /dev/null
select pg_temp.wait('top', 10), pg_temp.wait('low', 131) \g /dev/null
select is(pg_temp.next(2), 'lh', 'a minute: sooner');
select bpm.set_setting('engine.priority_ageing_s', null) \g /dev/null
select pg_temp.wait('top', 10), pg_temp.wait('low', 131) \g /dev/null
select is(pg_temp.next(2), 'hl', 'null: five minutes again');
select throws_ok($$select bpm.set_setting('engine.priority_ageing_s', '-1')$$, 'BP400', null, 'less than none');
select throws_ok($$select bpm.set_setting('engine.priority_ageing_s', '"off"')$$, 'BP400', null, 'no number');

-- Levels of several types
select test.start('levels') \g /dev/null
update bpm_core.task_instance t set available_at = bpm_core.now() - interval '10 minutes' - interval '1 second' where t.state = 'Ready' and t.node_id = 'later';
select is((select string_agg(c.node_id, ' ' order by c.ordinality) from bpm.claim_tasks('w', '{rush,plain,later}', 5) with ordinality as c(a, b, d, e, node_id, f, g, h, i, variables, headers, ordinality)),
  'later rush plain', 'overtakes whatever the types');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
