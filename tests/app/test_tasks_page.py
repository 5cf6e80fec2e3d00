"""The Tasks page: a comparison from a click to its files; the Features page's ways to count."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from visiting import captions, job_of, numbers, press, show, sound, until, use

from cflengine.cli import main
from cflengine.experiments import method_name
from cflengine.text.token_presets import USUAL_TOKENS
from pages.parts.shared.jobs import BOARD, Job
from pages.parts.shared.settings import settings_from
from pages.parts.tasks.close import tasks_command
from pages.parts.tasks.controls import target_columns
from pages.parts.tasks.figures import curve_figure, lam_figure
from pages.parts.tasks.run import TasksChoice, TasksRun
from pages.parts.tasks.view import (
    _sized,
    against,
    between,
    confusions,
    most_wrong,
    no_better,
    own_choices,
    telling_rows,
    verdict,
    worth,
)

HOSTILE = "<b>*m*</b> $x$"


def reviews(n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        score = int(rng.integers(0, 6))
        words = [*rng.choice(["the", "beer", "of", "it"], 8), *["good"] * score, *["<i>dull</i>"] * (5 - score)]
        rows.append((" ".join(words) + ".", f"up {HOSTILE}" if score > 2 else "down", score, f"w{k % 6}"))
    return pd.DataFrame(rows, columns=["text", "mood", "score", "who"])


@cache
def ran(*columns: str, **own) -> TasksRun:
    """A run that is only looked at."""
    run = TasksRun(TasksChoice(columns, n_lams=3, **own))
    frame = reviews()
    run.run(frame["text"].tolist(), frame, Job("r", ("c",), print))
    return run


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.012, 0.03, "1.2 to 3.0 points better"), (-0.012, 0.03, "1.2 points worse to 3.0 points better"),
        (-0.03, -0.012, "1.2 to 3.0 points worse"), (0.0, 0.0, "no difference"),
    ],
)  # fmt: skip
def test_an_interval_is_told_without_signs(low, high, said):
    assert between(low, high, "accuracy") == said
    assert between(low, high, "mse") == said.replace("points better", "% less error").replace(
        "points worse", "% more error"
    )


@pytest.mark.parametrize(
    ("gain", "interval", "p", "said"),
    [
        (0.058, (0.008, 0.109), 0.01, "predict **better** than words, by 5.8 points"),
        (0.058, (0.008, 0.109), 0.065, "are **not shown to differ** from words"),
        (-0.058, (-0.109, -0.008), 0.065, "**not shown to differ**"),
        (-0.058, (-0.109, -0.008), 0.01, "predict **worse**"),
        (0.01, (-0.01, 0.03), 0.01, "the difference measured is 1.0 points"),
    ],
)  # fmt: skip
def test_a_verdict_is_one_of_the_interval_and_of_p(gain, interval, p, said):
    assert said in verdict({"gain": gain, "gain_interval": interval, "p": p}, "accuracy")


@pytest.mark.parametrize(
    ("words", "every", "said"),
    [
        ((0.02, 0.1), (0.01, 0.1), None), ((0.02, 0.1), (-0.1, 0.1), "tell: all K-grams."),
        ((-0.1, -0.05), (0.0, 0.1), "tell: words and all K-grams."),
        ((0.3, 0.59), (np.nan, np.nan), "tell: all K-grams."),
    ],
)  # fmt: skip
def test_what_may_be_no_better_than_guessing_is_named(words, every, said):
    name = "gain_over_guessing_interval"
    found = no_better({"words": {name: words}, "compressed": None, "all K-grams": {name: every}})
    assert found.endswith(said) and "No better than guessing" in found if said else found == ""


def test_without_an_interval_only_p_is_told():
    none = [np.nan, np.nan]
    entry = {"accuracy": 0.9, "accuracy_interval": none, "features": 1234}
    assert _sized(entry, "accuracy") == "1,234 features."
    assert "not shown" in verdict({"gain": 0.3, "gain_interval": none, "p": 0.5}, "accuracy")


def test_columns_that_can_be_predicted():
    frame = reviews().assign(id=[f"i{k}" for k in range(90)], same="x", label=["a", "b"] * 45)
    frame = frame.assign(when=pd.to_datetime(["2024-03-01", "2025-03-01"] * 45), split=["train", "test"] * 45)
    assert target_columns(frame.drop(columns="text"))[0] == {
        "label": "class", "mood": "class", "score": "number", "who": "class",
    }  # fmt: skip


def test_columns_that_cannot_say_why():
    frame = reviews().assign(id=[f"i{k}" for k in range(90)], same="x")
    _, why = target_columns(frame.drop(columns="text"))
    assert set(why) == {"id", "same"} and "'same'" in why["same"] and "90 different values" in why["id"]


@pytest.mark.parametrize(
    ("value", "said"), [(12.8, "12.80"), (9.4734, "9.473"), (0.5512, "0.5512"), (0.05, "0.05000"), (1234.5, "1,234"),
                        (2e7, "2e+07"), (1e-9, "1e-09"), (0.0, "0"), (np.nan, "–")],
)  # fmt: skip
def test_errors_have_four_digits_that_tell(value, said):
    assert worth(value, "mse") == said


def test_learning_curves_of_different_features_look_different():
    names = ["unigrams", "compressed:several", "compressed:soft"]
    curve = pd.DataFrame({"method": np.repeat(names, 2), "share": [0.5, 1.0] * 3, "accuracy": 0.5})
    traces = curve_figure(curve, "accuracy").data
    assert len({(one.line.color, one.line.dash, one.marker.symbol) for one in traces}) == 3
    assert [one.name for one in traces] == ["words", "compressed, all λ together", "compressed, soft counts"]


def test_no_accuracy_is_above_all():
    frame = pd.DataFrame({"method": "unigrams", "lam": 0.0, "dev": 1.0, "test": [1.0] * 3, "features": 3})
    low, high = lam_figure(frame, "accuracy").layout.yaxis.range
    assert low < 1.0 < high < 1.002


def test_a_run_finds_and_figures_show():
    run = ran("mood", "score")
    mood, score = run.findings
    for finding in run.findings:
        column, measure = finding.task.target.column, finding.task.measure
        figure = lam_figure(run.frame(column), measure, finding.methods)
        names = {trace.name for trace in figure.data}
        assert {"pointers", "occurrences", "soft", "words (λ = 0)", "all K-grams"} <= names
        line = next(trace for trace in figure.data if trace.name == "occurrences")
        assert len(line.x) == 3 and np.all(np.diff(line.x) > 0)
        low, high = np.array(line.customdata)[:, 1:].T.astype(float)
        assert (low <= line.y).all() and (line.y <= high).all()
        (band,) = [trace for trace in figure.data if trace.fill == "toself"]  # of the best way to count
        assert len(band.x) == 6 and len(band.y) == 6
        assert len(curve_figure(finding.curve, measure).data) == 2
    assert len(lam_figure(run.frame("mood").head(0), "accuracy").data) == 0
    assert len(lam_figure(run.frame("mood").head(1), "accuracy").data) == 1
    wrong = most_wrong(score)
    assert (np.diff(wrong["wrong"]) <= 0).all()
    assert set(confusions(mood)) == {"is", "taken for", "documents", "of"}
    assert any("good" in feature for feature in telling_rows(mood, None)["feature"].head(4))
    assert {method_name(name) for name in mood.methods} >= {
        "words",
        "all K-grams",
        "K-grams by χ², same number",
    }


def test_the_page_compares_and_hands_on(open_app):
    app = open_app()
    use(app, "mine.csv", reviews().to_csv(index=False).encode())
    app = show(app, "tasks")
    app.session_state["tasks_choice"] = TasksChoice(("mood", "score"), n_lams=4, rivals=False)
    app = sound(app.run())
    press(app, "Compare")
    job = BOARD.get(app.session_state["tasks_id"])
    until(lambda: not job.active, 120)
    app = sound(app.run())
    assert job.state == "done", job.error
    assert {"Guessing", "Words", "Compressed", "All K-grams"} <= set(numbers(app))
    said = "\n".join(one.value for one in app.markdown).replace("\\", "")
    assert "compressive features" in said and "p\xa0=\xa0" in said
    assert "judged on one split" in captions(app)
    assert "<b>" not in "".join(one.proto.body for one in app.markdown if one.proto.allow_html)
    (target,) = [group for group in app.button_group if group.label == "Target"]
    target.set_value("score")
    app = sound(app.run())
    assert "elastic net" in captions(app)
    (use_it,) = [button for button in app.button if button.label.startswith("Use λ")]
    use_it.click()
    app.run()
    settings = app.session_state["settings"]
    assert settings.counting in ("pointers", "occurrences", "soft")
    # it is being found, and where: the page of the solver
    found = job_of(app)
    assert found.key[:2] == (app.session_state["corpus_id"], settings.lam)
    until(lambda: not found.active, 60)
    assert found.result.lam == settings.lam
    again = open_app("tasks", corpus=app.session_state["corpus_id"], tasks=job.id)
    assert again.session_state["tasks_choice"].columns == ("mood", "score")


def test_the_command_makes_the_same(tmp_path, monkeypatch):
    from types import SimpleNamespace

    path = tmp_path / "mine.csv"
    reviews().to_csv(path, index=False)
    run = ran("mood", rivals=False, how="group", by="who")
    line = tasks_command(SimpleNamespace(source=str(path), options={}, tokens=USUAL_TOKENS), run)
    monkeypatch.chdir(tmp_path)
    assert main([*shlex.split(line)[1:], "--quiet"]) == 0
    table = pd.read_csv(tmp_path / "worth" / "methods.csv").set_index("method")
    for name, entry in run.findings[0].methods.items():
        assert table.loc[name, "accuracy"] == entry["accuracy"]


def test_a_column_that_cannot_be_gets_one_sentence(open_app):
    app = open_app()
    use(app, "mine.csv", b"text,same\nsome words here,x\nother words,x\nmore words,x\n")
    app = show(app, "tasks")
    assert "no column to predict" in app.info[0].value


def test_features_are_counted_as_chosen(tiny):
    app = show(tiny, "features")
    entries = numbers(app)["Non-zero entries"]
    (counting,) = [group for group in app.button_group if group.label == "Counting"]
    counting.set_value("soft")
    app = sound(app.run())
    assert numbers(app)["Non-zero entries"] != entries
    shown = "\n".join(block.value for block in app.code)
    assert "--counting=soft" in shown and "counting='soft', temperature=3" in shown
    assert app.session_state["settings"].counting == "soft"


def test_ways_to_count_stand_in_the_address():
    assert settings_from({"counting": "soft"}).counting == "soft"
    assert settings_from({"counting": "<b>"}).counting == "pointers"


@pytest.mark.parametrize(
    ("gain", "measure", "said"),
    [
        (0.011, "error", "1.1 % less error than"),
        (-0.02, "error", "2.0 % more error than"),
        (0.03, "accuracy", "3.0 points better than"),
        (-0.03, "accuracy", "3.0 points worse than"),
    ],
)
def test_what_is_better_is_said_in_words(gain, measure, said):
    assert against(gain, measure) == said


def test_splits_that_choose_for_themselves_are_said_under_the_figure():
    own = {"lam": 1.0}
    alone = replace(ran("mood", "score").findings[0], methods={"unigrams": {}, "compressed:soft": {}})
    assert own_choices(alone) == ""
    several = replace(alone, methods={"unigrams": {}, "compressed:soft": {"by_split": [own, own, own]}})
    assert "3 splits" in own_choices(several)
