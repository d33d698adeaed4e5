-- Privileges, then the first rows: the tenant of those who have none, its admin (whoever installs), and the partitions of history.

do $$ begin perform bpm_core.apply_grants(); end $$;

insert into bpm_core.tenant (tenant_id, name, created_at)
values ('', 'default', bpm_core.now())
on conflict do nothing;

insert into bpm_core.tenant_grant (role_name, tenant_pattern, capability, granted_by, granted_at)
values (session_user, '', 'admin', session_user, bpm_core.now())
on conflict do nothing;

do $$ begin perform bpm_core.create_history_partitions(24); end $$;
