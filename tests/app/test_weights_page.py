"""The pages Word groups and Names: races, trajectories, clusters in the text, tied weights; a sentence tagged."""

from __future__ import annotations

import io
import threading

import numpy as np
import pandas as pd
import pytest
from test_results import downloads  # noqa: F401
from visiting import TINY, captions, numbers, press, show, sound, until, use

from cflengine import read_corpus
from cflengine.loglinear.tagging import TaggedFile
from cflengine.text import USUAL_TOKENS, TokenChoice
from pages.parts.groups.figures import (
    explained_figure,
    film_figure,
    parsimony_figure,
    trajectories_figure,
    words_apart,
)
from pages.parts.groups.run import TIES, TITLES, TOL, WeightsChoice, WeightsRun
from pages.parts.names.run import SAMPLE_FILE, TEMPLATE, TaggerChoice, TaggerRun, tagged_frame
from pages.parts.names.tag_view import parts_of
from pages.parts.shared import asking, concordance, corpora
from pages.parts.shared.jobs import BOARD, Job

HOSTILE = "<b>*up*</b> $x$ :red[y]"


def reviews(n: int = 90, up: str = "up") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        kind = k % 3
        telling = (["good", "nice", "fine"], ["bad", "grim", "<i>dull</i>"], ["so", "soso", "plain"])[kind]
        text = " ".join(rng.choice(["the", "beer", "of", "it"], 4)) + " " + " ".join(rng.choice(telling, 3)) + "."
        rows.append((text, (up, "down", "middling")[kind]))
    return pd.DataFrame(rows, columns=["text", "mood"])


@pytest.fixture(scope="module")
def run() -> WeightsRun:
    frame = reviews()
    found = WeightsRun(WeightsChoice("mood", "up", cluster_factor=3, rounds=1))
    found.run(frame["text"].tolist(), frame, Job("r", ("c",), print))
    return found


# ---- the runs behind the pages


def test_a_class_may_be_a_number_that_gaps_in_the_column_made_a_fraction():
    frame = reviews()
    frame["mood"] = frame["mood"].map({"up": 1, "down": 2, "middling": 3}).where(frame.index % 7 > 0)
    found = WeightsRun(WeightsChoice("mood", "1", cluster_factor=3, rounds=1))
    found.run(frame["text"].tolist(), frame, Job("r", ("c",), print))
    assert set(found.comparison.labels.classes) == {"1", "the rest"}


def test_every_solver_ends_at_the_same_optimum(run):
    assert list(run.results) == list(TITLES)
    assert all(result.gap <= TOL for result in run.results.values())
    values = [result.objective for result in run.results.values()]
    assert max(values) <= min(values) * (1 + 2 * TOL)
    assert run.f1(run.plain.w) == 1.0 and set(run.comparison.labels.classes) == {"up", "the rest"}
    assert set(run.names[run.watch[:3]]) <= {"good", "nice", "fine"}
    assert run.plain.trajectories.shape == (len(run.plain.trace), len(run.watch))
    np.testing.assert_array_equal(run.plain.trajectories[-1], run.plain.w[run.watch])


def test_clusters_their_words_and_what_they_explain(run):
    cluster_of = run.clusters(3)
    words = run.cluster_words(cluster_of, 2)
    assert set(words["word"]) == {"good", "nice", "fine"} and (words["weight"] > 0).all()
    assert words["documents"].between(1, 72).all()
    explained = run.explained
    assert len(explained) == len(run.plain.trace) and explained[-1] > 0.9 and explained.max() <= 1.0


def test_tied_weights(run):
    run.tie(Job("t", ("c",), print))
    assert [fit.k for fit in run.fits] == list(TIES)
    values = [fit.objective for fit in run.fits]
    assert values[-1] <= values[0] and run.fits[-1].quality == 1.0
    assert run.fits[0].explained == pytest.approx(0.0)


def corpus(*texts: str, tokens: TokenChoice = USUAL_TOKENS) -> corpora.LoadedCorpus:
    data = pd.DataFrame({"text": texts}).to_json(orient="records", lines=True).encode()
    return corpora.remember(read_corpus(data, name="a.jsonl", text_column="text"), source="test", tokens=tokens)


