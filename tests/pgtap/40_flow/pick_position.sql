-- Positions of pickers (law 12): where a pick begins, and where it leaves the position.
begin;
select plan(39);
create temp table at as select bpm_core.now() as now, '00000000-0000-7000-8000-000000000001'::uuid as id1, '00000000-0000-7000-8000-000000000002'::uuid as id2;
-- A position ten seconds old: reached 1 s ago, safe 5 s ago, mark 3 s ago.
create function pg_temp.position(p_change jsonb default '{}') returns bpm_core.pick_position language sql as $$
  select jsonb_populate_record(null::bpm_core.pick_position,
    jsonb_build_object('reached_at', a.now - interval '1 second', 'reached_id', a.id1, 'safe_at', a.now - interval '5 seconds', 'mark_at', a.now - interval '3 seconds',
                       'horizon', '18446744073709551615', 'checked_at', a.now - interval '0.5 seconds', 'check_cost', '0.001 seconds', 'full_at', a.now - interval '10 seconds') || p_change)
    from at a $$;
create function pg_temp.start(p_change jsonb) returns text language sql as $$
  select concat_ws(' ', extract(epoch from s.from_at - a.now)::numeric(20, 1), s.from_id = a.id1, s.look_back, s.settled, s.whole)
    from at a cross join lateral bpm_core.pick_start(pg_temp.position(p_change), a.now) s $$;

-- Where a pick begins
select is((select concat_ws(' ', s.from_at, s.look_back, s.settled, s.whole) from bpm_core.pick_start(null, bpm_core.now()) s), '-infinity t t t', 'without a position: from the very beginning');
select is(pg_temp.start('{}'), '-1.0 t f f f', 'ordinarily behind the last row handed out');
select is(pg_temp.start('{"horizon": "1"}'), '-5.0 f t t f', 'when every writer of before the mark has ended: from where it is safe');
select is(pg_temp.start(jsonb_build_object('checked_at', (select a.now - interval '1.1 seconds' from at a))), '-5.0 f t f f', 'when a long writer holds that up: after a second all the same');
select is(pg_temp.start(jsonb_build_object('check_cost', '0.1 seconds', 'checked_at', (select a.now - interval '1.9 seconds' from at a))), '-1.0 t f f f', 'or after twenty times what the last look back cost');
select is(pg_temp.start(jsonb_build_object('check_cost', '0.1 seconds', 'checked_at', (select a.now - interval '2.1 seconds' from at a))), '-5.0 f t f f', 'but then');
select is((select concat_ws(' ', s.from_at, s.look_back, s.whole) from at a cross join lateral bpm_core.pick_start(pg_temp.position(jsonb_build_object('full_at', a.now - interval '31 seconds')), a.now) s), '-infinity t t', 'about every half minute from the very beginning');

-- Where it leaves the position. p_last: seconds from now of the last row handed out, null for none
create function pg_temp.finish(p_change jsonb, p_look_back boolean, p_settled boolean, p_whole boolean, p_last numeric, p_exhausted boolean) returns jsonb language sql as $$
  select jsonb_build_object('reached', extract(epoch from e.reached_at - a.now)::numeric(20, 1), 'safe', case when isfinite(e.safe_at) then extract(epoch from e.safe_at - a.now)::numeric(20, 3) end,
                            'mark', extract(epoch from e.mark_at - a.now)::numeric(20, 1), 'fresh_horizon', e.horizon <> p.horizon,
                            'checked', e.checked_at > p.checked_at, 'again', e.checked_at = '-infinity', 'full', e.full_at > p.full_at)
    from at a
   cross join lateral pg_temp.position(p_change) p
   cross join lateral bpm_core.pick_end(p, p_look_back, p_settled, p_whole, a.now + p_last * interval '1 second', case when p_last is not null then a.id2 end, p_exhausted, a.now) e $$;
select is(pg_temp.finish('{}', false, false, false, -0.5, false), '{"reached": -0.5, "safe": -5.000, "mark": -3.0, "fresh_horizon": false, "checked": false, "again": false, "full": false}', 'an ordinary pick moves what was reached, nothing else');
select is(pg_temp.finish('{}', false, false, false, null, true), '{"reached": -1.0, "safe": -5.000, "mark": -3.0, "fresh_horizon": false, "checked": false, "again": false, "full": false}', 'an empty one moves nothing');
select is(pg_temp.finish(jsonb_build_object('reached_at', (select a.now - interval '9 seconds' from at a)), false, false, false, null, true) -> 'reached', '-1.0', 'but for what it saw the end of: up to a second before its clock nothing is left, living or dead');
select is(pg_temp.finish(jsonb_build_object('reached_at', (select a.now - interval '9 seconds' from at a)), false, false, false, null, false) -> 'reached', '-9.0', 'where it did not see the end, it stays');
select is(pg_temp.finish('{"reached_at": "-infinity"}', false, false, false, -8, true) -> 'reached', '-1.0', 'a last row long before its clock is passed as well');
select is(pg_temp.finish('{}', false, false, false, -0.5, true) -> 'reached', '-0.5', 'one after that second is not');
select is((select e.reached_at - a.now from at a cross join lateral bpm_core.pick_end(pg_temp.position(), false, false, false, null, null, true, a.now, interval '0') e), interval '0', 'what is written before it is due needs no such second');
select is((select e.reached_at - a.now from at a cross join lateral bpm_core.pick_end(pg_temp.position(), false, false, false, null, null, false, a.now, interval '0') e), interval '-1 second', 'but the end');
select is(pg_temp.finish('{}', true, true, false, -0.5, false), '{"reached": -0.5, "safe": -3.001, "mark": -0.5, "fresh_horizon": true, "checked": true, "again": false, "full": false}', 'a settled look back that passed the mark: safe is the mark, the mark where we are');
select is(pg_temp.finish('{}', true, true, false, null, true), '{"reached": -1.0, "safe": -3.001, "mark": -1.0, "fresh_horizon": true, "checked": true, "again": false, "full": false}', 'so is one that found nothing');
select is(pg_temp.finish('{}', true, true, false, -4, false), '{"reached": -1.0, "safe": -5.000, "mark": -3.0, "fresh_horizon": false, "checked": false, "again": true, "full": false}', 'one that filled its batch with stragglers: once more, at once');
select is(pg_temp.finish('{}', true, false, false, -4, true), '{"reached": -1.0, "safe": -5.000, "mark": -3.0, "fresh_horizon": false, "checked": true, "again": false, "full": false}', 'one that is not settled moves neither safe nor mark');
select is(pg_temp.finish('{}', true, false, true, null, true) -> 'full', 'true', 'a whole scan that found the end is one');
select is(pg_temp.finish('{}', true, false, true, -0.5, false) -> 'full', 'true', 'so is one that passed what was reached before, however long the rest is');
select is(pg_temp.finish('{}', true, false, true, -4, false) -> 'full', 'false', 'one that filled its batch with stragglers is not yet');
select is(pg_temp.finish('{}', true, false, true, null, false) -> 'full', 'false', 'nor one that did not come to look');
select is((select isfinite(e.safe_at)::text || e.mark_at from bpm_core.pick_end(null, true, true, true, '2026-01-01Z', bpm_core.new_id(), false, bpm_core.now()) e), 'false' || '2026-01-01Z'::timestamptz, 'the first pick sets the first mark');

