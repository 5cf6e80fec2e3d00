"""The app's parts that need no page: words, corpora, views, toy, downloads, addresses."""

from __future__ import annotations

import argparse
import gc
import math
import os
import re
import shlex
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.util import AttributeDictionary

from cflengine import CompressiveFeatures, Corpus, read_corpus
from cflengine.cli import build_parser
from cflengine.cli.options import solver_settings
from pages.parts.export import files, snippets
from pages.parts.lab import toy
from pages.parts.read import documents, prices
from pages.parts.shared import corpora, figures, views, words
from pages.parts.shared.settings import Settings, settings_from

TEXTS = ["The cat sat on the mat; the cat sat.", "The dog sat on the mat.", "A cat, a dog and 👩‍🚀 on the mat!"]


@pytest.fixture(scope="module")
def model(warm):
    settings = Settings(solver="homotopy").solver_settings()
    return CompressiveFeatures(max_gram=3, solver="homotopy", settings=settings).fit(TEXTS)


@pytest.fixture(scope="module")
def corpus():
    metadata = pd.DataFrame({"when": pd.to_datetime(["2020-01-01 00:00", None, "2020-01-03 12:30"]), "n": [1, 2, 3]})
    return Corpus.from_texts(TEXTS, name="three", metadata=metadata)


# ---- words


@given(st.text(max_size=30))
def test_plain_text_holds_no_markup(text):
    shown = words.plain(text)
    assert "\n" not in shown
    bare = shown.replace("\\\\", "").replace("\\", "\0")
    for k, char in enumerate(bare):
        if char in "`*_{}[]()<>#+-.!|~$:^@&=":
            assert k and bare[k - 1] == "\0", shown
    assert unescaped(shown) == " ".join(text.split()).replace("\u2060", "")


def unescaped(shown: str) -> str:
    return re.sub(r"\\(.)", r"\1", shown).replace("\u2060", "")


@pytest.mark.parametrize(
    "text", ["a->b", "<-", "a--b", ">=", "~=", ":material_home:", ":smile:", "www.x.org", "me@x.org", "http://x"]
)
def test_nothing_is_left_that_is_replaced_after_parsing(text):
    # arrows, icons, emoji and addresses are found in the text that Markdown leaves, so escapes do not stop them
    shown = re.sub(r"\\(.)", r"\1", words.plain(text))
    assert not re.search(r"[-<>=~]{2}|:\w|www\.|\w@|://", shown) and unescaped(words.plain(text)) == text


def test_numbers_and_their_absence():
    assert (words.number(1234.4), words.number(-2.25, 1), words.number(0)) == ("1,234", "-2.2", "0")
    assert words.percent(0.00734) == "0.73 %"
    for nothing in (None, math.nan, math.inf):
        assert words.number(nothing) == words.percent(nothing) == "–"
    assert [words.many(n, "document") for n in (0, 1, 2000)] == ["0 documents", "1 document", "2,000 documents"]
    assert words.many(2, "child", "children") == "2 children"


# ---- corpora


@pytest.fixture
def shelf(monkeypatch):
    """An empty shelf of corpora."""
    monkeypatch.setattr(corpora, "_corpora", type(corpora._corpora)())
    return corpora


def test_corpora_are_remembered_by_content(shelf):
    a = shelf.remember(Corpus.from_texts(["a b"]), source="a.csv")
    assert shelf.recall(a.id) is a and a.table.n_tokens == 2
    assert shelf.remember(Corpus.from_texts(["a b"]), source="a.csv") is a
    copy = shelf.remember(Corpus.from_texts(["a b"]), source="copy.csv")
    assert copy.id != a.id and copy.table is a.table, "under its own name, and not counted twice"
    assert shelf.remember(Corpus.from_texts(["a b"]), source="a.csv", options={"limit": 1}) is not a
    assert shelf.remember(Corpus.from_texts(["a b c"]), source="a.csv").id != a.id
    assert shelf.recall(None) is None and shelf.recall("unknown") is None


