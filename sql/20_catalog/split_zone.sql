-- Takes the time zone out of a timer's rule: CRON_TZ=Europe/Berlin 0 9 * * *, 2030-01-31T12:00[Europe/Berlin].
-- Returns:  rule without it; zone, null when it names none.
create or replace function bpm_core.split_zone(p_rule text, out rule text, out zone text)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := regexp_match(btrim(p_rule), '^(?:CRON_)?TZ=(\S+)\s+(.+)$');
begin
  rule := btrim(p_rule);
  if v_parts is not null then
    rule := v_parts[2];
    zone := v_parts[1];
    return;
  end if;
  v_parts := regexp_match(rule, '^([^][]*\d)\[([^][]*)\]([^][]*)$');
  if v_parts is not null then
    rule := v_parts[1] || v_parts[3];
    zone := v_parts[2];
  end if;
end
$$;
