"""The Tasks page once a comparison is under way: what features are worth, live, and then in full."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import streamlit as st

from cflengine.experiments import Finding, method_name
from pages.parts.components.figure_view import figure_view
from pages.parts.shared.controls import queue_notes, rerun_at_end
from pages.parts.shared.jobs import BOARD, Job
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.words import many, number, percent, plain
from pages.parts.tasks.figures import lam_figure
from pages.parts.tasks.run import TasksRun


def worth(value: float, measure: str) -> str:
    """An accuracy or an error for people."""
    if measure == "accuracy":
        return percent(value, 1)
    if not math.isfinite(value) or not 1e-4 <= value < 1e6:
        return number(value) if value == 0 or not math.isfinite(value) else f"{value:.3g}"
    return number(value, max(3 - math.floor(math.log10(value)), 0))  # four digits that tell


def draw_live(job: Job) -> None:
    """What is known so far; reruns the page at the end."""
    st.fragment(_live, run_every=1.0 if job.active else None)(job.id)


def _live(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    run: TasksRun = job.so_far
    queue_notes(job)
    st.caption(f"{plain(run.stage)} …")
    columns = run.choice.columns
    for column in columns:
        frame = run.frame(column)
        if not len(frame):
            continue
        measure = "mse" if _is_number(run, column) else "accuracy"
        st.markdown(f"**{plain(column)}**")
        figure_view(lam_figure(frame, measure), f"tasks_live_{column}", "How good predictions are along λ")
    if len(run.rows):
        last = run.rows[-1]
        at = f" at λ = {last['lam']:.3g}" if last.get("lam") else ""
        shown = worth(last["test"], "mse" if _is_number(run, last["target"]) else "accuracy")
        st.caption(f"{many(len(run.rows), 'model')} so far; the last: {method_name(last['method'])}{at}, {shown}.")
    rerun_at_end(job)


def _is_number(run: TasksRun, column: str) -> bool:
    if run.evaluation is None:
        return False
    tasks = {standing.task.target.column: standing.task for standing in run.evaluation.standings}
    return tasks[column].measure == "mse"


def draw_answer(finding: Finding, run: TasksRun) -> None:
    """The user's question first: is it better than words?"""
    task, measure = finding.task, finding.task.measure
    if not finding.methods:
        st.info("Stopped before the first model was judged: press **Compare** again.")
        return
    words = finding.methods.get("unigrams")
    best = finding.methods.get(finding.recommended or "")
    items: list[Any] = [("Guessing", worth(finding.baseline[measure], measure), _guess(task))]
    if words is not None:
        items.append(("Words", worth(words[measure], measure), _sized(words, measure)))
    if best is not None:
        items.append(("Compressed", worth(best[measure], measure), _sized(best, measure)))
    every = finding.methods.get("all_kgrams")
    if every is not None:
        items.append(("All K-grams", worth(every[measure], measure), _sized(every, measure)))
    shown = {"words": words, "compressive features": best, "all K-grams": every}
    st.markdown(_sentence(finding, words, best) + no_better(shown))
    metric_row(items)
    facts = task.target.summary()
    what = "share that is right" if measure == "accuracy" else "mean squared error, the smaller the better"
    notes = [f"{what}; {task.learner}; {many(len(task.truth), _unit(task))} judged; {task.how}"]
    left_out = {
        "n_missing": "without a value", "n_unread": "with no number", "n_short": "of too few words",
        "n_rare": "of authors with too few" if task.target.task == "author" else "of rare values",
    }  # fmt: skip
    for key, of in left_out.items():
        if facts.get(key):
            notes.append(f"{many(int(facts[key]), 'document')} {of} took part in the dictionary only")
    if run.evaluation is not None and run.evaluation.path.read:
        saved = run.evaluation.saved_seconds()
        notes.append(f"dictionaries of an earlier comparison were used again, which saved {saved:,.0f} s")
    if len(run.choice.columns) > 1 and task.target.task != "author":
        notes.append("the columns chosen are judged on one split, so with others of them these figures change")
    notes += [*finding.notes, *(run.evaluation.notes if run.evaluation else [])]
    st.caption(plain(". ".join(note[0].upper() + note[1:] for note in notes)) + ".")


def _unit(task: Any) -> str:
    return "author" if task.target.task == "author" else "document"


def _guess(task: Any) -> str:
    if task.target.task == "author":
        return "One value in so many."
    return "The most frequent class, always." if task.measure == "accuracy" else "The mean of the other documents."