def test_the_least_recently_used_corpus_is_dropped(shelf):
    first = shelf.remember(Corpus.from_texts(["first"]), source="f")
    others = [shelf.remember(Corpus.from_texts([f"n {n}"]), source="o").id for n in range(corpora._KEEP - 1)]
    assert shelf.recall(first.id) is first
    shelf.remember(Corpus.from_texts(["one more"]), source="m")
    gc.collect()
    assert shelf.recall(first.id) is first and shelf.recall(others[0]) is None


def test_large_corpora_are_dropped_sooner(shelf, monkeypatch):
    monkeypatch.setattr(corpora, "_KEEP_BYTES", 1 << 20)
    ids = [shelf.remember(Corpus.from_texts([f"{n} " * 200_000]), source="o").id for n in range(3)]
    gc.collect()
    assert [shelf.recall(id) is not None for id in ids] == [False, True, True]
    large = shelf.remember(Corpus.from_texts(["large " * 200_000]), source="o").id
    gc.collect()
    assert [shelf.recall(id) is not None for id in (*ids, large)] == [False, False, False, True]


def test_a_corpus_that_a_session_holds_is_never_dropped(shelf):
    """Five users with five corpora: the first one's was gone, and the sample stood in its place."""
    held = [shelf.remember(Corpus.from_texts([f"held {n}"]), source="h") for n in range(corpora._KEEP + 3)]
    assert all(shelf.recall(one.id) is one for one in held)
    assert shelf.remember(Corpus.from_texts(["held 0"]), source="h") is held[0]


def test_the_sample_is_always_there(shelf):
    sample = shelf.recall(corpora.SAMPLE)
    assert (
        len(sample.corpus) == 2000
        and sample.options == {"text_column": "text"}
        and sample.corpus.report.n_left_out == 0
    )
    assert shelf.recall(corpora.SAMPLE) is sample


def test_an_upload_is_moved_to_a_file_and_out_of_memory(monkeypatch, tmp_path):
    removed, kept = [], []
    manager = SimpleNamespace(remove_file=lambda session, file: removed.append((session, file)))
    context = SimpleNamespace(session_id="s", uploaded_file_mgr=manager)
    monkeypatch.setattr(corpora, "get_script_run_ctx", lambda: context)
    monkeypatch.setattr(corpora, "_session_files", lambda: kept)
    monkeypatch.setattr(corpora.tempfile, "tempdir", str(tmp_path))
    upload = SimpleNamespace(name="../../etc/x.CSV.gz", file_id="f", getbuffer=lambda: memoryview(b"data"))
    path = corpora.spill(upload)
    assert path.read_bytes() == b"data" and path.parent == tmp_path and path.suffix == ".gz"
    assert removed == [("s", "f")] and kept == [path]
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0, "no other user may read it"
    corpora._remove_files(kept)
    corpora._remove_files(kept)
    assert not path.exists()


# ---- views


def test_the_final_view_shows_every_pointer(model, corpus):
    documents, grams = views.final_view(model, corpus, [0, 2])
    assert [document["title"] for document in documents] == ["Document 0", "Document 2"]
    assert documents[0]["meta"] == "when: 2020-01-01 · n: 1" and documents[1]["text"] == TEXTS[2]
    assert "when" not in views.final_view(model, corpus, [1])[0][0]["meta"]
    for document in documents:
        pointers = document["pointers"]
        for start, end, gram in zip(pointers["start"], pointers["end"], pointers["gram"], strict=True):
            assert " ".join(document["text"][start:end].split()).lower() == grams[int(gram)]["label"].lower()
    assert set(grams) == {int(g) for document in documents for g in document["pointers"]["gram"]}


def test_long_metadata_is_cut(model):
    long = Corpus.from_texts(TEXTS, metadata=pd.DataFrame({"x": ["y" * 500] * 3}))
    (document,), _ = views.final_view(model, long, [0])
    assert len(document["meta"]) == 240 and document["meta"].endswith("…")


def test_every_stage_can_be_shown(model, corpus):
    stages = model.result_.stages
    assert [stage.zeta for stage in stages] == pytest.approx(np.linspace(0, 1, 11))
    for stage in (stages[0], stages[-1]):
        for weights in (stage.weights, None):
            (document,), grams = views.stage_view(model.corpus_, corpus, [1], stage.cover, weights)
            pointers = document["pointers"]
            assert len(pointers["start"]) and ("weight" in pointers) == (weights is not None)
            if weights is not None:
                assert np.all(pointers["weight"] > views.FAINTEST) and np.all(pointers["weight"] <= 1)
            for start, end, gram in zip(pointers["start"], pointers["end"], pointers["gram"], strict=True):
                assert " ".join(TEXTS[1][start:end].split()).lower() == grams[int(gram)]["label"].lower()


