-- Mappings of sub-processes: inputs are declared in the scope and end with it, outputs carry out what they name.
begin;
select plan(16);

create function pg_temp.deploy(p_code text, p_body text) returns text language sql as $$
  select string_agg(w.value ->> 'code', ',')
    from bpm.deploy_bpmn(replace(test.bpmn(p_code, '<startEvent id="start"/>' || p_body), '<definitions ', '<definitions xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" ')) d
    left join lateral jsonb_array_elements(d.warnings) w on true
$$;
create function pg_temp.inside(p_id text, p_mappings text) returns text language sql as $$
  select format('<subProcess id="%1$s"><extensionElements><zeebe:ioMapping>%2$s</zeebe:ioMapping></extensionElements><startEvent id="%1$s_in"/>'
    '<serviceTask id="%1$s_work" bpm:type="%1$s_work"/><endEvent id="%1$s_out"/>'
    '<sequenceFlow id="%1$s_1" sourceRef="%1$s_in" targetRef="%1$s_work"/><sequenceFlow id="%1$s_2" sourceRef="%1$s_work" targetRef="%1$s_out"/></subProcess>', p_id, p_mappings)
$$;

select is(pg_temp.deploy('scoped', pg_temp.inside('sub', '<zeebe:input source="= order.total * 2" target="amount"/><zeebe:output source="= amount + extra" target="sum"/>')
  || test.service('last') || '<endEvent id="end"/>' || test.flows('start>sub', 'sub>last', 'last>end')), null, 'nothing to warn of');
select test.start('scoped', '{"order": {"total": 5}, "amount": "outside"}') as s \gset
select c.variables, c.task_id, c.fencing_token from bpm.claim_tasks('w', '{sub_work}') c \gset i_
select is((:'i_variables'::jsonb -> 'amount')::text, '10', 'inside, the input is seen');
select is((select s.variables from bpm_core.scope s where s.workflow_instance_id = test.workflow(:'s')), '{"amount": 10}', 'it is declared in the scope');
select is((select c.outcome::text from bpm.complete_task(:'i_task_id', :'i_fencing_token', '{"amount": 11, "extra": 1}') c), 'Completed', 'done');
select is(bpm.get_variables(:'s'), '{"order": {"total": 5}, "amount": "outside", "extra": 1, "sum": 12}', 'what was declared stays inside, what the outputs name comes out');
select is((select string_agg(t.node_id, ',') from bpm.task t where t.process_instance_id = :'s' and t.state = 'Ready'), 'last', 'and it goes on');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');

-- an output that cannot be evaluated
select test.start('scoped', '{"order": {"total": 5}}') as t \gset
select test.complete_next('sub_work', '{"extra": "1"}') as done \gset
select is((select i.code || ' ' || i.node_id || ' ' || i.message from bpm.incident i where i.process_instance_id = :'t' and i.state = 'Open'),
  'ExpressionUndecidable sub Task sub: the mapping = amount + extra of sum cannot be evaluated.', 'an incident');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold while it is stopped');
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'t' and i.state = 'Open' \g /dev/null
select is((select count(*)::integer from bpm.incident i where i.process_instance_id = :'t' and i.state = 'Open'), 1, 'nothing mended: it stops again');
select bpm.set_variables(:'t', '{"extra": 3}') \g /dev/null
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'t' and i.state = 'Open' \g /dev/null
select is((bpm.get_variables(:'t') -> 'sum')::text, '13', 'mended: mapped from what the scope declared');
select is((select string_agg(x.node_id || ' ' || x.state, ', ' order by x.task_id) from bpm.task x where x.process_instance_id = :'t'), 'sub_work Completed, last Ready', 'nothing inside was done twice');

-- an input that cannot be evaluated
select test.start('scoped') as u \gset
select is((select i.code || ' ' || i.node_id from bpm.incident i where i.process_instance_id = :'u' and i.state = 'Open'), 'ExpressionUndecidable sub', 'an input that cannot be evaluated');
select is((select count(*)::integer from bpm.task x where x.process_instance_id = :'u'), 0, 'nothing inside begins');
select bpm.set_variables(:'u', '{"order": {"total": 1}}') \g /dev/null
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'u' and i.state = 'Open' \g /dev/null
select is((select s.variables from bpm_core.scope s where s.workflow_instance_id = test.workflow(:'u') and s.state = 'Open'), '{"amount": 2}', 'mended, it does');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
