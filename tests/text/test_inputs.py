"""Several inputs, patterns and addresses as one corpus."""

from __future__ import annotations

import gc
import os
import sys
import weakref
import zipfile

import numpy as np
import pytest

from cflengine import CorpusError, read_corpus, read_input
from cflengine.engine import mapped
from cflengine.engine.checks import MissingPackageError
from cflengine.engine.progress import Watch
from cflengine.text.reading import inputs
from cflengine.text.reading.budget import reading_watched
from cflengine.text.stored import StoredTexts

FIRST = "text,stars\nDas Haus brennt,1\n,2\nDer Hof brennt,3\n"
SECOND = "stars,place,text\n4,Kiel,Die Stadt brennt\n5,Ulm,\n6,Bonn,Das Land brennt\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text(FIRST)
    (tmp_path / "b.csv").write_text(SECOND)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_several_inputs_are_one_corpus(folder):
    corpus = read_input(["a.csv", "b.csv"], text_column="text")
    assert corpus.texts == ["Das Haus brennt", "Der Hof brennt", "Die Stadt brennt", "Das Land brennt"]
    assert corpus.rows.tolist() == [0, 2, 3, 5]  # records are numbered through
    assert corpus.metadata["source"].tolist() == ["a.csv", "a.csv", "b.csv", "b.csv"]
    assert corpus.metadata["stars"].tolist() == [1, 3, 4, 6] and corpus.metadata["place"].tolist()[2:] == [
        "Kiel",
        "Bonn",
    ]
    report = corpus.report
    assert (report.n_records, report.n_kept, report.n_empty) == (
        6,
        4,
        2,
    ) and report.source == "2 inputs: a.csv, b.csv"
    assert report.left_out_frame()["record"].tolist() == [1, 4] and report.left_out == ((1, "empty"), (4, "empty"))


def test_one_input_is_read_as_ever(folder):
    one, other = read_input(["a.csv"], text_column="text"), read_corpus("a.csv", text_column="text")
    assert one.texts == other.texts and one.report == other.report and list(one.metadata) == list(other.metadata)


def test_a_pattern_stands_for_its_files_by_name(folder):
    corpus = read_input("*.csv", text_column="text")
    assert corpus.texts == read_input(["a.csv", "b.csv"], text_column="text").texts
    with pytest.raises(CorpusError, match=r"No file is called '\*.tsv'"):
        read_input("*.tsv")
    (folder / "[1].csv").write_text(FIRST)
    assert len(read_input("[1].csv", text_column="text")) == 2  # the file of that name


def test_a_file_is_named_once(folder):
    for names in (["a.csv", "./a.csv"], ["*.csv", str(folder / "b.csv")], ["sample", "sample"]):
        with pytest.raises(CorpusError, match="is named twice"):
            read_input(names)
    with pytest.raises(CorpusError, match="no input is named"):
        read_input([])


def test_the_same_documents_under_two_names_are_said(folder):
    (folder / "copy.csv").write_text(FIRST)
    corpus = read_input(["a.csv", "b.csv", "copy.csv"], text_column="text")
    assert corpus.report.warnings == ("copy.csv holds the same documents as a.csv; all of them count twice.",)
    for year in ("2023", "2024"):  # of one name
        (folder / year).mkdir()
        (folder / year / "a.csv").write_text(FIRST)
    corpus = read_input(["2023/a.csv", "2024/a.csv"], text_column="text")
    assert corpus.report.warnings == ("2024/a.csv holds the same documents as 2023/a.csv; all of them count twice.",)


def test_one_of_several_without_a_document_is_passed_over(folder):
    (folder / "0.csv").write_text("")
    (folder / "header.csv").write_text("text,stars\n")
    corpus = read_input(["0.csv", "a.csv", "header.csv", "b.csv"], text_column="text")
    alone = read_input(["a.csv", "b.csv"], text_column="text")
    assert list(corpus.texts) == list(alone.texts) and corpus.metadata["source"].tolist()[-1] == "b.csv"
    first, second = corpus.report.warnings
    assert first.startswith("passed over: '0.csv' is empty") and "'header.csv' holds no records" in second
    (folder / "blank.csv").write_text('text,stars\n" ",3\n')
    (folder / "lines.jsonl").write_text("\n\n")
    blank = read_input(["blank.csv", "a.csv", "lines.jsonl", "b.csv"], text_column="text")
    assert list(blank.texts) == list(alone.texts)
    first, second = blank.report.warnings
    assert "None of the 1 records of 'blank.csv'" in first and "'lines.jsonl' is empty" in second
    assert list(read_input(["0.csv", "a.csv"], text_column="text").texts) == list(alone.texts)[:2]
    for names in (["0.csv"], ["0.csv", "header.csv"]):
        with pytest.raises(CorpusError, match=r"'0.csv' is empty"):
            read_input(names)