def test_occurrences_are_whole_words(monkeypatch):
    loaded = corpus("The goods, GOOD;", "no", "a good\nbeer")
    found, places = concordance.occurrences(loaded, "good")
    assert len(places) == 2 and found["document"].tolist() == [0, 2] and found["match"].tolist() == ["GOOD", "good"]
    assert found["before"].tolist() == ["The goods,", "a"] and found["after"].tolist() == [";", "beer"]
    found, _ = concordance.occurrences(loaded, "good", first=np.array([2]))
    assert found["document"].tolist() == [2, 0]
    monkeypatch.setattr(concordance, "MOST", 7)
    found, places = concordance.occurrences(corpus("x " * 500), "x")
    assert len(found) == 7 and len(places) == 500


@pytest.mark.parametrize(("text", "phrase"), [("The beer's whole body", "'s whole"), ("So good! flavour", "! flavour")])
def test_phrases_that_begin_with_a_mark_are_found(text, phrase):
    found, places = concordance.occurrences(corpus("nothing", text), phrase)
    assert len(places) == 1 and found["document"].tolist() == [1]


def test_text_without_blanks():
    characters = TokenChoice(preset="characters")
    found, places = concordance.occurrences(corpus("这家酒店的服务很好", "不好", tokens=characters), "服务")
    assert len(places) == 1 and found["before"].tolist() == ["这家酒店的"]


def test_what_is_no_word_here_is_found_nowhere():
    assert not len(concordance.occurrences(corpus("a b"), "…")[1])


def test_a_run_that_is_stopped_before_the_first_model(run):
    frame = reviews()
    job = Job("r", ("c",), print)
    job.stop.set()
    early = WeightsRun(WeightsChoice("mood", "up"))
    early.run(frame["text"].tolist(), frame, job)
    assert list(early.results) == ["lbfgs"] and str(early.plain.reason) == "interrupted"


def test_figures_have_a_frame_an_iteration_at_most_fifty_and_a_symbol_a_cluster(run):
    cluster_of = run.clusters(3)[run.watch]
    names = [f"w{j}" for j in range(len(run.watch))]
    figure = trajectories_figure(run.plain.trajectories, names, cluster_of, ["a", "b", "c"], chosen=1)
    assert 2 <= len(figure.frames) <= 50 and figure.frames[-1].name == str(len(run.plain.trajectories) - 1)
    heads = [trace for trace in figure.data if trace.mode == "markers"]
    assert len({head.marker.symbol for head in heads}) == len(heads) == 3
    assert sum(len(head.x) for head in heads) == len(run.watch)
    assert [head.opacity for head in heads] == [0.2, 1.0, 0.2]
    assert len(explained_figure(run.explained, 3.0).data[0].x) == len(run.plain.trace)
    fits = run.fits or []
    assert parsimony_figure(fits, 0.9, 10, "F1").layout.xaxis.type == "log"


def test_a_tagger_learns_the_sample_and_tags_a_sentence():
    file = TaggedFile.read(SAMPLE_FILE, name="tagged.conll")
    run = TaggerRun(TaggerChoice("x"), file)
    run.run(Job("t", ("c",), print))
    assert run.model.duality_gap_ <= 1e-4 and run.scores.set_index("kind").loc["", "f1"] > 0.75
    rows, labels, probabilities = run.tagged("My friend Wim ordered a Red Weir at the Foggy Goat!")
    assert rows[0] == ("My", "Xx") and rows[-1] == ("!", "!")
    assert labels == ["O", "O", "B-PER", "O", "O", "B-BEER", "I-BEER", "O", "O", "B-LOC", "I-LOC", "O"]
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(len(rows)))
    frame = tagged_frame(rows, labels, probabilities, run.model.classes_)
    assert (frame["probability"] >= frame["with"]).all() and (frame["label"] != frame["or"]).all()
    assert run.tagged("")[1] == [] and tagged_frame([], [], np.zeros((0, 3)), ["a", "b", "c"]).empty
    unknown = run.rows_of("Zzzyx 99 ‽ <b>")
    assert [row[1] for row in unknown][:2] == ["Xx", "9"]


