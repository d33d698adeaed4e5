"""Configuration: defaults < TOML < environment; everything unknown is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgbpm import config
from pgbpm.errors import ConfigError


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "pgbpm.toml") -> Path:
    file = Path(name)
    file.write_text(text, encoding="utf-8")
    return file


def test_defaults_need_nothing() -> None:
    loaded = config.load(environ={})
    assert loaded.database.url is None
    assert loaded.database.migrate_on_start is True
    assert loaded.server.durable is True
    assert loaded.engine.given() == {}
    assert loaded.project_dir == Path.cwd()


def test_environment_beats_file_beats_defaults() -> None:
    write('[database]\nurl = "postgresql:///file"\nmax_connections = 3\n')
    loaded = config.load(environ={"BPM__DATABASE__URL": "postgresql:///env"})
    assert loaded.database.url == "postgresql:///env"
    assert loaded.database.max_connections == 3
    assert loaded.database.connect_timeout_s == 10


def test_a_file_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    other = write("[server]\nport = 5544\n", "else/other.toml")
    assert config.load(other, environ={}).server.port == 5544
    by_variable = config.load(environ={"BPM_CONFIG": str(other)})
    assert by_variable.server.port == 5544
    assert by_variable.project_dir == tmp_path / "else"


def test_a_named_file_must_exist() -> None:
    with pytest.raises(ConfigError, match=r"nothing\.toml does not exist"):
        config.load("nothing.toml", environ={})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[databse]\nurl = 'x'\n", "unknown section 'databse'"),
        ("[databse]\n", "unknown section 'databse'"),
        ("[database]\nurll = 'x'\n", "unknown key database.urll"),
        ("url = 'x'\n", "'url' stands outside of a section"),
        ("[database\n", "not valid TOML"),
        ("[database]\nmax_connections = '3'\n", "database.max_connections: expected int"),
        ("[database]\nmax_connections = true\n", "database.max_connections: expected int"),
        ("[database]\nmax_connections = 0\n", "must be at least 1"),
        ("[database]\nmigrate_on_start = 1\n", "expected bool"),
        ("[engine]\napproval_required_task_types = 'a'\n", "expected a list of strings"),
    ],
)
def test_a_faulty_file_is_refused(text: str, said: str) -> None:
    write(text)
    with pytest.raises(ConfigError, match=r"pgbpm\.toml") as caught:
        config.load(environ={})
    assert said in str(caught.value)


def test_a_misspelt_key_gets_a_suggestion() -> None:
    write("[database]\nmax_conections = 3\n")
    with pytest.raises(ConfigError) as caught:
        config.load(environ={})
    assert caught.value.hint == "did you mean 'max_connections'?"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("BPM__DATABASE__URLL", "x", "unknown key database.urll"),
        ("BPM__NOWHERE__URL", "x", "unknown section 'nowhere'"),
        ("BPM__DATABASE", "x", "unknown key database."),
        ("BPM__DATABASE__MAX_CONNECTIONS", "many", "'many' is not a number"),
        ("BPM__DATABASE__MAX_CONNECTIONS", "0", "must be at least 1"),
        ("BPM__DATABASE__MIGRATE_ON_START", "perhaps", "is not a boolean"),
        ("BPM__ENGINE__APPROVAL_REQUIRED_TASK_TYPES", "[1", "not a JSON array"),
        ("BPM__ENGINE__APPROVAL_REQUIRED_TASK_TYPES", "[1]", "expected a list of strings"),
    ],
)
def test_a_faulty_variable_is_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.load(environ={name: value})
    assert said in str(caught.value)
    assert name in str(caught.value)


def test_variables_of_every_type() -> None:
    loaded = config.load(
        environ={
            "BPM__DATABASE__MIGRATE_ON_START": "off",
            "BPM__SERVER__STOP_TIMEOUT_S": "1.5",
            "BPM__ENGINE__TIMER_BATCH_SIZE": "7",
            "BPM__ENGINE__APPROVAL_REQUIRED_TASK_TYPES": "a, b",
            "OTHER__DATABASE__URL": "ignored",
        }
    )
    assert loaded.database.migrate_on_start is False
    assert loaded.server.stop_timeout_s == 1.5
    assert loaded.engine.given() == {
        "engine.timer_batch_size": 7,
        "engine.approval_required_task_types": ["a", "b"],
    }


def test_lists_may_be_json_and_empty() -> None:
    name = "BPM__ENGINE__APPROVAL_REQUIRED_TASK_TYPES"
    assert config.load(environ={name: '["a,b"]'}).engine.approval_required_task_types == ("a,b",)
    assert config.load(environ={name: "[]"}).engine.given() == {
        "engine.approval_required_task_types": []
    }


def test_an_empty_variable_means_not_given() -> None:
    write('[database]\nurl = "postgresql:///file"\n')
    assert config.load(environ={"BPM__DATABASE__URL": ""}).database.url is None
