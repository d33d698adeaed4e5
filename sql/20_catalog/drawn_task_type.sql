-- The task type a service or send task asks for: our own, Zeebe's, Camunda's topic; else another engine's delegate or class; else its id.
-- Returns:  the type, and whether it was guessed from something that is code in another engine (worth a warning).
create or replace function bpm_core.drawn_task_type(p_node_id text, p_attributes jsonb, p_extensions jsonb, out task_type text, out borrowed text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_vendor text := coalesce(p_attributes ->> 'camunda:type', p_attributes ->> 'flowable:type');
begin
  task_type := coalesce(nullif(btrim(p_attributes ->> 'bpm:type'), ''), nullif(btrim(p_extensions #>> '{zeebe:taskDefinition,type}'), ''),
                        bpm_core.vendor_attribute(p_attributes, 'topic'));
  if task_type is not null then
    return;
  end if;
  borrowed := coalesce(bpm_core.vendor_attribute(p_attributes, 'delegateExpression'), bpm_core.vendor_attribute(p_attributes, 'class'),
                       nullif(v_vendor, 'external'));
  task_type := btrim(regexp_replace(borrowed, '^[$#]\{(.*)\}$', '\1'));
  if nullif(task_type, '') is null then
    borrowed := bpm_core.vendor_attribute(p_attributes, 'expression');
    task_type := p_node_id;
  end if;
end
$$;
