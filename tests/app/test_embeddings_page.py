"""The Embeddings page: a comparison from a click to its files, vectors trained, the simulation."""

from __future__ import annotations

import importlib
import io
import json
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from visiting import TINY, captions, numbers, press, show, sound, until, use

from cflengine.cli import main
from cflengine.engine import InputError
from pages.parts.embeddings import controls, train_view
from pages.parts.embeddings.close import embed_command, vector_arrays
from pages.parts.embeddings.figures import (
    cloud_figure,
    film_figure,
    html,
    laws_figure,
    moment_figure,
    null_figure,
    plane,
    power_figure,
    still_figures,
    training_figure,
    witness_figure,
)
from pages.parts.embeddings.run import (
    SHARES,
    SIZES,
    EmbedChoice,
    EmbedRun,
    SimulationChoice,
    SimulationRun,
    TrainChoice,
    TrainRun,
)
from pages.parts.shared import state
from pages.parts.shared.jobs import BOARD, Job

HOSTILE = "<b>*m*</b> $x$"


def reviews(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        good = k % 2
        own = ["<i>good</i>", "hoppy", "crisp"] if good else ["dull", "flat", "<i>stale</i>"]
        words = [*rng.choice(["the", "beer", "of", "it", "a", "was"], 8), *rng.choice(own, 4)]
        rows.append((" ".join(words) + ".", f"up {HOSTILE}" if good else "down", ("x", "y", "z")[k % 3]))
    return pd.DataFrame(rows, columns=["text", "mood", "third"])


def compared(column: str = "mood", **own) -> EmbedRun:
    frame = reviews()
    classes = tuple(sorted(frame[column].unique()))
    run = EmbedRun(EmbedChoice(column, classes, permutations=99, **own))
    run.run(frame["text"].tolist(), frame, 1000, Job("r", ("c",), print))
    return run


def test_a_comparison_and_its_figures():
    run = compared()
    found = run.comparison
    assert found.p_value == 0.01
    frame = found.witness()
    names = [str(name) for name in run.labels.classes]
    figure = witness_figure(frame, names)
    assert figure.data[0].name == "down"
    assert figure.data[1].name == html(f"up {HOSTILE}")
    assert "<" not in figure.data[1].name.replace("&lt;", "")
    assert max(figure.data[0].x) < 0 < min(figure.data[1].x)
    assert "dull" in figure.data[0].y
    laws = found.words.laws
    M = found.words.vectors.M
    centre, directions = plane(M)
    points = (M - centre) @ directions
    np.testing.assert_allclose(directions.T @ directions, np.eye(2), atol=1e-12)
    cloud = cloud_figure(points, found.words.vectors.words, laws.sums / laws.sizes, np.ones(len(M)), names)
    assert len(cloud.data) == 3 and 0 < len(cloud.layout.annotations) <= len(M)
    assert len(null_figure(found.null, found.statistic).data[0].x) == 99
    one = np.ones((3, 1))
    assert plane(one)[1].shape == (1, 2)  # vectors of one coordinate have a plane, too


def test_a_training_and_its_film():
    pytest.importorskip("optax")
    frame, about = reviews(), compared()
    run = TrainRun(TrainChoice("mean", epochs=3))
    run.run(about, frame["text"].tolist(), frame, Job("r", ("c",), print))
    assert [row["epoch"] for row in run.rows] == [0, 1, 2, 3]
    assert set(run.right) == {"train", "test"}
    assert run.wmmd()["after"] > run.wmmd()["before"]
    shares = train_view._shares(about, (0, 1), run.words)
    assert (shares.sum(axis=0) > 0.9).all()
    assert moment_figure(run.film[1], run.words, shares, ["a", "b"]).data[0].text[0] == run.words[0]
    figure = film_figure(run.film, run.words, shares, ["a", "b"])
    assert len(figure.frames) == 4
    last = np.asarray(figure.frames[-1].data[0]["x"])
    np.testing.assert_allclose(last, figure.data[0].x, atol=1e-3)
    assert len(training_figure(run.rows).data) == 3
    # every moment names the same words, and before and after stand still in one plane
    names = list(figure.data[1].text)
    assert names and set(names) <= set(run.words) and all(len(one.data[1]["x"]) == len(names) for one in figure.frames)
    place = {word: (x, y) for word, x, y in zip(figure.data[0].text, figure.data[0].x, figure.data[0].y, strict=True)}
    for word, x, y in zip(names, figure.frames[-1].data[1]["x"], figure.frames[-1].data[1]["y"], strict=True):
        np.testing.assert_allclose((x, y), place[word], atol=1e-3)  # each name where its word is
    before, after = still_figures(run.film, run.words, shares, ["a", "b"])
    for still in (before, after):
        assert not still.layout.updatemenus and not still.layout.sliders and not still.frames
        assert list(still.data[1].text) == list(before.data[1].text)
    assert before.layout.xaxis.range == after.layout.xaxis.range and tuple(before.data[0].x) != tuple(after.data[0].x)
    np.testing.assert_allclose(after.data[0].x, last, atol=1e-3)
    kept = TrainRun(TrainChoice("mean", given=True, epochs=1))
    kept.run(about, frame["text"].tolist(), frame, Job("r", ("c",), print))
    assert kept.model.vectors_.shape[1] == about.comparison.words.vectors.dimension


def test_a_training_that_was_stopped_goes_on(tmp_path):
    pytest.importorskip("optax")
    frame, about = reviews(), compared()
    texts = frame["text"].tolist()
    whole = TrainRun(TrainChoice("mean", epochs=4))
    whole.run(about, texts, frame, Job("r", ("c",), print))
    stopped, job = TrainRun(whole.choice, tmp_path / "training.npz"), Job("r", ("c",), print)
    stopped.rows = _Stopping(job, 2)
    stopped.run(about, texts, frame, job)
    assert len(stopped.rows) == 3 and stopped.can_go_on and not whole.can_go_on
    rest = stopped.further()
    rest.run(about, texts, frame, Job("r", ("c",), print))
    assert [row["epoch"] for row in rest.rows] == [0, 1, 2, 3, 4] and not rest.can_go_on
    np.testing.assert_array_equal(rest.model.vectors_, whole.model.vectors_)
    np.testing.assert_array_equal(np.stack(rest.film), np.stack(whole.film))
    assert rest.model.checkpoint is None  # a file of the session, which a saved model need not know
    rest.checkpoint.unlink()
    assert not stopped.can_go_on


class _Stopping(list):
    """Rows of a training, at one of which its job is stopped."""

    def __init__(self, job: Job, epoch: int) -> None:
        self.job, self.epoch = job, epoch

    def append(self, row: dict[str, float]) -> None:
        super().append(row)
        if row["epoch"] == self.epoch:
            self.job.stop.set()


def test_a_name_in_the_film_stands_where_its_word_is():
    rng = np.random.default_rng(0)
    words, shares = [f"word{k}" for k in range(300)], rng.dirichlet(np.full(300, 0.3), 2).T
    film = [rng.normal(size=(300, 6)) * size for size in (9.0, 3.0, 1.0)]  # names that stand apart alone need not here
    figure = film_figure(film, words, shares, ["a", "b"])
    for frame in figure.frames:
        at = dict(zip(words, zip(frame.data[0]["x"], frame.data[0]["y"], strict=True), strict=True))
        found = zip(frame.data[1]["x"], frame.data[1]["y"], strict=True)
        assert [at[word] for word in figure.data[1].text] == list(found)


def test_files_are_known_by_the_names_of_their_uploads(tmp_path):
    path = tmp_path / "cflengine-x1.txt"
    path.write_text("dull 1 2\nflat 3 1\nhoppy 3 4\ncrisp 0 1\n")
    run = compared(vectors=(str(path), "mine.txt"))
    assert run.comparison.summary()["vectors"] == "mine.txt"
    path.write_text("nowhere 1 2\n")
    with pytest.raises(ValueError, match=r"has a vector in mine\.txt"):
        compared(vectors=(str(path), "mine.txt"))


def test_a_simulation_shows_the_linear_kernel_blind(monkeypatch):
    monkeypatch.setattr("pages.parts.embeddings.run.SHARES", SHARES[:2])
    run = SimulationRun(SimulationChoice())
    run.run(Job("s", ("c",), print))
    gaussian, linear = (run.frames[name] for name in ("gaussian", "linear"))
    assert [row["documents"] for row in gaussian] == list(SIZES)
    assert gaussian[-1]["power"] > 0.9
    assert max(row["power"] for row in linear) < 0.25
    assert len(power_figure(run.frames).data) == 2
    assert len(power_figure(run.overlaps, "overlap").data) == 2
    assert len(laws_figure(run.choice.laws.laws(), run.choice.n_words).data) == 2


def test_the_page_compares_trains_and_simulates(open_app, monkeypatch):
    pytest.importorskip("optax")
    app = use(open_app(), "moods.csv", reviews().to_csv(index=False).encode())
    app = show(app, "embeddings")
    assert "Press **Compare**" in app.info[0].value
    app.session_state["embed_choice"] = replace(app.session_state["embed_choice"], permutations=99)
    app.session_state["train_choice"] = TrainChoice("mean", epochs=3)
    press(app, "Compare")
    job = BOARD.get(app.session_state[f"{state.EMBED}_id"])
    until(lambda: not job.active, 120)
    app = sound(app.run())
    assert numbers(app)["p, of vectors"] == "0.01"
    assert "gaussian kernel of width" in captions(app)
    assert any("use words differently" in text.value for text in app.markdown)
    sound(app.segmented_control(key="embed_order").set_value("doubtful").run())
    usual = Job.poll
    monkeypatch.setattr(Job, "poll", lambda job: len(getattr(job.so_far, "rows", [])) < 2 and usual(job))
    press(app, "Train")
    training = BOARD.get(app.session_state[f"{state.TRAIN}_id"])
    until(lambda: not training.active, 120)
    monkeypatch.setattr(Job, "poll", usual)
    app = sound(app.run())
    assert "stopped after 1 epoch" in captions(app)
    press(app, "Go on")
    training = BOARD.get(app.session_state[f"{state.TRAIN}_id"])
    until(lambda: not training.active, 120)
    assert [row["epoch"] for row in training.result.rows] == [0, 1, 2, 3]
    app = sound(app.run())
    assert {"Right, of training", "Right, test", "wMMD² before", "wMMD² after"} <= set(numbers(app))
    split = training.result.split
    assert len(split.test) == pytest.approx(len(split.train), abs=2), "half of each class, as in the article"
    sound(app.select_slider(key="widget_train_test").set_value(0.25).run())
    assert "have changed since this network was trained" in captions(app)
    sound(app.select_slider(key="widget_train_test").set_value(0.5).run())
    app.session_state["simulation_choice"] = SimulationChoice(n_words=40)
    monkeypatch.setattr("pages.parts.embeddings.run.SIZES", SIZES[:1])
    monkeypatch.setattr("pages.parts.embeddings.run.SHARES", SHARES[:2])
    press(app, "Simulate")
    simulated = BOARD.get(app.session_state["simulation_job"])
    until(lambda: not simulated.active, 120)
    sound(app.run())
    sound(app.selectbox(key="widget_embed_column").set_value("third").run())
    assert "have changed since this comparison" in captions(app)
    press(app, "Compare")
    second = BOARD.get(app.session_state[f"{state.EMBED}_id"])
    until(lambda: not second.active, 120)
    app = sound(app.run())
    assert app.session_state[f"{state.TRAIN}_id"] is None
    assert any("Pairs of classes" in text.value for text in app.markdown)


def test_without_jax_the_page_says_what_to_install(open_app, monkeypatch):
    monkeypatch.setattr(train_view, "HAS_NEURAL", False)
    app = use(open_app(), "moods.csv", reviews().to_csv(index=False).encode())
    app = show(app, "embeddings")
    press(app, "Compare")
    job = BOARD.get(app.session_state[f"{state.EMBED}_id"])
    until(lambda: not job.active, 120)
    app = sound(app.run())
    assert any("cflengine[neural]" in one.value for one in app.code)
    assert not [button for button in app.button if button.label == "Train"]
    assert importlib.import_module("pages.parts.embeddings.controls").HAS_NEURAL is controls.HAS_NEURAL


def test_a_corpus_without_classes_and_vectors_that_are_none(open_app, tmp_path):
    app = show(use(open_app(), "tiny.csv", TINY.encode()), "embeddings")
    assert "no column with labels" in app.info[0].value
    app = use(open_app(), "moods.csv", reviews().to_csv(index=False).encode())
    app = show(app, "embeddings")
    path = tmp_path / "v.txt"
    path.write_text("dull 1 2\nflat 3\n")
    app.session_state["embed_choice"] = replace(app.session_state["embed_choice"], vectors=(str(path), "v.txt"))
    press(app, "Compare")
    job = BOARD.get(app.session_state[f"{state.EMBED}_id"])
    until(lambda: not job.active, 60)
    app = sound(app.run())
    assert "is it cut off" in app.error[0].value.replace("\\", "")


def test_a_file_of_no_vectors_is_refused_where_it_is_uploaded(open_app):
    app = show(use(open_app(), "moods.csv", reviews().to_csv(index=False).encode()), "embeddings")
    before = app.session_state["embed_choice"]
    for data, said in {
        b"This is a letter\nand it has some lines\n": "line 1 of my.txt holds something that is no number",
        b"PK\x03\x04 and no more": "my.txt is cut off or damaged",
        b"one 1 2 3\ntwo 1 2\n": "line 2 of my.txt has 2 numbers, others have 3",
    }.items():
        app = sound(app.file_uploader[0].upload("my.txt", data, "text/plain").run())
        assert said in app.error[0].value.replace("\\", "")
        assert app.session_state["embed_choice"] == before
    good = b"".join(f"{word} {k} 1.5\n".encode() for k, word in enumerate(("beer", "dull", "flat", "hoppy")))
    app = sound(app.file_uploader[0].upload("good.txt", good, "text/plain").run())
    assert not app.error and app.session_state["embed_choice"].vectors[1] == "good.txt"


def test_the_command_finds_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reviews().to_csv("moods.csv", index=False)
    from cflengine import read_corpus
    from pages.parts.shared.corpora import LoadedCorpus

    corpus = read_corpus("moods.csv")
    loaded = LoadedCorpus("x", corpus, "moods.csv", {})
    run = compared()
    assert main([*shlex.split(embed_command(run, loaded))[1:], "--quiet"]) == 0
    report = json.loads((tmp_path / "apart" / "statistic.json").read_text())
    assert report["statistic"] == run.comparison.statistic
    assert report["p_value"] == run.comparison.p_value


@pytest.mark.parametrize(
    "choice",
    [
        TrainChoice("mean", "none", 0.5, epochs=2), TrainChoice("mean", "wmmd", 0.5, given=True, epochs=2),
        TrainChoice("mean", "wmmd", 0.5, epochs=3, dimension=5, rate=0.03, dev=0.2, clip=True),
    ],
)  # fmt: skip
def test_the_command_trains_the_same(choice, tmp_path, monkeypatch):
    pytest.importorskip("optax")
    monkeypatch.chdir(tmp_path)
    frame = reviews()
    frame.to_csv("moods.csv", index=False)
    from cflengine import read_corpus
    from pages.parts.shared.corpora import LoadedCorpus

    loaded = LoadedCorpus("x", read_corpus("moods.csv"), "moods.csv", {})
    about, run = compared(), TrainRun(choice)
    run.run(about, frame["text"].tolist(), frame, Job("r", ("c",), print))
    assert main([*shlex.split(embed_command(about, loaded, run.choice))[1:], "--quiet"]) == 0
    report = json.loads((tmp_path / "apart" / "report.json").read_text())["training"]
    assert report["accuracy"] == run.right
    assert {"before": report["wmmd_before"], "after": report["wmmd_after"]} == run.wmmd()
    assert report["cross_entropy"] == run.model.result_.objective
    table = pd.read_csv(tmp_path / "apart" / "predictions.csv")
    assert run.predictions(about, loaded.corpus)["predicted"].astype(str).tolist() == table["predicted"].tolist()
    kept = np.load(io.BytesIO(vector_arrays(run.model.words_, run.model.vectors_)))
    assert run.of_words > 0 and kept["vectors"].shape == run.model.vectors_.shape


def test_what_ends_a_training_before_its_first_epoch_is_said():
    pytest.importorskip("optax")
    frame, about = reviews(), compared()

    def trained(choice=None, about=about, job=None):
        run = TrainRun(choice or TrainChoice("mean", epochs=1))
        run.run(about, frame["text"].tolist(), frame, job or Job("r", ("c",), print))
        return run

    stopped = Job("s", ("c",), print)
    stopped.stop.set()
    assert trained(TrainChoice("mean", given=True, epochs=1), job=stopped).model.n_iter_ == 0
    lost = replace(about, choice=replace(about.choice, vectors=("/nowhere/gone.txt", "mine.txt")))
    with pytest.raises(InputError, match="not here any more: upload it again"):
        trained(TrainChoice("mean", given=True), lost)
    with pytest.raises(InputError, match="not here any more"):
        EmbedRun(lost.choice).run(frame["text"].tolist(), frame, 1000, Job("r", ("c",), print))
    with pytest.raises(InputError, match=r"diverged in its first epoch: choose a smaller λ, or under"):
        trained(TrainChoice("gru", lam=1e30, rate=1e30, epochs=1))


def test_names_in_a_cloud_stand_apart_on_a_telephone():
    rng = np.random.default_rng(0)
    points, words = rng.normal(size=(300, 2)), [f"word{k}" for k in range(300)]
    shares = rng.random((300, 2))
    figure = cloud_figure(points, words, shares, shares[:, 0] - shares[:, 1], ("a", "b"))
    x, y = figure.layout.xaxis.range, figure.layout.yaxis.range
    names = [
        (320 * (one.x - x[0]) / (x[1] - x[0]), 400 * (one.y - y[0]) / (y[1] - y[0]), 7 * len(one.text))
        for one in figure.layout.annotations
    ]
    assert len(names) >= 12
    for k, (left, up, width) in enumerate(names):
        for other, row, wide in names[:k]:
            assert abs(left - other) >= (width + wide) / 2 or abs(up - row) >= 15