def _sized(entry: dict[str, Any], measure: str) -> str:
    low, high = entry[f"{measure}_interval"]
    interval = "" if math.isnan(low) else f"95 % interval {worth(low, measure)} to {worth(high, measure)}; "
    return f"{interval}{number(entry['features'])} features."


def _sentence(finding: Finding, words: dict[str, Any] | None, best: dict[str, Any] | None) -> str:
    """The verdict in a sentence."""
    task = finding.task
    if words is None or best is None or "against_unigrams" not in best:
        return f"**{plain(task.target.column)}**"
    test = best["against_unigrams"]
    low, high = test["gain_interval"]
    count = method_name(finding.recommended or "").partition(", ")[2].removesuffix(" (the paper's)")
    count += "" if best.get("lam") is None else f", λ = {best['lam']:.3g}"
    interval = "" if math.isnan(low) else f"95 % interval: {between(low, high, task.measure)}; "
    sure = f"{interval}p\u00a0=\u00a0{test['p']:.2g}"
    return (
        f"**{plain(task.target.column)}**: compressive features ({count}, {number(best['features'])} of them) "
        f"{verdict(test, task.measure)} ({sure}).{_best_of_all(finding, best)}"
    )


def verdict(test: dict[str, Any], measure: str) -> str:
    """Better or worse where the interval and p, which are of different tests, both say so."""
    low, high = test["gain_interval"]
    by = f"{100 * abs(test['gain']):.1f} {'points' if measure == 'accuracy' else '% of the error'}"
    if test["p"] < 0.05 and low > 0:
        return f"predict **better** than words, by {by}"
    if test["p"] < 0.05 and high < 0:
        return f"predict **worse** than words, by {by}"
    return f"are **not shown to differ** from words by these documents: the difference measured is {by}"


def between(low: float, high: float, measure: str) -> str:
    """An interval of gains, above 0 where it is better, without signs."""
    better, worse = _units(measure)
    if low == high == 0:
        return "no difference"
    if high <= 0:
        return f"{100 * abs(high):.1f} to {100 * abs(low):.1f} {worse}"
    return f"{100 * abs(low):.1f} {f'{worse} ' if low < 0 else ''}to {100 * high:.1f} {better}"


def no_better(shown: dict[str, dict[str, Any] | None]) -> str:
    """Which of these methods may be no better than guessing on these documents; "" where none may."""
    names = [name for name, entry in shown.items() if entry and not entry["gain_over_guessing_interval"][0] > 0]
    if not names:
        return ""
    which = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f" **No better than guessing**, as far as these documents can tell: {which}."


def _best_of_all(finding: Finding, best: dict[str, Any]) -> str:
    """What does better on the test documents than words and the recommended method; "" where nothing does."""
    measure, pick = finding.task.measure, max if finding.task.larger_is_better else min
    name = pick(finding.methods, key=lambda one: finding.methods[one][measure])
    value = finding.methods[name][measure]
    if value == best[measure] or name == "unigrams":
        return ""
    return f" The best of all methods on these test documents, with {worth(value, measure)}: {method_name(name)}."


def draw_path(finding: Finding, run: TasksRun) -> None:
    """Figure 3 of the paper."""
    task = finding.task
    part = st.segmented_control(
        "Judged on", ["test", "dev"], default="test", required=True, key=f"tasks_part_{task.target.column}",
        format_func={"test": "test documents", "dev": "documents to choose by"}.__getitem__,
    )  # fmt: skip
    figure = lam_figure(run.frame(task.target.column), task.measure, finding.methods, part)
    figure_view(figure, f"tasks_path_{task.target.column}_{part}", "How good predictions are along λ, by method")
    circled = part == "test" and any(name.startswith("compressed:") for name in finding.methods)
    what = (
        " Circled, with a 95 % interval: the λ that is best on the documents to choose by; the band has the intervals "
        f"of the best way to count at every λ.{own_choices(finding)}"
    )
    st.caption(
        f"Each point is a dictionary of its own, found in all texts, without labels; words are λ = 0."
        f"{what if circled else ''} "
        "Pointers are brittle: of two encodings that cost nearly the same one counts and the other does not. "
        "Occurrences and soft counts keep both; on most corpora measured one of them is best."
    )


def own_choices(finding: Finding) -> str:
    """That splits chose for themselves, so that a circle need not lie on its line; "" where there is one split."""
    splits = max((len(entry.get("by_split") or ()) for entry in finding.methods.values()), default=0)
    if splits < 2:
        return ""
    return (
        f" Each of {splits} splits chose its own λ; a circle is the result over all of them, at the λ that is best "
        "over all, so it need not lie on the line."
    )


