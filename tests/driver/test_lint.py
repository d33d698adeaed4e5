"""Each of our own SQL rules finds what it is for, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lint import merges, spot, sql_rules

from pgbpm.resources import sql_dir

GOOD = """\
-- Does a thing.
-- Returns: int.
create or replace function bpm_core.thing(p_a int)
returns int
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  -- FOR UPDATE would be wrong, now() too
  return (select t.id from bpm_core.token t where t.note = 'SELECT now()' for no key update);
end
$$;
"""


def findings(tmp_path: Path, text: str, name: str = "50_work/thing.sql") -> list[str]:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return [message.partition(": ")[2] for message in sql_rules.check(file)]


def test_a_good_file_passes(tmp_path: Path) -> None:
    assert findings(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("bpm_core.thing(", "bpm_core.other(", "is named thing.sql"),
        ("-- Does a thing.\n-- Returns: int.\n", "", "does not open with its contract"),
        ("begin\n", "begin\n" + "  -- x\n" * 120, "is two functions"),
        ("set search_path = pg_catalog, pg_temp\n", "", "does not pin search_path"),
        ("set jit = off\n", "", "lacks: set jit = off"),
        ("set enable_hashjoin = off", "set enable_hashjoin = on", "enable_hashjoin = off"),
        ("bpm_core.thing(", "bpm.thing(", "public but not security definer"),
        ("plpgsql volatile", "plpgsql volatile security definer", "private but security definer"),
        ("plpgsql volatile", "plpgsql", "does not state its volatility"),
        ("begin\n", "begin\n  perform now();\n", "elsewhere than from bpm_core.now()"),
        ("begin\n", "begin\n  perform gen_random_uuid();\n", "makes ids elsewhere"),
        ("begin\n", "begin\n  raise exception 'x';\n", "elsewhere than in bpm_core.fail()"),
        ("for no key update", "for update", "locks rows for update"),
        ("begin\n", "begin\n  perform pg_sleep(1);\n", "sleeps or calls out"),
        ("begin\n", "begin\n  perform pg_notify('a', 'b');\n", "notifies on the write path"),
        ("begin\n", "begin\n  execute format('select 1');\n", "builds SQL at run time"),
        ("begin\n", "begin\n  SELECT 1;\n", "writes SELECT in capitals"),
        ("$$;\n", "$$;\ncreate trigger t before insert on x execute function y();\n", "a trigger"),
    ],
)
def test_each_rule_finds_its_fault(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    found = findings(tmp_path, GOOD.replace(old, new, 1))
    assert len(found) == 1
    assert said in found[0]


def test_cold_rooms_and_inlinable_helpers_need_no_pins(tmp_path: Path) -> None:
    cold = GOOD.replace("set jit = off\n", "")
    assert findings(tmp_path, cold, "20_catalog/thing.sql") == []
    helper = (
        "-- One.\ncreate or replace function bpm_core.thing()\nreturns int\n"
        "language sql immutable\nas $$ select 1 $$;\n"
    )
    assert findings(tmp_path, helper) == []


def test_a_public_door_needs_the_pins_wherever_it_stands(tmp_path: Path) -> None:
    door = GOOD.replace("bpm_core.thing(", "bpm.tick(").replace(
        "volatile", "volatile security definer"
    )
    door = door.replace("set jit = off\n", "")
    assert findings(tmp_path, door, "80_operation/tick.sql") == [
        "runs per step but lacks: set jit = off"
    ]


def test_pgspot_finds_what_it_is_for(tmp_path: Path) -> None:
    file = tmp_path / "50_work" / "thing.sql"
    file.parent.mkdir()
    open_door = GOOD.replace("plpgsql volatile", "plpgsql volatile security definer")
    file.write_text(open_door.replace("set search_path = pg_catalog, pg_temp\n", ""))
    assert any("PS003" in finding for finding in spot.check_file(file))
    file.write_text(open_door.replace("pg_catalog, pg_temp", "public, pg_catalog"))
    assert any("PS004" in finding for finding in spot.check_file(file))
    file.write_text(open_door)
    assert spot.check_file(file) == []


def test_every_file_that_may_build_sql_still_does() -> None:
    root = sql_dir()
    for name in sql_rules.DYNAMIC_SQL:
        files = list(root.rglob(name))
        assert files, f"{name} is gone: take it off DYNAMIC_SQL"
        code = "".join(sql_rules.SqlFile.read(file).code for file in files)
        assert sql_rules.builds_sql(code), f"{name} builds no SQL: take it off DYNAMIC_SQL"


def test_what_a_merge_left_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("Title\n=======\n", encoding="utf-8")
    (tmp_path / "docs" / "a.md").write_text(
        f"one\n{'<' * 7} HEAD\ntwo\n{'=' * 7}\nthree\n{'>' * 7} main\n", encoding="utf-8"
    )
    place = tmp_path / "docs" / "a.md"
    assert merges.check_tree(tmp_path) == [
        f"{place}:2: a merge left {'<' * 7} HEAD",
        f"{place}:6: a merge left {'>' * 7} main",
    ]
