-- A diagram whose forks multiply without end meets the bound on tokens that fork in one command: one incident where it began, and nothing of the flood is left.
begin;
select plan(5);
select test.deploy('flood', '<exclusiveGateway id="enter"/><parallelGateway id="fork"/><manualTask id="a"/><manualTask id="b"/><endEvent id="out"/>'
  || test.flows('start>enter', 'enter>fork', 'fork>a', 'fork>b', 'fork>out', 'a>enter', 'b>enter')) \gset
select test.start('flood') as f \gset
select is((select array_agg(i.code) from bpm.incident i where i.process_instance_id = :'f'), '{AdvanceFailed}', 'the call ends with an incident');
select ok((select i.message like '%tokens arrive at forks at once%' from bpm.incident i where i.process_instance_id = :'f'), 'which names the bound');
select is((select count(*) from bpm_core.token t where t.workflow_instance_id = test.workflow(:'f')), 1::bigint, 'the flood was rolled back');
select is((select count(*) from bpm_core.token t where t.workflow_instance_id = test.workflow(:'f') and t.state = 'Failed'), 1::bigint, 'the first token stands there');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
