-- Reads the items of start_processes and finds the version each one starts. Faults are outcomes of their item.
-- Returns:  start[], item counts from 1; fresh ids are drawn for every item.
-- Raises:   BP400 not an array of objects, unknown key, wrong type of a key. BP429 more than 1,000 items.
create or replace function bpm_core.parse_starts(p_tenant_id text, p_items jsonb)
returns bpm_core.start[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if not bpm_core.check_start_items(p_items) then
    return null;
  end if;
  -- In the order of the items, since a loop over them is the only plan there is. A sort would keep every said, which may have megabytes: 40 numbers of 1e131000 do.
  return array(
    select row(i.n, i.code, case when bpm_core.looks_plain(i.variables, i.said) then i.variables
                         when w.process_version_id is not null and f.fault is null then bpm_core.decode_variables(i.variables) end,
               i.business_key, i.idempotency_key,
               sha256(convert_to(concat_ws(chr(31), i.code, coalesce(i.version::text, ''),
                                           coalesce(case when f.fault is null then i.said end, case when not bpm_core.has_huge_number(i.variables) then i.variables::text end),
                                           coalesce(i.business_key, '')), 'UTF8')),
               w.process_version_id, w.workflow_version_id, w.role_version_id, w.start_node_id, null,
               bpm_core.new_id(), bpm_core.new_id(), bpm_core.new_id(),
               case when w.process_version_id is null then case when f.fault is null then 'NotFound' else 'WrongState' end
                    when f.fault is not null then 'Rejected' end::bpm.outcome,
               case when w.process_version_id is null and f.fault is null then bpm_core.start_absence(p_tenant_id, i.code, i.version) else f.fault end,
               null, w.is_several)::bpm_core.start
      from (select p_tenant_id as tenant_id, i.n, i.item ->> 'code' as code, (i.item ->> 'version')::integer as version,
                   coalesce(nullif(i.item -> 'variables', 'null'), '{}') as variables,
                   bpm_core.small_text(coalesce(nullif(i.item -> 'variables', 'null'), '{}')) as said, i.item ->> 'business_key' as business_key,
                   i.item ->> 'idempotency_key' as idempotency_key
              from jsonb_array_elements(p_items) with ordinality i(item, n) offset 0) i
      left join lateral bpm_core.startable_version(i.tenant_id, i.code, i.version) w on true
      -- Fenced: pulled up, it would be computed once for every mention.
     cross join lateral (
       select case when w.process_version_id is null then bpm_core.start_refusal(i.tenant_id, i.code, i.version)
                   when bpm_core.looks_plain(i.variables, i.said) then null
                   else bpm_core.variables_fault(i.variables) end as fault offset 0) f);
end
$$;
