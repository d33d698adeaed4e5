-- What the wall needs in the database it storms: made by a superuser, callable by everybody.
create schema wall;
grant usage on schema wall to public;

-- How many rows of the engine's tables this transaction has written so far, undone ones counted.
create function wall.touched() returns bigint language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (select sum(pg_stat_get_xact_tuples_inserted(o.oid) + pg_stat_get_xact_tuples_updated(o.oid) + pg_stat_get_xact_tuples_deleted(o.oid))
            from unnest('{OIDS}'::oid[]) o(oid));
end $$;

-- The rows of everybody but one tenant, as one hash.
create function wall.others(p_tenant text) returns text language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set datestyle = 'ISO' set timezone = 'UTC' set intervalstyle = 'iso_8601' set bytea_output = 'hex' set extra_float_digits = 1 set work_mem = '16MB' as $$
begin
  return md5((HASHES));
end $$;

-- Calls, and undoes what the call did. touched: rows were written; changed: rows of others are not as they were.
create function wall.attempt(p_call text, p_tenant text, p_others text,
  out code text, out message text, out detail text, out hint text, out context text, out answer text, out touched boolean, out changed boolean, out micros bigint)
language plpgsql volatile as $$
declare
  v_before bigint := wall.touched();
  v_begin  pg_catalog.timestamptz := pg_catalog.clock_timestamp();
begin
  changed := false;
  touched := false;
  begin
    execute 'select pg_catalog.string_agg(x::pg_catalog.text, pg_catalog.chr(10)) from (' operator(pg_catalog.||) p_call operator(pg_catalog.||) ') x' into answer;
    micros := extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) v_begin) operator(pg_catalog.*) 1000000;
    touched := wall.touched() operator(pg_catalog.<>) v_before;
    if touched then
      changed := wall.others(p_tenant) operator(pg_catalog.<>) p_others;
    end if;
    raise exception using errcode = 'WALL0';
  exception
    when others then
      micros := coalesce(micros, extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) v_begin) operator(pg_catalog.*) 1000000);
      if sqlstate operator(pg_catalog.=) 'WALL0' then
        code := '00000';
      else
        get stacked diagnostics code = returned_sqlstate, message = message_text, detail = pg_exception_detail, hint = pg_exception_hint,
                                context = pg_exception_context;
      end if;
  end;
end $$;

create function wall.attempts(p_calls text[], p_tenant text, p_others text)
returns table (n bigint, code text, message text, detail text, hint text, context text, answer text, touched boolean, changed boolean, micros bigint)
language sql volatile as $$
  select c.n, a.*
    from pg_catalog.unnest(p_calls) with ordinality c(call, n)
   cross join lateral wall.attempt(c.call, p_tenant, p_others) a
   order by c.n
$$;

-- What a reader tries in a WHERE: it tells whatever row it is given.
create table wall.told (said text);
create function wall.leak(p_row text) returns boolean language plpgsql volatile cost 0.0000001 security definer as $$
begin
  insert into wall.told values (p_row);
  return true;
end $$;
create function wall.heard() returns table (said text) language sql security definer as $$ delete from wall.told returning said $$;
create function wall.operator_leak(p_row text, p_any text) returns boolean language plpgsql volatile cost 0.0000001 security definer as $$
begin
  insert into wall.told values (p_row);
  return true;
end $$;
create operator wall.<<<>>> (leftarg = text, rightarg = text, function = wall.operator_leak);