def test_the_limit_is_of_all(folder):
    assert read_input(["a.csv", "b.csv"], text_column="text", limit=3).texts[-1] == "Die Stadt brennt"
    assert read_input(["a.csv", "b.csv"], text_column="text", limit=2).metadata.columns.tolist() == ["stars"]


def test_a_column_called_source_stays_as_it_is(folder):
    (folder / "c.csv").write_text("text,source\nEs brennt,web\n")
    corpus = read_input(["c.csv", "a.csv"], text_column="text")
    assert corpus.metadata["source"].tolist()[0] == "web" and corpus.metadata["source_2"].tolist() == [
        "c.csv",
        *["a.csv"] * 2,
    ]


def test_a_file_that_changes_while_it_is_read_is_refused(folder, monkeypatch):
    def slow(path, **how):
        corpus = read_corpus(path, **how)
        (folder / "a.csv").write_text(FIRST + "Neu,7\n")
        return corpus

    monkeypatch.setattr(inputs, "read_corpus", slow)
    with pytest.raises(CorpusError, match=r"'a.csv' was changed while it was read"):
        read_input("a.csv", text_column="text")
    # a clock that goes backwards is a change, too
    monkeypatch.setattr(
        inputs, "read_corpus", lambda path, **how: (os.utime(path, (1, 1)), read_corpus(path, **how))[1]
    )
    with pytest.raises(CorpusError, match="was changed"):
        read_input("a.csv", text_column="text")


def test_a_folder_of_which_a_file_changes_while_it_is_read_is_refused(folder, monkeypatch):
    (folder / "letters").mkdir()
    for name in ("a", "b"):
        (folder / "letters" / f"{name}.txt").write_text("Es brennt")
    assert len(read_input("letters")) == 2

    def slow(path, **how):
        corpus = read_corpus(path, **how)
        (folder / "letters" / "b.txt").write_text("Es brennt nicht")
        return corpus

    monkeypatch.setattr(inputs, "read_corpus", slow)
    with pytest.raises(CorpusError, match=r"'letters' was changed while it was read"):
        read_input("letters")


def test_an_address_of_which_the_file_changes_while_it_is_read_is_refused(monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.pipe("/changing/a.csv", FIRST.encode())
    with pytest.raises(CorpusError, match="is named twice"):
        read_input(["memory://changing/a.csv", "memory:///changing/a.csv"])

    def slow(stream, **how):
        corpus = read_corpus(stream, **how)
        system.pipe("/changing/a.csv", (FIRST + "Neu,7\n").encode())
        return corpus

    monkeypatch.setattr(inputs, "read_corpus", slow)
    with pytest.raises(CorpusError, match="was changed while it was read"):
        read_input("memory://changing/a.csv", text_column="text")


def test_addresses_are_read_through_fsspec():
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    files.pipe({"/posts/a.csv": FIRST.encode(), "/posts/b.csv": SECOND.encode()})
    try:
        corpus = read_input("memory://posts/*.csv", text_column="text")
        assert corpus.texts[0] == "Das Haus brennt" and len(corpus) == 4
        assert corpus.metadata["source"].iloc[0].startswith("memory://")
        one = read_input("memory://posts/a.csv", text_column="text")
        assert one.name == "a.csv" and one.rows.tolist() == [0, 2]
        with pytest.raises(CorpusError, match=r"Nothing is called 'memory://posts/\*.tsv'"):
            read_input("memory://posts/*.tsv")
        with pytest.raises(CorpusError, match=r"There is no file 'memory://posts/c.csv'"):
            read_input("memory://posts/c.csv")
        with pytest.raises(CorpusError, match=r"'nosuch://a' cannot be read"):
            read_input("nosuch://a")
    finally:
        files.rm("/posts", recursive=True)


def test_without_fsspec_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingPackageError, match="pip install fsspec"):
        read_input("s3://bucket/posts.csv")


