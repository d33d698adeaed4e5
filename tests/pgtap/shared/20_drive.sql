-- Drives processes in tests: each function does what a worker, a person or a runner would, through the public functions only.

-- Starts a process. Returns its process instance.
create or replace function test.start(p_code text, p_variables jsonb default '{}', p_business_key text default null)
returns uuid
language sql
as $$ select s.process_instance_id from bpm.start_process(p_code, p_variables, p_business_key) s $$;

-- The main workflow instance of a process instance.
create or replace function test.workflow(p_process_instance_id uuid)
returns uuid
language sql
as $$ select i.workflow_instance_id from bpm.instance i where i.process_instance_id = p_process_instance_id $$;

-- Claims one task of a type and completes it. Returns its id; null when none is ready.
create or replace function test.complete_next(p_type text, p_variables jsonb default '{}')
returns uuid
language plpgsql
as $$
declare
  r_task record;
begin
  select c.task_id, c.fencing_token into r_task from bpm.claim_tasks('worker', array[p_type]) c;
  if r_task.task_id is not null then
    perform bpm.complete_task(r_task.task_id, r_task.fencing_token, p_variables);
  end if;
  return r_task.task_id;
end
$$;

-- Claims one task of a type and fails it. Returns its id; null when none is ready.
create or replace function test.fail_next(p_type text, p_retryable boolean default true, p_error jsonb default '"broken"')
returns uuid
language plpgsql
as $$
declare
  r_task record;
begin
  select c.task_id, c.fencing_token into r_task from bpm.claim_tasks('worker', array[p_type]) c;
  if r_task.task_id is not null then
    perform bpm.fail_task(r_task.task_id, r_task.fencing_token, p_error, p_retryable, interval '0');
  end if;
  return r_task.task_id;
end
$$;

-- Claims one task of a type and throws a BPMN error. Returns its id; null when none is ready.
create or replace function test.throw_next(p_type text, p_code text)
returns uuid
language plpgsql
as $$
declare
  r_task record;
begin
  select c.task_id, c.fencing_token into r_task from bpm.claim_tasks('worker', array[p_type]) c;
  if r_task.task_id is not null then
    perform bpm.throw_error(r_task.task_id, r_task.fencing_token, p_code);
  end if;
  return r_task.task_id;
end
$$;

-- Completes the open user task of a process instance. Returns its id.
create or replace function test.complete_user(p_process_instance_id uuid, p_variables jsonb default '{}')
returns uuid
language plpgsql
as $$
declare
  v_task uuid := (select t.task_id from bpm.task t
                   where t.process_instance_id = p_process_instance_id and t.task_type = 'bpm:user' and t.state = 'Ready');
begin
  perform bpm.complete_user_task(v_task, p_variables);
  return v_task;
end
$$;

-- Decides the open approval of a process instance. Returns its id.
create or replace function test.decide(p_process_instance_id uuid, p_decision text)
returns uuid
language plpgsql
as $$
declare
  v_approval uuid := (select a.approval_id from bpm.approval a where a.process_instance_id = p_process_instance_id and a.status = 'Pending');
begin
  perform bpm.decide_approval(v_approval, p_decision);
  return v_approval;
end
$$;

-- Claims one command and marks it. Returns its id; null when none is due.
create or replace function test.deliver_next(p_outcome text default 'Sent', p_receipt jsonb default '{"id": "r1"}')
returns uuid
language plpgsql
as $$
declare
  r_command record;
begin
  select c.command_id, c.fencing_token into r_command from bpm.claim_commands('courier') c;
  if r_command.command_id is not null then
    perform bpm.mark_commands(jsonb_build_array(jsonb_build_object(
      'command_id', r_command.command_id, 'fencing_token', r_command.fencing_token, 'outcome', p_outcome, 'receipt', p_receipt)));
  end if;
  return r_command.command_id;
end
$$;

-- Where the live tokens of a process instance are, as "node state" in order of node.
create or replace function test.standing(p_process_instance_id uuid)
returns text[]
language sql
as $$
  select coalesce(array_agg(x.token ->> 'node_id' || ' ' || (x.token ->> 'state') order by x.token ->> 'node_id'), '{}')
    from jsonb_array_elements(bpm.get_process(p_process_instance_id) -> 'tokens') x(token)
$$;

-- The status of a process instance.
create or replace function test.status(p_process_instance_id uuid)
returns text
language sql
as $$ select i.status from bpm.instance i where i.process_instance_id = p_process_instance_id $$;

-- Which invariants are broken now.
create or replace function test.broken()
returns text[]
language sql
as $$ select coalesce(array_agg(distinct c.invariant order by c.invariant), '{}') from bpm.check_invariants() c $$;

-- pgTAP: doing p_sql breaks exactly these invariants. What it did is undone.
create or replace function test.breaks(p_sql text, p_expected text[], p_description text)
returns text
language plpgsql
as $$
declare
  v_broken text[];
  v_rules  text;
begin
  begin
    execute p_sql;
    select coalesce(array_agg(distinct c.invariant order by c.invariant), '{}'),
           string_agg(distinct c.invariant || ': ' || (c.detail ->> 'rule'), '; ')
      into v_broken, v_rules
      from bpm.check_invariants() c;
    raise exception using errcode = 'TST00';
  exception
    when sqlstate 'TST00' then null;
  end;
  return is(v_broken, p_expected, format('%s (%s)', p_description, coalesce(v_rules, 'nothing')));
end
$$;
