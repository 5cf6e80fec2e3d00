"""The Losses page and Saved models: fits, bands, drawn losses, the race, models that leave and come back."""

from __future__ import annotations

import io
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from visiting import TINY, captions, numbers, press, show, sound, until, use

from cflengine import ChainCRF, LogisticClassifier, PLQRegressor, load_model, save_model
from cflengine.cli import main
from cflengine.linear.text_features import vectorizer
from cflengine.plq.losses import named_loss
from pages.parts.losses.controls import target_columns
from pages.parts.losses.figures import band_figure, prediction_figure, race_figure
from pages.parts.losses.loss_editor import LEAST, MOST, clean_points, curve, parts_of
from pages.parts.losses.run import DRAWN, POINTS, TITLES, TOL, LossChoice, LossRun, _of_both
from pages.parts.losses.view import loss_command
from pages.parts.shared.jobs import BOARD, Job
from pages.parts.shared.models import read_uploaded

HOSTILE = "<b>*m*</b> $x$"


def reviews(n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        score = int(rng.integers(0, 6))
        words = [*rng.choice(["the", "beer", "of", "it"], 4), *["good"] * score, *["<i>dull</i>"] * (5 - score)]
        mood = f"up {HOSTILE}" if score > 2 else "down"
        rows.append((" ".join(words) + ".", mood, score + 0.1 * rng.random(), "a" if k % 2 else "b"))
    return pd.DataFrame(rows, columns=["text", "mood", "score", "side"])


def fitted(**choice) -> LossRun:
    run = LossRun(LossChoice(**({"column": "score", "numbers": True, "loss": "huber", "level": 1.0} | choice)))
    frame = reviews()
    run.run(frame["text"].tolist(), frame, None, Job("r", ("c",), print))
    return run


# ---- the run behind the page


@pytest.mark.parametrize("loss", [name for name in TITLES if name != DRAWN])
def test_every_loss_fits_its_kind_of_column_to_a_proof(loss):
    numbers_ = named_loss(loss).of == "residual"
    run = fitted(column="score" if numbers_ else "mood", numbers=numbers_, loss=loss, level=0.8)
    assert run.model.duality_gap_ <= TOL and run.model.solver_reason_ == "converged"
    frame = run.coefficients()
    weights = frame.set_index("feature")["weight"]
    assert weights["good"] * weights["dull"] < 0 and (weights["good"] > 0) == (
        numbers_ or "up" in run.risk.comparison.classes[1]
    )


def test_a_band_of_two_quantiles_and_constraints():
    run = fitted(loss="quantile", level=0.9, band=True, C=100.0)
    test = run.risk.comparison.test
    high, low = (model.predict(run.risk.comparison.X[test]) for model in (run.model, run.other))
    assert (high >= low - 1e-6).mean() > 0.9 and run.other.loss_.name == "quantile:0.1"
    truth = run.risk.values[test]
    figure = band_figure(truth, low, high, "score")
    inside, outside = figure.data[2], figure.data[3]
    assert len(inside.y) + len(outside.y) == len(test) and len(inside.y) >= len(outside.y)
    kept = fitted(constraints=("nonnegative", "fair:0.001"), sensitive="side")
    assert kept.model.coef_.min() >= 0.0 and kept.model.violation_ <= 1e-9
    assert len(prediction_figure(truth, high, "score").data) == 2


def test_the_race_is_of_both_classes_of_a_sorted_corpus(monkeypatch):
    monkeypatch.setattr("pages.parts.losses.run.RACE_DOCUMENTS", 20)
    run = LossRun(LossChoice("mood", False, "hinge"))
    frame = reviews().sort_values("mood", ignore_index=True)
    run.run(frame["text"].tolist(), frame, None, Job("r", ("c",), print))
    run.race(Job("r", ("c",), print))
    (one, _) = run.races.values()
    assert np.count_nonzero(one.w) > 0 and len(one.lam) == 20
    second = np.arange(1000) >= 999  # some of either, however few there are
    assert [len(_of_both(np.arange(1000), mask, 20)) for mask in (second, ~second)] == [20, 20]
    assert 999 in _of_both(np.arange(1000), second, 20) and 999 in _of_both(np.arange(1000), ~second, 20)


def test_a_drawn_loss_is_the_hull_of_its_points():
    choice = LossChoice("score", True, DRAWN, points=((-2.0, 2.0), (-1.0, 3.0), (0.0, 0.0), (2.0, 1.0)))
    loss = choice.made()
    np.testing.assert_allclose(loss.parts.value(np.array([-2.0, -1.0, 0.0, 1.0])), [2.0, 1.0, 0.0, 0.5])
    total = sum(np.array(part["curve"])[:, 1] for part in parts_of(loss))
    np.testing.assert_allclose(total, np.array(curve(loss.parts.value))[:, 1] - loss.parts.constant, atol=2e-4)
    assert fitted(loss=DRAWN, points=choice.points).model.duality_gap_ <= TOL
    assert named_loss(loss.name) == loss, "what the command is shown with"


def test_ones_own_loss_for_classes_begins_as_one_that_learns():
    """Not with the one for numbers, which is lowest where a score is 0."""
    run = fitted(column="mood", numbers=False, loss=DRAWN)
    assert run.choice.shape == POINTS["margin"] and np.count_nonzero(run.model.coef_) > 0
    assert run.risk.judge(run.model)["train"] > 0.9


def test_points_from_the_browser_are_bounded_and_ascending():
    assert clean_points([[1, 2], [-1, 0.5]]) == ((-1.0, 0.5), (1.0, 2.0))
    assert clean_points([[0, 0], [0, 1], [1, 1], [LEAST - 1, 0], [MOST, 99]]) == ((0.0, 0.0), (1.0, 1.0))
    for wrong in (None, "ab", [[0, 0]], [[0]], [["x", 1], [1, 1]], 3):
        assert clean_points(wrong) is None
    assert len(clean_points([[-3 + 0.1 * k, 1.0] for k in range(60)])) == 24


def test_the_race_takes_the_same_steps():
    run = fitted(column="mood", numbers=False, loss="hinge")
    run.race(Job("r", ("c",), print))
    pure, carried = (run.races[name] for name in ("pure", "primal-dual"))
    assert pure.n_iterations == carried.n_iterations and pure.gap <= 1e-8
    np.testing.assert_allclose(pure.w, carried.w, atol=1e-9)
    traces = {name: result.trace for name, result in run.races.items()}
    scales = [race_figure(traces, x).layout.xaxis.type for x in ("operations", "sweep_s", "iteration")]
    assert scales == ["log", "linear", "linear"], "linear convergence is a straight line against the latter"
    figure = race_figure(traces, "operations")
    assert [line.name for line in figure.data] == ["pure", "primal-dual"] and figure.layout.yaxis.type == "log"
    with pytest.raises(ValueError, match="predict a class"):
        fitted().race(Job("r", ("c",), print))


def test_columns_that_can_be_predicted():
    frame = reviews().assign(year=2020, flag=[True, False] * 45, id=[f"n{k}" for k in range(90)])
    assert target_columns(frame.drop(columns="text")) == {"mood": False, "side": False, "flag": False, "score": True}


# ---- the page


@pytest.fixture
def page(open_app):
    return show(use(open_app(), "reviews.csv", reviews().to_csv(index=False).encode()), "losses")


def finish(app, name: str = "loss_id"):
    until(lambda: not BOARD.get(app.session_state[name]).active, 60)
    return sound(app.run())


def test_the_page_fits_and_shows_what_it_found(page, tmp_path):
    assert "Press **Fit**" in page.info[0].value
    press(page, "Fit")
    finish(page)
    shown = numbers(page)
    assert shown["Right on the test set"].endswith("%") and shown["Gap, proved"] == "under 0.001 %"
    assert "dull" in page.dataframe[0].value["feature"].tolist()
    assert any("speaks for" in one.value for one in page.markdown) and "cflengine.load_model" in captions(page)
    press(page, "Race on 72 documents")
    finish(page, "loss_race")
    assert "linear convergence" in captions(page)


def test_numbers_another_loss_and_what_has_changed(page):
    sound(page.selectbox(key="widget_loss_column").set_value("score").run())
    assert page.session_state["loss_choice"].loss == "quantile"
    sound(page.toggle(key="widget_loss_band").set_value(True).run())
    constraints = page.multiselect(key="widget_loss_constraints_score")
    sound(constraints.set_value(["nonnegative", "fair"]).run())
    assert page.session_state["loss_choice"].sensitive == "mood"
    press(page, "Fit")
    finish(page)
    shown = numbers(page)
    assert {"At or below, test set", "Mean loss, test set", "Largest violation"} <= set(shown)
    assert "meant to hold 80 %" in captions(page)
    sound(page.selectbox(key="widget_loss_True").set_value("huber").run())
    assert "changed since this model was fitted" in captions(page)
    sound(page.selectbox(key="widget_loss_True").set_value(DRAWN).run())
    assert page.session_state["loss_choice"].shape == POINTS["residual"] and not page.error


def test_fairness_is_offered_where_a_column_can_be_fair_to(open_app):
    frame = reviews().drop(columns="score")
    frame.loc[3, "side"] = None
    app = show(use(open_app(), "reviews.csv", frame.to_csv(index=False).encode()), "losses")
    constraints = app.multiselect(key="widget_loss_constraints_mood")
    assert "fair to a column" not in constraints.options
    assert "needs another column with numbers, or two values, for every document" in captions(app)
    sound(constraints.set_value(["nonnegative"]).run())
    sound(app.selectbox(key="widget_loss_column").set_value("side").run())
    constraints = app.multiselect(key="widget_loss_constraints_side")
    assert constraints.value == ["nonnegative"] and "fair to a column" in constraints.options
    sound(constraints.set_value(["fair"]).run())
    assert app.session_state["loss_choice"].constraints == ("fair:0.01",)
    assert app.session_state["loss_choice"].sensitive == "mood"
    sound(app.selectbox(key="widget_loss_column").set_value("mood").run())
    assert app.session_state["loss_choice"].constraints == ()
    assert app.multiselect(key="widget_loss_constraints_mood").value == []


def test_coefficients_in_an_order(page):
    sound(page.selectbox(key="widget_loss_column").set_value("score").run())
    sound(page.selectbox(key="widget_loss_True").set_value("squared").run())
    sound(page.multiselect(key="widget_loss_constraints_score").set_value(["monotone"]).run())
    assert "two features or more" in captions(page)
    press(page, "Fit")
    finish(page)
    free = current_model(page)
    sound(page.text_input(key="widget_loss_order").set_value("good, i").run())
    assert page.session_state["loss_choice"].constraints == ("monotone:good,i",)
    press(page, "Fit")
    finish(page)
    held = current_model(page)
    assert free["good"] > free["i"] and held["good"] <= held["i"]
    assert "Largest violation" in numbers(page) and any(
        "--constraint=monotone:good,i" in code.value for code in page.code
    )
    sound(page.text_input(key="widget_loss_order").set_value("good, nowhere").run())
    press(page, "Fit")
    finish(page)
    assert "'nowhere', which is no feature" in page.error[0].value


def current_model(page) -> dict[str, float]:
    """Its coefficients by feature."""
    run = BOARD.get(page.session_state["loss_id"]).result
    return dict(zip(run.risk.comparison.names, run.model.coef_, strict=True))


def test_an_address_brings_back_what_was_fitted(page, open_app):
    sound(page.selectbox(key="widget_loss_column").set_value("score").run())
    sound(page.selectbox(key="widget_loss_True").set_value("huber").run())
    press(page, "Fit")
    finish(page)
    again = open_app("losses", corpus=page.session_state["corpus_id"], loss=page.session_state["loss_id"])
    assert again.selectbox(key="widget_loss_column").value == "score"
    assert again.selectbox(key="widget_loss_True").value == "huber"
    assert "Mean loss, test set" in numbers(again) and "changed since" not in captions(again)


def test_the_command_that_is_shown_fits_the_same_model(page, tmp_path, monkeypatch):
    press(page, "Fit")
    finish(page)
    run = BOARD.get(page.session_state["loss_id"]).result
    (tmp_path / "reviews.csv").write_text(reviews().to_csv(index=False))
    monkeypatch.chdir(tmp_path)
    (line,) = [code.value for code in page.code if "cflengine erm" in code.value]
    assert main([*shlex.split(line)[1:], "--quiet"]) == 0
    again = load_model(tmp_path / "fit" / "model.cflm")[-1]
    np.testing.assert_allclose(again.coef_, run.model.coef_, atol=1e-3)


def test_a_band_has_a_command_for_each_of_its_ends(page):
    page.session_state["loss_choice"] = LossChoice("score", True, "quantile", level=0.9, band=True)
    press(page, "Fit")
    finish(page)
    (lines,) = [code.value.splitlines() for code in page.code if "cflengine erm" in code.value]
    asked = [shlex.split(line) for line in lines]
    assert [next(word for word in words if "--loss" in word) for words in asked] == [
        "--loss=quantile:0.9",
        "--loss=quantile:0.1",
    ]
    assert [words[-1] for words in asked] == ["--out=fit", "--out=fit-other"]


def test_a_corpus_without_columns_says_so(open_app):
    app = show(use(open_app(), "tiny.csv", TINY.encode()), "losses")
    assert "no column to predict" in app.info[0].value


def test_commands_quote_what_needs_it(page):
    from pages.parts.shared.state import corpora

    loaded = corpora.recall(page.session_state["corpus_id"])
    hostile = "x' ; echo pwned ; '"
    choice = LossChoice("score", True, "quantile", constraints=("nonnegative", "fair:0.01"), sensitive=hostile)
    words = shlex.split(loss_command(loaded, replace(choice, features="kgrams", lam=0.3, max_gram=2)))
    assert words[:3] == ["cflengine", "erm", "reviews.csv"] and words[-1] == f"--constraint=fair:{hostile}:0.01"
    assert {"--loss=quantile:0.9", "--features=cfl", "--max-gram=2", "--lam=0.3"} <= set(words)


# ---- saved models


def model_bytes(tmp_path, model, **about) -> bytes:
    save_model(model, tmp_path / "m.cflm", about=about)
    return (tmp_path / "m.cflm").read_bytes()


def test_a_model_comes_back_and_predicts_the_corpus(page, tmp_path):
    frame = reviews()
    model = make_pipeline(*(step for _, step in vectorizer().steps), LogisticClassifier()).fit(frame.text, frame.mood)
    data = model_bytes(tmp_path, model, target="mood", learnt_from=HOSTILE, n_documents=90)
    show(page, "models")
    sound(page.file_uploader(key="widget_model").upload("m.cflm", data, "application/zip").run())
    until(lambda: page.session_state["asked_applied"][1].done())
    sound(page.run())
    assert numbers(page)["Predicts"] == "mood" and numbers(page)["Classes"] == "2"
    assert "A logistic regression, learnt from" in captions(page) and "this very corpus" not in captions(page)
    shown = page.dataframe[0].value
    assert shown["predicted"].tolist() == model.predict(frame.text).tolist() and len(shown) == 90
    said = "\n".join(one.value for one in page.markdown).replace("\\", "")
    assert "90 documents" in said and "have the mood that is predicted" in said and HOSTILE in captions(page)


@pytest.mark.parametrize(("template", "warned"), [("U00:%x[0,0]\nB\n", False), ("U00:%x[0,0]\nU01:%x[0,2]\nB\n", True)])
def test_a_saved_tagger_finds_the_names_of_the_corpus_and_is_forgotten(page, tmp_path, template, warned):
    rows = [[(word, "x", "y")] for word in ("beer", "good", "it", "of", "the", "dull", *"<i>/.")]
    labels = [["B-PER"], *[["O"]] * (len(rows) - 1)]
    model = ChainCRF(c2=0.01, template=template).fit(rows, labels)
    show(page, "models")
    data = model_bytes(tmp_path, model, learnt_from=HOSTILE)
    sound(page.file_uploader(key="widget_model").upload("m.cflm", data, "application/zip").run())
    until(lambda: page.session_state["asked_tagged"][1].done())
    sound(page.run())
    assert ("uses the words alone" in captions(page)) == warned and "A tagger, learnt from" in captions(page)
    press(page, "Find the names")
    finish(page, "names_id")
    found = BOARD.get(page.session_state["names_id"]).so_far.places()
    lines = "".join(BOARD.get(page.session_state["names_id"]).so_far.conll()).splitlines()
    assert {line.count(" ") for line in lines if line} == {1} and lines.count("beer B-PER") == len(found)
    assert set(found["name"]) == {"beer"} and len(found) == sum(t.split().count("beer") for t in reviews()["text"])
    assert any(frame.value.columns[0] == "name" for frame in page.dataframe)
    show(page, "losses")
    show(page, "models")
    press(page, "Remove")
    assert "No model yet" in page.info[0].value and not page.dataframe


@pytest.mark.parametrize("kind", ["none", "matrix", "truncated"])
def test_files_that_are_no_models_for_texts(page, tmp_path, kind):
    whole = model_bytes(tmp_path, PLQRegressor().fit(np.eye(3), [1.0, 2.0, 3.0]))
    data = {"none": b"nothing", "matrix": whole, "truncated": whole[:-50]}[kind]
    with pytest.raises(ValueError, match="from a matrix" if kind == "matrix" else "not a model"):
        read_uploaded(data, "m.cflm")
    show(page, "models")
    sound(page.file_uploader(key="widget_model").upload("m.cflm", data, "application/zip").run())
    assert len(page.error) == 1 and not page.dataframe


def test_every_page_hands_out_its_model(page, tmp_path):
    press(page, "Fit")
    finish(page)
    run = BOARD.get(page.session_state["loss_id"]).result
    assert any(button.label == "Model" for button in page.get("download_button"))
    from cflengine.linear.export import comparison_pipeline

    whole = comparison_pipeline(run.risk.comparison, run.model)
    model, _ = read_uploaded(model_bytes(tmp_path, whole), "m.cflm")
    texts = reviews()["text"].tolist()
    assert model.predict(texts).tolist() == whole.predict(texts).tolist()
    assert io.BytesIO(model_bytes(tmp_path, whole)).read(2) == b"PK"