def test_parts_of_a_sentence_are_entities_and_tokens():
    probabilities = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.3, 0.1, 0.6]])
    parts = parts_of(["<b>", "A", "B"], ["O", "B-X", "I-X"], probabilities, ["O", "B-X", "I-X"], [(1, 3, "X")], ["X"])
    assert [(part["kind"], part["sure"], len(part["tokens"])) for part in parts] == [("", 90, 1), ("X", 60, 2)]
    assert parts[0]["tokens"][0]["text"] == "<b>"
    plain = parts_of(["a", "b"], ["N", "O"], np.eye(2), ["N", "O"], [], ["N"])
    assert [part["kind"] for part in plain] == ["N", ""]


# ---- the pages


@pytest.fixture
def page(open_app):
    app = use(open_app(), "reviews.csv", reviews().to_csv(index=False).encode())
    return show(app, "clusters")


def raced(app):
    press(app, "Learn")
    until(lambda: not BOARD.get(app.session_state["weights_id"]).active, 60)
    return sound(app.run())


def test_the_page_races_and_shows_what_it_found(page):
    assert "Press **Learn**" in page.info[0].value
    raced(page)
    names = {"Gap, proved", "F1 on the test set", "F1 of guessing", "Weights", "Plain / clustered"}
    assert set(numbers(page)) == names
    assert numbers(page)["F1 on the test set"] == "100.0 %" and numbers(page)["F1 of guessing"] == "50.0 %"
    show(page, "race")
    assert page.dataframe[0].value["solver"].tolist() == list(TITLES.values()), "the race is in the Lab"
    show(page, "clusters")
    assert "mutual information" in captions(page) and "variance of the final weights" in captions(page)
    assert page.query_params["weights"]


def test_the_plain_solution_is_shown_while_the_others_are_on_their_way(page, monkeypatch):
    go_on, solve = threading.Event(), WeightsRun._solve

    def one_by_one(run, name, settings, lane):
        if name == "clustered":
            lane.tell("waits")
            go_on.wait(60)
        return solve(run, name, settings, lane)

    monkeypatch.setattr(WeightsRun, "_solve", one_by_one)
    press(page, "Learn")
    job = BOARD.get(page.session_state["weights_id"])
    until(lambda: job.so_far.stage == "waits", 60)
    assert job.rows[-1]["who"] == "lbfgs"
    sound(page.run())
    assert set(numbers(page)) == {"Gap, proved", "F1 on the test set", "F1 of guessing", "Weights"}
    assert "run next" in captions(page) and "waits …" in captions(page)
    (ridge,) = [one for one in page.select_slider if one.key == "widget_weights_ridge"]
    assert "since this run began" in captions(sound(ridge.set_value(10.0).run()))
    go_on.set()
    until(lambda: not job.active, 60)
    assert "Plain / clustered" in numbers(sound(page.run())) and "since this was learnt" in captions(page)


def test_a_cluster_shows_its_words_and_where_they_stand(page):
    raced(page)
    sound(page.segmented_control(key="weights_cluster_6").set_value(5).run())
    frames = [one.value for one in page.dataframe]
    words, places = frames[0], frames[1]
    assert set(words["word"]) <= {"good", "nice", "fine"} and len(places) > 3
    assert set(places["match"].str.lower()) == {words["word"].iloc[0]}


def test_the_weights_are_tied_when_asked_for(page):
    raced(page)
    sound(page.toggle(key="weights_ties_on").set_value(True).run())
    until(lambda: not BOARD.get(page.session_state["weights_ties"]).active, 60)
    sound(page.run())
    assert "optimal k-means" in captions(page)
    assert any("within a point of all" in one.value for one in page.markdown)


def test_another_class_and_other_policies_are_said_to_be_new(page):
    raced(page)
    (ridge,) = [one for one in page.select_slider if one.key == "widget_weights_ridge"]
    sound(ridge.set_value(10.0).run())
    assert "have changed since this was learnt" in captions(page)
    sound(page.number_input(key="widget_weights_rounds").set_value(3).run())
    assert page.session_state["weights_choice"].rounds == 3 and page.session_state["weights_choice"].ridge == 10.0


