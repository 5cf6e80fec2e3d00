"""What the Losses page asks for: the column, the loss, the constraints; and the jobs that fit and race."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from cflengine import CompressiveFeatures
from cflengine.linear import MOST_CLASSES
from cflengine.plq import LOSSES
from cflengine.text import holds_comma_decimals
from pages.parts.losses.loss_editor import clean_points, loss_editor
from pages.parts.losses.run import COSTS, DRAWN, TITLES, LossChoice, LossRun
from pages.parts.shared.controls import BUTTONS, run_and_stop
from pages.parts.shared.jobs import Job
from pages.parts.shared.labels import label_columns, likely_test, possible_part, usual_test
from pages.parts.shared.selection import note_changes, session_choice
from pages.parts.shared.state import LOSS, current_corpus, current_job, settings, start_job, stop_job, watch_job
from pages.parts.shared.words import plain

_FEWEST_NUMBERS = 5  # different values of a column that is worth predicting as a number
_CONSTRAINTS = {
    "nonnegative": "no coefficient below 0", "box": "coefficients from −1 to 1",
    "monotone": "coefficients in an order", "fair": "fair to a column",
}  # fmt: skip
_FAIRNESS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)
_BETWEEN_0_AND_1 = ("quantile", "expectile")


def target_columns(metadata: pd.DataFrame) -> dict[str, bool]:
    """Columns that can be predicted -> whether as a number: classes first, then numbers of many values."""
    found = dict.fromkeys(label_columns(metadata), False)
    for column in metadata.columns:
        values = metadata[column]
        numeric = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
        if not (numeric or holds_comma_decimals(values)):
            continue
        if values.nunique() >= _FEWEST_NUMBERS:
            found[str(column)] = True
    return found


def draw_loss_controls() -> bool:
    """Column, loss, Fit and Stop, the rest beside the loss. False where there is nothing to predict, which is said."""
    columns = _columns()
    if not columns:
        st.info(
            f"This corpus has no column to predict: neither classes (2 to {MOST_CLASSES} different values, two of them "
            "in five documents each) nor numbers. Choose another corpus, or one with a rating or a label for every "
            "document."
        )
        return False
    job, choice = current_job(LOSS), _choice(columns)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.selectbox(
            "Predict", list(columns), index=list(columns).index(choice.column), key="widget_loss_column", width=240,
            format_func=lambda column: f"{column} ({'number' if columns[column] else 'classes'})",
            on_change=lambda: _change_column(columns),
        )  # fmt: skip
        names = [name for name in TITLES if name == DRAWN or LOSSES[name][0] == choice.of]
        st.selectbox(
            "Loss", names, index=names.index(choice.loss), format_func=TITLES.__getitem__, width=340,
            key=f"widget_loss_{choice.numbers}",
            on_change=lambda: _set(loss=st.session_state[f"widget_loss_{choice.numbers}"], level=0.9),
            help="What an error costs. Every one of these is convex and piecewise linear or quadratic, and so solved "
            "by the same algorithm, with a proof.",
        )  # fmt: skip
        _level(choice)
        run_and_stop(job, start_loss, lambda: stop_job(LOSS), label="Fit", width=BUTTONS)
    try:
        loss = choice.made()
    except ValueError as error:
        st.error(plain(str(error)))
        return False
    picture, more = st.columns([3, 2], gap="medium")
    with picture:
        drawn = choice.loss == DRAWN
        loss_editor(loss, choice.shape if drawn else None, key=f"loss_editor_{drawn}", on_points=_take_points)
    with more:
        _details(choice)
    note_changes(job, _key(), "this model was fitted")
    return True


def _columns() -> dict[str, bool]:
    loaded = current_corpus()
    known = st.session_state.get("loss_columns")
    if known is None or known[0] != loaded.id:
        known = st.session_state.loss_columns = (loaded.id, target_columns(loaded.corpus.metadata))
    return known[1]


def _level(choice: LossChoice) -> None:
    """The number that a loss has, if it has one."""
    if choice.loss == DRAWN or LOSSES[choice.loss][2] is None:
        return
    if choice.loss in _BETWEEN_0_AND_1:
        st.slider(
            "Level", 0.05, 0.95, min(max(choice.level, 0.05), 0.95), 0.05, key="widget_loss_level", width=200,
            on_change=lambda: _set(level=st.session_state.widget_loss_level),
            help="0.9: nine of ten documents are meant to lie below what is predicted.",
        )  # fmt: skip
    else:
        st.number_input(
            "Width", 0.01, 100.0, choice.level, key="widget_loss_width", width=120,
            on_change=lambda: _set(level=st.session_state.widget_loss_width),
            help="How large an error counts as small.",
        )  # fmt: skip


def _details(choice: LossChoice) -> None:
    """C, features, constraints."""
    st.select_slider(
        "C, weight of the errors", COSTS, choice.C, format_func=lambda C: f"{C:g}", key="widget_loss_C",
        on_change=lambda: _set(C=st.session_state.widget_loss_C),
        help="Small: few, careful coefficients. Large: the training documents are followed closely.",
    )  # fmt: skip
    kinds = {"words": "words", "kgrams": "K-grams"}
    st.segmented_control(
        "Features", list(kinds), default=choice.features, required=True, format_func=kinds.__getitem__,
        key="widget_loss_features", on_change=lambda: _set(features=st.session_state.widget_loss_features),
        help="K-grams: word sequences that compress the training documents, at the λ and K of the bar above.",
    )  # fmt: skip
    chosen = [name for name in _CONSTRAINTS if any(one.split(":")[0] == name for one in choice.constraints)]
    possible = bool(_sensitive_columns(choice))
    st.multiselect(
        "Constraints", [name for name in _CONSTRAINTS if possible or name != "fair"], default=chosen,
        format_func=_CONSTRAINTS.__getitem__, key=_constraints_key(choice), on_change=_take_constraints,
        placeholder="none",
    )  # fmt: skip
    if not possible:
        st.caption(
            "Fairness to a column needs another column with numbers, or two values, for every document; this corpus "
            "has none."
        )
    elif "fair" in chosen:
        _fairness(choice)
    if "monotone" in chosen:
        _order(choice)
    if choice.loss == "quantile":
        st.toggle(
            "A band of two quantiles", choice.band, key="widget_loss_band",
            on_change=lambda: _set(band=st.session_state.widget_loss_band),
            help="Also fits the opposite quantile, so that the two enclose most documents.",
        )  # fmt: skip


def _order(choice: LossChoice) -> None:
    """Which features have ascending coefficients."""
    names = next(one.partition(":")[2] for one in choice.constraints if one.startswith("monotone"))
    st.text_input(
        "In which order", names.replace(",", ", "), key="widget_loss_order", placeholder="bad, good, great",
        on_change=_take_constraints, max_chars=500,
        help="Features, separated by commas, as the table of coefficients spells them: each has a coefficient of at "
        "least that of the one before it.",
    )  # fmt: skip
    if len(names.split(",")) < 2:
        st.caption("⚠ Name two features or more; until then there is no order.")


def _fairness(choice: LossChoice) -> None:
    names = _sensitive_columns(choice)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.selectbox(
            "To which column", names, width=180,
            index=names.index(choice.sensitive) if choice.sensitive in names else 0, key="widget_loss_sensitive",
            on_change=_take_constraints,
        )  # fmt: skip
        most = next((float(one.split(":")[1]) for one in choice.constraints if one.startswith("fair:")), 0.01)
        st.select_slider(
            "Covariance allowed", _FAIRNESS, most, format_func=lambda value: f"{value:g}", width=220,
            key="widget_loss_fairness", on_change=_take_constraints,
            help="Of the score with that column. 0: no linear relation between them is left.",
        )  # fmt: skip


def _constraints_key(choice: LossChoice) -> str:
    """Another widget for another column to predict: what it had chosen may not be possible there."""
    return f"widget_loss_constraints_{choice.column}"


def _sensitive_columns(choice: LossChoice) -> list[str]:
    metadata = current_corpus().corpus.metadata
    return [str(name) for name in metadata.columns if name != choice.column and _can_be_sensitive(metadata[name])]


def _can_be_sensitive(values: pd.Series) -> bool:
    if values.isna().any():
        return False
    return pd.api.types.is_numeric_dtype(values.dtype) or values.nunique() == 2


def _take_constraints() -> None:
    state = st.session_state
    choice: LossChoice = state.loss_choice
    found, sensitive = [], None
    for name in state[_constraints_key(choice)]:
        if name == "fair":
            usable, asked = _sensitive_columns(choice), state.get("widget_loss_sensitive")
            sensitive = asked if asked in usable else usable[0]
            found.append(f"fair:{state.get('widget_loss_fairness', 0.01):g}")
        elif name == "monotone":
            parts = [part.strip() for part in state.get("widget_loss_order", "").split(",")]
            found.append("monotone:" + ",".join(part for part in parts if part))
        else:
            found.append("box:-1:1" if name == "box" else name)
    _set(constraints=tuple(found), sensitive=sensitive)


def _take_points() -> None:
    sent = st.session_state.get("loss_editor_True") or {}
    points = clean_points(sent.get("points"))
    if points is not None:
        _set(points=points)


def _change_column(columns: dict[str, bool]) -> None:
    column = st.session_state.widget_loss_column
    _set(test=likely_test(st.session_state.loss_choice.test, column))
    if columns[column] != st.session_state.loss_choice.numbers:
        _set(column=column, numbers=columns[column], loss=_usual(columns[column]), constraints=(), sensitive=None,
             points=())  # fmt: skip
    else:
        choice = st.session_state.loss_choice
        kept = tuple(one for one in choice.constraints if choice.sensitive != column or not one.startswith("fair:"))
        _set(column=column, constraints=kept, sensitive=None if choice.sensitive == column else choice.sensitive)


def _usual(numbers: bool) -> str:
    return "quantile" if numbers else "hinge"


def _choice(columns: dict[str, bool]) -> LossChoice:
    """The session's, or the first column and the usual loss."""

    def usual() -> LossChoice:
        column = next(iter(columns))
        return LossChoice(column, columns[column], _usual(columns[column]), test=usual_test(column))

    return session_choice("loss", LOSS, lambda one: _fits(one, columns), usual)


