-- bpm.history: every kind has a category and is explained in the reference; what the view shows is what happened.
\set reference `cat docs/reference/history.md`
begin;
select plan(12);

create temp view kinds as select unnest(enum_range(null::bpm_core.history_kind))::text as kind;
select is_empty(format('select kind from kinds where position(''`'' || kind || ''`'' in %L) = 0', :'reference'), 'docs/reference/history.md explains every kind');
select is_empty(format($$
  select m[1] from regexp_matches(%L, '^\| `([A-Z]\w+)`', 'gn') m where m[1] not in (select kind from kinds)$$, :'reference'), 'and no other');

select test.deploy_everything();
select test.start('everything', '{"amount": 1200}', 'K') as p \gset
select test.complete_next('reserve');
select test.decide(:'p', 'Approved');
select test.complete_next('release-gated');
select test.deliver_next();
select bpm.correlate_message('picked-up', 'K');
select results_eq('select distinct category collate "C" from bpm.history order by 1',
  $$values ('decision' collate "C"), ('delivery'), ('instance'), ('message'), ('task'), ('timer'), ('token')$$, 'categories');
select is_empty('select kind from bpm.history where process_instance_id is null', 'each row tells its process');
select is((select count(*) from bpm.history h where h.process_instance_id = :'p'), (select count(*) from bpm_core.history_event), 'nothing is left out');
select is((select h.detail -> 'variables' from bpm.history h where h.kind = 'TaskCompleted' order by h.seq limit 1), '{}'::jsonb, 'detail holds the patch');
select is((select array_agg(h.seq order by h.at, h.seq) from bpm.history h where h.token_id is not null),
          (select array_agg(h.seq order by h.seq) from bpm.history h where h.token_id is not null), 'seq runs with time');

-- Append-only for everybody but the owner
set local role bpm_admin;
select throws_ok('delete from bpm.history', '55000', null, 'nobody deletes');
select throws_ok('update bpm_core.history_event set actor = ''x''', '42501', null, 'or changes');
reset role;

-- Tenants apart
select bpm.create_tenant('A', 'acme');
create role t_acme; grant bpm_reader to t_acme;
select bpm.grant_access('t_acme', 'acme', 'reader');
select bpm.deploy_bpmn(test.linear('line', 'a'), p_tenant_id => 'acme');
select bpm.start_process('line', p_tenant_id => 'acme');
set local role t_acme;
select results_eq('select distinct tenant_id from bpm.history', $$values ('acme' collate "C")$$, 'a reader sees the history of its tenants');
reset role;
create function pg_temp.plan(p_sql text) returns text language plpgsql as $$
declare v_line text; v_all text := '';
begin
  for v_line in execute 'explain (costs off) ' || p_sql loop v_all := v_all || v_line || e'\n'; end loop;
  return v_all;
end $$;
set local enable_seqscan = off;
select matches(pg_temp.plan('select * from bpm.history where tenant_id = '''' and workflow_instance_id = ''00000000-0000-0000-0000-000000000000'''),
  'Index Cond: .*tenant_id = ''''::text.*workflow_instance_id = ',
  'the filter of an instance reaches the index');
select matches(pg_temp.plan('select * from bpm.history'), 'InitPlan', 'the tenants are looked up once');

select * from finish();
rollback;
