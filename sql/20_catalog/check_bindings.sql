-- The shape of the bindings of publish_process.
-- Raises:   BP400 not an array of 1 to 100 objects, unknown key, or a value of another kind.
create or replace function bpm_core.check_bindings(p_bindings jsonb)
returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys constant text[] := array['binding_key', 'workflow', 'version', 'position', 'depends_on', 'start_condition'];
  v_bad  bigint;
begin
  if jsonb_typeof(p_bindings) is distinct from 'array' or jsonb_array_length(p_bindings) not between 1 and 100 then
    perform bpm_core.fail('BP400', 'The bindings must be a JSON array of 1 to 100 objects.', null, 'Each with binding_key and workflow; version, position, depends_on, start_condition if wanted.');
  end if;
  select i.n into v_bad
    from jsonb_array_elements(p_bindings) with ordinality i(item, n)
   where case when jsonb_typeof(i.item) <> 'object' then true
              else i.item - v_keys <> '{}'
                   or jsonb_typeof(i.item -> 'binding_key') is distinct from 'string' or not bpm_core.is_code(i.item ->> 'binding_key')
                   or jsonb_typeof(i.item -> 'workflow') is distinct from 'string'
                   or coalesce((i.item -> 'version')::text, 'null') !~ '^([0-9]{1,9}|null)$'
                   or coalesce((i.item -> 'position')::text, 'null') !~ '^([0-9]{1,9}|null)$'
                   or coalesce(jsonb_typeof(i.item -> 'start_condition'), 'null') not in ('string', 'null')
                   or length(i.item ->> 'start_condition') > 10000
                   or coalesce(jsonb_typeof(i.item -> 'depends_on'), 'null') not in ('array', 'null')
                   or (jsonb_typeof(i.item -> 'depends_on') = 'array' and not bpm_core.is_text_list(i.item -> 'depends_on')) end
   order by i.n
   limit 1;
  if v_bad is not null then
    perform bpm_core.fail('BP400', format('Binding %s is not of the form this call takes.', v_bad), jsonb_build_object('item', v_bad, 'keys', v_keys),
      'binding_key and workflow are texts of 1 to 200 characters; version and position whole numbers; depends_on an array of different keys; start_condition a text of at most 10,000 characters.');
  end if;
end
$$;
