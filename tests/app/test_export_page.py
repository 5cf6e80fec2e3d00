"""The Export page: shapes and joined columns, the report, the project file there and back."""

from __future__ import annotations

import html
import io
import json
import math
import re
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_results import downloads  # noqa: F401
from visiting import press, show, sound, until, upload, use

from cflengine import CompressiveFeatures, GuidedSettings, read_corpus
from cflengine.compression.project_file import read_project
from cflengine.embedding import DEFAULT_LAMS
from pages.parts.compare.run import CompareChoice
from pages.parts.embeddings.run import EmbedChoice, SimulationChoice, TrainChoice
from pages.parts.export import choices, report
from pages.parts.groups.run import WeightsChoice
from pages.parts.lab.tightness import LISTED, tightness_of
from pages.parts.losses.run import LossChoice
from pages.parts.overtime.view import TimeChoice
from pages.parts.shared.corpora import SAMPLE, recall
from pages.parts.shared.jobs import BOARD
from pages.parts.shared.settings import Settings, settings_of
from pages.parts.subwords.run import SubwordChoice
from pages.parts.tasks.run import TasksChoice
from pages.parts.telling.run import Wanted

NASTY = '<script>alert("x")</script> =cmd() & <b>bold</b>'
ROWS = pd.DataFrame(
    {
        "text": [f"the {k % 3} cats sat on the mat; it's late {NASTY}" for k in range(12)],
        "=id": [f"=d{k}" for k in range(12)],
        "feature": ["a", "b"] * 6,
        "year": [1990 + k // 4 for k in range(12)],
    }
)


@pytest.fixture
def exported(open_app):
    app = use(open_app(), "<i>cats</i>.csv", ROWS.to_csv(index=False).encode())
    show(app, "path")
    show(app, "phrases")
    press(app, "Compress it")
    until(lambda: not BOARD.get(app.session_state["path_id"]).active)
    return app


def choose(app, joined, shape="long", exact=False):
    next(one for one in app.multiselect if one.label == "Columns to join").set_value(joined)
    next(one for one in app.button_group if one.label == "Table").set_value(shape)
    next(one for one in app.toggle if one.label == "Names exactly as they are").set_value(exact)
    return sound(app.run())


def test_the_documents_own_columns_are_joined(exported, downloads):  # noqa: F811
    app = choose(show(exported, "features"), ["record", "=id", "feature"])
    frame = pd.read_csv(io.BytesIO(downloads["CSV"]()))
    assert list(frame) == ["document", "record", "'=id", "feature (column)", "feature", "count"]
    assert frame["'=id"].iloc[0] == "'=d0"
    choose(app, ["=id"], "wide", exact=True)
    wide = pd.read_csv(io.BytesIO(downloads["CSV"]()))
    assert len(wide) == 12 and list(wide)[:2] == ["document", "=id"] and wide["=id"].iloc[3] == "=d3"
    again = pd.read_parquet(io.BytesIO(downloads["Parquet"]()))
    assert list(again) == list(wide) and (again.iloc[:, 2:].to_numpy() == wide.iloc[:, 2:].to_numpy()).all()


def test_the_report_is_whole_and_safe(exported, downloads):  # noqa: F811
    show(exported, "features")
    page = downloads["Report (HTML)"]().decode()
    for heading in ("Text in pieces", "Phrases", "From words to phrases", "Certificate", "Methods", "How to cite"):
        assert f"<h2>{heading}</h2>" in page
    mine = re.sub(r"<script.*?</script>", "", page, flags=re.S)  # Plotly's own
    assert "alert(" in mine and "<script" not in mine and "<b>bold" not in mine and "<i>cats" not in mine
    assert "&#x27;" in mine
    model = recall(exported.session_state["corpus_id"])
    assert model is not None and model.corpus.name.replace("<", "&lt;").replace(">", "&gt;") in mine
    assert not re.search(r'(?:src|href)="?https?:', mine)


def test_the_report_says_where_the_proof_is_not_tight():
    loaded = recall(SAMPLE)
    model = CompressiveFeatures(max_gram=3, settings=GuidedSettings(tol=0.05)).fit_tokens(loaded.table)
    part = report._tightness(loaded, model)
    gap = float(re.search(r"<p>The cost is ([\d,.]+) above the bound", part)[1].replace(",", ""))
    assert gap == pytest.approx(model.result_.objective - model.result_.lower_bound, abs=0.06)
    assert part.count("<table>") == 2 and part.count("<tr>") == 2 * (1 + LISTED)
    corpus = read_corpus(b"a b a b\na b c\n", name="few.txt")
    best = CompressiveFeatures(max_gram=2, settings=GuidedSettings(tol=0.0)).fit(corpus.texts)
    assert best.result_.optimal and tightness_of(best, corpus).closed
    model.result_ = replace(model.result_, gap=math.inf)  # nothing proved yet
    assert report._tightness(loaded, model) == ""


def test_a_project_brings_everything_back(exported, downloads, open_app):  # noqa: F811
    before = exported.session_state["corpus_id"]
    sound(exported.sidebar and show(exported, "features"))
    data = downloads["Project file"]()
    project = read_project(io.BytesIO(data))
    assert project.points is not None and len(project.points) >= 5
    press(show(exported, "corpus"), "Sample reviews")
    assert exported.session_state["corpus_id"] == "sample"
    job = exported.session_state["path_id"]
    app = upload(exported, "mine.cflproject", data)
    assert app.session_state["corpus_id"] == before
    assert app.session_state["path_id"] != job
    opened = BOARD.get(app.session_state["path_id"])
    assert len(opened.so_far.points) == len(project.points) and not opened.active
    assert app.session_state["opened_path"] == (None, None), "a path that is solved later takes its place for good"
    sound(show(app, "phrases"))
    assert not any(button.label == "Compress it" for button in app.button)


#: pages with choices that a project keeps -> their name in the session
CHOOSING = {"tasks": "tasks", "sentences": "telling", "clusters": "weights", "compare": "compare", "losses": "loss",
            "embeddings": "embed", "overtime": "time"}  # fmt: skip
#: about any corpus, hence the session's own with each of them
ANY_CORPUS = {
    "train": TrainChoice("gru", "dropout", 0.3, True, 7, 0.2, 50, 0.03, 0.1, True),
    "simulation": SimulationChoice((0.3, 8.0), (1.0, 1.0), 20, 0.3),
    "subwords": SubwordChoice("character", "whitespace", True, 1000),
}


def test_a_project_brings_back_what_pages_were_asked_for(exported, downloads):  # noqa: F811
    app, state = exported, exported.session_state
    for page in CHOOSING:
        show(app, page)
    names = [f"{name}_choice" for name in CHOOSING.values()]
    state["compare_choice"] = replace(state["compare_choice"], groups=("b", "a"))
    state["weights_choice"] = replace(state["weights_choice"], ridge=10.0, rounds=4)
    state["telling_choice"] = replace(state["telling_choice"], groups="clause", seed=7)
    state["loss_choice"] = replace(state["loss_choice"], C=3.0, constraints=("nonnegative", "monotone:late,mat"))
    state["tasks_choice"] = replace(state["tasks_choice"], n_lams=4, how="group", by="=id")
    state["embed_choice"] = replace(state["embed_choice"], kernel="linear", permutations=99)
    state["time_choice"] = replace(state["time_choice"], by=None)
    for name, choice in ANY_CORPUS.items():
        state[f"{name}_choice"] = choice
    state["phrase_query"], state["selected_group"], state["document"] = "sat on", ("feature", "b"), 4
    chosen = {name: state[name] for name in names}
    show(app, "features")
    data = downloads["Project file"]()
    press(show(app, "corpus"), "Sample reviews")
    for page in CHOOSING:
        show(app, page)
    assert all(state[name] != chosen[name] for name in names if name != "time_choice") and "document" not in state
    for name, choice in ANY_CORPUS.items():
        state[f"{name}_choice"] = type(choice)()
    app = upload(show(app, "corpus"), "mine.cflproject", data)
    for page in ("pointers", "tokenizer", *CHOOSING):
        show(app, page)
    assert {name: state[f"{name}_choice"] for name in ANY_CORPUS} == ANY_CORPUS
    assert {name: state[name] for name in names} == chosen
    assert (state["phrase_query"], state["selected_group"], state["document"]) == ("sat on", ("feature", "b"), 4)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
    | st.sampled_from(["feature", "a", "b", "fair:0.01", "fair:9", "box:-1:1", "hinge", "quantile", "drawn", "group"]),
    lambda inner: st.lists(inner, max_size=4), max_leaves=6,
)  # fmt: skip