@pytest.mark.parametrize(("page", "choice"), [("clusters", "weights_choice"), ("sentences", "telling_choice")])
def test_a_split_of_the_corpus_before_is_not_asked_of_the_next(open_app, page, choice):
    frame = reviews()
    split = frame.assign(split=["train" if k % 4 else "test" for k in range(len(frame))])
    app = show(use(open_app(), "first.csv", split.to_csv(index=False).encode()), page)
    assert app.session_state[choice].test == "split=test"
    app = show(use(show(app, "corpus"), "second.csv", frame.to_csv(index=False).encode()), page)
    assert app.session_state[choice].test == 0.2 and not app.error


def test_hostile_classes_are_shown_as_they_are(open_app):
    data = reviews(up=HOSTILE).to_csv(index=False).encode()
    app = show(use(open_app(), "reviews.csv", data), "clusters")
    sound(app.selectbox(key="widget_weights_name_mood").set_value(HOSTILE).run())
    raced(app)
    assert HOSTILE in captions(app).replace("\u2060", "")


def test_a_corpus_without_labels_is_told(open_app):
    app = show(use(open_app(), "tiny.csv", TINY.encode()), "clusters")
    assert "no column with labels" in app.info[0].value


def trained(app):
    press(app, "Train")
    until(lambda: not BOARD.get(app.session_state["tagger_id"]).active, 60)
    return sound(app.run())


def test_a_click_before_the_first_run_has_read_the_file_is_not_lost(open_app):
    app = show(open_app(), "tagger")
    later = {"tagger_columns", "tagger_template", "tagger_digest", "tagger_parsed", "tagger_data"}
    for name in later:  # as where the click came first
        if name in app.session_state:
            del app.session_state[name]
    press(app, "Train")
    job = BOARD.get(app.session_state["tagger_id"])
    assert job.so_far.choice.template == TEMPLATE and job.so_far.file.name == SAMPLE_FILE.name
    job.stop.set()


def test_the_tagger_page_trains_and_tags(open_app):
    app = show(open_app(), "tagger")
    assert "Press **Train**" in app.info[0].value
    trained(app)
    assert set(numbers(app)) == {"F1 by entities", "Gap, proved", "Weights"}
    tokens = app.dataframe[0].value
    assert tokens["token"].iloc[8] == "Wim" and tokens["label"].iloc[8] == "B-PER"
    sound(app.text_input(key="tagger_text").set_value("Nadia left.").run())
    assert app.dataframe[0].value["token"].tolist() == ["Nadia", "left", "."]
    sound(app.text_input(key="tagger_text").set_value("").run())


def test_a_sentence_waits_for_the_engine_and_says_so(open_app, monkeypatch):
    """Tagging enters parallel kernels, so it happens in the solver's thread, behind what runs there."""
    app = trained(show(open_app(), "tagger"))
    gate = threading.Event()
    busy = BOARD.submit(Job("busy", ("c",), lambda job: gate.wait(30)))
    sound(app.text_input(key="tagger_text").set_value("Nadia left.").run())
    assert "busy with a solve" in captions(app) and asking.COMPILED_FIRST not in captions(app)
    with monkeypatch.context() as cold:
        cold.setattr(asking, "_COMPILED", threading.Event())
        assert f"at its next step. {asking.COMPILED_FIRST}" in captions(sound(app.run()))
    gate.set()
    busy.result(timeout=10)
    until(lambda: app.session_state["asked_tagged"][1].done())
    assert "busy with a solve" not in captions(sound(app.run()))
    assert app.dataframe[0].value["token"].tolist() == ["Nadia", "left", "."]


def test_files_and_templates_of_the_user(open_app):
    app = show(open_app(), "tagger")
    data = "\n".join(f"{w} {t}\n{v} O\n" for w, t, v in [("Kim", "N", "ran"), ("Lee", "N", "sat")] * 5).encode()
    sound(app.file_uploader[0].upload("mine.conll", data, "text/plain").run())
    assert "mine.conll".replace(".", "\\.") in app.info[0].value and ",1]" not in app.session_state["tagger_template"]
    trained(app)
    assert set(app.dataframe[0].value["label"]) <= {"N", "O"}
    sound(app.text_area(key="widget_tagger_template_1").set_value("U00:%x[0,7]\n").run())
    assert "have changed since this tagger" in captions(app)
    trained(app)
    assert "column 7" in app.error[0].value
    sound(app.file_uploader[0].upload("bad.conll", b"a b\nc\n", "text/plain").run())
    assert "line 2" in app.error[0].value


