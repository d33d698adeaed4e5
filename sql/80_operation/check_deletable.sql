-- Locks a definition and asks whether it may be deleted.
-- Raises:   BP400, BP404 as definition_of. BP409 not archived for a minute, or referred to.
-- Locks:    the definition row.
create or replace function bpm_core.check_deletable(p_tenant_id text, p_kind text, p_code text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  r_definition record;
  v_referrers  jsonb;
begin
  case p_kind
    when 'process' then perform 1 from bpm_core.process_definition d where d.tenant_id = p_tenant_id and d.code = p_code for no key update;
    when 'workflow' then perform 1 from bpm_core.workflow_definition d where d.tenant_id = p_tenant_id and d.code = p_code for no key update;
    when 'task' then perform 1 from bpm_core.task_definition d where d.tenant_id = p_tenant_id and d.code = p_code for no key update;
    else perform 1 from bpm_core.role_definition d where d.tenant_id = p_tenant_id and d.code = p_code for no key update;
  end case;
  select d.* into r_definition from bpm_core.definition_of(p_tenant_id, p_kind, p_code) d;
  if coalesce(r_definition.archived_at > bpm_core.now() - interval '1 minute', true) then
    perform bpm_core.fail('BP409',
      format('The %s %L is not archived%s.', p_kind, p_code, case when r_definition.archived_at is not null then ' for a minute yet' end),
      jsonb_build_object('archived_at', r_definition.archived_at), 'Archive it with bpm.archive_definition, and delete it a minute later.');
  end if;
  v_referrers := (
    select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('kind', r.kind, 'code', r.code, 'version', r.version, 'count', r.times)) order by r.kind, r.code, r.version)
      from (select r.* from bpm_core.referrers(p_tenant_id, p_kind, p_code, r_definition.id) r limit 100) r);
  if v_referrers is not null then
    perform bpm_core.fail('BP409', format('The %s %L is referred to by %s.', p_kind, p_code,
        concat_ws(' ', v_referrers #>> '{0,count}', v_referrers #>> '{0,kind}', quote_literal(v_referrers #>> '{0,code}'), 'version ' || (v_referrers #>> '{0,version}'))),
      jsonb_build_object('referred_by', v_referrers), 'Archived it is out of use already; what refers to it has to be deleted first.');
  end if;
end
$$;
