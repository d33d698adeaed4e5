-- The ordinary step in one statement: which flows are direct, and that it writes, row by row, what the general way writes.
begin;
select plan(13);

-- Which flows
select test.deploy('direct', test.service('one') || test.service('two') || test.service('told', 'bpm:priority="${p}"')
  || test.service('before') || test.service('after') || test.service('held') || '<boundaryEvent id="late" attachedToRef="held"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>'
  || test.service('last') || '<parallelGateway id="fork"/><endEvent id="end"/><endEvent id="too_late"/><endEvent id="other"/>'
  || test.flows('start>one', 'one>two', 'two>told', 'told>before', 'before>held', 'held>after', 'after>fork', 'fork>last', 'fork>other', 'last>end', 'late>too_late')) \gset
select is((select array_agg(f.flow_id order by f.flow_id) from bpm_core.workflow_flow f where f.is_direct), '{last_end,one_two,start_one}',
  'from a start or a service task straight to a service task or an end; not where something is evaluated, armed, forked');
select test.deploy('joined', test.service('one') || test.service('two') || '<parallelGateway id="fork"/><parallelGateway id="join"/><endEvent id="end"/>' || test.service('last')
  || test.flows('start>fork', 'fork>one', 'fork>two', 'one>join', 'two>join', 'join>last', 'last>end')) \gset
select test.deploy('asked', test.service('one') || '<intermediateCatchEvent id="wait"><conditionalEventDefinition><condition>${x}</condition></conditionalEventDefinition></intermediateCatchEvent><endEvent id="end"/>'
  || test.flows('start>one', 'one>wait', 'wait>end')) \gset
select test.deploy('inside', '<subProcess id="sub"><startEvent id="s"/>' || test.service('in') || '<endEvent id="e"/>' || test.flows('s>in', 'in>e') || '</subProcess><endEvent id="end"/>'
  || test.flows('start>sub', 'sub>end')) \gset
select is_empty($$select f.flow_id from bpm_core.workflow_flow f join bpm_core.workflow_version v on v.id = f.workflow_version_id
                    join bpm_core.workflow_definition d on d.id = v.definition_id where d.code <> 'direct' and f.is_direct$$,
  'not where a join may wait for what ends, a condition for variables, or inside a scope');

-- The same life twice: px_ goes the direct way, qx_ the general one
create function pg_temp.shape(p text) returns text language sql as $$
  select test.service(p || 'one') || test.service(p || 'two') || '<parallelGateway id="fork"/>' || test.service(p || 'left') || test.service(p || 'right') || '<endEvent id="e1"/><endEvent id="e2"/>'
         || test.flows('start>' || p || 'one', p || 'one>' || p || 'two', p || 'two>fork', 'fork>' || p || 'left', 'fork>' || p || 'right', p || 'left>e1', p || 'right>e2') $$;
create function pg_temp.line(p text) returns text language sql as $$
  select test.service(p || 'a') || test.service(p || 'b', 'bpm:retries="2"') || '<endEvent id="end"/>' || test.flows('start>' || p || 'a', p || 'a>' || p || 'b', p || 'b>end') $$;
select test.deploy('px_split', pg_temp.shape('px_')), test.deploy('qx_split', pg_temp.shape('qx_')), test.deploy('px_line', pg_temp.line('px_')), test.deploy('qx_line', pg_temp.line('qx_')) \gset
update bpm_core.workflow_flow f set is_direct = null
  from bpm_core.workflow_version v join bpm_core.workflow_definition d on d.id = v.definition_id where v.id = f.workflow_version_id and d.code like 'qx\_%';
create function pg_temp.play(p text) returns setof text language plpgsql as $$
declare
  v_tasks jsonb; v_items jsonb; v_type text; v_old jsonb; r record;
begin
  perform from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', p || case when n <= 5 then 'split' else 'line' end, 'variables', jsonb_build_object('n', n),
                                                                         'business_key', p || n) order by n) from generate_series(1, 12) n));
  foreach v_type in array '{a,one,b,two,left|right}'::text[] loop
    select c.tasks into v_tasks from bpm.claim_tasks_at('w', (select array_agg(p || t) from unnest(string_to_array(v_type, '|')) t), 100) c;
    if v_type = 'b' then
      perform bpm.suspend_process((v_tasks -> 2 ->> 'process_instance_id')::uuid, 'looking');
    end if;
    select jsonb_agg(jsonb_build_object('task_id', t.task -> 'task_id', 'fencing_token', (t.task ->> 'fencing_token')::integer + (v_type = 'a' and t.n = 2)::integer,
                                        'variables', case when v_type = 'b' and t.n = 4 then '5' else jsonb_build_object(replace(t.task ->> 'task_type', p, ''), t.n, 'last', t.n) end) order by t.n)
           || coalesce(v_old, '[]')
      into v_items
      from jsonb_array_elements(v_tasks) with ordinality t(task, n);
    return query select format('%s %s %s %s', v_type, c.item, c.outcome, c.instance_status) from bpm.complete_tasks(v_items) c;
    v_old := jsonb_path_query_array(v_items, '$[0 to 1]');
    if v_type = 'b' then
      perform bpm.resume_process((v_tasks -> 2 ->> 'process_instance_id')::uuid);
    end if;
  end loop;