@given(st.data())
def test_no_file_makes_a_choice_that_no_page_could_have_made(data):
    fields = {name: list(checks) for name, (_, checks) in choices._KEPT.items()}
    given_ = {name: data.draw(st.fixed_dictionaries(dict.fromkeys(own, VALUES))) for name, own in fields.items()}
    given_ |= {name: data.draw(VALUES) for name in ("phrase", "group", "document")}
    for wrong in (given_, data.draw(VALUES), {name: data.draw(VALUES) for name in fields}):
        found = choices.session_values(json.loads(json.dumps(wrong)), "id")
        for name, (kind, checks) in choices._KEPT.items():
            choice = found.get(f"{name}_choice")
            assert choice is None or (
                isinstance(choice, kind) and all(f(getattr(choice, n)) for n, f in checks.items())
            )
        hash(tuple(found.values()))


WRONG = {
    "tasks": [TasksChoice(("nothing",)), TasksChoice(("feature",), how="group"), TasksChoice(("feature",), by="no")],
    "telling": [Wanted("feature", ("a", "z")), Wanted("no", ()), Wanted("feature", ("a", "b"), test="no=x")],
    "weights": [WeightsChoice("feature", "z"), WeightsChoice("feature", "a", test="no=x")],
    "compare": [CompareChoice("no", ()), CompareChoice("feature", ("a", "z"))],
    "loss": [
        LossChoice("feature", False, "huber"), LossChoice("feature", True, "huber"),
        LossChoice("feature", False, "hinge", constraints=("fair:0.01", "fair:0.03"), sensitive="=id"),
        LossChoice("feature", False, "hinge", constraints=("box:0:1",)),
        LossChoice("feature", False, "hinge", constraints=("fair:0.01",)),
    ],
    "embed": [EmbedChoice("no", ()), EmbedChoice("feature", ("z",))],
    "time": [TimeChoice("feature"), TimeChoice("year", by="=id x"), TimeChoice("year", by="text")],
}  # fmt: skip


