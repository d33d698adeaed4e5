-- Clock, ids, errors, settings, tenants. The few tables here are global, small and read-mostly.

create type bpm.outcome as enum (
  'Done', 'Completed', 'Failed', 'Retrying', 'Released', 'Extended', 'Sent', 'Unknown', 'Pending', 'LeaseLost', 'Cancelled',
  'WrongState', 'NotFound', 'Rejected', 'Conflict', 'Suspended', 'TooLate');
comment on type bpm.outcome is 'What a set-based command says of each item. Closed: an item that failed leaves with its outcome, it does not raise.';

create type bpm_core.capability as enum ('reader', 'worker', 'operator', 'admin');

create table bpm_core.setting (
  name       text collate "C" primary key check (name ~ '^[a-z_]+(\.[a-z_0-9]+)+$'),
  value      jsonb not null,
  updated_at timestamptz not null,
  updated_by text not null
);
comment on table bpm_core.setting is 'Engine settings that differ from their default. Set by bpm.set_setting, read by bpm_core.setting_*.';

create table bpm_core.tenant (
  tenant_id  text collate "C" primary key check (tenant_id ~ '^[^%[:cntrl:]]{0,200}$'),
  name       text not null,
  state      text not null default 'Active' check (state in ('Active', 'Suspended')),
  limits     jsonb not null default '{}' check (jsonb_typeof(limits) = 'object'),
  weight     integer not null default 1 check (weight between 1 and 1000),
  created_at timestamptz not null,
  host_id    text collate "C" generated always as (nullif(tenant_id, '')) stored
);
comment on table bpm_core.tenant is 'Who owns business rows. '''' is the tenant of those who have none.';
comment on column bpm_core.tenant.weight is 'Its share of the runners while there is more to do than they can: in proportion to the weights of all.';
comment on column bpm_core.tenant.host_id is 'The tenant as the host application knows it, for attach_identity; null: it knows nothing of the tenant without a name.';

create table bpm_core.tenant_grant (
  role_name      text collate "C" not null,
  tenant_pattern text collate "C" not null,
  capability     bpm_core.capability not null,
  granted_by     text not null,
  granted_at     timestamptz not null,
  primary key (role_name, tenant_pattern, capability)
);
create index tenant_grant_of_tenant on bpm_core.tenant_grant (tenant_pattern);
create index tenant_grant_pattern on bpm_core.tenant_grant (role_name) where right(tenant_pattern, 1) = '%';
comment on table bpm_core.tenant_grant is
  'Which database role may do what for which tenants. A pattern is a tenant id or, with a trailing %, a prefix. Each capability includes those before it: reader, worker, operator, admin.';
