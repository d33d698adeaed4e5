-- Where tests keep how far their clock is ahead. Only in databases made for tests.
set role bpm_owner;
create table if not exists bpm_core.test_clock (
  one   boolean primary key default true check (one),
  ahead interval not null
);
select bpm_core.protect_table('bpm_core.test_clock');
reset role;
