"""The last column of the table of elements names a test that is there."""

from __future__ import annotations

import pytest

from tests.corpus.test_expected import CASES
from tests.docs import tried

ROWS = [
    (row["element"], row["verdict"], row["test"])
    for line in tried.PAGE.read_text("utf-8").splitlines()
    if (row := tried.ROW.match(line))
]


def test_the_column_is_up_to_date() -> None:
    """``python -m tests.docs.tried`` would change nothing."""
    text = tried.PAGE.read_text("utf-8")
    assert tried.with_column(text) == text, "run python -m tests.docs.tried"


@pytest.mark.parametrize(("element", "verdict", "test"), ROWS, ids=[row[0] for row in ROWS])
def test_row(element: str, verdict: str, test: str) -> None:
    """What is executed is drawn by a file of ours that has cases."""
    if verdict == "executed":
        assert test != tried.OF_THE_ROW, "draw it in a file of tests/bpmn and write a case for it"
        file = tried.FOLDER / test.rpartition("/")[2].rstrip(")")
        assert tried.draws(file, element)
        assert file.name in {case.file for case in CASES}
    else:
        assert test == tried.OF_THE_ROW