def test_what_does_not_fit_the_corpus_is_left(exported):
    state = exported.session_state
    for page, name in CHOOSING.items():
        for wrong in WRONG[name]:
            state[f"{name}_choice"], state[f"{name}_corpus"] = wrong, state["corpus_id"]
            show(exported, page)
            assert state[f"{name}_choice"] != wrong


@pytest.mark.parametrize("hostile", [
    {"phrase": "a\ud800b", "group": ["feature", "\udfff"], "document": True},
    {"phrase": ["a"], "group": "feature", "document": 10**30},
    {"loss": {"column": "feature", "numbers": False, "loss": "hinge", "points": [[10**400, 1], [1, 2]],
              "constraints": ["monotone:\ud800,a"], "level": 1e308, "C": 7.0}},
    {"tasks": {"columns": ["feature"] * 9, "n_lams": True, "held_out": 0}},
    {"compare": {"column": "feature", "groups": ["a", "a"]}, "telling": {"column": "feature", "classes": ["b", "b"]}},
    {"weights": {"column": "feature", "name": "a", "ridge": 0.2, "rounds": True, "fine_iter": 10**9}},
    {"train": {"regulariser": "dropout", "lam": 100.0}, "subwords": {"largest": 500.0, "unit": "word"},
     "simulation": {"first": [0.5], "second": [0, 0], "irrelevant": 2.0}, "time": {"column": "feature", "by": 3}},
    [], "x", None,
])  # fmt: skip
def test_hostile_choices_leave_every_page_sound(exported, hostile):
    kept = choices.session_values(hostile, exported.session_state["corpus_id"])
    for name, value in kept.items():
        exported.session_state[name] = value
    for page in ("corpus", "pointers", "tokenizer", *CHOOSING):
        sound(show(exported, page))
    assert "document" not in kept or kept["document"] in (0, 10**30)


def test_a_share_to_drop_is_one_that_the_page_offers():
    kept = choices.session_values({"train": {"regulariser": "dropout", "lam": 100.0}}, "id")["train_choice"]
    assert kept == TrainChoice(regulariser="dropout", lam=DEFAULT_LAMS["dropout"])


def test_a_broken_project_is_one_sentence(open_app, exported, downloads):  # noqa: F811
    show(exported, "features")
    data = downloads["Project file"]()
    app = show(exported, "corpus")
    before = app.session_state["corpus_id"]
    bad = data.replace(b'"version": 1', b'"version": 9')
    app = upload(app, "old.cflproject", bad if bad != data else data[:200])
    assert len(app.error) == 1 and app.session_state["corpus_id"] == before


def test_settings_come_back_within_their_bounds():
    kept = {"lam": 4.0, "gap": 1e-4, "time_limit": 5, "rounds": 7, "last_zeta": 0.5, "weighting": "tf"}
    found = settings_of(kept)
    assert (found.lam, found.gap, found.time_limit, found.rounds, found.last_zeta) == (4.0, 1e-4, 5, 7, 0.5)
    assert found.weighting == "tf"
    assert settings_of({"stage_iterations": 1.5, "rounds": 2.5, "shards": 3.5, "last_zeta": 0.35}) == Settings(
        last_zeta=0.3
    )
    assert settings_of({"rounds": 7.0, "last_zeta": 0}) == Settings(rounds=7, last_zeta=0.0)
    assert settings_of({"lam": 10**400, "gap": -1, "rounds": True, "solver": [1]}) == Settings()


def test_pieces_that_overlap_are_shown_once(exported, downloads):  # noqa: F811
    show(exported, "features")
    page = re.sub(r"<script.*?</script>", "", downloads["Report (HTML)"]().decode(), flags=re.S)
    body = page.split("<h2>Text in pieces</h2>")[1].split("<h2>Phrases</h2>")[0]
    texts = [html.unescape(re.sub(r"<[^>]+>", "", part.split("<br>")[1])) for part in body.split("<p>")[2:]]
    known = [text.split("<br>")[0] for text in ROWS["text"]]
    assert texts and all(text.strip() in known for text in texts)