-- Under a clock that has since been set back by an hour
create function pg_temp.ahead() returns jsonb language sql as $$
  select jsonb_object_agg(f.name, a.now + interval '1 hour') from at a cross join unnest('{reached_at,safe_at,mark_at,checked_at}'::text[]) f(name) $$;
select is((select s.whole from bpm_core.pick_start(pg_temp.position(pg_temp.ahead() || jsonb_build_object('full_at', bpm_core.now() - interval '1 second')), bpm_core.now()) s), true,
  'a look back in the future: from the very beginning');
select is(pg_temp.finish(pg_temp.ahead(), true, true, true, null, true) - '{checked,fresh_horizon}'::text[], '{"reached": -1.0, "safe": null, "mark": -1.0, "again": false, "full": true}', 'and from there on as if it had been the first');
select is(pg_temp.finish(pg_temp.ahead(), true, true, true, -8, false) - '{checked,fresh_horizon}'::text[], '{"reached": -8.0, "safe": null, "mark": -8.0, "again": false, "full": true}', 'also where there was more');
select is(pg_temp.finish(pg_temp.ahead(), false, false, false, null, true) -> 'reached', '3600.0', 'not before a whole scan was made');
select test.deploy('late', test.service('early') || '<endEvent id="end"/>' || test.flows('start>early', 'early>end'));
create function pg_temp.claims(p_times integer) returns text language plpgsql as $$
declare
  v_positions jsonb; v_seen text := ''; v_tasks jsonb;
begin
  for n in 1 .. p_times loop
    perform test.start('late');
    select c.tasks, c.positions into v_tasks, v_positions from bpm.claim_tasks_at('w', '{early}', 10, null, null, v_positions) c;
    v_seen := v_seen || jsonb_array_length(v_tasks);
    perform bpm.advance_clock(case when n = 2 then interval '-1 hour' else interval '2 seconds' end);
  end loop;
  return v_seen;
end $$;
select is(pg_temp.claims(6), '111111', 'what becomes ready is handed out at once all the same');

-- A position survives the way to its caller and back
select is(bpm_core.read_position(to_jsonb(pg_temp.position())), pg_temp.position(), 'written and read');
select is(bpm_core.read_position(to_jsonb(e)), e, 'an infinite one, too') from bpm_core.pick_end(null, true, true, true, null, null, true, bpm_core.now()) e;
select throws_ok(format('select bpm_core.read_position(to_jsonb(pg_temp.position()) || %L)', x.change), 'BP400', null, 'forged: ' || x.change)
  from (values ('{"mark_at": "4714-11-24 00:00:00+00 BC"}'), ('{"full_at": "294276-12-31 23:59:59+00"}'), ('{"checked_at": "infinity"}'),
               ('{"check_cost": "178000000 years"}'), ('{"reached_at": "x"}')) x(change);
select is((select s.whole from bpm_core.pick_start(jsonb_populate_record(pg_temp.position(), '{"full_at": "9998-01-01Z"}'), bpm_core.now()) s), true,
  'a whole scan in the future counts as none: the clock was set back');
select is(bpm_core.read_position(null) is null and bpm_core.read_position('null') is null, true, 'none is none');

-- The last row before the first that had to be skipped
create function pg_temp.handled(p_instances integer[], p_locked integer[]) returns text language sql as $$
  select coalesce(extract(epoch from (bpm_core.last_handled(
           array(select row(to_timestamp(x.n), bpm_core.new_id(), ('00000000-0000-7000-8000-00000000000' || x.i)::uuid)::bpm_core.candidate from unnest(p_instances) with ordinality x(i, n) order by x.n),
           array(select ('00000000-0000-7000-8000-00000000000' || l)::uuid from unnest(p_locked) l))).at)::integer::text, 'none') $$;
select is(array[pg_temp.handled('{1,2,3}', '{1,2,3}'), pg_temp.handled('{1,2,3,1}', '{1,3}'), pg_temp.handled('{2,1}', '{1}'), pg_temp.handled('{}', '{}')], '{3,1,none,none}', 'so far a position may move');
select * from finish();
rollback;
