-- The horizon of a position: every transaction that had an id when this was asked has one below. The end of a snapshot does not say so: it lies
-- behind the last transaction that has *ended*, and whoever began after that one and still runs lies beyond it. age() counts from the next id there is,
-- or from our own: who gets one after us writes with a clock that is later than that of our pick.
-- Inlined into its caller.
-- Returns:  xid8.
create or replace function bpm_core.next_transaction()
returns xid8
language sql stable
as $$
  select (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + greatest(age(pg_snapshot_xmax(pg_current_snapshot())::xid), 0))::text::xid8
$$;
