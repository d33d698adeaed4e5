-- Who keeps old row versions from being removed: sessions with an old snapshot, prepared transactions, replication slots.
-- Returns:  rows, worst first: holder (text), transactions (how many the snapshot is behind), seconds (null where unknown).
--           Sees the sessions of other users only where bpm_owner is a member of pg_read_all_stats (the bootstrap tries to make it one).
create or replace function bpm_core.horizon_holders()
returns table (holder text, transactions integer, seconds numeric)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select h.holder, h.transactions, h.seconds
    from (
      select format('session %s (%s, %s, %s)', a.pid, a.usename, coalesce(nullif(a.application_name, ''), a.backend_type), a.state) as holder,
             greatest(age(a.backend_xmin), age(a.backend_xid)) as transactions,
             round(extract(epoch from clock_timestamp() - a.xact_start), 1) as seconds
        from pg_stat_activity a
       where a.pid <> pg_backend_pid() and a.datid = (select d.oid from pg_database d where d.datname = current_database())
         and (a.backend_xmin is not null or a.backend_xid is not null)
      union all
      select format('prepared transaction %s (%s)', p.gid, p.owner), age(p.transaction),
             round(extract(epoch from clock_timestamp() - p.prepared), 1)
        from pg_prepared_xacts p
       where p.database = current_database()
      union all
      select format('replication slot %s (%s)', s.slot_name, case when s.active then 'active' else 'inactive' end),
             greatest(age(s.xmin), age(s.catalog_xmin)), null
        from pg_replication_slots s
       where s.xmin is not null or s.catalog_xmin is not null) h
   order by h.seconds desc nulls last, h.transactions desc
   limit 5
$$;
