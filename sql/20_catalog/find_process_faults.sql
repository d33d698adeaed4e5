-- What is wrong or odd about the processes of a file as wholes: none at all, no or several starts, no end, executable or not.
create or replace function bpm_core.find_process_faults(p_processes bpm_core.draft_process[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with scope as (
    select coalesce(min(n.scope_id), min(p.process_id)) as id, case when min(n.scope_id) is null then 'Process' else 'Sub-process' end as what,
           count(*) filter (where n.tag = 'startEvent') as starts,
           count(*) filter (where n.tag = 'startEvent' and n.event = 'none') as plain_starts,
           count(*) filter (where n.tag = 'endEvent') as ends
      from unnest(p_nodes) n
      join unnest(p_processes) p on p.pos = n.process_pos
     where n.scope_tag <> 'adHocSubProcess'
     group by n.scope_pos
  )
  select bpm_core.fault('NoProcess', 'The file has no process with a flow node in it.', null, null,
           'The root must be definitions in the namespace http://www.omg.org/spec/BPMN/20100524/MODEL, with a process in it.')
   where not exists (select from unnest(p_processes) p where p.deployed)
  union all
  select bpm_core.fault('NoStartEvent', format('%s "%s" has no start event.', s.what, s.id), s.id, null, 'Draw a start event and connect it.')
    from scope s where s.starts = 0
  union all
  select bpm_core.fault('MultipleStartEvents', format('%s "%s" has %s start events without a trigger; a start could mean any of them.', s.what, s.id, s.plain_starts), s.id, null,
           'Keep one plain start event.')
    from scope s where s.plain_starts > 1
  union all
  select bpm_core.fault('MultipleStartEvents', format('%s start events wait for the message "%s"; it could mean any of them.', count(*), n.message_name), min(n.node_id), null,
           'Give each its own message.')
    from unnest(p_nodes) n where n.kind = 'MessageStart' group by n.message_name having count(*) > 1
  union all
  select bpm_core.fault('NoEndEvent', format('%s "%s" has no end event.', s.what, s.id), s.id, null, 'Draw an end event behind the last step.')
    from scope s where s.ends = 0
  union all
  select bpm_core.warning('ExecutableNotStated', format('Process "%s" does not say isExecutable; taken as true.', p.process_id), p.process_id)
    from unnest(p_processes) p where p.executable is null and p.deployed
  union all
  select bpm_core.warning('NotExecutable', format('Process "%s" says isExecutable="false"; %s.', p.process_id,
           case when p.deployed then 'deployed all the same, since no process of the file says otherwise' else 'not deployed, beside one that is executable' end), p.process_id)
    from unnest(p_processes) p where not p.executable
  union all
  select bpm_core.warning('EmptyProcess', format('Process "%s" has no flow node; not deployed.', p.process_id), p.process_id)
    from unnest(p_processes) p
   where not p.deployed and coalesce(p.executable, true) and exists (select from unnest(p_processes) q where q.deployed)
$$;
