"""The documentation: every block of Python in the tutorials runs, in order, where it is told to."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PROBLEMS = (
    "cflengine.compression.model.problem", "cflengine.sentence_lasso.model.problem",
    "cflengine.loglinear.model.problem", "cflengine.plq.problem", "cflengine.embedding.problem",
)  # fmt: skip
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))


@pytest.mark.parametrize("page", TUTORIALS, ids=[page.stem for page in TUTORIALS])
def test_a_tutorial_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize("name", PROBLEMS)
def test_worked_examples_come_out_as_they_stand(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted >= 3 and not found.failed


def test_links_and_pictures_are_there():
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]
    assert len(pages) > 15
    for page in pages:
        for target in re.findall(r"\]\((?!https?:|#)([^)\s#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
