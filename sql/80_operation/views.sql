-- What each row of history did to its token: where it stands after it, and in which state. The immutable graph tells where a token that left
-- a node went. Executing is a token on its way through nodes that do not hold it; the next row of the same command says more.
-- An instance that was migrated is read by the graph it was pinned to then. Private; replay and the invariants fold it.

create or replace view bpm_core.token_step as
select s.tenant_id,
       s.workflow_instance_id,
       s.seq,
       s.at,
       s.kind,
       s.token_id,
       case when s.leaves then coalesce(f.target_id, s.node_id) else s.node_id end as node_id,
       case
         when not s.leaves then s.state
         when bpm_core.holds_tokens(f.target_kind) then 'Waiting'
         else 'Executing'
       end as state
  from (
    select h.tenant_id, h.workflow_instance_id, h.seq, h.at, h.kind, h.token_id, v.workflow_version_id, n.node_id, h.detail ->> 'flow' as flow_id,
           case
             when h.kind in ('TokenForked', 'TokenCompleted') then 'Completed'
             when h.kind = 'TokenTerminated' then 'Terminated'
             when h.kind in ('JoinReached', 'TaskRequeued', 'ScopeOpened') then 'Waiting'
             when h.kind in ('TokenParked', 'TokenPlaced') then 'Ready'
             when h.kind = 'InstanceMigrated' then h.to_state
             when h.kind in ('TaskFailed', 'IncidentOpened') then 'Failed'
             when h.kind = 'TokenResumed'
               then case when bpm_core.holds_tokens(n.kind) then 'Waiting' else 'Executing' end
           end as state,
           h.kind in ('InstanceStarted', 'TokenMoved', 'FlowChosen', 'TokenBorn', 'JoinFired', 'TaskCompleted', 'TimerFired', 'MessageReceived',
                      'SignalReceived', 'SignalThrown', 'EscalationThrown', 'EscalationCaught', 'ErrorCaught', 'CommandWritten', 'ScopeCompleted', 'CallCompleted', 'ConditionMet',
                      'NodeSkipped', 'CompensationRecorded', 'TransactionCancelled') as leaves
      from bpm_core.history_event h
      join bpm_core.workflow_instance w on w.tenant_id = h.tenant_id and w.id = h.workflow_instance_id
     cross join lateral (
       -- The version it was pinned to then.
       select coalesce((select m.from_version_id
                          from bpm_core.instance_migration m
                         where m.tenant_id = h.tenant_id and m.workflow_instance_id = h.workflow_instance_id and m.seq > h.seq
                         order by m.seq
                         limit 1), w.workflow_version_id) as workflow_version_id) v
      left join bpm_core.workflow_node n
        on n.tenant_id = w.tenant_id and n.workflow_version_id = v.workflow_version_id and n.node_id = h.node_id
     where h.token_id is not null
       and h.kind in ('InstanceStarted', 'TokenMoved', 'FlowChosen', 'TokenForked', 'TokenBorn', 'JoinReached', 'JoinFired', 'TokenParked',
                      'TokenResumed', 'TokenCompleted', 'TokenTerminated', 'TaskCompleted', 'TaskFailed', 'TaskRequeued', 'TimerFired',
                      'MessageReceived', 'SignalReceived', 'SignalThrown', 'EscalationThrown', 'EscalationCaught', 'ErrorCaught', 'IncidentOpened', 'CommandWritten',
                      'ScopeOpened', 'ScopeCompleted', 'CallCompleted', 'ConditionMet', 'TokenPlaced', 'NodeSkipped', 'InstanceMigrated', 'CompensationRecorded',
                      'TransactionCancelled')
       -- A boundary event that does not interrupt leaves its host where it is; an incident may be about something else than its token.
       and not (h.kind in ('TimerFired', 'MessageReceived', 'SignalReceived', 'ConditionMet', 'ErrorCaught', 'EscalationCaught') and h.detail @> '{"interrupting": false}')
       and not (h.kind = 'IncidentOpened' and h.to_state is distinct from 'Failed')) s
  left join bpm_core.workflow_flow f
    on s.leaves and f.tenant_id = s.tenant_id and f.workflow_version_id = s.workflow_version_id and f.source_id = s.node_id
   and (s.flow_id is null or f.flow_id = s.flow_id);
comment on view bpm_core.token_step is 'History as moves of tokens: the node and state of the token after each row that moved it.';

-- The versions an instance is or was pinned to. What ended before a migration keeps the ids of the version of that time.
create or replace view bpm_core.pinned_version as
select w.tenant_id, w.id as workflow_instance_id, w.workflow_version_id, false as is_past
  from bpm_core.workflow_instance w
union all
select m.tenant_id, m.workflow_instance_id, m.from_version_id, true
  from bpm_core.instance_migration m;
comment on view bpm_core.pinned_version is 'Which workflow versions an instance is or was pinned to.';

-- History without the mechanics, for whoever asks who decided what and what went out. An instance that was migrated is read by the version of then.
create or replace view bpm_core.trail_step as
select h.tenant_id,
       w.process_instance_id,
       h.workflow_instance_id,
       h.seq,
       h.at,
       h.kind::text as kind,
       h.node_id,
       h.to_state,
       h.actor,
       h.detail,
       coalesce((select m.from_version_id
                   from bpm_core.instance_migration m
                  where m.tenant_id = h.tenant_id and m.workflow_instance_id = h.workflow_instance_id and m.seq > h.seq
                  order by m.seq
                  limit 1), w.workflow_version_id) as workflow_version_id
  from bpm_core.history_event h
  join bpm_core.workflow_instance w on w.tenant_id = h.tenant_id and w.id = h.workflow_instance_id
 where h.kind::text like any (array['Instance%', 'Approval%', 'Command%', 'Compensation%', 'Incident%', 'Review%'])
    or h.kind in ('VariablesSet', 'TaskCompleted', 'TaskFailed', 'TaskReassigned', 'TaskRequeued', 'ErrorThrown', 'NodeSkipped', 'TokenPlaced', 'MessageReceived',
                  'ProcessEnded');
comment on view bpm_core.trail_step is 'What bpm.get_trail shows of history.';
