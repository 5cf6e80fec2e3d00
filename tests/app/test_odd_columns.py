"""Columns as users have them (kinds that change half-way, dates in three formats, thousands of groups), many users."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from visiting import job_of, press, show, sidebar, solved, sound, until, use

from pages.parts.shared.jobs import BOARD, DONE

PAGES = (
    "corpus", "pointers", "path", "phrases", "compare", "overtime", "boilerplate", "tasks", "sentences", "clusters",
    "tagger", "losses", "embeddings", "features", "models", "solve", "race", "vocabulary", "tokenizer", "toy",
)  # fmt: skip


def odd(n: int = 300) -> bytes:
    rng = np.random.default_rng(3)
    words = ["malt", "hops", "dry", "sweet", "of course", "not bad", "again", "dark"]
    dates = ["2020-01-%02d", "%02d.02.2021", "March %d, 2022"]
    return pd.DataFrame({
        "text": [" ".join(rng.choice(words, 9)) + "." for _ in range(n)],
        "kind": [str(k) if k < n // 2 else f"n{k % 3}" for k in range(n)],  # numbers, then names
        "when": [dates[k % 3] % (1 + k % 28) for k in range(n)],
        "author": [f"a{k}" for k in range(n)],  # groups of one
        "rating": [k % 5 if k % 7 else "five" for k in range(n)],
        "mood": ["good" if k % 2 else "bad" for k in range(n)],
    }).to_csv(index=False).encode()  # fmt: skip


@pytest.mark.parametrize("data", [odd(), odd(2_100)], ids=["some", "thousands of groups"])
def test_every_page_bears_odd_columns(open_app, data):
    app = solved(use(open_app(), "odd.csv", data))
    for page in PAGES:
        assert not [error.value for error in show(app, page).error], page


def test_what_can_be_done_with_them_is_done(open_app):
    app = show(solved(use(open_app(), "odd.csv", odd())), "compare")
    press(app, "Compare")
    until(lambda: not BOARD.get(app.session_state["compare_id"]).active)
    assert not sound(app.run()).error
    assert not [error.value for error in show(app, "overtime").error]


@pytest.mark.parametrize("each", [1, 4])
def test_groups_of_few_documents_are_compared(open_app, each):
    """Plays by six authors, speeches by six persons."""
    rng = np.random.default_rng(3)
    own = [[f"w{author}{k}" for k in range(6)] + ["and", "the", "of"] for author in range(6)]
    texts = [" ".join(rng.choice(own[k % 6], 80)) for k in range(6 * each)]
    frame = pd.DataFrame({"text": texts, "author": [f"author {k % 6}" for k in range(6 * each)]})
    app = show(solved(use(open_app(), "plays.csv", frame.to_csv(index=False).encode())), "compare")
    press(app, "Compare")
    job = BOARD.get(app.session_state["compare_id"])
    until(lambda: not job.active)
    app = sound(app.run())
    assert not app.error and job.state == DONE and len(job.result.choice.groups) == 6
    for author, frame in job.result.frames.items():
        best = job.result.phrases[frame["g2"].idxmax()]
        assert best.split()[0].startswith(f"w{author[-1]}"), "words of its own tell it"


def test_two_tabs_with_two_corpora_keep_to_themselves(open_app):
    first, second = solved(use(open_app(), "odd.csv", odd())), use(open_app(), "other.csv", odd(40))
    assert first.session_state["corpus_id"] != second.session_state["corpus_id"]
    show(first, "pointers")
    show(second, "corpus")
    assert "odd.csv" in sidebar(first) and "other.csv" not in sidebar(first)
    assert "other.csv" in sidebar(second) and "odd.csv" not in sidebar(second)


def test_five_sessions_solve_one_after_the_other(open_app):
    apps = [show(use(open_app(), f"corpus{k}.csv", odd(200 + k)), "solve") for k in range(5)]
    for app in apps:
        sound(app.button(key="run").click().run())
    jobs = [job_of(app) for app in apps]
    assert len({job.id for job in jobs}) == 5
    until(lambda: not any(job.active for job in jobs), 120)
    for k, (app, job) in enumerate(zip(apps, jobs, strict=True)):
        assert job.state == DONE and job.result.result_.gap < 0.1
        assert f"corpus{k}.csv" in sidebar(sound(app.run()))
