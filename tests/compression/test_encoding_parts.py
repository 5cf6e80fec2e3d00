"""Features of new documents in parts, here and on a Dask cluster."""

from __future__ import annotations

import os
import signal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from cflengine import CompressiveFeatures, Corpus
from cflengine.compression import encode_parts, in_parts, parts
from cflengine.engine.checks import InputError, MissingPackageError
from cflengine.engine.cluster import local_cluster

TEXTS = [f"das Haus {i % 7} am Hof brennt und das Haus {i % 5} auch ." for i in range(60)]
NEW = [*TEXTS[:20], "etwas ganz anderes", "das Haus am See"] * 3


@pytest.fixture(scope="module")
def model():
    return CompressiveFeatures().fit(TEXTS)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(parts, "PART_CHARACTERS", 400)


def rows_of(found) -> pd.DataFrame:
    return pd.concat([one.table.to_pandas() for one in found], ignore_index=True)


def matrix_of(frame: pd.DataFrame, model, value: str = "count") -> sparse.csr_matrix:
    number = {name: i for i, name in enumerate(model.get_feature_names_out())}
    where = frame["document"].to_numpy(), frame["feature"].map(number).to_numpy(dtype=int)
    return sparse.csr_matrix((frame[value], where), shape=(len(NEW), len(number)))


def test_parts_are_all_documents_in_their_order(small_parts):
    corpus = Corpus.from_texts([*NEW, None, "last"])
    found = list(in_parts(corpus, "here", first=5))
    assert len(found) > 5 and [text for part in found for text in part.texts] == corpus.texts
    assert [part.first for part in found] == [5 + n for n in np.cumsum([0, *(len(part.texts) for part in found)])[:-1]]
    np.testing.assert_array_equal(np.concatenate([part.rows for part in found]), corpus.rows)
    assert next(in_parts(Corpus.from_texts(["a"]), "here")).texts == ["a"]


@pytest.mark.parametrize(("weighting", "value"), [("count", "count"), ("tf-idf", "weight")])
def test_features_of_parts_are_those_of_all(small_parts, weighting, value):
    model = CompressiveFeatures(weighting=weighting).fit(TEXTS)
    found = list(encode_parts(model, in_parts(Corpus.from_texts(NEW), "here")))
    frame, expected = rows_of(found), model.transform(NEW)
    assert abs(matrix_of(frame, model, value) - expected).max() == 0 and len(frame) == expected.nnz
    assert sum(one.n_tokens for one in found) == model.tokenize(NEW).n_tokens
    assert sum(one.n_documents for one in found) == len(NEW)
    assert set(frame["source"]) == {"here"} and frame["row"].equals(frame["document"])
    assert all(one.seconds > 0 and one.n_threads >= 1 for one in found)


def test_a_part_without_a_feature_is_an_empty_table():
    model = CompressiveFeatures().fit(TEXTS)
    found = list(encode_parts(model, in_parts(Corpus.from_texts(["fremd"]), "here")))
    assert found[0].table.num_rows == 0 and found[0].n_documents == 1
    assert found[0].table.column_names == ["document", "source", "row", "feature", "count"]


def test_a_dictionary_that_is_not_fitted_is_said():
    with pytest.raises(Exception, match="not fitted"):
        list(encode_parts(CompressiveFeatures(), in_parts(Corpus.from_texts(["a"]), "here")))


def test_a_cluster_gives_the_same_rows_and_workers_may_be_killed(small_parts, model):
    """One of two, and then the other."""
    pytest.importorskip("distributed")
    expected = rows_of(encode_parts(model, in_parts(Corpus.from_texts(NEW), "here")))
    with local_cluster(2) as cluster:
        made = encode_parts(model, in_parts(Corpus.from_texts(NEW), "here"), cluster=cluster.scheduler_address)
        found = []
        for worker in list(cluster.workers.values()):
            found.append(next(made))
            os.kill(worker.pid, signal.SIGKILL)
        found += made
        pd.testing.assert_frame_equal(rows_of(found), expected)
        assert all(one.n_threads == 1 for one in found)


