"""A project comes back whole, proves what it says, and is refused with one sentence where it does not."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from cflengine import CompressiveFeatures, Corpus
from cflengine.compression.project_file import Project, is_project, read_project, write_project
from cflengine.text.corpus import CorpusError
from cflengine.text.token_presets import TokenChoice

TEXTS = ["The cat sat on the mat.", "", "The dog sat on the mat; it's late.", "= a cat\r\n\U0001f600", None]
COLUMNS = pd.DataFrame(
    {
        "=who": ["a", "b", None, "d", "e"],
        "when": pd.to_datetime(["2020-01-01", "2021-05-05", None, "2022-02-02", "2022-02-03"]),
        "stars": [1.5, 2.0, np.nan, 4.0, 5.0],
        "mixed": [1, "two", None, 4.5, "x"],
    }
)


@pytest.fixture(scope="module")
def project() -> Project:
    corpus = Corpus.from_texts(TEXTS, "some.csv", COLUMNS)
    tokens = TokenChoice("contractions", punctuation=False, sentence_borders=True)
    model = CompressiveFeatures(max_gram=3, token_pattern=tokens.pattern, sentence_borders=True)
    path = model.path(corpus.texts, [0.3, 1.0])
    return Project(corpus, tokens, "some.csv", {"text_column": "t"}, {"lam": 1.0}, 3, path.points, path.corpus)


def written(project: Project) -> bytes:
    file = io.BytesIO()
    write_project(file, project)
    return file.getvalue()


def changed(data: bytes, member: str, new: bytes | None) -> io.BytesIO:
    """The archive with one member replaced, or left out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            if name != member:
                after.writestr(name, before.read(name))
            elif new is not None:
                after.writestr(name, new)
    out.seek(0)
    return out


def header_of(data: bytes) -> dict:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read("project.json"))


def test_everything_comes_back(project, tmp_path):
    (tmp_path / "one.cflproject").write_bytes(written(project))
    assert is_project(tmp_path / "one.cflproject")
    back = read_project(tmp_path / "one.cflproject", "one.cflproject")
    assert back.corpus.texts == project.corpus.texts and back.corpus.name == "some.csv"
    assert back.corpus.rows.tolist() == project.corpus.rows.tolist() == [0, 2, 3]
    assert list(back.corpus.metadata) == list(COLUMNS)
    assert back.corpus.metadata["when"].tolist()[0] == pd.Timestamp("2020-01-01")
    assert (back.tokens, back.source, back.reading, back.settings) == (
        project.tokens, "some.csv", {"text_column": "t"}, {"lam": 1.0},
    )  # fmt: skip
    for here, there in zip(project.points, back.points, strict=True):
        assert here.lam == there.lam and here.result.objective == there.result.objective
        assert here.result.lower_bound == pytest.approx(there.result.lower_bound, rel=1e-3)
        assert np.array_equal(here.result.cover, there.result.cover)


def test_only_what_reading_knows_comes_back(project):
    data = written(project)
    odd = {"text_column": "t", "x=__import__('os').system('id'), y": 1, "limit": "many"}
    back = read_project(changed(data, "project.json", json.dumps(header_of(data) | {"reading": odd}).encode()))
    assert back.reading == {"text_column": "t"}


def test_a_project_without_a_path(project):
    pathless = Project(project.corpus, project.tokens, "some.csv", {}, {})
    assert read_project(io.BytesIO(written(pathless))).points is None


def test_what_is_no_project_is_one_sentence(project, tmp_path):
    data = written(project)
    (tmp_path / "x.zip").write_bytes(data[: len(data) // 2])
    assert not is_project(tmp_path / "x.zip") and not is_project(tmp_path / "none")
    header = header_of(data)
    bad, worse = (header["tokens"] | change for change in ({"own": "("}, {"preset": "x"}))
    cases = {
        b"no zip at all": "not a project",
        data[: len(data) // 2]: "truncated",
        changed(data, "corpus.parquet", None).getvalue(): "not a project",
        changed(data, "corpus.parquet", b"PAR1 nonsense").getvalue(): "Parquet",
        changed(data, "project.json", b"{").getvalue(): "not JSON",
        changed(data, "project.json", b"[" * 100_000).getvalue(): "not JSON",
        changed(data, "project.json", json.dumps(header | {"version": 2}).encode()).getvalue(): "version 2",
        changed(data, "project.json", json.dumps(header | {"format": "x"}).encode()).getvalue(): "not a project",
        changed(data, "project.json", json.dumps(header | {"digest": "0" * 16}).encode()).getvalue(): "damaged",
        changed(data, "project.json", json.dumps(header | {"tokens": {}}).encode()).getvalue(): "tokens",
        changed(data, "project.json", json.dumps(header | {"max_gram": 99}).encode()).getvalue(): "K is 99",
        changed(data, "project.json", json.dumps({**header, "max_gram": 4}).encode()).getvalue(): "another corpus",
        changed(data, "path.cflm", b"nonsense").getvalue(): "not a model",
        changed(data, "project.json", json.dumps(header | {"reading": "ab"}).encode()).getvalue(): "no lists",
        changed(data, "project.json", json.dumps(header | {"settings": [[1]]}).encode()).getvalue(): "no lists",
        changed(data, "project.json", json.dumps(header | {"tokens": bad}).encode()).getvalue(): "usable",
        changed(data, "project.json", json.dumps(header | {"tokens": worse}).encode()).getvalue(): "one of",
    }  # fmt: skip
    for given, sentence in cases.items():
        with pytest.raises(CorpusError, match=sentence) as caught:
            read_project(io.BytesIO(given), "bad.cflproject")
        assert "\n" not in str(caught.value)


def test_a_path_that_claims_too_much_is_certified_down(project):
    """Prices that are too high prove less, never more."""
    data = written(project)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        inner = archive.read("path.cflm")
    with zipfile.ZipFile(io.BytesIO(inner)) as archive:
        header = json.loads(archive.read("header.json"))
    header["highest"] = [10 * value for value in header["highest"]]
    forged = changed(inner, "header.json", json.dumps(header).encode()).getvalue()
    back = read_project(changed(data, "path.cflm", forged))
    for here, there in zip(project.points, back.points, strict=True):
        assert there.result.lower_bound <= here.result.objective * (1 + 1e-9)


def test_the_same_project_is_the_same_bytes_at_any_time(project, monkeypatch):
    first = written(project)
    monkeypatch.setattr(zipfile.time, "localtime", lambda *_: (2031, 1, 1, 0, 0, 4, 0, 1, 0))
    assert written(project) == first
