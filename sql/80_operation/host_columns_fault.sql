-- Can a foreign key of ours lead to these columns of the host? They must be texts, unique together, in a permanent table, and ours to refer to: granted both to bpm_owner,
-- who makes the key, and to the caller, who must not reach through it what is not his.
-- Returns:  text, what is wrong; null when nothing is. hint: what the host could do about it.
create or replace function bpm_core.host_columns_fault(p_table regclass, p_columns text[], out fault text, out hint text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
  r_bad  record;
begin
  select format('%I.%I', n.nspname, c.relname),
         case when c.relkind not in ('r', 'p') or c.relpersistence <> 'p' or n.nspname ~ '^(bpm|bpm_core|pg_.*|information_schema)$' then 'is no permanent table of the host.' end
    into v_name, fault
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = p_table;
  if fault is not null then
    fault := format('%s %s', v_name, fault);
    return;
  end if;
  select w.name, a.attnum, coalesce(nullif(y.typbasetype, 0), y.oid) as type, format_type(a.atttypid, a.atttypmod) as type_name, l.collisdeterministic into r_bad
    from unnest(p_columns) w(name)
    left join pg_attribute a on a.attrelid = p_table and a.attname = w.name and a.attnum > 0 and not a.attisdropped
    left join pg_type y on y.oid = a.atttypid
    left join pg_collation l on l.oid = a.attcollation
   where a.attnum is null or coalesce(nullif(y.typbasetype, 0), y.oid) not in ('text'::regtype, 'varchar'::regtype) or not l.collisdeterministic
   limit 1;
  if r_bad.name is not null then
    fault := case when r_bad.attnum is null then format('%s has no column %I.', v_name, r_bad.name)
                  when r_bad.type in ('text'::regtype, 'varchar'::regtype) then format('%s.%I compares by a collation that is not deterministic.', v_name, r_bad.name)
                  else format('%s.%I is %s, not a text.', v_name, r_bad.name, r_bad.type_name) end;
    hint := case when r_bad.attnum is not null then format('alter table %s add column %I text generated always as (%I::text) stored unique;', v_name, r_bad.name || '_text', r_bad.name) end;
    return;
  end if;
  if not bpm_core.is_unique_together(p_table, p_columns) then
    fault := format('(%s) of %s is not unique.', (select string_agg(format('%I', w), ', ') from unnest(p_columns) w), v_name);
    hint := format('alter table %s add unique (%s);', v_name, (select string_agg(format('%I', w), ', ') from unnest(p_columns) w));
    return;
  end if;
  select string_agg(format('grant usage on schema %1$I to %2$I; grant select (%3$s), references (%3$s) on %4$s to %2$I;',
           (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = p_table), m.role,
           (select string_agg(format('%I', w), ', ') from unnest(p_columns) w), v_name), ' ')
    into hint
    from (values ('bpm_owner'::name), (bpm_core.caller()::name)) m(role)
   where not bpm_core.may_refer(m.role, p_table, p_columns);
  fault := case when hint is not null then format('%s may not be referred to.', v_name) end;
end
$$;
