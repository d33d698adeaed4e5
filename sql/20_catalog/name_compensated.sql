-- A node; a throw event with the activity it compensates, if it names one, among its attributes.
create or replace function bpm_core.name_compensated(p_node bpm_core.draft_node)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node     bpm_core.draft_node := p_node;
  v_activity text := bpm_core.local_reference(p_node.definition ->> 'activityRef');
begin
  if v_node.kind = 'CompensationThrow' and v_activity is not null then
    v_node.attributes := v_node.attributes || jsonb_build_object('activity', v_activity);
  end if;
  return v_node;
end
$$;
