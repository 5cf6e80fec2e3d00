"""The recorded homotopy under a ζ slider that runs in the browser: every stage is sent along, its numbers and the text
of some documents, so moving the slider needs no request.

Texts and labels come from strangers: they travel as data and reach the page through ``textContent`` alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from cflengine.compression import StageSnapshot
from pages.parts.components.assets import asset, message
from pages.parts.components.static_routes import PLOTLY_JS_URL, site_url
from pages.parts.components.text_states import packed, shared_texts, text_state
from pages.parts.components.text_view import HTML as TEXT

_HTML = f"""
<div class="cfl-film"><div class="cfl-film-two">
  <div class="cfl-film-hand">
    <p class="cfl-film-bar">
      <input type="range" min="0" step="1" aria-label="ζ, how decided pointers have to be">
      <output></output>
      <button type="button">▶ Play</button>
    </p>
    <dl></dl>
    <div class="cfl-film-stage">
      <div class="cfl-film-plot" role="figure"></div>
      <div class="cfl-film-cursor"></div>
    </div>
    <p class="cfl-film-note"></p>
  </div>
  <div class="cfl-film-text">
    <p class="cfl-film-head"></p>
    <div class="cfl-film-now">{TEXT}</div>
    <p class="cfl-film-head">At the end</p>
    <div class="cfl-film-end">{TEXT}</div>
  </div>
</div></div>
"""

# In the page's own DOM, as all that Plotly draws, hence the prefixes; the text's rules are nested for the same reason.
_CSS = f"""
{asset("stage_film.css")}
.cfl-film-text {{
{asset("text_view.css")}
}}
"""

_component = st.components.v2.component(
    "cfl_stage_film",
    html=_HTML,
    css=_CSS,
    js=asset("messages.js", "plots.js", "text_pieces.js", "stepper.js", "film_figure.js", "stage_film.js"),
    isolate_styles=False,
)

Grams = Mapping[int, tuple[str, int, float]]


class Film(NamedTuple):
    """What the browser gets, JSON, and its version: made once, however often it is drawn."""

    payload: bytes
    version: str

    @classmethod
    def of(
        cls,
        stages: Sequence[StageSnapshot],
        bound: float,
        documents: Sequence[Mapping[str, str]],
        views: Sequence[tuple[Sequence[Mapping[str, Any]], Grams]],
        end: tuple[Sequence[Mapping[str, Any]], Grams],
    ) -> Film:
        """From what is shown. stages: by rising ζ. bound: proved, of the objective; 0 or less where there is none.
        documents: dicts of "title", "text" and "meta"; views: a stage each, of each document its pointers, with the
        grams they use, id → (label, occurrences, cost); end: the same of the result, its uses counted."""
        view = {
            "shared": shared_texts(documents),
            "end": text_state(documents, *end),
            "bound": bound if bound > 0 else None,
            "stays": _stays(stages[0]),
            "stages": [
                _numbers(stage) | text_state(documents, *view) for stage, view in zip(stages, views, strict=True)
            ],
        }
        return cls(*packed(view))


def stage_film(film: Film, *, key: str, height: int = 300) -> None:
    """Show the film. height: of either text, in pixels, at most."""
    header = {"version": film.version, "height": height, "plotly": site_url(PLOTLY_JS_URL)}
    _component(key=key, data=message(header, film.payload))


def _stays(first: StageSnapshot) -> float | None:
    """The ζ up to which the relaxation stays optimal, where it is known and on the axis."""
    return first.stays_optimal if 0 < first.stays_optimal <= 1 else None


def _numbers(stage: StageSnapshot) -> dict[str, float | None]:
    named = {
        "zeta": stage.zeta,
        "cost": stage.objective,
        "relaxation": stage.relaxation,
        "decided": stage.binary_share,
        "pointers": stage.n_pointers,
        "repaired": stage.repaired,
    }
    return {name: float(value) if math.isfinite(value) else None for name, value in named.items()}
