"""A race of solvers on one corpus: Figure 4 and Table 3 of Paskov, Mitchell and Hastie (AISTATS 2014), live.

One solver after the other in the worker thread, each with its default settings and from a fresh start: only the
K-gram index and the costs, which none could do without, are shared. Seconds count from a solver's own start, the
making of its state included. A gap is a solver's own, against the bound that it has proved itself by then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

from cflengine import CompressiveFeatures, IterationStats, warm_up
from cflengine.compression import SOLVERS, StorageCosts
from cflengine.text import KGramIndex, TokenTable
from pages.parts.shared.controls import RACED, gram_slider, lam_slider, queue_notes, rerun_at_end, run_and_stop
from pages.parts.shared.jobs import BOARD, Job, trace_row
from pages.parts.shared.selection import note_changes
from pages.parts.shared.state import RACE, current_corpus, current_job, settings, start_job, stop_job
from pages.parts.shared.words import gap_text, number, plain

GAPS = (0.02, 0.01, 0.006, 0.001)
USUAL, LIMIT_S = ("guided", "homotopy", "reweighting"), 120.0


@dataclass(frozen=True)
class Standing:
    """How far a solver has come: seconds until its gap was at most each of ``GAPS`` (NaN: not yet), seconds and
    steps so far, best cost, proved gap, K-grams (-1 before the end), and how it ended ("" before)."""

    solver: str
    reached: tuple[float, ...]
    seconds: float
    steps: int
    objective: float
    gap: float
    dictionary_size: int = -1
    ended: str = ""


@dataclass
class Race:
    """The solvers in their order, and what those that are over have reached; written by the worker alone. stage:
    what is done before the first begins, "" from then on."""

    names: tuple[str, ...]
    over: list[Standing] = field(default_factory=list)
    stage: str = "Loading the solvers"


class Lane:
    """One solver's listener: its events, in seconds since its own start, become rows of the race's job."""

    def __init__(self, job: Job, number: int, name: str) -> None:
        self.job, self.number, self.name = job, number, name
        self.rows: list[dict[str, Any]] = []
        self.began = time.perf_counter()
        self.setup = math.nan  # what passed before the solver's own clock began

    def __call__(self, stats: IterationStats) -> bool:
        if not self.rows:
            self.setup = time.perf_counter() - self.began - stats.elapsed_s
        row = trace_row(stats) | {"s": self.number, "who": self.name, "t": stats.elapsed_s + self.setup}
        self.rows.append(row)
        self.job.note(row)
        return self.job.step()

    def poll(self) -> bool:
        return self.job.poll()


def run_race(
    job: Job, names: Sequence[str], table: TokenTable, *, lam: float, max_gram: int, time_limit: float | None
) -> Race:
    """All solvers in turn; ``job.so_far`` and ``job.rows`` tell of it as it goes. A stop ends the race, with what
    there is. A solver that refuses the corpus is told of in its standing. Raises what ``prepare`` does."""
    race = job.so_far = Race(tuple(names))
    warm_up(*names)
    race.stage = "Looking for every phrase of the corpus"
    corpus = CompressiveFeatures(lam=lam, max_gram=max_gram).prepare(table)
    costs, race.stage = corpus.costs(lam), ""
    for s, name in enumerate(names):
        if not job.poll():
            break
        lane = Lane(job, s, name)
        race.over.append(_run(lane, corpus.index, costs, lam, time_limit))
    return race


def _run(lane: Lane, index: KGramIndex, costs: StorageCosts, lam: float, time_limit: float | None) -> Standing:
    solver = SOLVERS.find(lane.name)
    try:
        result = solver.solve(index, costs, solver.settings(time_limit=time_limit), listeners=(lane,), lam=lam)
    except (ValueError, MemoryError) as error:  # sentences meant for the user
        return Standing(lane.name, (math.nan,) * len(GAPS), math.nan, 0, math.nan, math.nan, ended=str(error))
    return Standing(
        lane.name,
        reached(lane.rows),
        lane.rows[-1]["t"],
        result.n_iterations,
        result.objective,
        result.gap,
        result.dictionary_size,
        str(result.reason),
    )


def reached(rows: Sequence[dict[str, Any]]) -> tuple[float, ...]:
    """Seconds until the gap in ``rows`` was at most each of ``GAPS``; NaN where it never was."""
    return tuple(next((row["t"] for row in rows if row["gap"] <= gap), math.nan) for gap in GAPS)


def standings(race: Race, rows: Sequence[dict[str, Any]]) -> list[Standing]:
    """One for each solver: those that are over, the one that runs, those to come."""
    found = list(race.over)
    for s in range(len(found), len(race.names)):
        own = [row for row in rows if row["s"] == s]
        last = own[-1] if own else {"t": math.nan, "i": 0, "best": math.nan, "gap": math.nan}
        found.append(Standing(race.names[s], reached(own), last["t"], last["i"], last["best"], last["gap"]))
    return found


def race_table(found: Sequence[Standing], *, over: bool = False) -> pd.DataFrame:
    """Table 3's form: a row a solver, a dash where there is nothing to say. over: whether none is to come."""
    rows = []
    whole = all(one.objective == round(one.objective) for one in found if math.isfinite(one.objective))
    for one in found:
        row = {"solver": one.solver}
        row |= {f"s to {100 * gap:g} %": _short(t) for gap, t in zip(GAPS, one.reached, strict=True)}
        row |= {"s in all": _short(one.seconds), "steps": number(one.steps or math.nan)}
        row |= {"cost": number(one.objective, 0 if whole else 1), "proved gap": gap_text(one.gap)}
        row |= {"K-grams": number(one.dictionary_size if one.dictionary_size >= 0 else math.nan)}
        rows.append(row | {"ended": one.ended or ("not begun" if over else "running …" if one.steps else "to come")})
    return pd.DataFrame(rows)


