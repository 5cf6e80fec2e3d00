"""Results in the app: pointers and concordance, features and downloads, the toy."""

from __future__ import annotations

import csv
import io
import threading
import time
from collections.abc import Callable

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.io import mmread
from streamlit.elements.widgets.button import ButtonMixin
from visiting import (
    captions,
    choose_rows,
    in_address,
    job_of,
    numbers,
    path_job,
    pathed,
    press,
    show,
    solved,
    sound,
    until,
    use,
)

from cflengine import CompressiveFeatures
from cflengine.engine.files import restore_cell
from cflengine.linear.weighting import WEIGHTINGS
from pages.parts.shared import corpora, jobs
from pages.parts.shared.jobs import Job
from pages.parts.shared.settings import Settings

# ---- pointers


def test_a_gram_is_shown_in_context(tiny):
    show(tiny, "pointers")
    assert not tiny.header
    model = job_of(tiny).result
    gram = int(model.dictionary_["count"].argmax())
    tiny.session_state["gram"] = gram
    sound(tiny.run())
    entry = model.dictionary_.iloc[gram]
    assert tiny.header[0].value.replace("\\", "") == f"“{entry['gram']}”"
    frame = tiny.dataframe[-1].value
    assert list(frame.columns) == ["document", "before", "K-gram", "after"] and len(frame) == entry["count"]
    assert set(frame["K-gram"].str.lower()) == {entry["gram"]}


def test_a_row_of_the_dictionary_chooses_its_gram(tiny):
    show(tiny, "pointers")
    shown = tiny.dataframe[0].value
    choose_rows(tiny, 0, 1)
    assert tiny.header[0].value.replace("\\", "") == f"“{shown['gram'].iloc[1]}”"


def test_a_row_can_be_chosen_again_after_a_click_elsewhere(tiny):
    show(tiny, "pointers")
    chosen = choose_rows(tiny, 0, 1).session_state["gram"]
    tiny.session_state["gram"] = (chosen + 1) % 3  # a click in the text
    choose_rows(tiny, 0)
    assert choose_rows(tiny, 0, 1).session_state["gram"] == chosen


def test_a_row_of_the_concordance_goes_to_its_document(tiny):
    show(tiny, "pointers")
    tiny.session_state["gram"] = int(job_of(tiny).result.dictionary_["documents"].argmax())
    sound(tiny.run())
    last = len(tiny.dataframe[-1].value) - 1
    document = int(tiny.dataframe[-1].value["document"].iloc[last])
    for _ in range(2):
        choose_rows(tiny, -1, last)
        assert tiny.number_input(key="widget_document").value == document > 0
        choose_rows(tiny, -1)
        sound(tiny.number_input(key="widget_document").set_value(0).run())
        assert tiny.number_input(key="widget_document").value == 0


def test_the_dictionary_is_filtered(tiny):
    show(tiny, "pointers")
    everything = len(tiny.dataframe[0].value)
    sound(tiny.text_input(key="filter").set_value("CAT").run())
    assert 0 < len(tiny.dataframe[0].value) < everything
    assert tiny.dataframe[0].value["gram"].str.contains("cat").all()
    sound(tiny.selectbox(key="filter_length").set_value(3).run())
    assert (tiny.dataframe[0].value["length"] == 3).all()
    sound(tiny.text_input(key="filter").set_value("(").run())
    sound(tiny.segmented_control(key="lists").set_value("Of this document").run())
    assert "Document 0" in captions(tiny) and list(tiny.dataframe[0].value.columns)[2] == "here"


def test_finding_and_choosing_documents(tiny):
    show(tiny, "pointers")
    sound(tiny.text_input(key="find").set_value("DOG").run())
    assert "2 places in 2 documents; document 1 is number 1 of them" in captions(tiny)
    assert tiny.number_input(key="widget_document").value == 1
    for document in (2, 1):
        assert press(tiny, "›").number_input(key="widget_document").value == document
    sound(tiny.number_input(key="widget_document").set_value(0).run())
    assert tiny.number_input(key="widget_document").value == 0, "a query must not hold on to the reader"
    sound(tiny.text_input(key="find").set_value("zebra").run())
    assert "No document holds" in captions(tiny) and tiny.number_input(key="widget_document").value == 0