def test_the_price_view_shows_every_token(model, corpus):
    table, alpha = model.table_, model.result_.alpha
    mean, count = prices.word_prices(alpha, table.tokens, len(table.vocabulary))
    documents, grams = views.price_view(model, corpus, [2, 0], mean, count)
    assert [document["title"] for document in documents] == ["Document 2", "Document 0"]
    assert documents[0]["meta"] == "when: 2020-01-03 12:30:00 · n: 3"
    for d, document in zip([2, 0], documents, strict=True):
        pointers = document["pointers"]
        assert np.array_equal(pointers["price"], alpha[table.doc_ptr[d] : table.doc_ptr[d + 1]])
        spans = zip(pointers["start"], pointers["end"], strict=True)
        assert [TEXTS[d][a:b].lower() for a, b in spans] == [grams[int(w)]["label"] for w in pointers["gram"]]
        assert set(pointers["length"]) == {1}
    assert set(grams) == {int(w) for document in documents for w in document["pointers"]["gram"]}
    the = table.vocabulary.index("the")
    assert grams[the] == {"label": "the", "count": 6, "cost": pytest.approx(alpha[table.tokens == the].mean())}


def test_a_concordance_holds_every_pointer_of_a_gram(model, corpus):
    for gram, entry in model.dictionary_.iterrows():
        frame = views.concordance(model, corpus, gram)
        assert len(frame) == entry["count"] and frame["document"].nunique() == entry["documents"]
        for row in frame.itertuples():
            assert row[3].lower().replace(" ", "") == entry["gram"].replace(" ", "")
            inside = " ".join(TEXTS[row.document].split())
            assert row.before in inside and row.after in inside
    assert len(views.concordance(model, corpus, 0, limit=1)) == 1


def test_grams_of_a_document(model):
    frame = views.grams_of_document(model, 0)
    span = model.encoding_.of_document(0)
    assert frame["here"].sum() == span.stop - span.start
    assert frame["here"].is_monotonic_decreasing
    assert frame["gram"].tolist() == model.dictionary_["gram"].iloc[frame.index].tolist()


def test_days_lose_their_midnight_and_times_do_not():
    frame = pd.DataFrame(
        {"day": pd.to_datetime(["2020-01-01", None]), "time": pd.to_datetime(["2020-01-01 10:00"] * 2)}
    )
    shown = views.without_midnight(frame)
    assert str(shown["day"].iloc[0]) == "2020-01-01" and pd.api.types.is_datetime64_any_dtype(shown["time"])
    assert pd.api.types.is_datetime64_any_dtype(frame["day"])


@pytest.mark.parametrize(
    ("query", "start", "skip", "hit"),
    [
        ("DOG", 0, 0, 1),
        ("dog", 1, 0, 1),
        ("dog", 1, 1, 2),
        ("dog", 2, 1, 1),
        ("sat.", 1, 1, 0),
        ("zebra", 1, 0, 1),
        ("", 1, 1, 1),
    ],
)
def test_finding_in_the_corpus_wraps_around(corpus, monkeypatch, query, start, skip, hit):
    session = AttributeDictionary({"document": start, "find": query})
    monkeypatch.setattr(documents, "st", SimpleNamespace(session_state=session))
    documents._jump(corpus, skip)
    assert session.document == hit and session.find_failed == (query == "zebra")


# ---- toy


@pytest.mark.parametrize(("lam", "cost", "letters"), [(0.0, 3, 3), (1.0, 6, 4), (8.0, 16, 8)])
def test_figure_1(warm, lam, cost, letters):
    solution = toy.solve_toy("thatthat", lam)
    assert solution.objective == cost and sum(map(len, solution.dictionary)) == letters
    assert solution.lower_bound <= cost and solution.gap < 0.01
    (document,), grams = toy.toy_view("thatthat", solution)
    assert sum(entry["count"] for entry in grams.values()) == solution.n_pointers
    pointers = document["pointers"]
    for start, end, gram in zip(pointers["start"], pointers["end"], pointers["gram"], strict=True):
        assert document["text"][start:end] == grams[gram]["label"]


