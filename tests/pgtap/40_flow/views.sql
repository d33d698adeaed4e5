-- bpm.instance, timer, message, incident: one row each, whatever the state; tenants apart; cheap to ask for one.
begin;
select plan(17);

select test.deploy_everything();
select test.start('everything', '{"amount": 1}', 'A') as a \gset
select test.start('everything', '{"amount": "x"}', 'B') as b \gset
select test.complete_next('reserve', '{"r": 1}'); select test.complete_next('reserve');
select bpm.cancel_process(test.start('everything', '{}', 'C'));

select results_eq('select business_key collate "C", status, live_tokens, open_incidents from bpm.instance order by 1',
  $$values ('A' collate "C", 'Running', 2, 0), ('B', 'Running', 1, 1), ('C', 'Cancelled', 0, 0)$$, 'instance: one row per process');
select is((select i.variables from bpm.instance i where i.business_key = 'A'), '{"amount": 1, "r": 1}', 'with the variables');
select ok((select i.ended_at is not null from bpm.instance i where i.business_key = 'C'), 'and its end');
select results_eq('select node_id, status, process_instance_id from bpm.timer',
  format('values (''slow'' collate "C", ''Scheduled'', %L::uuid)', :'a'), 'timer: what is planned');
select results_eq('select code, state, node_id, business_key from bpm.incident',
  $$values ('ConditionUndecidable', 'Open', 'big' collate "C", 'B' collate "C")$$, 'incident: what is stuck, and whose');
select bpm.correlate_message('picked-up', 'A', '{"x": 1}', p_message_id => 'm1');
select bpm.correlate_message('picked-up', 'Z', '{}', p_message_id => 'm2');
select bpm.correlate_message('picked-up', 'Z', '{}', interval '0', 'm3');
select results_eq('select message_id collate "C", state, node_id, process_instance_id from bpm.message order by 1',
  format('values (''m1'' collate "C", ''Correlated'', ''picked'' collate "C", %L::uuid), (''m2'', ''Buffered'', null, null), (''m3'', ''Expired'', null, null)', :'a'),
  'message: received, and by whom');

-- Tenants apart, in every view
select bpm.create_tenant('A', 'acme');
create role t_acme; grant bpm_reader to t_acme; select bpm.grant_access('t_acme', 'acme', 'reader');
set local role t_acme;
select is_empty(format('table bpm.%I', v.name), format('bpm.%s shows nothing of other tenants', v.name))
  from (values ('instance'), ('timer'), ('message'), ('incident'), ('task'), ('execution'), ('dead_letter'), ('history'), ('approval'), ('command')) v(name);
reset role;

-- One instance is found by its key, not by reading all
create function pg_temp.plan(p_sql text) returns text language plpgsql as $$
declare v_line text; v_all text := '';
begin
  for v_line in execute 'explain (costs off) ' || p_sql loop v_all := v_all || v_line || e'\n'; end loop;
  return v_all;
end $$;
set local enable_seqscan = off;
select matches(pg_temp.plan('select status from bpm.instance where tenant_id = '''' and process_instance_id = ''00000000-0000-0000-0000-000000000000'''),
  'Index Cond: .*id = ''00000000', 'the filter reaches the primary key');

select * from finish();
rollback;
