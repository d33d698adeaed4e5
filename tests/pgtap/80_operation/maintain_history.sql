-- bpm.maintain_history: months of history that have had their time are detached, then dropped; one that somebody needs is kept.
begin;
select plan(27);
-- The database may have been made last month.
select test.months_as_installed() \g /dev/null
create function pg_temp.month(p_ahead integer) returns text language sql as $$
  select 'history_event_' || to_char((bpm_core.now() at time zone 'UTC') + make_interval(months => p_ahead), '"y"YYYY"m"MM') $$;
create function pg_temp.step() returns text language sql as $$ select m.action || ' ' || m.partition from bpm.maintain_history() m $$;
select bpm.set_clock((date_trunc('month', now() at time zone 'UTC') + interval '10 days') at time zone 'UTC' + interval '1 month') \g /dev/null
select bpm.deploy_bpmn(test.linear('line', 'a')) \g /dev/null
select test.start('line') as old \gset
select test.workflow(:'old') as workflow \gset
select test.complete_next('a') \g /dev/null
select pg_temp.month(-2) as m2, pg_temp.month(-1) as m1, pg_temp.month(0) as m0, pg_temp.month(1) as n1 \gset

select is(pg_temp.step(), null, 'by default every month is kept');
select bpm.set_setting('retention.history_months', '1') \g /dev/null
select is(pg_temp.step(), 'Detached ' || :'m2', 'one month besides this one');
select is((select count(*) from bpm_core.history_bounds() b where b.partition = :'m2'), 0::bigint, 'it is no part of history any more');
select isnt(to_regclass('bpm_core.' || :'m2'), null, 'but still there');
select is(pg_temp.step(), 'Dropped ' || :'m2', 'the next call drops it');
select is(to_regclass('bpm_core.' || :'m2'), null, 'now it is gone');
select is(pg_temp.step(), null, 'then nothing is due');
select is((select string_agg(a.action, ' ' order by a.at, a.id) from bpm_core.audit_event a where a.aggregate_id = :'m2'), 'DetachHistory DropHistory', 'both are audited');

-- A month somebody needs
select bpm.advance_clock('93 days') \g /dev/null
select is(pg_temp.step() || pg_temp.step(), 'Detached ' || :'m1' || 'Dropped ' || :'m1', 'a month before anything there is');
select is(pg_temp.step(), 'Kept ' || :'m0', 'the month of an instance that is still there');
select is((select m.detail ->> 'instances' || ' ' || (m.detail ->> 'oldest') from bpm.maintain_history() m), '1 ' || :'workflow', 'it says how many and the oldest');
select is(pg_temp.step(), 'Kept ' || :'m0', 'as often as asked');
select is(test.broken(), '{}', 'nothing is broken');
select bpm.set_setting('retention.instance_days', '1') \g /dev/null
select is((select m.outcome || ' ' || m.removed from bpm.maintain_tenant() m), 'Done 1', 'the instance has had its time');
select is(test.broken(), '{}', 'history of what is not there any more breaks nothing');
select is((select m.removed from bpm.maintain_tenant('traces') m), 0, 'what is left of it stays as long as its history');
select test.start('line') as young \gset
select is(pg_temp.step() || pg_temp.step(), 'Detached ' || :'m0' || 'Dropped ' || :'m0', 'so has its month');
select is(pg_temp.step() || pg_temp.step(), 'Detached ' || :'n1' || 'Dropped ' || :'n1', 'and the one after it, in which nothing began');
select is_empty(format('select from bpm_core.history_event h where h.workflow_instance_id = %L', :'workflow'), 'its history is gone');
select is((select count(*) from bpm.get_trail(:'old')), 1::bigint, 'but not that there was one');
select is(test.broken(), '{}', 'nothing is broken');

-- Somebody else's
select pg_temp.month(-1) as kept \gset
select format('alter table bpm_core.history_event detach partition bpm_core.%I', :'kept') \gexec
select bpm.advance_clock('62 days') \g /dev/null
select isnt(pg_temp.step(), 'Dropped ' || :'kept', 'what somebody detached is not ours to drop');
select isnt(to_regclass('bpm_core.' || :'kept'), null, 'it is still there');

-- Traces, a tenant, and whom it concerns
select bpm.cancel_process(:'young') \g /dev/null
select bpm.advance_clock('200 days') \g /dev/null
select from bpm.maintain_tenant();
select from generate_series(1, 40) n cross join lateral bpm.maintain_history(left('', n));
select is((select m.removed from bpm.maintain_tenant('traces') m), 1, 'when the last of their history is gone nothing is left of them');
select throws_ok(format('select bpm.get_trail(%L)', :'old'), 'BP404', null, 'as if they had never been');
select bpm.create_tenant('A', 'acme') \g /dev/null
select throws_ok($$select bpm.maintain_history('acme')$$, 'BP403', null, 'history is of all tenants');
select is((select c.ok::text || c.required from jsonb_to_recordset(bpm.ready() -> 'checks') c(name text, ok boolean, required boolean) where c.name = 'retention'), 'truefalse', 'ready() knows that it is done');
select * from finish();
rollback;