@pytest.mark.parametrize("text", ["x", "ab ab", "👩‍🚀👩‍🚀", "\\*<b>", "=1+1=1+1", "é\u0301\u202e"])
def test_any_short_text_is_a_toy(warm, text):
    solution = toy.solve_toy(text, 0.5)
    covered = {k for a, b, _ in solution.pointers for k in range(a, b)}
    assert covered == set(range(len(text)))


# ---- downloads


def loaded(source: str, **options: object) -> corpora.LoadedCorpus:
    return corpora.LoadedCorpus("id", Corpus.from_texts(TEXTS), source, options)


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("reviews.csv", {"text_column": "text", "documents": "line", "min_words": 1, "limit": None}),
        ("my file (1).csv", {"text_column": "the text", "limit": 20, "min_words": 3}),
        ('it\'s "it".txt', {"documents": "paragraph"}),
        ("$HOME/`x`.csv", {"text_column": "$(text)"}),
        ("-rf.csv", {}),
        ("--help", {"text_column": "-text"}),
        ("x.csv", {"text_column": "--lam"}),
        ("x.csv", {"text_column": "two\nlines"}),
        (corpora.NEWSGROUPS, {}),
    ],
)
def test_the_command_line_parses_and_says_the_same(warm, source, options):
    chosen = Settings(
        lam=0.3, max_gram=2, solver="homotopy", stage_iterations=20, relaxation_gap=0.001, time_limit=30.0
    )
    fitted = CompressiveFeatures(lam=0.3, max_gram=2, solver="homotopy", settings=chosen.solver_settings())
    line = shlex.split(snippets.command_line(loaded(source, **options), fitted, "tf-idf"))
    assert line[0] == "cflengine"
    read = build_parser().parse_args(line[1:])
    assert read.command == "compress" and list(map(os.path.normpath, read.input)) == [os.path.normpath(source)]
    given = {"text_column": None, "documents": "line", "min_words": 1, "limit": None} | options
    assert {name: getattr(read, name) for name in given} == given
    assert (read.lam, read.max_gram, read.weighting) == (0.3, 2, "tf-idf")
    assert (read.stage_iterations, read.relaxation_gap, read.time_limit) == (20, 0.001, 30.0)
    assert read.solver == "homotopy" and solver_settings(read, read.time_limit) == replace(
        chosen.solver_settings(), keep_stages=False
    )


@pytest.mark.parametrize(
    "change",
    [{"gap": 0.01}, {"solver": "homotopy", "stage_iterations": 30}, {"solver": "reweighting", "rounds": 3},
     {"solver": "sharded", "shards": 2}],
)  # fmt: skip
def test_the_python_lines_give_the_same_features(warm, tmp_path, capsys, change):
    path = tmp_path / 'it\'s "mine".csv'
    pd.DataFrame({"id": [1, 2, 3, 4], "text": ["too short", *TEXTS]}).to_csv(path, index=False)
    chosen = Settings(lam=0.5, max_gram=2, **change)
    fitted = CompressiveFeatures(
        lam=0.5, max_gram=2, solver=chosen.for_tokens(100).solver, settings=chosen.for_tokens(100).solver_settings()
    ).fit(TEXTS)
    namespace: dict = {}
    exec(snippets.python_lines(loaded(str(path), text_column="text", min_words=3), fitted, "idf"), namespace)
    assert float(capsys.readouterr().out) == fitted.result_.gap
    assert np.array_equal(namespace["features"].toarray(), fitted.features(weighting="idf").toarray())
    assert namespace["names"].tolist() == fitted.get_feature_names_out().tolist()
    with_newsgroups = snippets.python_lines(loaded(corpora.NEWSGROUPS), fitted, "count")
    compile(with_newsgroups, "lines", "exec")
    assert "read_input('20newsgroups')" in with_newsgroups