end $$;
-- Every row of every instance, without ids and times
create function pg_temp.rows(prefix text) returns jsonb language sql as $$
  select jsonb_object_agg(replace(p.business_key, prefix, ''), replace(jsonb_build_object(
           'process', to_jsonb(p) - '{id,business_case_id,process_version_id,created_at,updated_at,ended_at,business_key}'::text[],
           'workflow', to_jsonb(w) - '{id,process_instance_id,workflow_version_id,role_version_id,created_at,ended_at}'::text[] || jsonb_build_object('ended', w.ended_at = p.ended_at),
           'tokens', (select jsonb_agg(to_jsonb(t) - '{id,workflow_instance_id,updated_at,parallel_group_id}'::text[] order by t.node_id) from bpm_core.token t where t.workflow_instance_id = w.id),
           'tasks', (select jsonb_agg(to_jsonb(t) - '{id,workflow_instance_id,token_id,task_version_id,available_at,claimed_at,lease_until}'::text[]
                                      || jsonb_build_object('token', k.node_id, 'executions', (select jsonb_agg(to_jsonb(e) - '{task_instance_id,claimed_at,lease_until,ended_at}'::text[] order by e.attempt) from bpm_core.execution e where e.task_instance_id = t.id),
                                                            'results', (select jsonb_agg(to_jsonb(r) - '{task_instance_id,created_at}'::text[] order by r.attempt) from bpm_core.result r where r.task_instance_id = t.id)) order by t.node_id)
                       from bpm_core.task_instance t join bpm_core.token k on k.id = t.token_id where t.workflow_instance_id = w.id),
           'history', (select jsonb_agg(to_jsonb(h) - '{workflow_instance_id,seq,at,token_id}'::text[] || jsonb_build_object('detail', h.detail - '{task,workflow_version,parent}'::text[]) order by h.seq) from bpm_core.history_event h where h.workflow_instance_id = w.id))::text, prefix, '')::jsonb)
    from bpm_core.process_instance p join bpm_core.workflow_instance w on w.process_instance_id = p.id
   where p.business_key like replace(prefix, '_', '\_') || '%' $$;
select is((select array_agg(x) from pg_temp.play('px_') x), (select array_agg(x) from pg_temp.play('qx_') x), 'the same outcomes');
select is((select count(*) from bpm_core.process_instance p where p.business_key like 'px\_%' and p.status = 'Completed') > 5, true, 'most have ended');
select is(pg_temp.rows('px_'), pg_temp.rows('qx_'), 'the same rows');

-- Where it raises, the general way says on which token
create function pg_temp.refuse() returns trigger language plpgsql as $$ begin if new.node_id = 'px_b' or new.node_id = 'qx_a' then raise 'no room'; end if; return new; end $$;
create trigger refuse before insert on bpm_core.task_instance for each row execute function pg_temp.refuse();
select test.start('px_line') as broken \gset
select c.tasks from bpm.claim_tasks_at('w', '{px_a}', 10) c \gset
select is((select array_agg(c.outcome::text) from bpm.complete_tasks(test.items(:'tasks', '{"variables": {"x": 1}}')) c), '{Completed}', 'accepted all the same');
select is(test.incidents(:'broken'), '{"AdvanceFailed px_b"}', 'and stopped where it arrived');
select is(bpm.get_variables(:'broken'), '{"x": 1}', 'patched once');
update bpm_core.workflow_flow f set is_direct = true where f.flow_id = 'start_qx_a';
select test.start('qx_line') as stuck \gset
select is(test.standing(:'stuck') || test.incidents(:'stuck') || test.history(:'stuck'), '{"qx_a Failed","AdvanceFailed qx_a","InstanceStarted 1","IncidentOpened 1"}', 'a start, too');
drop trigger refuse on bpm_core.task_instance;
create or replace function pg_temp.refuse() returns trigger language plpgsql as $$ begin raise 'again' using errcode = '40001'; end $$;
create trigger refuse before insert on bpm_core.task_instance for each row execute function pg_temp.refuse();
select throws_ok($$select test.start('px_line')$$, '40001', null, 'what the caller has to repeat comes as it is');
drop trigger refuse on bpm_core.task_instance;
select is((select count(*) from bpm_core.process_instance p where p.business_key is null), 2::bigint, 'and nothing of it is left');
update bpm_core.workflow_flow f set is_direct = true
  from bpm_core.workflow_version v join bpm_core.workflow_definition d on d.id = v.definition_id where v.id = f.workflow_version_id and d.code like 'qx\_%'
   and f.flow_id in ('start_qx_a', 'qx_a_qx_b', 'qx_b_end', 'start_qx_one', 'qx_one_qx_two', 'qx_left_e1', 'qx_right_e2');
-- Two answers of 900 bytes, whose texts have 10 MB
select test.start('px_line') as process_id \gset
set local temp_file_limit = 0;
select is((select string_agg(distinct c.outcome::text, ' ') from bpm.complete_tasks((select jsonb_agg(jsonb_build_object('task_id', t.id, 'fencing_token', 0, 'variables', v.numbers))
            from generate_series(1, 2), (select t.id from bpm_core.task_instance t where t.state = 'Ready' order by t.id desc limit 1) t,
                 (select jsonb_object_agg('n' || i, '1e131000'::jsonb) from generate_series(1, 40) i) v(numbers))) c), 'Rejected',
          'numbers of few bytes and many digits do not fill the disk');
reset temp_file_limit;
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
