"""The reader of the pages notices what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.docs.reader import Reader, desk, to_do
from tests.docs.session import fits

GOOD = """\
Text.

<!-- docs: file greeting.txt -->
```text
hello
```

```console
$ cat greeting.txt
hello
$ word=later
$ echo $word; echo 01a22c52-32ca-7905-8bd4-0ee8c5b8823a 2026-11-30 11:58:34+00:00
later
00000000-0000-0000-0000-000000000000 2020-01-01 00:00:00+00:00
```

<!-- docs: exit 3 -->
```bash
(exit 3)
```

<!-- docs: skip it would fail -->
```bash
false
```

<!-- docs: run test -s greeting.txt -->
"""


def _page(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def _read(page: Path) -> None:
    with desk() as place:
        Reader(place).read(to_do(page))


def test_a_good_page(tmp_path: Path) -> None:
    _read(_page(tmp_path, GOOD))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("\nhello\n$ word", "\nhullo\n$ word"),
        ("later\n0000", "later\nmore\n0000"),
        ("exit 3 -->", "exit 4 -->"),
        ("<!-- docs: skip it would fail -->", ""),
        ("test -s", "test ! -s"),
    ],
)
def test_a_bad_page(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in GOOD
    with pytest.raises(AssertionError, match=r"page\.md:"):
        _read(_page(tmp_path, GOOD.replace(right, wrong, 1)))


@pytest.mark.parametrize("mark", ["<!-- docs: skipp x -->", "<!-- docs: exit 1 -->\nText."])
def test_marks_that_mean_nothing_are_refused(tmp_path: Path, mark: str) -> None:
    with pytest.raises(ValueError, match="mark"):
        blocks(_page(tmp_path, mark + "\n\n```bash\ntrue\n```\n"))


@pytest.mark.parametrize(
    ("shown", "said", "same"),
    [
        ("a  b", "a b", True),
        ("a …", "a whole lot", True),
        ("a\n…\nz", "a\nb\nc\nz", True),
        ("a\n…", "a", True),
        ("a\n…\nz", "a\nb", False),
        ("a", "a\nb", False),
        ("1 row", "2 rows", False),
        ("11:00:00 INFO    ready", "12:34:56 INFO    ready", True),
    ],
)
def test_what_counts_as_the_same(shown: str, said: str, same: bool) -> None:
    assert fits(shown, said) is same