def test_a_connection_that_is_lost_is_one_sentence(monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    files.pipe("/lost/a.csv", FIRST.encode())

    def lost(*_, **__):
        raise ConnectionResetError(104, "Connection reset by peer")

    monkeypatch.setattr(inputs, "read_corpus", lost)
    with pytest.raises(CorpusError, match="cannot be read to its end"):
        read_input("memory://lost/a.csv")
    files.rm("/lost", recursive=True)


def test_many_inputs_are_the_documents_of_one(folder):
    texts = [f"Satz {i} steht hier" for i in range(40)]
    for k in range(8):
        (folder / f"part-{k}.txt").write_text("\n".join(texts[5 * k : 5 * k + 5]))
    (folder / "whole.txt").write_text("\n".join(texts))
    parts, whole = read_input("part-*.txt"), read_input("whole.txt")
    assert parts.texts == whole.texts and parts.digest == whole.digest
    np.testing.assert_array_equal(parts.rows, whole.rows)


def test_texts_of_many_small_inputs_leave_memory_together(tmp_path, monkeypatch):
    """Each by itself would have been small enough to stay."""
    monkeypatch.setattr(mapped, "IN_MEMORY", 500)
    alive, read_one = [], inputs._read_one

    def watched(name, **how):
        gc.collect()
        assert not any(one() is not None for one in alive), "an input that has been read is still there"
        corpus = read_one(name, **how)
        assert isinstance(corpus.texts, list)
        alive.append(weakref.ref(corpus))
        return corpus

    monkeypatch.setattr(inputs, "_read_one", watched)
    for k in range(8):
        (tmp_path / f"{k}.csv").write_text(f"text,n\n{'some words ' * 10}{k},{k}\nmore words here,{k}\n")
    corpus = read_input(str(tmp_path / "*.csv"), text_column="text")
    assert isinstance(corpus.texts, StoredTexts) and len(corpus) == 16 and len(alive) == 8
    assert corpus.texts[14].endswith("words 7") and corpus.metadata["n"].tolist()[-2:] == [7, 7]


def test_it_is_told_which_input_is_read(folder):
    told = []

    class Listening(Watch):
        def begin(self, stage, unit="", total=0):
            super().begin(stage, unit, total)
            told.append(str(self))

        def at(self, done):
            super().at(done)
            told.append(self.fraction)

    with reading_watched(Listening()):
        read_input(["a.csv", "b.csv"], text_column="text")
    assert [one for one in told if isinstance(one, str)] == ["reading 1 of 2 inputs …", "reading 2 of 2 inputs …"]
    assert told[-1] == 1.0


def test_what_is_asked_of_a_web_server_is_no_pattern(monkeypatch):
    asked = []

    def refused(address):
        asked.append(address)
        raise CorpusError("no network")

    monkeypatch.setattr(inputs, "_file_system", refused)
    with pytest.raises(CorpusError, match="no network"):
        read_input("https://example.org/a.csv?raw=1")
    assert asked == ["https://example.org/a.csv?raw=1"]


def test_chains_of_addresses(tmp_path):
    """What is in an archive, and copies that fsspec keeps; names are those of the files within."""
    pytest.importorskip("fsspec")
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"text\n{name} cat sat\nthe dog ran\n")
    with zipfile.ZipFile(tmp_path / "posts.zip", "w") as archive:
        for name in ("a.csv", "b.csv"):
            archive.write(tmp_path / name, name)
    address = (tmp_path / "posts.zip").as_uri()
    assert read_input(f"zip://b.csv::{address}").texts == ["b cat sat", "the dog ran"]
    corpus = read_input(f"zip://*.csv::{address}")
    assert corpus.texts == ["a cat sat", "the dog ran", "b cat sat", "the dog ran"]
    assert corpus.metadata["source"].iloc[-1] == f"zip://b.csv::{address}"
    assert len(read_input(f"filecache::{tmp_path.as_uri()}/*.csv")) == 4
    assert read_input((tmp_path / "a.csv").as_uri()).texts[0] == "a cat sat"
