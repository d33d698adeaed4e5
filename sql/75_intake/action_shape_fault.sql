-- Are the types of an action's parts wrong?
create or replace function bpm_core.action_shape_fault(p_action jsonb)
returns boolean
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select exists (
           select
             from jsonb_each(p_action) a
            where case
                    when a.key = 'version' then a.value::text !~ '^[0-9]{1,9}$'
                    when a.key = 'ttl_seconds' then a.value::text !~ '^[0-9]{1,8}(\.[0-9]{1,6})?$' or a.value::text::numeric > 31536000
                    when a.key = 'variables' then jsonb_typeof(a.value) <> 'object'
                    when a.key in ('process_instance_ids', 'task_ids') then case when jsonb_typeof(a.value) <> 'array' then true
                      else jsonb_array_length(a.value) not between 1 and 1000
                           or exists (select from jsonb_array_elements_text(a.value) i(id)
                                       where coalesce(i.id, '') !~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$') end
                    else jsonb_typeof(a.value) <> 'string' or length(a.value #>> '{}') not between 1 and 300 end)
$$;
