"""A small app around the browser components, for test_components_browser.py and for a look by hand.

``streamlit run tests/app/browser/demo_components.py``, then ``/?show=text&words=2000``, ``/?show=chart&pause=100``,
``/?show=finished``, ``/?show=race``, ``/?show=path`` or ``/?show=sentences``.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.parts.components.figure_view import clicked_point, figure_view
from pages.parts.components.live_chart import live_trace_chart, sse_done, sse_rows
from pages.parts.components.path_bars import path_bars
from pages.parts.components.path_chart import path_chart
from pages.parts.components.sentence_view import sentence_view
from pages.parts.components.static_routes import plotly_js_route, site_url
from pages.parts.components.text_view import text_view

STEPS, CHUNK = 1500, 15
TITLE = "First <b>document</b>"
HOSTILE = "<script>window.pwned = 1</script> <img src=x onerror='window.pwned = 2'> $x$ :red[y] 👩‍🚀 𝔘nicode {name}\n\n"
HEBREW = "שלום עולם, זהו טקסט מימין לשמאל. שלום עולם שוב.\nשורה שנייה."
VOCABULARY = (
    "the of and to in a is that for it as was with be by on not he his but at are this have from or had "
    "which market price company shares rose fell government minister election world cup new york bank growth"
)

_interrupted: set[str] = set()


def solve_rows() -> list[dict[str, float | None]]:
    """A made-up solve: a bound from below, a relaxation, binary solutions that get better once zeta rises."""
    rng = random.Random(3)
    best, bound, rows = math.inf, -math.inf, []
    for i in range(STEPS):
        t = 12 * i / STEPS
        relaxed = 833_835 * (1 + 4 * math.exp(-t / 0.55))
        objective = relaxed * (1 + 0.02 * math.exp(-max(0.0, t - 4.5) / 1.8) + 0.003 * rng.random())
        best = min(best, objective) if t > 1 else math.inf
        bound = max(bound, 833_835 * (1 - 3 * math.exp(-t / 0.75) - 0.0002))
        checked = i % 20 == 0 or i == STEPS - 1
        rows.append(
            {
                "t": t,
                "i": i,
                "objective": objective if t > 1 else None,
                "best": best,
                "relaxed": relaxed,
                "bound": bound if checked else None,
                "zeta": max(0.0, 0.13 * (t - 4.5)),
                "phase": float(t > 4.5),
                "gap": best / bound - 1 if checked and bound > 0 else math.nan,
            }
        )
    return rows


async def stream(request: Request) -> StreamingResponse:
    """The solve in chunks; with ``?cut=token`` the first connection of that token breaks off half-way."""
    pause = request.path_params["pause_ms"] / 1000
    token = request.query_params.get("cut")
    rows = solve_rows()
    broken = token is not None and token not in _interrupted

    async def events() -> AsyncIterator[str]:
        yield "retry: 100\n\n"
        for k in range(0, STEPS // 2 if broken else STEPS, CHUNK):
            yield sse_rows(rows[k : k + CHUNK])
            await asyncio.sleep(pause)
        if broken:
            _interrupted.add(token)
            return
        yield sse_done("converged", objective=rows[-1]["best"], bound=rows[-1]["bound"], gap=rows[-1]["gap"])

    return StreamingResponse(events(), media_type="text/event-stream")


def cover(text: str, rng: random.Random, overlaps: bool) -> tuple[dict, dict]:
    """Pointers of random lengths over the words of a text, and the grams they point to."""
    words = [match.span() for match in re.finditer(r"[\w'‍👩🚀-]+", text)]
    columns, ids, grams = {"start": [], "end": [], "gram": [], "length": []}, {}, {}
    k = 0
    while k < len(words):
        n = min(rng.choices(range(1, 9), weights=[40, 25, 14, 8, 5, 3, 2, 1])[0], len(words) - k)
        a, b = words[k][0], words[k + n - 1][1]
        label = text[a:b].lower()
        gram = -1 if n == 1 and rng.random() < 0.08 else ids.setdefault(label, len(ids))
        if gram >= 0:
            count = grams.get(gram, {"count": 0})["count"] + 1
            grams[gram] = {"label": label, "count": count, "cost": float(n), "length": n}
        for name, value in (("start", a), ("end", b), ("gram", gram), ("length", n)):
            columns[name].append(value)
        k += n - (1 if overlaps and n > 2 and rng.random() < 0.2 else 0)
    return columns, grams


@st.cache_data
def sample(words: int, weighted: bool) -> tuple[list[dict], dict]:
    """A long document with hostile markup, emoji and overlaps, and a short one from right to left."""
    rng = random.Random(7)
    vocabulary = VOCABULARY.split()
    likely = [1 / (k + 2) for k in range(len(vocabulary))]
    lines = []
    while words > 0:
        n = rng.randint(30, 160)
        lines.append(" ".join(rng.choices(vocabulary, weights=likely, k=n)) + ".")
        words -= n
    text = HOSTILE + "\n".join(lines)
    pointers, grams = cover(text, rng, overlaps=True)
    if weighted:
        pointers["weight"] = [round(rng.random(), 2) for _ in pointers["start"]]
    offset = len(grams)
    right_to_left, more = cover(HEBREW, rng, overlaps=False)
    right_to_left["gram"] = [gram if gram < 0 else gram + offset for gram in right_to_left["gram"]]
    grams |= {gram + offset: entry for gram, entry in more.items()}
    return [
        {"title": TITLE, "text": text, "pointers": pointers, "meta": "demo · <i>meta</i>"},
        {"title": "מסמך", "text": HEBREW, "pointers": right_to_left, "meta": ""},
    ], grams


def show_chart(finished: bool) -> None:
    finished = finished or st.session_state.get("stop", False)  # the page knows of it before the stream tells
    cut = st.query_params.get("cut")
    url = f"/demo/solve/{st.query_params.get('pause', '30')}" + (f"?cut={cut}" if cut else "")
    done = live_trace_chart(
        rows=solve_rows() if finished else None,
        stream_url=None if finished else url,
        ended={"reason": "interrupted", "objective": math.nan, "bound": math.nan, "gap": math.nan}
        if finished
        else None,
        key="chart",
        on_done=lambda: st.session_state.update(ends=st.session_state.get("ends", 0) + 1),
        zeta=True,
        phase="ζ > 0 from here",
    )
    st.text(f"ends: {st.session_state.get('ends', 0)} {done['reason'] if done else ''}")
    st.button("rerun")
    st.button("stop", key="stop")


def show_race() -> None:
    rows = [row | {"s": s, "t": (1 + 3 * s) * row["t"]} for s in range(3) for row in solve_rows()]
    live_trace_chart(
        rows=rows, stream_url=None, key="race", series=["guided", "<b>homotopy</b>", "c"], levels=(0.02, 0.01), log=True
    )


def show_path() -> None:
    state = st.session_state
    here = state.get("here", {"lam": 1.0, "held": False, "n": 0})
    lams = [0.01 * 10 ** (k / 4) for k in range(11)]
    points = [
        SimpleNamespace(
            lam=lam,
            shares=[1 - 0.09 * k, 0.05 * k, 0.04 * k],
            result=SimpleNamespace(dictionary_size=3000 + 200 * k * k, gap=0.0002 * (k + 1), optimal=False),
        )
        for k, lam in enumerate(lams)
    ]
    time.sleep(float(st.query_params.get("slow", "0")))  # a page that takes its time

    def take() -> None:
        move = state.path["move"]
        if "lost" in st.query_params and not move["held"] and not state.get("lost"):
            state.lost = True  # as if it had never come
        else:
            state.update(here=move, moves=[*state.get("moves", []), move])

    path_chart(
        points,
        span=(lams[0], lams[-1]),
        key="path",
        asked=[lams[3]],
        choices=lams,
        lam=here["lam"],
        answer=here["n"],
        gram=(HOSTILE[:60], range(11)),
        on_move=take,
    )
    st.text(f"moves: {state.get('moves', [])}")
    rank = [(k * (3 + round(10 * here["lam"]))) % 20 for k in range(20)]
    items = [
        {"gram": g, "label": f"{HOSTILE[:20]} {g}", "length": 1 + g % 8, "count": 500 - 20 * rank[g]} for g in range(20)
    ]
    path_bars(
        sorted(items, key=lambda item: -item["count"])[:10],
        key="bars",
        selected=state.get("gram"),
        on_click=lambda: state.update(gram=state.bars["click"]["gram"]),
    )
    st.text(f"gram: {state.get('gram')}")


def show_sentences() -> None:
    sentences = [
        {
            "pieces": [(HOSTILE[:40], 0.0), ("good", 2.0), (" and ", 0.0), ("bad", -1.0)],
            "group_norm": 2.0,
            "odds": [0.5, -0.2],
        },
        {"pieces": [(HEBREW, 0.0)], "group_norm": 0.0, "odds": [0.0, 0.0004]},
        {"pieces": [("fine", 0.5)], "group_norm": 0.5, "odds": [0.25, 0.001]},
    ]
    classes = (HOSTILE[:24], "up")
    sentence_view(sentences, classes=classes, models=["sentence", "lasso"], strongest=4.0, key="sentences")


def show_figure() -> None:
    state = st.session_state
    high = st.toggle("twice as high", key="high")
    figure = go.Figure(go.Scatter(x=[0, 1, 2], y=np.array([1.0, 3.0, 2.0]) * (1 + high), customdata=[[7], [8], [9]],
                                  mode="markers", marker={"size": 30}))  # fmt: skip
    figure.update_layout(height=300)
    figure_view(figure, "figure", HOSTILE, on_point=lambda: state.update(point=clicked_point("figure")))
    st.text(f"point: {state.get('point')}")


def show_text() -> None:
    documents, grams = sample(int(st.query_params.get("words", "400")), "weighted" in st.query_params)
    click = text_view(documents, grams=grams, key="text", selected_gram=st.session_state.get("selected"))
    st.text(f"clicked: {click}")
    st.number_input("selected", 0, None, None, key="selected")


def page() -> None:
    st.set_page_config(page_title="components", layout="wide")
    show = st.query_params.get("show", "both")
    if show in ("chart", "finished", "both"):
        show_chart(show == "finished")
    if show in ("text", "both"):
        show_text()
    if show == "race":
        show_race()
    if show == "path":
        show_path()
    if show == "sentences":
        show_sentences()
    if show == "figure":
        show_figure()


app = st.App(__file__, routes=[plotly_js_route(), Route(site_url("/demo/solve/{pause_ms:int}"), stream)])

if get_script_run_ctx(suppress_warning=True) is not None:
    page()