def verdict(found: Sequence[Standing]) -> str:
    """The table in a sentence: who proved the smallest gap that at least two of them (else one) reached, and when."""
    by_gap = [sorted(range(len(found)), key=lambda s, g=g: _late(found[s].reached[g])) for g in range(len(GAPS))]
    for least in (2, 1):
        for g in reversed(range(len(GAPS))):
            order = by_gap[g]
            times = [found[s].reached[g] for s in order]
            if sum(math.isfinite(t) for t in times) < least:
                continue
            words = [f"{found[order[0]].solver} after {in_seconds(times[0])}"]
            for s, t in zip(order[1:], times[1:], strict=True):
                late = f"after {in_seconds(t)} ({_ratio(t / times[0])} × as long)" if math.isfinite(t) else "not at all"
                words.append(f"{found[s].solver} {late}")
            return f"A gap of {100 * GAPS[g]:g} % was proved by " + ", ".join(words) + "."
    return ""


def in_seconds(seconds: float) -> str:
    """A time, to two digits where it is less than a second."""
    return f"{_short(seconds)} s"


def _short(seconds: float) -> str:
    return f"{seconds:.2g}" if seconds < 0.995 else number(seconds, 1)


def _ratio(times: float) -> str:
    return f"{times:.1f}" if times < 9.95 else f"{times:,.0f}"


def _late(seconds: float) -> float:
    return seconds if math.isfinite(seconds) else math.inf


def draw_race_controls() -> None:
    """λ and K, the solvers, the time limit, Race and Stop."""
    job, state = current_job(RACE), st.session_state
    lam, gram = st.columns([5, 3])
    busy = job is not None and job.active
    with lam:
        lam_slider(disabled=busy)
    with gram:
        gram_slider(disabled=busy)
    state.setdefault("solvers", list(USUAL))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.pills(
            "Solvers", RACED, selection_mode="multi", default=state.solvers, key="widget_solvers",
            on_change=lambda: state.update(solvers=state.widget_solvers), help="They start in this order.",
            wrap=True,
        )  # fmt: skip
        st.number_input(
            "Time limit for each, in seconds", 1.0, 86400.0, state.setdefault("race_limit", LIMIT_S), 10.0,
            key="widget_race_limit", on_change=lambda: state.update(race_limit=state.widget_race_limit),
            format="%g", width=230,
        )  # fmt: skip
        run_and_stop(job, start_race, lambda: stop_job(RACE), label="Start", disabled=not state.solvers)
    note_changes(job, _race_key(), "this race was run", "The settings have changed")


def _race_key() -> tuple[Any, ...]:
    """Corpus, kind, λ, K, solvers, time limit."""
    chosen, state = settings(), st.session_state
    names = tuple(name for name in RACED if name in state.solvers)
    return (state.corpus_id, RACE, chosen.lam, chosen.max_gram, names, state.race_limit)


def start_race() -> None:
    """Queue a race on the session's corpus."""
    loaded, key = current_corpus(), _race_key()
    _, _, lam, max_gram, names, seconds = key

    def work(job: Job) -> Race:
        return run_race(job, names, loaded.table, lam=lam, max_gram=max_gram, time_limit=seconds)

    start_job(RACE, Job(loaded.corpus.name, key, work))


def draw_standings(job: Job) -> None:
    """The table; ticks while the race is on."""
    st.fragment(_standings, run_every=0.5 if job.active else None)(job.id)


def _standings(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    queue_notes(job)
    race = job.result or job.so_far
    if race is not None and race.stage and job.active:
        st.progress(0.0, text=f"{race.stage} …")
    elif race is not None:
        found = standings(race, list(job.rows))
        if not job.active and verdict(found):
            st.markdown(f"**{plain(verdict(found))}**")
        frame = race_table(found, over=not job.active)
        text = {name: st.column_config.TextColumn(alignment="right") for name in frame.columns[1:-1]}
        st.dataframe(frame, hide_index=True, column_config=text, alt="Seconds to each gap, steps, cost and gap")
        st.caption(
            f"λ = {job.key[2]:g}, K = {job.key[3]}. Seconds (s) from each solver's own start to the first solution "
            f"proved to be within {', '.join(f'{100 * gap:g}' for gap in GAPS[:-1])} or {100 * GAPS[-1]:g} % of "
            "the best possible one; a dash: not reached."
        )
    rerun_at_end(job)