def test_another_solve_of_the_same_corpus_forgets_the_chosen_gram(tiny):
    show(solved(tiny, lam=0.0), "pointers")
    last = len(job_of(tiny).result.grams_) - 1
    tiny.session_state["gram"] = last
    assert sound(tiny.run()).header
    solved(tiny, lam=50.0)
    assert len(job_of(tiny).result.grams_) <= last
    assert not show(tiny, "pointers").header


# ---- features


@pytest.fixture
def downloads(monkeypatch) -> dict[str, Callable[[], bytes]]:
    """Label to content of the download buttons of the last run."""
    found: dict[str, Callable[[], bytes]] = {}
    button = ButtonMixin.download_button

    def spy(self, label, data, *arguments, **named):
        found[label] = data
        return button(self, label, data, *arguments, **named)

    monkeypatch.setattr(ButtonMixin, "download_button", spy)
    return found


def test_the_weighting_changes_numbers_and_downloads(tiny, downloads):
    model: CompressiveFeatures = job_of(tiny).result
    show(tiny, "features")
    tables = {}
    for weighting in WEIGHTINGS:
        sound(tiny.segmented_control(key="widget_weighting").set_value(weighting).run())
        assert numbers(tiny)["Features"] == str(len(model.grams_))
        tables[weighting] = tiny.dataframe[0].value.to_numpy()
        corpus = corpora.recall(tiny.session_state["corpus_id"]).corpus
        expected = model.set_params(weighting=weighting).transform(corpus.texts).toarray()
        model.set_params(weighting="count")
        assert np.array_equal(mmread(io.BytesIO(downloads["Matrix Market"]())).toarray(), expected)
        names = downloads["Feature names"]().decode().splitlines()
        assert names == list(model.get_feature_names_out())
        head, *rows = csv.reader(io.StringIO(downloads["CSV"]().decode(), newline=""), strict=True)
        assert head == ["document", "feature", "count" if weighting == "count" else "weight"]
        dense = np.zeros(expected.shape)
        for document, name, entry in rows:
            dense[int(document), names.index(restore_cell(name))] = float(entry)
        assert np.array_equal(dense, expected)
        frame = pq.read_table(io.BytesIO(downloads["Parquet"]())).to_pandas()
        assert np.array_equal(frame.iloc[:, 2], expected[expected != 0])
    assert len({table.tobytes() for table in tables.values()}) == len(tables)
    last = WEIGHTINGS[-1]
    assert in_address(tiny, "weighting") == last and f"--weighting={last}" in tiny.code[1].value
    assert "changed" not in captions(tiny), "a weighting needs no new solve"


def test_dictionary_and_pointers_can_be_taken_away(tiny, downloads):
    model = job_of(tiny).result
    show(tiny, "features")
    head, *rows = csv.reader(io.StringIO(downloads["Dictionary"]().decode(), newline=""), strict=True)
    assert head == list(model.dictionary_.columns)
    assert [restore_cell(row[0]) for row in rows] == model.dictionary_["gram"].tolist()
    frame = pq.read_table(io.BytesIO(downloads["Pointers"]())).to_pandas()
    assert len(frame) == model.result_.n_pointers
    assert len([button for button in tiny.get("download_button") if not button.proto.disabled]) == 9


def test_a_download_button_can_be_pressed(tiny):
    show(tiny, "features")
    buttons = tiny.get("download_button")
    assert len({button.proto.label for button in buttons}) >= 6, "each file has a button of its own"
    for button in buttons:
        sound(button.click().run())


# ---- toy