def draw_table(finding: Finding) -> None:
    """All methods."""
    measure = finding.task.measure
    rows = []
    scale, digits = (100.0, 1) if measure == "accuracy" else (1.0, 4)
    for name, entry in finding.methods.items():
        low, high = (scale * end for end in entry[f"{measure}_interval"])
        test = entry.get("against_unigrams") or {}
        second = "macro_f1" if "macro_f1" in entry else "r2" if "r2" in entry else None
        rows.append(
            {
                "features from": method_name(name) + (" ★" if name == finding.recommended else ""),
                "accuracy, %" if measure == "accuracy" else "squared error": scale * entry[measure],
                "95 % interval": "–" if math.isnan(low) else f"{low:.{digits}f} – {high:.{digits}f}",
                **({("macro-F1, %" if second == "macro_f1" else "R²"): scale * entry[second]} if second else {}),
                "p, against words": f"{test['p']:.2g}" if test else "",
                "features": entry["features"],
                "λ": "" if entry.get("lam") is None else f"{entry['lam']:.2g}",
                "seconds, features": entry["feature_seconds"] + entry.get("dictionary_seconds", 0.0),
                "seconds, learning": entry["learning_seconds"],
                "gap, proved": entry["gap"],
            }
        )  # fmt: skip
    frame = pd.DataFrame(rows)
    value = frame.columns[1]
    frame = frame.sort_values(value, ascending=measure != "accuracy", kind="stable")
    number_format = st.column_config.NumberColumn
    config = {value: number_format(format=f"%.{digits}f")}
    config |= {"macro-F1, %": number_format(format="%.1f"), "R²": number_format(format="%.3f")}
    config |= {name: number_format(format="%.2g") for name in ("gap, proved",)}
    config |= {name: number_format(format="%.2f") for name in ("seconds, features", "seconds, learning")}
    config["features"] = number_format(format="localized")
    config["features from"] = st.column_config.TextColumn(width=245)
    st.dataframe(frame, hide_index=True, column_config=config, alt="A row a method")
    st.caption(
        "★ recommended: the best compressed one on the documents to choose by. Each method's own λ, size and "
        "regularisation are chosen on those documents; the table is of the test documents. The p is of a paired test "
        "on the same documents; the gap is that of the learner, 0 where nothing is optimised. Same number: as many "
        "features as the recommended one has."
    )
    unseen = finding.unseen
    if unseen:
        difference = unseen["against_all_texts"]["gain"]
        st.caption(
            f"With a dictionary of the training texts alone, as for texts that come later: "
            f"{worth(unseen[measure], measure)} ({against(difference, measure)} with the dictionary of all texts)."
        )


def against(gain: float, measure: str) -> str:
    """How much better or worse than another, gain: above 0 where it is better."""
    better, worse = _units(measure)
    if abs(gain) < 0.0005:
        return "the same as"
    return f"{100 * abs(gain):.1f} {better if gain >= 0 else worse} than"


def _units(measure: str) -> tuple[str, str]:
    """What a gain above 0, and one below, are counted in."""
    return ("points better", "points worse") if measure == "accuracy" else ("% less error", "% more error")


def telling_rows(finding: Finding, name: str | None) -> pd.DataFrame:
    """The K-grams of largest weight, of one class where there are several."""
    frame = finding.telling
    if name is not None:
        frame = frame[frame["class"] == name]
    return frame.drop(columns="class").reset_index(drop=True)


def confusions(finding: Finding, most: int = 12) -> pd.DataFrame:
    """The classes, or authors, that are taken for each other most often."""
    frame = finding.predictions
    wrong = frame[frame["truth"] != frame["compressed"]]
    pairs = wrong.groupby(["truth", "compressed"], sort=False).size().sort_values(ascending=False, kind="stable")
    found = pairs.head(most).reset_index()
    found.columns = ["is", "taken for", f"{_unit(finding.task)}s"]
    totals = frame["truth"].value_counts()
    found["of"] = found["is"].map(totals)
    return found


def most_wrong(finding: Finding, most: int = 50) -> pd.DataFrame:
    """The judged documents that were predicted worst, the worst first."""
    frame = finding.predictions
    if "wrong" in frame:
        if finding.task.measure == "accuracy":
            frame = frame[frame["truth"] != frame["compressed"]]
        return frame.sort_values("wrong", ascending=False, kind="stable").head(most).reset_index(drop=True)
    return frame[frame["truth"] != frame["compressed"]].head(most).reset_index(drop=True)
