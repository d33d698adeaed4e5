-- Who allows it.

create type bpm_core.approval_status as enum ('Pending', 'Approved', 'Rejected', 'Expired', 'Cancelled');
create type bpm_core.approval_effect as enum ('Pending', 'Applied');

-- A decision whose effect is to be applied: standing says that the token still rests where it was asked for.
create type bpm_core.decided_approval as (
  approval_id uuid, status bpm_core.approval_status, token bpm_core.moving, standing boolean, decided_by text, note text);

create table bpm_core.approval_record (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid not null,
  node_id              text collate "C" not null,
  token_id             uuid not null,
  visit                integer not null,
  task_type            text collate "C" not null,
  status               bpm_core.approval_status not null default 'Pending',
  effect               bpm_core.approval_effect not null default 'Pending',
  decided_by           text,
  decided_at           timestamptz,
  note                 text,
  expires_at           timestamptz,
  escalate_to          text,
  required_approvals   integer not null default 1 check (required_approvals > 0),
  excluded_actors      text[] not null default '{}',
  created_at           timestamptz not null,
  approvers            text[],
  veto                 boolean not null default true,
  exclude              text[] not null default '{}',
  remind_every         interval check (remind_every >= interval '1 second'),
  remind_at            timestamptz,
  reminded             integer not null default 0,
  escalate_at          timestamptz,
  escalated_at         timestamptz,
  due_at               timestamptz,
  primary key (tenant_id, id),
  unique (workflow_instance_id, node_id, token_id, visit, tenant_id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance,
  foreign key (tenant_id, token_id) references bpm_core.token,
  check ((status in ('Approved', 'Rejected', 'Expired')) = (decided_by is not null and decided_at is not null)),
  check (effect = 'Pending' or status <> 'Pending'),
  check (due_at is not distinct from least(expires_at, remind_at, escalate_at))
) with (fillfactor = 85);
create index approval_pending_effect on bpm_core.approval_record (tenant_id, decided_at, id)
  where effect = 'Pending' and status in ('Approved', 'Rejected', 'Expired');
create index approval_open on bpm_core.approval_record (tenant_id, created_at, id) where status = 'Pending';
create index approval_due on bpm_core.approval_record (tenant_id, due_at, id) where status = 'Pending' and due_at is not null;
comment on table bpm_core.approval_record is 'A decision taken once (status) and its effect (effect), which can be driven again. Before the decision no task exists.';
comment on column bpm_core.approval_record.visit is 'The visit of the token that asks; a later visit of the same node asks anew.';
comment on column bpm_core.approval_record.effect is 'Applied once the task is offered, the error raised, or the token found gone; of a Cancelled one it stays Pending and nobody looks.';

comment on column bpm_core.approval_record.approvers is 'Who alone may decide; null: whoever is not excluded.';
comment on column bpm_core.approval_record.veto is 'One refusal refuses. Else it is refused when the approvals it takes can no longer come.';
comment on column bpm_core.approval_record.exclude is 'Who may not decide by their part in the process: requester, earlier_actors, delegates. Looked at whenever somebody decides.';
comment on column bpm_core.approval_record.excluded_actors is 'Who may not decide, by name.';
comment on column bpm_core.approval_record.escalated_at is 'Since when escalate_to may decide too.';
comment on column bpm_core.approval_record.due_at is 'When time does something next: the first of expires_at, remind_at and escalate_at.';

create table bpm_core.approval_vote (
  tenant_id    text collate "C" not null default '',
  approval_id  uuid not null,
  actor        text collate "C" not null,
  vote         text not null check (vote in ('Approve', 'Reject')),
  note         text,
  at           timestamptz not null,
  evidence_ids uuid[] not null default '{}',
  primary key (tenant_id, approval_id, actor),
  foreign key (tenant_id, approval_id) references bpm_core.approval_record
);
comment on table bpm_core.approval_vote is 'What each person said, once. One decision takes required_approvals of them.';