def test_the_scikit_learn_lines_learn_labels_and_bear_rows_without_a_text(warm, tmp_path, monkeypatch):
    frame = pd.DataFrame({"id": range(24), "review": [*TEXTS[:2] * 11, "", ""], "mood": ["up", "down"] * 12})
    frame.to_csv(tmp_path / "new.csv", index=False)
    read = read_corpus(tmp_path / "new.csv", text_column="review")
    fitted = CompressiveFeatures(max_gram=2).fit(read.texts)
    fitted.save(tmp_path / "k-grams.cflm")
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    lines = snippets.sklearn_lines(corpora.LoadedCorpus("id", read, "new.csv", {"text_column": "review"}))
    exec(lines, namespace)
    assert namespace["learn"].predict(namespace["X"]).tolist() == ["up", "down"] * 11
    assert namespace["X"].shape == (22, len(namespace["names"]))


def test_the_preview_holds_the_most_frequent_features(model, corpus):
    frame = files.preview_table(
        model,
        model.features(weighting="tf"),
        corpus,
        files.Shape(wide=True),
        np.ones(len(model.dictionary_), dtype=bool),
    )
    assert len(frame) == 3 and frame.shape[1] == min(files.PREVIEW_FEATURES, len(model.grams_))
    assert np.allclose(frame.sum(axis=1), 1.0, atol=1e-3)
    used = model.dictionary_.set_index("gram")["documents"][list(frame.columns)]
    assert used.is_monotonic_decreasing


def test_the_preview_of_a_long_table_is_its_first_rows(model, corpus):
    features = model.features()
    frame = files.preview_table(model, features, corpus, files.Shape(), np.ones(len(model.dictionary_), dtype=bool))
    assert list(frame) == ["feature", "count"] and frame.index.name == "document"
    assert len(frame) == features.nnz <= files.PREVIEW_ROWS and frame["count"].sum() == features.sum()
    assert frame["count"].groupby(level=0).sum().tolist() == np.ravel(features.sum(axis=1)).tolist()
    assert "All" in files.preview_caption(features, files.Shape())


# ---- addresses


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, {}),
        ({"lam": "2", "k": "5", "weighting": "tf-idf"}, {"lam": 2.0, "max_gram": 5, "weighting": "tf-idf"}),
        ({"lam": "0"}, {"lam": 0.0}),
        ({"lam": "0.9"}, {"lam": 0.9}),
        ({"lam": "many", "k": "2"}, {"max_gram": 2}),
        ({"lam": "nan"}, {}),
        ({"lam": "inf"}, {}),
        ({"lam": "-3"}, {}),
        ({"lam": "1e9"}, {}),
        ({"k": "0"}, {}),
        ({"k": "9"}, {}),
        ({"k": "12"}, {}),
        ({"k": "2.5"}, {}),
        ({"k": ""}, {}),
        ({"k": "²"}, {}),
        ({"weighting": "bm25"}, {}),
        ({"weighting": "<script>"}, {}),
    ],
)
def test_settings_from_an_address(query, expected):
    assert settings_from(query) == Settings(**expected)


def test_a_solve_depends_on_its_settings_and_not_on_the_weighting():
    default = Settings()
    keys = {
        Settings(**change).solve_key("c")
        for change in (
            {},
            {"lam": 2.0},
            {"max_gram": 2},
            {"gap": 0.1},
            {"time_limit": 1.0},
            {"solver": "homotopy"},
            {"solver": "homotopy", "stage_iterations": 9},
            {"solver": "homotopy", "relaxation_gap": 0.1},
            {"solver": "reweighting"},
            {"solver": "reweighting", "rounds": 2},
            {"solver": "exact"},
        )
    }
    assert len(keys) == 11
    assert Settings(stage_iterations=9).solve_key("c") == default.solve_key("c"), "another solver's"
    assert Settings(weighting="tf").solve_key("c") == default.solve_key("c") != default.solve_key("d")
    homotopy = Settings(solver="homotopy").solver_settings()
    assert homotopy.keep_stages and homotopy.stage_iterations == 150


@pytest.mark.parametrize("classes", [["new\nline", "b"], ["a\r", ""], ["a, b", '"'], ["-c", " d "]])
def test_any_names_of_classes_are_read_as_they_are_printed(classes):
    from cflengine.cli.values import names
    from pages.parts.shared.commands import class_list

    assert names(class_list(classes)) == classes
    with pytest.raises(argparse.ArgumentTypeError, match="quote names"):
        names("new\nline,b")