def test_a_cluster_that_is_not_there_is_one_sentence(model, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("cflengine.engine.cluster.CONNECT_S", 0.5)
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        list(encode_parts(model, iter(()), cluster="tcp://127.0.0.1:9"))


@pytest.mark.parametrize("npartitions", [1, 4])
def test_partitions_of_a_bag_become_a_dask_array(model, npartitions):
    bag = pytest.importorskip("dask.bag")
    found = model.transform(bag.from_sequence(NEW, npartitions=npartitions))
    assert found.shape[1] == len(model.grams_)
    with_dask = found.compute(scheduler="synchronous")
    expected = model.transform(NEW)
    assert sparse.issparse(with_dask) and with_dask.dtype == expected.dtype
    assert (sparse.csr_matrix(with_dask) != expected).nnz == 0
    # what travels is not the corpus that the dictionary was learnt from
    assert len(parts._saved(model)[1]) < 20_000


def test_without_dask_the_extra_is_named(model, monkeypatch):
    class Bag:
        def to_delayed(self):
            return []

    monkeypatch.setitem(__import__("sys").modules, "dask.array", None)
    with pytest.raises(MissingPackageError, match=r"cflengine\[cluster\]"):
        model.transform(Bag())


def test_a_frame_is_no_column_of_texts(model):
    frames = pytest.importorskip("dask.dataframe")
    with pytest.raises(TypeError, match=r"pass frame\['text'\]"):
        model.transform(frames.from_pandas(pd.DataFrame({"text": NEW}), npartitions=2))


def test_a_series_of_dask_is_one(model):
    frames = pytest.importorskip("dask.dataframe")
    found = model.transform(frames.from_pandas(pd.Series(NEW), npartitions=2)).compute(scheduler="synchronous")
    assert (sparse.csr_matrix(found) != model.transform(NEW)).nnz == 0


def test_partitions_on_a_worker_of_another_version_are_refused(model):
    key, saved = parts._saved(model)
    with pytest.raises(InputError, match=r"but the model is of 0\.0\.1: they must be the same"):
        parts._features_on_worker(key, saved, NEW, "0.0.1")


def test_a_frame_cannot_come_of_partitions(model):
    bag = pytest.importorskip("dask.bag")
    wanted = clone(model).fit(TEXTS).set_output(transform="pandas")
    with pytest.raises(InputError, match=r"set_output\(transform='default'\)"):
        wanted.transform(bag.from_sequence(NEW, npartitions=2))


def test_a_part_that_comes_to_a_worker_of_another_version_is_done_by_another(model, monkeypatch):
    part = next(in_parts(Corpus.from_texts(NEW), "here"))
    key, saved = parts._saved(model)
    with pytest.raises(parts.OtherVersionError):
        parts._on_worker(key, saved, part, "0.0.1")

    class Later:
        def __init__(self, function, *arguments):
            self.call = lambda: function(*arguments)

        status = "finished"

        def result(self):
            return self.call()

    begun = []

    def submit(client, function, key, sent, part, version, workers):
        begun.append(workers)
        return Later(function, key, saved, part, version if workers else "0.0.1")  # as one that came later would

    monkeypatch.setattr(parts, "submit", submit)
    monkeypatch.setattr(parts, "usable_workers", lambda client: ["tcp://a:1"])
    monkeypatch.setattr(parts._Workers, "_send", lambda self: setattr(self, "sent", None))
    workers = parts._Workers(None, key, saved)
    assert workers.end(part, workers.begin(part)).n_documents == len(NEW) and begun == [None, ["tcp://a:1"]]


def test_a_part_does_not_wait_for_workers_that_are_all_gone(model, monkeypatch):
    """Those that were chosen, after one of another version came; and a part that kills its workers is a sentence."""
    distributed = pytest.importorskip("distributed")
    part, (key, saved) = next(in_parts(Corpus.from_texts(NEW), "here")), parts._saved(model)
    monkeypatch.setattr(parts, "_ASKED_EVERY_S", 0.1)
    with local_cluster(1) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        workers = parts._Workers(client, key, saved)
        assert workers.threads() == 1
        workers.usable = ["tcp://127.0.0.1:9"]
        assert workers.end(part, workers.begin(part)).n_documents == len(NEW)
        assert workers.usable == list(client.scheduler_info()["workers"])

        class Killed:
            status = "error"

            def result(self):
                raise distributed.KilledWorker("part", None, 3)

        with pytest.raises(InputError, match="the part from document 1 on was lost with 5 workers"):
            workers.end(part, Killed())
