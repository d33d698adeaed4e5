"""Links between pages lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import CHECKOUT, pages, prose

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.M)


def _anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(page)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        anchor, number = slug, 0
        while anchor in found:
            number += 1
            anchor = f"{slug}-{number}"
        found.add(anchor)
    return found


def _name(page: object) -> str:
    return str(page.relative_to(CHECKOUT)) if isinstance(page, Path) else ""


@pytest.mark.parametrize("page", pages(), ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in _LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            assert link.startswith("https://"), link
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        there = target.is_relative_to(CHECKOUT) and target.exists()
        if not there or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert not broken


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    todo = [CHECKOUT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        for link in _LINK.findall(prose(page)):
            if not re.match(r"[a-z]+:", link) and link.partition("#")[0]:
                todo.append((page.parent / link.partition("#")[0]).resolve())
    lost = [page for page in pages() if page not in seen]
    assert not lost
