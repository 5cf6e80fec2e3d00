"""A sentence with the kinds of its entities over the words, each as sure as its line is thick.

Texts come from strangers: they travel as data and reach the page through ``textContent`` alone. A kind has a hue, and
its name stands over the words, so that it is never told by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

_HTML = """<div class="tv" role="list" aria-label="Your sentence with labels"></div>"""
_CSS = """
.tv { display: flex; flex-wrap: wrap; gap: 0.15rem 0.5rem; align-items: flex-end; padding: 0.5rem 0;
  font-family: var(--st-font); color: var(--st-text-color); font-size: 1.15rem; line-height: 1.5; }
.tv-part { display: inline-flex; flex-direction: column; align-items: flex-start; max-width: 100%; }
.tv-kind { font-size: 0.72rem; letter-spacing: 0.04em; min-height: 1.1rem; opacity: 0.85; white-space: nowrap; }
.tv-words { border-bottom: 4px solid transparent; overflow-wrap: anywhere; }
.tv-words span { padding-right: 0.3rem; }
.tv-words span:last-child { padding-right: 0; }
"""
_JS = """
const HUES = ["#0072b2", "#d55e00", "#009e73", "#b0568c", "#e69f00", "#56b4e9", "#7a5195"];
const DASHES = ["solid", "dashed", "double", "dotted"];
export default function ({ parentElement, data }) {
  const root = parentElement.querySelector(".tv");
  root.replaceChildren(...data.parts.map((part) => {
    const box = document.createElement("div");
    box.className = "tv-part";
    box.setAttribute("role", "listitem");
    const kind = document.createElement("span");
    kind.className = "tv-kind";
    kind.textContent = part.kind ? `${part.kind} ${part.sure} %` : "";
    const words = document.createElement("span");
    words.className = "tv-words";
    for (const token of part.tokens) {
      const word = document.createElement("span");
      word.textContent = token.text;
      word.title = token.probabilities;
      words.append(word);
    }
    if (part.kind) {
      const hue = HUES[part.index % HUES.length];
      const width = Math.max(1, Math.round(part.sure / 25));
      words.style.borderBottom = `${width}px ${DASHES[part.index % DASHES.length]} ${hue}`;
      words.style.paddingBottom = `${4 - width}px`; // all words stand on one line
    }
    box.append(kind, words);
    return box;
  }));
}
"""

_component = st.components.v2.component("cfl_tag_view", html=_HTML, css=_CSS, js=_JS)


def tag_view(
    tokens: Sequence[str], labels: Sequence[str], probabilities: np.ndarray, classes: Any,
    spans: Sequence[tuple[int, int, str]], kinds: Sequence[str], *, key: str,
) -> None:  # fmt: skip
    """Show a tagged sentence. spans: entities, (first, behind the last, kind); where labels are no entity tags, each
    token is shown with its own. probabilities: float64 (tokens, classes). kinds: all there are, for hues."""
    _component(key=key, data={"parts": parts_of(tokens, labels, probabilities, classes, spans, kinds)})


def parts_of(
    tokens: Sequence[str], labels: Sequence[str], probabilities: np.ndarray, classes: Any,
    spans: Sequence[tuple[int, int, str]], kinds: Sequence[str],
) -> list[dict[str, Any]]:  # fmt: skip
    """The sentence as entities and single tokens: tokens with their probabilities, kind, how sure it is in per cent."""
    number = {str(label): c for c, label in enumerate(classes)}
    if not any("-" in str(label) for label in classes):
        spans = [(p, p + 1, label) for p, label in enumerate(labels) if label != "O"]
    starts = {first: (end, kind) for first, end, kind in spans}
    parts: list[dict[str, Any]] = []
    p = 0
    while p < len(tokens):
        end, kind = starts.get(p, (p + 1, ""))
        sure = min(float(probabilities[q, number[str(labels[q])]]) for q in range(p, end))
        inside = [
            {"text": str(tokens[q]), "probabilities": _probabilities(probabilities[q], classes)} for q in range(p, end)
        ]
        index = kinds.index(kind) if kind in kinds else 0
        parts.append({"tokens": inside, "kind": kind, "sure": round(100 * sure), "index": index})
        p = end
    return parts


def _probabilities(row: np.ndarray, classes: Any) -> str:
    order = np.argsort(-row, kind="stable")[:4]
    return "\n".join(f"{classes[c]} {100 * row[c]:.1f} %" for c in order)
