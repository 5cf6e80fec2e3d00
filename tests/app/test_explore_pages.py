"""Phrases and Compare: the dictionary as a table, the concordance, key phrases of groups, one in another's words."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
from test_results import downloads  # noqa: F401
from visiting import captions, choose_rows, markdown, press, show, sound, until, use

from cflengine.compression import count_matrix, periods_of, permuted_weight
from pages.parts.compare.figures import cross_figure, rates_figure, scatter_figure
from pages.parts.compare.groups import with_groupings
from pages.parts.compare.run import CompareChoice, CompareRun
from pages.parts.compare.view import counted, file_part, keys_table
from pages.parts.overtime.figures import rates_figure as over_time
from pages.parts.overtime.view import _span, shown_groups, time_columns
from pages.parts.shared.glossary import NEXT
from pages.parts.shared.jobs import BOARD, DONE, Job


def debates() -> bytes:
    rng = np.random.default_rng(0)
    parts = {
        "left": ["the public good", "working people", "we must act"],
        "<b>right</b>": ["free markets", "low taxes"],
    }
    shared = ["Mr. Speaker", "and so", "it's late", "*", "="]
    rows = [
        (" ".join(rng.choice([*phrases, *shared], 14)) + ".", name, 1990 + k % 4)
        for name, phrases in parts.items()
        for k in range(25)
    ]
    return pd.DataFrame(rows, columns=["text", "party", "year"]).to_csv(index=False).encode()


pytestmark = pytest.mark.usefixtures("remembered")


@pytest.fixture
def corpus(open_app):
    app = show(use(open_app(), "debates.csv", debates()), "phrases")
    app.session_state["path_wanted"] = (0.1, 10.0, 5)
    press(app, "Compress it")
    until(lambda: not BOARD.get(app.session_state["path_id"]).active)
    return sound(app.run())


def test_phrases_are_spelt_as_in_the_text_content_first(corpus):
    table = corpus.dataframe[0].value
    assert {"free markets", "low taxes"} & set(table["phrase"].head(4))
    assert not table["phrase"].str.contains(".", regex=False).any()
    sound(corpus.toggle(key="phrases_all").set_value(True).run())
    every = corpus.dataframe[0].value
    assert len(every) > len(table) and (every["uses"].diff().dropna() <= 0).all()
    assert every["phrase"].str.contains("it's", regex=False).any(), "not it ' s"
    sound(corpus.text_input(key="phrases_filter").set_value("TAXES").run())
    assert corpus.dataframe[0].value["phrase"].str.contains("taxes").all()


def test_the_page_opens_on_a_phrase_in_context(corpus):
    assert "places in" in markdown(corpus)
    first = corpus.dataframe[1].value
    assert first["match"].str.lower().nunique() == 1 and list(first.columns)[-2:] == ["party", "year"]
    assert "phrase_query" not in corpus.session_state, "no one has chosen it"
    assert first["before"].str.len().max() <= 60  # what the grid would cut at its end


def test_the_bar_says_what_a_page_chose_in_the_same_run(corpus, monkeypatch):
    monkeypatch.setattr("pages.parts.phrases.table.draw_phrases", lambda frame, max_gram: "low taxes")
    app = show(corpus, "phrases")
    assert any("low taxes" in button.label for button in app.button)
    monkeypatch.setattr("pages.parts.phrases.table.draw_phrases", lambda frame, max_gram: "free markets")
    labels = [button.label for button in sound(app.run()).button]
    assert any("free markets" in label for label in labels) and not any("low taxes" in label for label in labels)


def test_words_are_looked_for_sorted_filtered_and_taken_away(corpus, downloads):  # noqa: F811
    sound(corpus.text_input(key="widget_query").set_value("work* people").run())
    frame = corpus.dataframe[1].value
    assert len(frame) and set(frame["party"]) == {"left"}
    sound(corpus.multiselect(key="phrase_orders").set_value(["R1"]).run())
    after = [text.split()[0].lower() if text else "" for text in corpus.dataframe[1].value["after"]]
    letters = [word for word in after if word.isalpha()]
    assert letters == sorted(letters)
    sound(corpus.selectbox(key="phrase_column").set_value("year").run())
    sound(corpus.multiselect(key="phrase_values_year").set_value(["1991"]).run())
    assert set(corpus.dataframe[1].value["year"]) == {1991}
    lines = pd.read_csv(io.BytesIO(downloads["Concordance (CSV)"]()))
    assert len(lines) == len(corpus.dataframe[1].value)
    sound(corpus.text_input(key="widget_query").set_value("zebra").run())
    assert "**zebra** stands nowhere in the 12 documents chosen." in markdown(corpus)
    assert len(corpus.dataframe) == 1, "the phrases alone"


def test_a_regular_expression_and_a_bad_one(corpus):
    sound(corpus.toggle(key="phrase_regular").set_value(True).run())
    sound(corpus.text_input(key="widget_query").set_value("low (taxes|wages)").run())
    assert set(corpus.dataframe[1].value["match"]) == {"low taxes"}
    sound(corpus.text_input(key="widget_query").set_value("(").run())
    assert "not a usable regular expression" in corpus.error[0].value.replace("\\", "")
    show(corpus, "compare")
    assert not [button.label for button in corpus.button if "✕" in button.label], "a pattern is no phrase to go along"


# ---- Compare


def compared(app, **choice):
    app = show(app, "compare")
    sound(app.button(key="run").click().run())
    job = BOARD.get(app.session_state["compare_id"])
    until(lambda: not job.active, 60)
    return sound(app.run()), job


def test_groups_are_compared(corpus, downloads):  # noqa: F811
    app, job = compared(corpus)
    run = job.result
    assert job.state == DONE and set(run.frames) == {"left", "<b>right</b>"}
    table = app.dataframe[0].value
    assert {"working people", "the public good", "we must act"} & set(table["phrase"].head(4))
    assert (table["g2"] > 0).all() and not app.error
    csv = pd.read_csv(io.BytesIO(downloads["Key phrases (CSV)"]()))
    assert {"phrase", "g2", "log_ratio", "p", "spread"} <= set(csv.columns)
    assert set(csv["column"]) == {run.choice.column} and csv["group"].nunique() == 1
    assert set(keys_table(run, "<b>right</b>")["group"]) == {"<b>right</b>"}
    assert file_part("<b>right</b>") == "b-right-b" and file_part("../ ..") == "group" and file_part("Ä 1") == "Ä-1"
    assert run.cross is not None and (run.cross.excess[[0, 1], [1, 0]] > 0).all()
    assert "proved to be within" in captions(app)
    shown = pd.concat([frame.value for frame in app.dataframe if "more" in frame.value])
    texts = " ".join(pd.read_csv(io.BytesIO(debates()))["text"]).lower()
    for pair in ((0, 1), (1, 0)):
        names = run.cross.lost(*pair)["phrase"]
        assert len(names) and all(run.spelling[name].lower() in texts for name in names), "as the text spells them"
    assert {"free markets", "low taxes"} & set(shown["phrase"]) or {"working people"} & set(shown["phrase"])


def test_a_row_of_places_opens_its_document(corpus):
    app, job = compared(corpus)
    choose_rows(app, 0, 0)
    assert "Document" not in markdown(app)
    app.session_state["document"] = 0
    choose_rows(app, 2, 1)
    document = int(app.dataframe[2].value["document"].iloc[1])
    assert f"**Document {document}**" in markdown(app) and app.session_state["document"] == document, "it goes along"
    (shown,) = [one.proto.body for one in app.get("html") if 'class="cc"' in one.proto.body]
    phrase = app.session_state["phrase_query"]
    assert f"<mark>{phrase}</mark>".lower() in shown.lower(), "marked where it stands"
    app.session_state["document"] = 0
    assert sound(app.run()).session_state["document"] == 0, "a row counts once"
    app.session_state["selected_group"] = (
        "party",
        next(p for p in job.result.frames if p != job.result.choice.groups[0]),
    )
    app = sound(app.button(key="read_document").click().run())
    app = show(app, "pointers")
    assert app.session_state["document"] == document, "also where it is none of the group that goes along"


def test_a_comparison_is_said_to_be_old_once_the_choice_changes(corpus):
    app, _ = compared(corpus)
    assert "have changed" not in captions(app)
    sound(app.selectbox(key="widget_compare_column").set_value("year").run())
    assert "have changed" in captions(app)


def test_a_stop_keeps_the_key_phrases(corpus, monkeypatch):
    def stopped(*arguments, **named):
        from cflengine.engine.progress import Stopped

        raise Stopped

    monkeypatch.setattr("pages.parts.compare.run.cross_compress", stopped)
    app, job = compared(corpus)
    assert job.result.cross is None and len(job.result.frames) == 2
    assert "Stopped before this was known" in captions(app)


def test_dates_and_numbers_can_be_compared(open_app):
    days = pd.date_range("2019-11-01", periods=60, freq="11D")
    frame = pd.read_csv(io.BytesIO(debates())).iloc[:50].assign(day=days[:50].astype(str), score=np.arange(50) / 7)
    app = use(open_app(), "dated.csv", frame.to_csv(index=False).encode())
    press(show(app, "compare"), "Compress it")
    until(lambda: not BOARD.get(app.session_state["path_id"]).active)
    box = sound(app.run()).selectbox(key="widget_compare_column")
    assert {"day, by year", "score, in quarters"} <= set(box.options)
    sound(box.set_value("day, by year").run())
    app, job = compared(app)
    assert job.state == DONE and set(job.result.frames) == {"2019", "2020", "2021"}
    sound(app.selectbox(key="widget_compare_column").set_value("score, in quarters").run())
    app, job = compared(app)
    assert sorted(job.result.frames)[0] == "0 to 1.714" and len(job.result.frames) == 4
    assert sum((job.result.group == k).sum() for k in range(4)) == 50


def test_quarters_have_names_of_their_own():
    months = with_groupings(pd.DataFrame({"month": range(202301, 202361)}))["month, in quarters"]
    assert months.nunique() == 4 and months.iloc[0] == "202301 to 202315"
    small = with_groupings(pd.DataFrame({"x": np.arange(60) * 1e-7}))["x, in quarters"]
    assert small.nunique() == 4 and not small.str.contains("e").any()


def test_groupings_of_odd_columns():
    frame = pd.DataFrame({"x": [1.0, np.nan, np.inf, *range(60)], "x, in quarters": ["own"] * 63})
    assert with_groupings(frame).equals(frame), "a column of that name is the user's own"
    parts = with_groupings(frame[["x"]])["x, in quarters"]
    assert parts.isna().sum() == 2 and parts.nunique() == 4
    one = pd.DataFrame({"t": pd.to_datetime(["2024-01-02", None, "2024-03-04"], utc=True)})
    assert with_groupings(one)["t, by month"].dropna().tolist() == ["2024-01", "2024-03"]


def test_a_corpus_without_groups_says_so(open_app):
    app = show(use(open_app(), "plain.csv", b"text\nthe cat sat on the mat\nthe cat sat on the bed\n"), "compare")
    press(app, "Compress it")
    until(lambda: not BOARD.get(app.session_state["path_id"]).active)
    assert "nothing to group these documents by" in sound(app.run()).info[0].value


def test_figures_escape_what_strangers_write(corpus):
    model = BOARD.get(corpus.session_state["path_id"]).result.model(1.0)
    metadata = pd.read_csv(io.BytesIO(debates()))
    run = CompareRun(CompareChoice("party", ("left", "<b>right</b>"), cross=False))
    run.run(model, metadata["text"].tolist(), metadata, Job("c", ("c",), print))
    figure = scatter_figure(run.frames["left"], "left", "<b>right</b>")
    assert "<b>right" not in str(figure.layout.xaxis.title.text) and len(figure.data) == 3
    names = figure.layout.annotations
    assert len(names) > 4 and not any("<b>" in name.text for name in names)
    rates = run.rates(0)
    assert rates["count"].sum() == run.counts[:, 0].sum()
    assert "<b>right" not in str(rates_figure(rates, "<i>x</i>").data[0].y)
    assert cross_figure(["a", "b"], np.array([[0, 0.5], [0.25, 0]])).data[0].text[0][1] == "+50.0 %"


# ---- Over time


def test_cost_bursts_and_words_over_years(corpus, downloads):  # noqa: F811
    app = show(corpus, "overtime")
    assert "How hard each period is" in markdown(app) and not app.error and not app.info
    sound(app.text_input(key="widget_time_phrase").set_value("free markets").run())
    assert "in all" in captions(app)
    sound(app.selectbox(key="widget_time_group").set_value("party").run())
    show(app, "phrases")
    assert show(app, "overtime").selectbox(key="widget_time_group").value == "party", "another page does not forget it"
    sound(app.selectbox(key="widget_time_group").set_value("").run())
    assert app.session_state["time_choice"].by is None, "all documents, whatever group goes along"
    assert "No phrase comes in a burst" in markdown(app) and "Bursts (CSV)" not in downloads


@pytest.mark.parametrize(("first", "last", "said"), [
    ("2024-01-30", "2024-01-30", "2024-01-30"), ("2024-01-30", "2024-02-03", "2024-01-30 – 02-03"),
    ("2024-01-30", "2024-01-31", "2024-01-30 – 31"), ("2023-12", "2024-01", "2023-12 – 2024-01"),
    ("1999", "2001", "1999 – 2001"),
])  # fmt: skip
def test_of_the_second_period_what_differs_is_told(first, last, said):
    assert _span(first, last) == said


def test_a_burst_is_told_and_taken_away(open_app, downloads):  # noqa: F811
    frame = pd.read_csv(io.BytesIO(debates()))
    frame.loc[frame["year"] == 1992, "text"] += " a great storm" * 6
    app = show(use(open_app(), "storm.csv", frame.to_csv(index=False).encode()), "phrases")
    press(app, "Compress it")
    until(lambda: not BOARD.get(app.session_state["path_id"]).active)
    app = show(app, "overtime")
    until(lambda: app.session_state["asked_bursts"][1].done())
    assert re.search("in a burst that is no accident|in bursts that are no accident", markdown(sound(app.run())))
    shown = next(element.value for element in app.dataframe if "accident" in element.value)
    assert shown["accident"].iloc[0] == "" and set(shown["accident"]) <= {"", "possible"}
    assert shown["when"].iloc[0] == "1992" and len(shown.columns) == 5
    model, names = app.session_state["spelt_dictionary"]
    counts = count_matrix(model.encoding_, len(model.grams_))[:, np.flatnonzero(names["telling"])]
    limit = permuted_weight(counts, np.diff(model.table_.doc_ptr), periods_of(frame["year"], "year"))
    assert app.session_state["asked_bursts"][1].result()[1] == limit  # of the phrases in the table, not of all
    found = pd.read_csv(io.BytesIO(downloads["Bursts (CSV)"]()))
    assert list(found.columns) == ["phrase", "first", "last", "weight", "count"] and "storm" in found["phrase"][0]
    assert (found["first"][0], found["last"][0]) == (1992, 1992)


def test_places_of_a_filter_are_held_against_what_it_lets_through(corpus):
    sound(corpus.text_input(key="widget_query").set_value("free").run())
    everywhere = next(line for line in markdown(corpus).splitlines() if line.startswith("**free**"))
    sound(corpus.selectbox(key="phrase_column").set_value("party").run())
    sound(corpus.multiselect(key="phrase_values_party").set_value(["<b>right</b>"]).run())
    within = next(line for line in markdown(corpus).splitlines() if line.startswith("**free**"))
    places, documents, share, rate = (float(x.replace(",", "")) for x in re.findall(r"[0-9.,]*[0-9]", everywhere))
    frame = pd.read_csv(io.BytesIO(debates()))
    right = frame[frame["party"] != "left"]["text"]
    words = sum(len(re.findall(r"\w+|[^\w\s]", text)) for text in right)
    assert f"{100 * documents / len(right):.1f} % of 25 documents here" in within.replace("\u00a0", " ")
    assert f"{1e6 * places / words:,.0f} a million" in within.replace("\u00a0", " ")
    assert share == pytest.approx(100 * documents / len(frame)) and rate < 1e6 * places / words


def test_a_concordance_of_one_document(corpus):
    show(corpus, "phrases")
    sound(corpus.text_input(key="widget_query").set_value("free").run())
    assert not [one for one in corpus.toggle if one.key == "phrase_one_document"], "none goes along yet"
    table = next(k for k, one in enumerate(corpus.dataframe) if "before" in one.value)
    everywhere = corpus.dataframe[table].value
    choose_rows(corpus, table, 3)
    document = int(everywhere["document"].iloc[3])
    sound(corpus.toggle(key="phrase_one_document").set_value(True).run())
    here = corpus.dataframe[table].value
    assert set(here["document"]) == {document} and len(here) == (everywhere["document"] == document).sum()


def test_small_charts_are_on_one_scale_and_named():
    frame = pd.DataFrame({"period": ["1990", "1991"], "rate": [1.0, 2.0], "low": [0.5, 1.0], "high": [2.0, 3.0],
                          "documents": [3, 4], "words": [30, 40]})  # fmt: skip
    figure = over_time(dict.fromkeys(("a", "<b>b", "c", "d"), frame), "rate", ".0f")
    assert [trace.name for trace in figure.data] == ["a", "&lt;b>b", "c", "d"]
    assert [figure.layout[f"yaxis{k}"].matches for k in ("", 2, 3, 4)] == ["y4", "y4", "y4", None]
    assert [figure.layout[f"xaxis{k}"].showticklabels for k in ("", 2, 3, 4)] == [False, True, True, True]


def test_groups_are_the_most_frequent_and_numbers_in_their_order():
    ratings = pd.Series([*range(1, 11), 3, 3, 9, 9, 9, 1, 10, 10, 5, 5, 7, 7])
    assert shown_groups(ratings) == ["1", "3", "5", "7", "9", "10"]
    assert shown_groups(pd.Series(["b", "a", "b", None])) == ["b", "a"]
    dates = pd.to_datetime(pd.Series(["2020-04-01", None, "2020-01-01", "2020-04-01"]))
    assert shown_groups(dates) == ["2020-01-01", "2020-04-01"] and set(shown_groups(dates)) <= set(dates.astype(str))


def test_documents_without_a_date_are_said_to_be_left_out(open_app):
    rows = [f"2020-0{k % 6 + 1}-01,{'good' if k % 2 else 'fine'} words,{k % 8}" for k in range(48)]
    rows += [",good words,1"] * 3
    app = show(use(open_app(), "dates.csv", "\n".join(["date,text,mark", *rows]).encode()), "phrases")
    press(app, "Compress it")
    until(lambda: not BOARD.get(app.session_state["path_id"]).active)
    app = show(sound(app.run()), "overtime")
    sound(app.text_input(key="widget_time_phrase").set_value("good words").run())
    assert "3 documents without a date, left out on this page." in captions(app)
    assert "24 places in all, 250,000 a million words." in captions(app)
    sound(app.selectbox(key="widget_time_group").set_value("mark").run())
    assert "Of 8 values of mark, the 6 with most documents." in captions(app)


def test_a_corpus_without_dates_says_so(open_app):
    texts = b"text,when,who\nsome words,2024-01-31,ann\nmore words,soon,bob\nno words,unknown,bob\n"
    app = show(use(open_app(), "a.csv", texts), "overtime")
    press(app, "Compress it")
    until(lambda: not BOARD.get(app.session_state["path_id"]).active)
    assert "no column of dates" in sound(app.run()).info[0].value
    assert "The column when stayed words: 1 of its 2 values look like dates." in captions(app)
    assert "who stayed" not in captions(app)


def test_which_columns_are_times():
    frame = pd.DataFrame(
        {
            "rating": [1.0, 2.0],
            "year": [1990, 2001],
            "when": pd.to_datetime(["2020-01-01", None]),
            "flag": [True, False],
            "id": [10_001, 10_002],
        }
    )
    assert time_columns(frame) == ["when", "year"]


def test_a_phrase_and_a_group_go_along(corpus, board):
    app = show(corpus, "phrases")
    phrase = "free markets"
    app.session_state["phrase_query"] = phrase
    app = show(app, "pointers")
    assert app.header[0].value == f"“{phrase}”", "Read opens on it"
    assert app.session_state["document"] >= 25, "on documents that use it, which the first ones do not"
    assert any("free markets" in button.label for button in app.button), "the bar says so"
    app = show(app, "overtime")
    assert app.text_input(key="widget_time_phrase").value == phrase
    app = show(app, "compare")
    press(app, "Compare")
    until(lambda: not board.get(app.session_state["compare_id"]).active)
    sound(app.run())
    app.session_state["selected_group"] = group = ("party", "left")
    app = show(app, "phrases")
    assert app.selectbox(key="phrase_column").value == group[0]
    assert app.multiselect(key=f"phrase_values_{group[0]}").value == [group[1]]
    assert "stands nowhere in the 25 documents chosen" in markdown(app), "the left speaks of no free markets"
    app = show(app, "pointers")
    assert app.session_state["document"] == 0 and "Of the 25 documents with party: left" in captions(app)
    app.session_state["following"] = 0
    assert list(sound(app.run()).session_state["read_points"][1]) == list(range(25))
    sound(app.number_input(key="widget_document").set_value(30).run())
    assert "Document 30 is not one of them" in captions(app)
    assert app.button(key="bar_document").label == "document 30 ✕"
    app = show(app, "compare")
    assert app.segmented_control(key="compare_group").value == group[1]
    assert show(app, "overtime").selectbox(key="widget_time_group").value == group[0]
    app = show(app, "phrases")
    sound(app.multiselect(key=f"phrase_values_{group[0]}").set_value(["<b>right</b>"]).run())
    assert app.session_state["selected_group"] == (group[0], "<b>right</b>"), "one value chosen here goes along, too"
    app = sound(app.button(key="bar_phrase").click().run())
    assert not app.session_state["phrase_query"] and not app.text_input(key="widget_query").value
    assert app.button(key="bar_document").label == "document 30 ✕"
    app = sound(app.button(key="bar_document").click().run())
    assert app.session_state["document"] == 0 and "bar_document" not in [button.key for button in app.button]


def test_read_is_live_under_every_certified_lam(corpus, board):
    app = show(corpus, "pointers")
    run = board.get(app.session_state["path_id"]).so_far
    assert app.session_state["read_points"][0] is run.points
    state = app.session_state
    lams = [point.lam for point in run.points]
    state["settings"] = type(state["settings"])(lam=lams[0])
    app = sound(app.run())
    frame = app.dataframe[0].value
    known = {tuple(gram) for gram in run.model(lams[0]).grams_}
    used = {" ".join(gram) for gram in known}
    assert len(frame) and {text.lower() for text in frame["gram"]} <= used, "the dictionary is that of the slider's λ"


def test_every_page_ends_in_one_next_step(corpus):
    for page in ("corpus", "pointers", "phrases", "compare", "overtime", "tasks", "features", "solve", "toy"):
        app = show(corpus, page)
        links = [link.label for link in app.get("page_link") if link.label.startswith("Next: ")]
        assert len(links) == 1, page


def test_pages_that_have_nothing_to_show_yet_end_in_one_too(open_app):
    app = use(open_app())
    for page in ("clusters", "sentences", "tasks", "losses", "vocabulary", "models"):
        app = show(app, page)
        links = [link.label for link in app.get("page_link") if link.label.startswith("Next: ")]
        assert len(links) == 1, page


def test_what_a_group_uses_more_is_counted_whole():
    more = pd.DataFrame({"p": [0.01, 0.01, 0.2, 0.04]})
    assert counted(more, more) == "uses 3 phrases clearly more often than the others do (p < 0.05, corrected)."
    assert counted(more, more[2:]) == (
        "uses 3 phrases clearly more often than the others do (p < 0.05, corrected); 2 of them, of function words and "
        "punctuation, are not shown."
    )
    assert counted(more[2:3], more[2:3]).startswith("uses no phrase clearly more often")


def test_following_the_next_steps_leads_through_explore_and_labels_to_export():
    page, seen = "", []
    while page not in seen:
        seen.append(page)
        page = NEXT[page][0]
    assert seen[: seen.index("features")] == [
        "", "pointers", "phrases", "compare", "overtime", "boilerplate", "tasks", "sentences", "clusters", "losses",
        "embeddings",
    ]  # fmt: skip
