"""The Sentences page: labels found, models learnt, sliders that solve, the document's sentences; hostile labels."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from visiting import TINY, captions, markdown, numbers, press, show, sound, until, use

from cflengine.linear.model import LinearModel
from cflengine.sentence_lasso import PAPER_GRID
from cflengine.text import DEV_NAMES
from pages.parts.components.sentence_view import cut_pieces
from pages.parts.shared.jobs import BOARD, Job
from pages.parts.shared.labels import label_columns, own_split
from pages.parts.telling.figures import path_figure
from pages.parts.telling.run import LAMS, MODELS, TOL, ComparisonRun, Wanted

HOSTILE = "<b>*up*</b> $x$ :red[y]"


def reviews(n: int = 60, up: str = "up") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        telling = ["good", "nice", "fine"] if k % 2 else ["bad", "grim", "<i>dull</i>"]
        text = " ".join(rng.choice(["the", "beer", "of", "it"], 4)) + ". " + " ".join(rng.choice(telling, 3)) + "!"
        rows.append((text, up if k % 2 else "down", f"id{k}", 0.5 * k, "same"))
    return pd.DataFrame(rows, columns=["text", "mood", "id", "score", "one"])


@pytest.fixture(scope="module")
def run() -> ComparisonRun:
    frame = reviews()
    found = ComparisonRun(Wanted("mood", ("down", "up")))
    found.run(frame["text"].tolist(), frame, Job("r", ("c",), print))
    return found


def learnt(app):
    """The page with its models learnt."""
    press(app, "Learn")
    until(lambda: not BOARD.get(app.session_state["telling_id"]).active, 60)
    return sound(app.run())


def lam_slider(app, name):
    """The slider of λ_sen or λ_las."""
    (slider,) = [one for one in app.select_slider if (one.key or "").startswith(f"widget_{name}_")]
    return slider


def csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


# ---- the run behind the page


def test_every_model_is_there_and_certified(run):
    assert tuple(run.best) == MODELS
    assert all(model.gap <= TOL for model in run.best.values())
    assert all(progress.done == progress.total for progress in run.progress.values())
    assert run.at(*run.chosen) is not None and set(PAPER_GRID) <= set(LAMS)
    assert run.chosen == run.place_of(run.best["sentence"])
    here = run.solved[run.best["sentence"].penalty.lam_sen, run.best["sentence"].penalty.lam_las]
    assert max(one.gap for one in here) <= TOL
    table = run.table()
    assert table["penalty"].tolist() == list(MODELS) and math.isnan(table["p"][0]) and (table["p"][1:] <= 1).all()


def test_a_solve_at_other_lams_is_kept_and_right(run):
    lams = (LAMS[5], LAMS[9])
    run.solved.pop(lams, None)
    assert run.at(*lams) is None
    run.solve_at(*lams, lambda stats: True)
    rows = run.at(*lams)
    (result,) = rows
    assert result.gap <= TOL and result.settings["lam_sen"] == lams[0] and result.settings["lam_las"] == lams[1]
    assert run.nearest(*lams) is rows
    assert run.models(rows)["sentence"].size == result.support
    assert run.accuracy(LinearModel.of([result]), "test") >= 0.5


def test_a_solve_that_is_stopped_leaves_nothing(run):
    lams = (LAMS[1], LAMS[2])
    run.solve_at(*lams, lambda stats: False)
    assert run.at(*lams) is None


def test_the_papers_admm_leaves_copies_of_every_training_sentence(run):
    run.solve_at(0.1, 0.1, Job("s", ("c",), print), admm=True)
    (result,), comparison = run.at(0.1, 0.1, admm=True), run.comparison
    group_norm = result.sentence_norms(comparison.data.groups)
    assert result.copies is not None and group_norm.any()
    assert run.at(0.1, 0.1) is not run.at(0.1, 0.1, admm=True), "what the sliders show without ADMM is another solution"
    found = np.concatenate([comparison.training_sentences(position) for position in comparison.train.tolist()])
    np.testing.assert_array_equal(found, np.arange(len(group_norm)))
    position = int(comparison.train[0])
    assert len(comparison.training_sentences(position)) == len(
        comparison.relevance(run.models((result,)), comparison.train[:1])
    )


def test_the_path_has_the_solutions_along_one_lam(run):
    for lam in LAMS[4:8]:
        run.solve_at(lam, 0.1, lambda stats: True)
    points = run.path(0.1, 0.1, "lam_sen")
    assert {lam for lam, _ in points} >= set(LAMS[4:8])
    assert [lam for lam, _ in points] == sorted(lam for lam, _ in points)
    shares = {"kept": [0.5] * len(points)}
    first = [(lam, rows[0]) for lam, rows in points]
    figure = path_figure(first, list(run.comparison.names), shares, here=0.1, title="λ")
    weights = {trace.name: list(trace.y) for trace in figure.data if trace.name != "kept"}
    assert weights and all(
        values == [result.w[run.comparison.names.tolist().index(name)] for _, result in first]
        for name, values in weights.items()
    )


def test_stopped_before_the_first_model_is_told():
    job = Job("r", ("c",), print)
    job.stop.set()
    frame = reviews()
    with pytest.raises(ValueError, match="before the first model"):
        ComparisonRun(Wanted("mood", ("down", "up"))).run(frame["text"].tolist(), frame, job)


@given(st.text(max_size=40), st.data())
def test_pieces_make_up_the_sentence(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    borders = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    words = [(a, b, 1.0 + a) for a, b in zip(borders[::2], borders[1::2], strict=False)]
    pieces = cut_pieces(text, start, end, words)
    assert "".join(piece for piece, _ in pieces) == text[start:end]
    assert all(piece for piece, _ in pieces)
    assert [weight for _, weight in pieces if weight] == [w for a, _, w in words if start <= a < end]


def test_documents_of_classes_that_are_not_chosen_are_counted(open_app):
    rows = "".join(f"some words of number {k},c{k % 6}\n" for k in range(60)) + "without a label,\n"
    app = show(use(open_app(), "six.csv", b"text,label\n" + rows.encode()), "sentences")
    (chosen,) = [box for box in app.multiselect if box.label == "Classes"]
    assert f"{61 - 10 * len(chosen.value)} documents of other classes, or of none, are left out" in captions(app)
    sound(chosen.set_value([f"c{k}" for k in range(6)]).run())
    assert "1 document of other classes" in captions(app)


def test_label_columns_the_likeliest_first():
    frame = reviews().assign(label=["x", "y", "z"] * 20, star=[1.0, 2.0] * 30)
    assert list(label_columns(frame)) == ["label", "mood", "star"]
    assert label_columns(frame)["label"] == ["x", "y", "z"]
    assert label_columns(pd.DataFrame(index=range(5))) == {}
    many = frame.assign(
        split=["train", "test"] * 30, topic=[f"t{k % 40}" for k in range(60)], part=["dev", "test"] * 30
    )
    assert list(label_columns(many))[-2:] == ["split", "part"]
    assert own_split(many, "label") == "split=test"
    assert own_split(many, "split") == "part=test"
    assert own_split(many, "label", DEV_NAMES) == "part=dev"
    assert own_split(many.drop(columns=["split", "part"]), "label") is None


def test_of_many_values_the_most_frequent_are_offered_where_some_are_chosen():
    many = pd.DataFrame({"section": [f"s{k % 60:02}" for k in range(600)] + ["s07"] * 3 + ["rare"]})
    assert label_columns(many) == {}
    some = label_columns(many, some=True)["section"]
    assert len(some) == 50 and some[0] == "s07" and "rare" not in some
    others = {"id": [str(k) for k in range(600)], "year": [k % 90 for k in range(600)]}
    others |= {"day": pd.date_range("2020-01-01", periods=100).repeat(6), "two": ["x", "y"] * 300}
    assert list(label_columns(pd.DataFrame(others), some=True)) == ["two"]
    both = pd.DataFrame({"section": [f"s{k % 60:02}" for k in range(600)], "two": ["x", "y"] * 300})
    assert list(label_columns(both, some=True)) == ["two", "section"]


# ---- the page


@pytest.fixture
def page(open_app):
    app = use(open_app(), "reviews.csv", csv(reviews()))
    return show(app, "sentences")


def test_the_page_learns_and_shows_what_it_found(page):
    assert "Press **Learn**" in page.info[0].value
    learnt(page)
    shown = numbers(page)
    assert set(shown) == {"Sentences with a weight", "Words kept", "Right, test", "Right, development", "Gap, proved"}
    assert shown["Right, test"] == "100.0 %"
    assert len(page.dataframe[0].value) == len(MODELS)
    assert "log-odds" in captions(page)
    assert page.query_params["telling"]


def test_a_slider_solves_where_it_is_let_go(page):
    learnt(page)
    job = BOARD.get(page.session_state["telling_id"])
    slider = lam_slider(page, "lam_sen")
    sound(slider.set_value(LAMS[6]).run())
    until(lambda: job.result.at(*page.session_state["comparison_here"]) is not None)
    sound(page.run())
    assert page.session_state["comparison_here"][0] == LAMS[6]
    slider = lam_slider(page, "lam_las")
    sound(slider.set_value(LAMS[-1]).run())
    until(lambda: job.result.at(*page.session_state["comparison_here"]) is not None)
    assert numbers(sound(page.run()))["Words kept"] == "0.0 %"  # the strongest penalty lets all go
    (said,) = [one.value for one in page.info]
    assert said.startswith("Every weight is 0: no sentence is telling") and "taken for the same class" in said
    assert not [one for one in page.select_slider if "is read" in one.label] and "Kept is what" not in captions(page)
    assert "most telling" not in markdown(page)


def test_the_page_shows_the_model_of_its_table_and_files_or_says_that_it_does_not(page):
    learnt(page)
    run = BOARD.get(page.session_state["telling_id"]).result
    chosen = run.place_of(run.best["sentence"])
    assert page.session_state["comparison_here"] == chosen == run.chosen
    assert numbers(page)["Right, test"] == page.dataframe[0].value["test"][0]
    assert "the table and the files hold this model" in captions(page) and "⚠ These" not in captions(page)
    other = next(lam for lam in LAMS if lam > chosen[0])
    sound(lam_slider(page, "lam_sen").set_value(other).run())
    until(lambda: run.at(other, chosen[1]) is not None)
    said = captions(sound(page.run()))
    assert "Your choice" in said and "⚠ These are the models that the development set chose" in said
    press(page, "Back to it")
    assert page.session_state["comparison_here"] == chosen and "hold this model" in captions(page)
    assert lam_slider(page, "lam_sen").value == chosen[0]


def test_a_first_model_gives_way_to_the_grids_unless_the_sliders_have_been_moved(page):
    learnt(page)
    run, state = BOARD.get(page.session_state["telling_id"]).result, page.session_state
    best, whole, first = run.best["sentence"], run.best, run.first
    elsewhere = next(point for point in best.search.points if run.place_of(point) != run.place_of(best))
    run.best, run.first = {}, elsewhere
    sound(page.run())
    assert state["comparison_here"] == run.place_of(elsewhere)
    assert "the best of the paper's grid takes its place" in captions(page)
    run.best, run.first = whole, first
    sound(page.run())
    assert state["comparison_here"] == run.place_of(best) == run.chosen
    # no slider of the first model is left that a browser could still send a value of
    assert [lam_slider(page, name).value for name in ("lam_sen", "lam_las")] == list(run.chosen)
    keys = {lam_slider(page, name).key for name in ("lam_sen", "lam_las")}
    run.best, run.first = {}, elsewhere
    sound(page.run())
    assert not keys & {lam_slider(page, name).key for name in ("lam_sen", "lam_las")}
    run.best, run.first = whole, first


def test_what_is_kept_is_said_by_weights_or_by_admms_copies(page):
    app = learnt(page)
    assert not any("By its copies" in one.value for one in app.caption)
    app.segmented_control(key="comparison_solver").set_value("admm")
    sound(app.run())
    until(lambda: any("By its copies" in one.value for one in sound(app.run()).caption), 30)
    assert any("copies for the training documents only" in one.value for one in app.caption)
    app.segmented_control(key="comparison_part_None").set_value("train")
    assert any("ADMM's copy of the weights for this sentence" in one.value for one in sound(app.run()).caption)


def test_other_parts_and_only_mistakes(page):
    learnt(page)
    sound(page.segmented_control(key="comparison_part_None").set_value("train").run())
    before = len(page.selectbox(key="comparison_document_train_False_None").options)
    assert before > 20
    sound(page.toggle(key="comparison_wrong").set_value(True).run())
    assert "There is none." in captions(page)


def test_the_path_is_solved_when_asked_for(page):
    learnt(page)
    sound(page.toggle(key="comparison_path_on").set_value(True).run())
    until(lambda: not BOARD.get(page.session_state["comparison_path"]).active, 60)
    sound(page.run())
    assert "solutions, each with a proved gap" in captions(page)


def test_a_changed_choice_is_said(page):
    learnt(page)
    sound(page.number_input(key="widget_seed").set_value(3).run())
    assert "have changed since" in captions(page)


def test_other_groups_are_learnt_from(page):
    learnt(page)
    sound(page.selectbox(key="widget_groups").set_value("document").run())
    assert "have changed since" in captions(page)
    learnt(page)
    comparison = BOARD.get(page.session_state["telling_id"]).so_far.comparison
    assert comparison.groups == "document" and comparison.data.counts.shape[0] == len(comparison.train)
    assert "Documents with a weight" in numbers(page) and "with all documents" in captions(page), "not sentences"
    assert any("--groups=document" in block.value for block in page.code)


def test_hostile_labels_and_texts_are_shown_as_they_are(open_app):
    app = show(use(open_app(), "reviews.csv", csv(reviews(up=HOSTILE))), "sentences")
    learnt(app)
    said = "\n".join(element.value for element in app.markdown)
    assert HOSTILE not in said and "up" in said
    assert any("<b>*up*</b>" in option for option in app.selectbox(key="comparison_document_test_False_None").options)


def test_a_corpus_without_labels_is_told(open_app):
    app = show(use(open_app(), "tiny.csv", TINY.encode()), "sentences")
    assert "no column with labels" in app.info[0].value and not [one for one in app.button if one.label == "Learn"]


def test_a_comparison_survives_a_visit_to_another_page(page):
    learnt(page)
    here = page.session_state["comparison_here"]
    show(page, "corpus")
    show(page, "sentences")
    assert page.session_state["comparison_here"] == here and "Gap, proved" in numbers(page)


def test_the_same_texts_with_other_labels_are_another_corpus(open_app):
    first = use(open_app(), "reviews.csv", csv(reviews()))
    before = first.session_state["corpus_id"]
    again = use(first, "reviews.csv", csv(reviews(up="high")))
    assert again.session_state["corpus_id"] != before
    assert "high" in show(again, "sentences").multiselect(key="widget_classes_mood").options


def test_a_first_model_is_shown_while_the_others_are_learnt(page, monkeypatch):
    held = ComparisonRun._grid
    monkeypatch.setattr(ComparisonRun, "_grid", lambda self, comparison, kind, job: until(lambda: not job.poll(), 60))
    press(page, "Learn")
    job = BOARD.get(page.session_state["telling_id"])
    until(lambda: job.so_far.first is not None, 60)
    app = sound(page.run())
    assert job.active and any("Reading only the" in one.value for one in app.markdown)
    assert any("They say **down**" in one.value for one in app.markdown)
    sound(app.button(key="stop").click().run())
    until(lambda: not job.active)
    app = sound(page.run())
    assert "stopped before the models were compared" in captions(app) and "Gap, proved" in numbers(app)
    assert held is not ComparisonRun._grid


def test_the_share_that_is_read_follows_the_slider(page):
    app = learnt(page)
    (slider,) = [one for one in app.select_slider if one.label == "Share of sentences that is read"]
    assert slider.value in (5, 10, 15, 20, 25, 30, 40, 50)
    assert any("smallest share within one standard error" in one.value for one in app.markdown)
    sound(slider.set_value(100).run())
    assert any("Reading only the **100 %**" in one.value for one in app.markdown)


def test_three_classes_are_told_apart(open_app):
    frame = reviews(90)
    frame["mood"] = [("down", "up", "odd")[k % 3] for k in range(90)]
    frame["text"] = [text + (" Queer and odd it was!" if k % 3 == 2 else "") for k, text in enumerate(frame["text"])]
    app = learnt(show(use(open_app(), "reviews.csv", csv(frame)), "sentences"))
    assert {tab.label for tab in app.tabs} >= {"down", "up", "odd"}
    assert BOARD.get(app.session_state["telling_id"]).result.first.accuracy > 0.6
    assert numbers(app)["Gap, proved"]
    sound(app.segmented_control(key="comparison_part_None").set_value("train").run())


def test_a_sentence_opens_its_document(page):
    app = learnt(page)
    position = int(BOARD.get(app.session_state["telling_id"]).result.comparison.train[3])
    app.session_state["comparison_open"] = position
    app = sound(app.run())
    box = app.selectbox(key=f"comparison_document_train_False_{position}")
    assert box.value == position
