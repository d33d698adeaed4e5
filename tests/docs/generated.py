"""Parts of the reference that are written from the code: ``python -m tests.docs.generated``.

They stand between ``<!-- generated: NAME -->`` and ``<!-- end -->``; a test keeps them so.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Iterator
from pathlib import Path

import click

from pgbpm import cli, config
from pgbpm.devtools import pictures
from tests.docs.blocks import CHECKOUT

_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.S)
PAGES = [CHECKOUT / "docs" / "reference" / name for name in ("cli.md", "configuration.md")]


def with_parts(page: Path) -> str:
    """The text of a page with its generated parts as they should be."""
    parts = {"options": options, "commands": commands}
    text = page.read_text(encoding="utf-8")
    return _PART.sub(lambda m: f"{m[1]}{''.join(parts[m[2]]())}{m[3]}", text)


# -- configuration ---------------------------------------------------------------------------------


def options() -> Iterator[str]:
    """One table per section."""
    for name, section in config.SECTIONS.items():
        about = str(section.__doc__).replace("``", "`")
        yield f"\n### {name}\n\n{about}\n\n"
        yield "| key | type | default | means |\n|---|---|---|---|\n"
        hints = typing.get_type_hints(section)
        for field in dataclasses.fields(section):
            least = field.metadata["minimum"]
            bound = f" (at least {least:g})" if least is not None else ""
            yield (
                f"| `{field.name}` | {_type(hints[field.name])} | {_default(field.default)} |"
                f" {field.metadata['help']}{bound} |\n"
            )
    yield "\n"


def _type(hint: typing.Any) -> str:
    text = str(hint) if typing.get_origin(hint) or "|" in str(hint) else hint.__name__
    names = {"int": "whole number", "float": "number", "bool": "boolean", "str": "text"}
    kind = text.removesuffix(" | None")
    return "list of texts" if kind.startswith("tuple") else names[kind]


def _default(value: object) -> str:
    if value is None or value == ():
        return "–"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


# -- command line ----------------------------------------------------------------------------------


def commands() -> Iterator[str]:
    """What ``--help`` says, command by command."""
    root = cli.root
    yield f"\n### pgbpm\n\n```text\n{_help(root, 'pgbpm', None)}\n```\n"
    yield from _below(root, "pgbpm", _context(root, "pgbpm", None))
    yield "\n"


def _below(group: click.Group, path: str, context: click.Context) -> Iterator[str]:
    for name in sorted(group.commands):
        command = group.commands[name]
        yield f"\n### {path} {name}\n\n```text\n{_help(command, name, context)}\n```\n"
        if isinstance(command, click.Group):
            yield from _below(command, f"{path} {name}", _context(command, name, context))


def _help(command: click.Command, name: str, parent: click.Context | None) -> str:
    return command.get_help(_context(command, name, parent)).rstrip()


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    settings = {"terminal_width": 80, "max_content_width": 80, **command.context_settings}
    return click.Context(command, parent, info_name=name, **settings)


def main() -> None:
    """Write the parts anew, and the page with the pictures."""
    for page in PAGES:
        page.write_text(with_parts(page), encoding="utf-8")
        print(f"wrote {page.relative_to(CHECKOUT)}")
    pictures.write()
    print("wrote docs/reference/schema.md")


if __name__ == "__main__":
    main()
