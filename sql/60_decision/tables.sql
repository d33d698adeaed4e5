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
  approver_groups      text[],
  claimed_by           text[] not null default '{}',
  primary key (tenant_id, id),
  unique (workflow_instance_id, node_id, token_id, visit, tenant_id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance (tenant_id, id),
  check ((status in ('Approved', 'Rejected', 'Expired')) = (decided_by is not null and decided_at is not null)),
  check (effect = 'Pending' or status <> 'Pending'),
  check (due_at is not distinct from least(expires_at, remind_at, escalate_at)),
  check (status = 'Pending' or claimed_by = '{}'),
  check (cardinality(claimed_by) <= required_approvals)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
create index approval_pending_effect on bpm_core.approval_record (tenant_id, decided_at, id)
  where effect = 'Pending' and status in ('Approved', 'Rejected', 'Expired');
create index approval_open on bpm_core.approval_record (tenant_id, created_at, id) where status = 'Pending';
create index approval_due on bpm_core.approval_record (tenant_id, due_at, id) where status = 'Pending' and due_at is not null;
comment on table bpm_core.approval_record is 'A decision taken once (status) and its effect (effect), which can be driven again. Before the decision no task exists.';
comment on column bpm_core.approval_record.visit is 'The visit of the token that asks; a later visit of the same node asks anew.';
comment on column bpm_core.approval_record.effect is 'Applied once the task is offered, the error raised, or the token found gone; of a Cancelled one it stays Pending and nobody looks.';

comment on column bpm_core.approval_record.approvers is 'Who alone may decide, beside approver_groups; both null: whoever is not excluded.';
comment on column bpm_core.approval_record.approver_groups is 'Whoever is in one of them may decide too. Who is, the caller says.';
comment on column bpm_core.approval_record.claimed_by is 'Who is at it, at most as many as it takes. A courtesy: it keeps nobody from deciding.';
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
  groups       text[] not null default '{}',
  primary key (tenant_id, approval_id, actor),
  foreign key (tenant_id, approval_id) references bpm_core.approval_record
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.approval_vote is 'What each person said, once. One decision takes required_approvals of them.';
comment on column bpm_core.approval_vote.groups is 'Of the groups that were asked those the person was said to be in.';

create type bpm_core.review_state as enum ('Open', 'Decided', 'Superseded', 'Closed');

-- A result that waits for a review: the answer it came with, and the record.
create type bpm_core.reviewed as (task_id uuid, attempt integer, token_id uuid, instance_id uuid, variables jsonb, record jsonb, content_hash bytea);

create table bpm_core.review (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid not null,
  token_id             uuid not null,
  task_instance_id     uuid not null,
  attempt              integer not null,
  content_hash         bytea not null,
  expected_version     integer not null,
  variables            jsonb not null,
  record               jsonb,
  state                bpm_core.review_state not null default 'Open',
  decision             text check (decision in ('Approve', 'Reject', 'Return')),
  actor                text,
  reason               text,
  decided_at           timestamptz,
  superseded_by        uuid,
  created_at           timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, task_instance_id, attempt) references bpm_core.result (tenant_id, task_instance_id, attempt),
  foreign key (tenant_id, superseded_by) references bpm_core.review,
  check ((state = 'Decided') = (decision is not null and actor is not null and decided_at is not null)),
  check ((state = 'Superseded') = (superseded_by is not null))
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
create unique index review_standing on bpm_core.review (task_instance_id, attempt, tenant_id) where state in ('Open', 'Decided');
create index review_of_result on bpm_core.review (task_instance_id, attempt);
create index review_of_instance on bpm_core.review (workflow_instance_id);
create index review_of_successor on bpm_core.review (superseded_by) where superseded_by is not null;
create index review_open on bpm_core.review (tenant_id, created_at, id) where state = 'Open';
alter table bpm_core.fact add foreign key (tenant_id, review_id) references bpm_core.review;
create index fact_of_review on bpm_core.fact (review_id) where review_id is not null;
comment on table bpm_core.review is 'Somebody looks at a result before it counts. Until then the token rests, and none of its variables, facts and evidence is taken.';
comment on column bpm_core.review.expected_version is 'The versions of the subjects its facts speak of, added up, when it was asked for: it grows when any of them moves. Then it is Superseded by another.';
comment on column bpm_core.review.content_hash is 'Of the answer, as the result has it.';
comment on column bpm_core.review.record is 'Evidence and facts the answer came with; written when it is approved.';