def test_what_pages_print_can_be_run(tmp_path, monkeypatch):
    """One way to print a command, proved by running what it prints."""
    from cflengine.cli import main
    from pages.parts.shared.commands import class_list, command_line
    from pages.parts.shared.corpora import LoadedCorpus
    from pages.parts.telling.run import Wanted
    from pages.parts.telling.tables import comparison_command

    folder = tmp_path / "in"
    folder.mkdir()
    frame = pd.DataFrame(
        {"what was said": [f"{word} thing number {i % 5} here" for i in range(40) for word in ("good", "bad")],
         "who": ["a, b", "-c"] * 40}
    )  # fmt: skip
    frame.to_csv(folder / "-texts.csv", index=False)
    options = {"text_column": "what was said", "min_words": 2, "limit": 60, "documents": "line"}
    corpus = read_corpus(folder / "-texts.csv", **{k: v for k, v in options.items() if k != "documents"})
    loaded = LoadedCorpus(id="x", corpus=corpus, source="-texts.csv", options=options)
    wanted = Wanted(
        column="who", classes=("a, b", "-c"), dev=0.2, test=0.2, seed=3, groups="clause", group_weights="length"
    )
    lines = [
        comparison_command(loaded, wanted) + " --grid=1 --models=sentence",
        command_line("train-logistic", loaded, {"label_column": "who", "classes": class_list(["a, b", "-c"])}, "model"),
        command_line("compress", loaded, {"lam": "0.5"}, "run"),
    ]
    monkeypatch.chdir(folder)
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "cflengine" and "--min-words=2" in words and "--limit=60" in words
        assert main([word.replace("--out=", f"--out={tmp_path}/out-") for word in words[1:]]) == 0


@pytest.mark.parametrize(
    ("address", "alone"),
    [("localhost", True), ("127.0.0.1", True), ("::1", True), ("0.0.0.0", False), ("10.1.1.7", False), (None, False),
     ("box", False)],
)  # fmt: skip
def test_paths_are_read_only_where_nobody_else_can_come(monkeypatch, address, alone):
    from pages.parts.corpus import sources

    monkeypatch.setattr(sources.st, "get_option", lambda name: address)
    assert sources.only_this_computer() is alone


def test_labels_that_would_overlap_are_left_out():
    x, y = np.array([0.1, 0.12, 0.1, 0.9, 0.1]), np.array([0.5, 0.5, 0.6, 0.5, 0.51])
    assert figures.apart(x, y, ["first", "too near", "above", "far right", "too low"], [1] * 5) == [
        0,
        2,
        3,
    ]
    assert figures.apart(x[:2], y[:2], ["ends here", "begins here"], [-1, 1]) == [0, 1], (
        "to either side of nearly one place"
    )
    assert figures.apart(x[:0], y[:0], [], []) == []


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(0, 30))
def test_labels_beside_points_lie_on_nothing_and_within_the_plot_at_any_width(seed, n, wanted):
    rng = np.random.default_rng(seed)
    points = rng.random(n) ** 3, rng.random(n)
    order = rng.permutation(n)[:wanted].tolist()
    labels = [str(rng.integers(10 ** rng.integers(1, 15))) for _ in order]
    found = figures.beside(points, order, labels, (300, 900), 480)
    assert len({label.point for label in found}) == len(found) and {label.point for label in found} <= set(order)
    for width in (300, 900):
        boxes = []
        for point, right, up in found:
            end, row = width * points[0][point] + right, 480 * points[1][point] + up
            long = figures._width(labels[order.index(point)])
            left = end if right > 0 else end - long
            assert left >= 0 and left + long <= width and 0 < row < 480
            on = (width * points[0] > left) & (width * points[0] < left + long) & (abs(480 * points[1] - row) < 9)
            assert not on.any()
            boxes.append((left, left + long, row))
        for k, (left, right, row) in enumerate(boxes):
            assert all(abs(row - line) >= 15 or left > end or right < begin for begin, end, line in boxes[:k])
    if n == 1:
        assert len(found) == min(wanted, 1) or max(map(len, labels)) > 10, "a point alone has its name"