def test_figure_1_and_any_other_text(open_app):
    app = open_app("toy")
    assert app.dataframe[0].value["cost"].tolist() == [3, 6, 16]
    assert (app.dataframe[0].value["proved lower bound"] <= [3, 6, 16]).all()
    for text in ("abcabcabc", "ab", "<b>*x*</b>", "👩‍🚀👩‍🚀"):
        sound(app.text_input(key="toy_text").set_value(text).run())
        assert numbers(app)["Gap, proved"] == "optimal" and not app.error
    sound(app.slider(key="toy_lam").set_value(0.0).run())
    sound(app.text_input(key="toy_text").set_value("  ").run())
    assert "Type a few letters" in app.info[0].value


def test_the_toy_page_does_not_wait_for_a_long_solve(open_app, board):
    go_on = threading.Event()
    board.submit(jobs.Job("long", ("x",), lambda job: go_on.wait(30)))
    began = time.monotonic()
    app = open_app("toy")
    assert time.monotonic() - began < 7 and "The solver is busy" in captions(app) and not app.dataframe
    go_on.set()
    until(lambda: not any(job.active for job in board._jobs.values()))
    until(lambda: sound(app.run()).dataframe)
    assert numbers(app)["Gap, proved"] == "optimal"


# ---- the path before


def test_the_path_before_stays_in_sight_and_can_be_brought_back(open_app, board):
    app = pathed(use(open_app()))
    first, go_on = path_job(app), threading.Event()
    board.submit(Job("long", ("x",), lambda job: go_on.wait(30)))
    app.session_state["settings"] = Settings(lam=2.0, max_gram=2)
    sound(app.run())
    assert not [button for button in app.button if button.key == "bring_back"]
    sound(app.button(key="run").click().run())
    second = path_job(app)
    assert second is not first and second.so_far.max_gram == 2
    said = captions(show(app, "pointers"))
    assert "Until its first λ is certified" in said and "K = 2 is set and not solved for yet" in said
    assert "up to 3 words" in said and not app.info
    sound(show(app, "path").button(key="stop").click().run())
    go_on.set()
    until(lambda: not second.active)
    assert "up to 3 words" in captions(show(app, "phrases"))
    sound(show(app, "path").button(key="bring_back").click().run())
    assert path_job(app) is first and app.session_state["settings"].max_gram == 3
    assert in_address(app, "path") == first.id and "changed" not in captions(app)
    assert not [button for button in app.button if button.key == "bring_back"], "the one before had nothing"


def test_what_is_the_paths_and_what_the_solves_is_told_apart(open_app):
    app = solved(pathed(use(open_app())), lam=2.0, max_gram=4)
    assert "of up to 3 words; the other pages show those of the last solve, of up to 4 words" in captions(
        show(app, "corpus")
    )
    assert "up to 4 words" in captions(show(app, "pointers")) and "result, by itself" in captions(app)
    app.session_state["settings"] = Settings(lam=2.0)
    assert "the other pages show" in captions(show(app, "corpus")), "the solve is of this λ"
    app.session_state["settings"] = Settings(lam=0.05)
    assert "the other pages show" not in captions(show(app, "corpus"))


def test_two_paths_change_places(open_app):
    app = pathed(use(open_app()))
    first = path_job(app)
    app.session_state["settings"] = Settings(max_gram=2)
    second = path_job(pathed(app, 0.1, 1.0, 2))
    for there, other in ((first, second), (second, first)):
        button = app.button(key="bring_back")
        assert f"K = {there.so_far.max_gram}" in button.label
        sound(button.click().run())
        assert path_job(app) is there and "changed" not in captions(app)
        assert app.number_input(key="widget_count").value == len(there.so_far.lams)
        assert f"K = {other.so_far.max_gram}" in app.button(key="bring_back").label
    use(show(app, "corpus"), "other.csv", b"text\nsome other words\nsome other words\n")
    assert not [button for button in show(app, "path").button if button.key == "bring_back"]
