-- A policy, as approval_problem lets it through, from this moment on. Null: one person, who may be anybody, and time does nothing.
-- Names may be written person:NAME, so that somebody called requester can be named (near_symbol).
create or replace function bpm_core.approval_terms(
  p_policy jsonb, p_now timestamptz, out required integer, out approvers text[], out veto boolean, out exclude text[], out excluded_actors text[],
  out expires_at timestamptz, out remind_every interval, out remind_at timestamptz, out escalate_to text, out escalate_at timestamptz, out approver_groups text[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := bpm_core.symbols();
  v_named text[];
begin
  required := coalesce((p_policy ->> 'required')::integer, 1);
  veto := coalesce((p_policy ->> 'veto')::boolean, true);
  exclude := '{}';
  excluded_actors := '{}';
  if p_policy is null then
    return;
  end if;
  v_named := bpm_core.name_list(coalesce(p_policy -> 'exclude', 'null'));
  approvers := case when p_policy ? 'approvers' then array(select bpm_core.person_of(n) from unnest(bpm_core.name_list(p_policy -> 'approvers')) n) end;
  approver_groups := case when p_policy ? 'approver_groups' then bpm_core.name_list(p_policy -> 'approver_groups') end;
  exclude := array(select n from unnest(v_named) n where n = any (v_parts));
  excluded_actors := array(select bpm_core.person_of(n) from unnest(v_named) n where n <> all (v_parts));
  expires_at := p_now + bpm_core.parse_duration(p_policy ->> 'expires_in');
  remind_every := bpm_core.parse_duration(p_policy ->> 'remind_every');
  remind_at := p_now + remind_every;
  escalate_to := bpm_core.person_of(btrim(p_policy ->> 'escalate_to'));
  escalate_at := p_now + bpm_core.parse_duration(p_policy ->> 'escalate_in');
end
$$;