def test_a_reload_knows_what_the_tagger_was_trained_on(open_app):
    data = "\n".join(f"{w} {t}\n{v} O\n" for w, t, v in [("Kim", "N", "ran"), ("Lee", "N", "sat")] * 5).encode()
    app = show(open_app(), "tagger")
    sound(app.file_uploader[0].upload("mine.conll", data, "text/plain").run())
    sound(app.select_slider(key="widget_tagger_c2").set_value(1.0).run())
    trained(app)
    again = show(open_app(tagger=app.session_state["tagger_id"]), "tagger")
    assert "have changed since this tagger" not in captions(again) and "Learning from mine" in captions(again)
    assert again.select_slider(key="widget_tagger_c2").value == 1.0
    template = again.text_area(key="widget_tagger_template_1")
    assert template.value == template.proto.default == app.session_state["tagger_template"], "also in a run cut short"
    other = data.replace(b"Kim", b"Ann")
    sound(again.file_uploader[0].upload("other.conll", other, "text/plain").run())
    assert "have changed since this tagger" in captions(again)


def test_the_usual_template_fits_the_sample():
    assert TEMPLATE.endswith("B\n") and "%x[0,1]" in TEMPLATE


def test_the_names_of_the_corpus_are_found_and_taken_away(open_app, downloads):  # noqa: F811
    rows = ["At the Foggy Goat in Ostermere Wim ordered a Red Weir.", "Nothing here. <b>Wim</b> again, in Ostermere!"]
    app = use(open_app(), "notes.csv", pd.DataFrame({"text": rows}).to_csv(index=False).encode())
    trained(show(app, "tagger"))
    press(app, "Find the names")
    until(lambda: not BOARD.get(app.session_state["names_id"]).active, 60)
    app = sound(app.run())
    run = BOARD.get(app.session_state["names_id"]).so_far
    index = run.index()
    assert "Ostermere" in set(index["name"]) and run.done == 2
    for d, a, e, name, _, sure in run.found:
        assert " ".join(rows[d][a:e].split()) == name and 0 < sure <= 1
    conll = downloads["Tagged text (CoNLL)"]().decode()
    read = TaggedFile.read(conll.encode(), name="t.conll")
    assert read.rows[0][:3] == [("At",), ("the",), ("Foggy",)] and len(read.rows) == len(run.tagged)
    assert len(pd.read_csv(io.BytesIO(downloads["Tokens (CSV)"]()))) == sum(len(own) for _, own, _ in run.tagged)
    assert pd.read_csv(io.BytesIO(downloads["Names (CSV)"]()))["count"].sum() == len(run.found)
    assert not any("<b>" in one.body for one in app.get("html") if "nm" in one.body)


def test_the_film_of_the_scheme_shows_clusters_in_columns(run):
    scheme = run.results["clustered"]
    stages = scheme.trace["stage"].tolist()
    figure = film_figure(scheme.trajectories[:, :5], stages, list("abcde"), run.own_clusters()[:5])
    assert len(figure.frames) >= 2 and {frame.name for frame in figure.frames} <= {str(t) for t in range(len(stages))}
    last = figure.frames[-1]
    assert list(last.data[0].x) == scheme.trajectories[int(last.name), :5].tolist()
    titles = run.titles(run.clusters(3))
    assert len(titles) == 3 and any(word in titles[-1] for word in ("good", "nice", "fine"))


def test_no_word_of_the_film_is_written_over_another():
    rng = np.random.default_rng(0)
    names = [f"word{k}" for k in range(120)]
    assert words_apart(np.zeros(3), ["one", "two", "three"]) == ["one", "", ""]  # a row apart, one below the other
    assert words_apart(np.array([-0.9, 0.0, 0.9]), ["one", "two", "three"]) == ["one", "two", "three"]
    together = words_apart(np.zeros(120), names)  # one column: every fifth row has room for a line
    assert [k for k, word in enumerate(together) if word] == list(range(0, 120, 5))
    spread = words_apart(rng.uniform(-1, 1, 120), names)
    assert 24 < sum(map(bool, spread)) <= 40 and spread[0] == "word0"
