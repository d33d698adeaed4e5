-- What is wrong or odd about transactions and sagas: cancel events elsewhere, a cancel end that nothing catches. One of many transactions that are the same
-- activity cannot be cancelled: its boundary event is that of all of them, and BPMN does not say what becomes of the others.
create or replace function bpm_core.find_transaction_faults(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label from unnest(p_nodes) n)
  select bpm_core.fault('UnsupportedElement', format('%s is not directly inside a transaction; nothing else can be cancelled.', n.label), n.node_id, null,
           'Make the sub-process around it a transaction, or throw an error.')
    from node n where n.kind = 'CancelEnd' and n.scope_tag <> 'transaction'
  union all
  select bpm_core.fault('UnsupportedElement', format('%s cancels "%s", which has no cancel boundary event to leave by.', n.label, n.scope_id), n.node_id, null,
           'Attach a cancel boundary event to the transaction.')
    from node n
   where n.kind = 'CancelEnd' and n.scope_tag = 'transaction'
     and not exists (select from node b where b.process_pos = n.process_pos and b.attached_to = n.scope_id and b.kind = 'CancelBoundary')
  union all
  select bpm_core.fault('UnsupportedElement', format('%s cancels %s, which is multi-instance or a loop; one of many cannot be cancelled.', n.label, h.label), n.node_id, null,
           'Put the transaction into a sub-process that is multi-instance.')
    from node n join node h on h.process_pos = n.process_pos and h.node_id = n.scope_id
   where n.kind = 'CancelEnd' and h.tag = 'transaction' and h.loop is not null
  union all
  select bpm_core.fault('UnsupportedElement', format('%s is attached to %s; only a transaction is cancelled.', n.label, h.label), n.node_id, null,
           'Attach it to a transaction.')
    from node n join node h on h.scope_pos = n.scope_pos and h.node_id = n.attached_to
   where n.kind = 'CancelBoundary' and h.tag <> 'transaction'
  union all
  select bpm_core.fault('UnsupportedElement', format('%s is the second cancel boundary event of "%s".', max(n.label), n.attached_to), max(n.node_id), null, 'Keep one.')
    from node n where n.kind = 'CancelBoundary' group by n.process_pos, n.attached_to having count(*) > 1
  union all
  select bpm_core.warning('BoundaryNeverFires', format('%s is attached to %s, in which no end event cancels; it never fires.', n.label, h.label), n.node_id)
    from node n join node h on h.scope_pos = n.scope_pos and h.node_id = n.attached_to
   where n.kind = 'CancelBoundary' and h.tag = 'transaction'
     and not exists (select from node c where c.process_pos = n.process_pos and c.scope_id = n.attached_to and c.kind = 'CancelEnd')
  union all
  select bpm_core.fault('UnsupportedElement', format('%s says bpm:saga="%s".', bpm_core.element_label(e.tag, coalesce(e.id, ''), e.attributes ->> 'name'),
           left(e.attributes ->> 'bpm:saga', 40)), e.id, null, 'Write true or false.')
    from unnest(p_elements) e
   where e.space = 'bpmn' and e.attributes ->> 'bpm:saga' not in ('true', 'false')
$$;