def _fits(choice: LossChoice, columns: dict[str, bool]) -> bool:
    """Whether it can be asked for here."""
    if columns.get(choice.column) != choice.numbers:
        return False
    if choice.loss != DRAWN and LOSSES[choice.loss][0] != choice.of:
        return False
    if choice.loss in _BETWEEN_0_AND_1 and not 0.05 <= choice.level <= 0.95:
        return False
    kinds = [one.partition(":")[0] for one in choice.constraints]
    allowed = {f"fair:{most:g}" for most in _FAIRNESS} | {"nonnegative", "box:-1:1"}
    others = {one for name, one in zip(kinds, choice.constraints, strict=True) if name != "monotone"}
    if len(set(kinds)) < len(kinds) or not others <= allowed or not possible_part(choice.test, choice.column):
        return False
    return "fair" not in kinds or choice.sensitive in _sensitive_columns(choice)


def _set(**changes: Any) -> None:
    st.session_state.loss_choice = replace(st.session_state.loss_choice, **changes)


def _key() -> tuple[Any, ...]:
    """Corpus, kind, choice; of K-grams also what they depend on."""
    choice: LossChoice = replace(st.session_state.loss_choice, tokens=current_corpus().tokens)
    own = settings() if choice.features == "kgrams" else LossChoice  # words depend on neither
    choice = replace(choice, lam=own.lam, max_gram=own.max_gram)
    return (st.session_state.corpus_id, LOSS, choice)


def _grams(choice: LossChoice) -> CompressiveFeatures:
    return CompressiveFeatures(choice.lam, choice.max_gram, **choice.tokens.parameters)


def start_loss() -> None:
    """Queue a fit on the session's corpus."""
    loaded, key = current_corpus(), _key()
    run = LossRun(key[2])
    grams = _grams(key[2]) if key[2].features == "kgrams" else None

    def work(job: Job) -> LossRun:
        run.run(loaded.corpus.texts, loaded.corpus.metadata, grams, job)
        return run

    st.session_state.update(loss_race=None)
    start_job(LOSS, Job(loaded.corpus.name, key, work, so_far=run))


def start_race(job: Job) -> Job:
    """Queue the race of the two coordinate descents on a finished run."""
    run: LossRun = job.result

    def work(own: Job) -> LossRun:
        run.race(own)
        return run

    race = Job(job.label, (*job.key, "race"), work, passing=True)
    st.session_state.loss_race = race.id
    watch_job(race)
    return race
