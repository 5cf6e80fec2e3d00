"""A report in one HTML file that opens without a server: key figures, text in pieces, phrases, charts, the certificate,
a paragraph on methods, how to cite.

Whatever comes from the corpus is escaped here, once, in :func:`_text`; charts are Plotly's own, its library inside the
file.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import date

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io

from cflengine import CompressiveFeatures
from cflengine.compression import CompressionPath
from cflengine.engine import TerminationReason, versions
from pages.parts.export.snippets import command_line, python_lines
from pages.parts.lab.tightness import tightness_of
from pages.parts.shared.controls import TITLES
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.figures import BLUE, ORANGE
from pages.parts.shared.views import final_view
from pages.parts.shared.words import at_least, gap_words, many, number, percent, proved_sentence

VERSION = versions()["cflengine"]
PHRASES, DOCUMENTS, CHARACTERS = 60, 5, 900
HUES = ("#8a8a8a", "#56b4e9", "#009e73", "#f0e442", "#e69f00", "#d55e00", "#cc79a7", "#888888")

_STYLE = """
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --soft: light-dark(#555, #aaa); }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem;
  background: light-dark(#fff, #16171a); color: light-dark(#1d1d1f, #e8e8ea); }
h1 { line-height: 1.2 } h2 { margin-top: 2.2rem } table { border-collapse: collapse; width: 100% }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .7rem; font-size: .85rem }
.soft { color: var(--soft); font-size: .92rem } .key { font-size: 1.15rem }
.piece { border-radius: 3px; padding: 0 1px; border-bottom: 2px solid transparent; overflow-wrap: anywhere }
figure { margin: 1rem 0 }
figure :is(.infolayer, .xaxislayer-above, .yaxislayer-above) text { fill: light-dark(#1d1d1f, #e8e8ea) !important }
figure .gridlayer path, figure .zerolinelayer path { stroke: var(--line) !important }
@media (max-width: 40rem) { table { display: block; overflow-x: auto }
  td, th { padding: .25rem .2rem; font-size: .85rem } }
@media print { body { max-width: none } }
""" + "\n".join(
    f".w{k + 1} {{ background: color-mix(in srgb, {hue} {0 if k == 0 else 38}%, transparent); border-color: {hue} }}"
    for k, hue in enumerate(HUES)
)


def _text(value: object) -> str:
    """Anything as text that is no markup."""
    return html.escape(str(value).encode("utf-8", "replace").decode(), quote=True)


def report_html(
    loaded: LoadedCorpus, model: CompressiveFeatures, phrases: pd.DataFrame, points: CompressionPath, weighting: str
) -> bytes:
    """The report as a file. model: counted as the features are; phrases: a row a phrase, as
    :func:`~pages.parts.phrases.table.phrase_frame` gives them."""
    title = f"What {_text(loaded.corpus.name)} is made of"
    parts = [
        f"<h1>{title}</h1>", _key(loaded, model), _facts(loaded, model), "<h2>Text in pieces</h2>",
        _legend(model.max_gram), _documents(model, loaded), "<h2>Phrases</h2>", _phrases(phrases),
        *_charts(model, points), "<h2>Certificate</h2>", _certificate(model), _tightness(loaded, model),
        "<h2>Methods</h2>", _methods(loaded, model), "<h2>Do it again</h2>",
        f"<pre>{_text(command_line(loaded, model, weighting))}\ncflengine verify run</pre>",
        f"<pre>{_text(python_lines(loaded, model, weighting))}</pre>",
        '<p class="soft">These solve anew: what they find may differ from the above by as much as either is proved to '
        "be from the best. The model file and the project file keep this very solution.</p>",
        "<h2>How to cite</h2>", _citations(),
        f'<p class="soft">Written by cflengine {VERSION} on {date.today().isoformat()}. Nothing in this file is '
        "loaded from elsewhere.</p>",
    ]  # fmt: skip
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    head += f"<style>{_STYLE}</style>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'.encode()


def _key(loaded: LoadedCorpus, model: CompressiveFeatures) -> str:
    parts = proved_sentence(model.result_, model.max_gram, len(loaded.corpus), "document")
    return f'<p class="key">{_bold(parts)}</p>'


def _bold(parts: Sequence[tuple[str, bool]]) -> str:
    return "".join(f"<b>{_text(part)}</b>" if bold else _text(part) for part, bold in parts)


def _facts(loaded: LoadedCorpus, model: CompressiveFeatures) -> str:
    result, table = model.result_, loaded.table
    average = float(model.encoding_.length.mean()) if result.n_pointers else 0.0
    rows = [
        ("Documents", number(len(loaded.corpus))),
        ("Words (tokens)", f"{number(table.n_tokens)}, {number(len(table.vocabulary))} different ones"),
        ("Phrases and words kept", number(result.dictionary_size)),
        ("Uses (pointers)", f"{number(result.n_pointers)}, of {number(average, 2)} words on average"),
        ("λ, the cost of a use; K, the longest phrase", f"{model.lam:g}; {model.max_gram}"),
        ("Size found", f"{number(result.objective, 1)}, the least there is")
        if result.optimal
        else ("Size found; cannot be below", f"{number(result.objective, 1)}; {at_least(result.lower_bound, 1)}"),
    ]
    return _table(("", ""), [(_text(a), _text(b)) for a, b in rows], numbers=(1,))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Cells are markup already."""

    def line(cells: Sequence[str], tag: str) -> str:
        inner = "".join(f"<{tag}{' class=n' if k in numbers else ''}>{cell}</{tag}>" for k, cell in enumerate(cells))
        return f"<tr>{inner}</tr>"

    above = line(head, "th") if any(head) else ""
    return f"<table>{above}{''.join(line(row, 'td') for row in rows)}</table>"


def _legend(max_gram: int) -> str:
    parts = (f'<span class="piece w{k}">{many(k, "word")}</span>' for k in range(1, max_gram + 1))
    return f'<p class="soft">Every piece is one use of the dictionary: {" ".join(parts)}</p>'


def _documents(model: CompressiveFeatures, loaded: LoadedCorpus) -> str:
    """The documents in which phrases do most, their first characters."""
    encoding, sizes = model.encoding_, np.diff(loaded.table.doc_ptr)
    pieces = np.bincount(encoding.document, minlength=len(sizes))
    share = np.where(sizes >= min(30, sizes.max(initial=0)), 1 - pieces / np.maximum(sizes, 1), -1)
    chosen = np.sort(np.argsort(-share, kind="stable")[:DOCUMENTS]).tolist()
    views, grams = final_view(model, loaded.corpus, chosen)
    found = []
    for view in views:
        at, parts, text, pointers = 0, [], view["text"], view["pointers"]
        columns = (pointers[name].tolist() for name in ("start", "end", "gram", "length"))
        for a, e, gram, length in zip(*columns, strict=True):
            a = max(a, at)  # pieces may overlap: what two of them cover is shown once
            if a >= CHARACTERS:
                break
            if e <= at:
                continue
            uses = grams[gram]["count"] if gram in grams else 0
            title = ("used once" if uses == 1 else f"used {number(uses)} times") if uses else "used here alone"
            piece = f'<span class="piece w{min(length, 8)}" title="{title}">{_text(text[a:e])}</span>'
            parts += [_text(text[at:a]), piece]
            at = e
        if at < CHARACTERS:
            parts.append(_text(text[at:CHARACTERS]))
        more = " …" if max(at, CHARACTERS) < len(text) else ""
        found.append(f"<p><b>{_text(view['title'])}</b><br>{''.join(parts)}{more}</p>")
    return "".join(found)


def _phrases(phrases: pd.DataFrame) -> str:
    telling = phrases[phrases["telling"] & (phrases["words"] > 1)]
    of = telling if len(telling) else phrases
    shown = of.head(PHRASES)
    rows = [
        (_text(row.phrase), str(row.words), number(row.uses), number(row.documents), number(row.stands))
        for row in shown.itertuples()
    ]
    said = f"The {many(len(shown), 'most used phrase')}, of {number(len(of))}."
    if len(telling):
        said = f"The {many(len(shown), 'most used phrase')} of two words or more, of {number(len(of))}; those with "
        said += "punctuation in them, or of function words alone, are left out."
    names = ("phrase", "words", "uses", "texts using it", "stands")
    below = "Uses: how often the text is built from it. Stands: how often its words stand there, also in longer ones."
    return f'<p>{said}</p>{_table(names, rows, numbers=(1, 2, 3, 4))}<p class="soft">{below}</p>'


def _charts(model: CompressiveFeatures, points: CompressionPath) -> list[str]:
    """The λ-path, where there is one; else nothing. The library is put into the file once, before the first chart."""
    if len(points) < 2:
        return []
    lams = [point.lam for point in points]
    shares = go.Figure()
    for k in range(model.max_gram):
        shares.add_scatter(
            x=lams, y=[100 * float(point.shares[k]) for point in points], name=many(k + 1, "word"),
            line={"color": HUES[k], "width": 3}, stackgroup="one",
        )  # fmt: skip
    shares.update_yaxes(title_text="share of uses, %", range=[0, 100])
    gaps = go.Figure()
    gaps.add_scatter(
        x=lams, y=[point.result.objective for point in points], name="size found", line={"color": BLUE, "width": 3}
    )
    gaps.add_scatter(
        x=lams, y=[point.result.lower_bound for point in points], name="cannot be below",
        line={"color": ORANGE, "dash": "dash"},
    )  # fmt: skip
    gaps.update_yaxes(title_text="size: λ × uses + words stored")
    parts = ["<h2>From words to phrases</h2>"]
    for figure, said in (
        (shares, "Share of uses by the length of the phrase, as the cost of a use (λ) rises."),
        (gaps, "The size found and the proved bound below it; they are nearly one line."),
    ):
        ticks = [float(f"{k}e{e}") for e in range(-6, 7) for k in (1, 2, 5)]
        ticks = [value for value in ticks if lams[0] <= value <= lams[-1]]
        figure.update_xaxes(
            title_text="λ, the cost of a use", type="log", tickvals=ticks, ticktext=[f"{value:g}" for value in ticks]
        )
        clear = "rgba(0,0,0,0)"  # the page's own background, light or dark
        figure.update_layout(
            template="plotly_white", height=360, margin={"l": 60, "r": 20, "t": 20, "b": 50}, paper_bgcolor=clear,
            plot_bgcolor=clear, legend={"bgcolor": clear},
        )  # fmt: skip
        library = len(parts) == 1
        chart = plotly.io.to_html(figure, include_plotlyjs=library, full_html=False, config={"displaylogo": False})
        parts.append(f'<figure aria-label="{said}">{chart}</figure><p class="soft">{said}</p>')
    return parts


def _certificate(model: CompressiveFeatures) -> str:
    result = model.result_
    rows = [
        ("Size found", repr(float(result.objective))), ("Proved lower bound", repr(float(result.lower_bound))),
        ("Gap (size found / bound − 1)", repr(float(result.gap))),
        ("Proved optimal", "yes" if result.optimal else "no"), ("Digest of the tokens", result.digest),
        ("Solver", f"{TITLES.get(result.solver, result.solver)}, ended: {result.reason}"), ("cflengine", VERSION),
    ]  # fmt: skip
    return (
        _table(("", ""), [(_text(a), _text(b)) for a, b in rows])
        + "<p>The bound holds for every dictionary of phrases of up to K words at these costs. It is the cheapest "
        "encoding of the corpus when every token pays its dual price, computed from the corpus in plain arithmetic, "
        "rounded outward; whether the solver worked well does not matter for it. <code>cflengine verify</code> "
        "repeats it.</p>"
    )


def _tightness(loaded: LoadedCorpus, model: CompressiveFeatures) -> str:
    """Where the gap lies; nothing where there is none, or where nothing has been proved yet."""
    if not np.isfinite(model.result_.gap):
        return ""
    seen = tightness_of(model, loaded.corpus)
    odd = f"<p>{_text(seen.no_texts.sentence())}</p>" if seen.no_texts.n else ""
    if seen.closed:
        return odd
    documents = [
        (number(row.document), _text(row.begins), percent(row.share), percent(row.cost_share),
         _text(getattr(row, "note", "")))
        for row in seen.documents.itertuples()
    ]  # fmt: skip
    grams = [(_text(row.gram), percent(row.share), number(row.count)) for row in seen.grams.itertuples()]
    return (
        f"<h2>Where the proof is not tight</h2><p>{_bold(seen.sentence())}</p>{odd}"
        + _table(("document", "begins", "of the gap", "of the cost", ""), documents, numbers=(0, 2, 3))
        + "<p>And by phrase:</p>"
        + _table(("phrase", "of the gap", "uses"), grams, numbers=(1, 2))
    )


def _methods(loaded: LoadedCorpus, model: CompressiveFeatures) -> str:
    result = model.result_
    cut = ", lower-cased" if model.lowercase else ""
    cut += "; K-grams within sentences" if model.sentence_borders else ""
    plain = "" if model.plain_cost is None else f", but for single words, which cost {model.plain_cost:g} a use alone"
    proved = "how far it is from the optimum has not been proved yet"
    if np.isfinite(result.gap):
        proved = f"it is within {gap_words(result.gap)} of the optimum, certified by a lower bound"
        proved += " that was recomputed from the data"
    if result.optimal:
        proved = "it is optimal: between its cost and a lower bound, recomputed from the data, lies less than two "
        proved += "costs can differ by"
    solver = _text(TITLES.get(result.solver, result.solver))
    solver += " stopped early" if result.reason is TerminationReason.INTERRUPTED else ""
    return (
        f"<p>We represented the {number(len(loaded.corpus))} documents ({number(loaded.table.n_tokens)} tokens, "
        f"{_tokens(loaded, model)}{cut}) by compressive feature learning (Paskov et "
        f"al., 2013, 2014): the set of K-grams (K ≤ {model.max_gram}) that minimises the cost of storing the corpus "
        f"as pointers into a dictionary, a pointer costing λ = {model.lam:g} and a dictionary entry its number of "
        f"words{plain}. The solution found by cflengine {VERSION} (solver: {solver}) holds "
        f"{number(result.dictionary_size)} K-grams and {number(result.n_pointers)} pointers; "
        f"{proved}.</p>"
    )


def _tokens(loaded: LoadedCorpus, model: CompressiveFeatures) -> str:
    """What tokens are, by the name of the rule where it has one."""
    chosen = loaded.tokens
    if chosen.own or chosen.pattern != model.token_pattern:
        return f"matches of <code>{_text(model.token_pattern)}</code>"
    return f"cut by the rule “{_text(chosen.preset)}”{'' if chosen.punctuation else ' without punctuation'}"


def _citations() -> str:
    papers = (
        "Paskov, H. S., West, R., Mitchell, J. C., Hastie, T. (2013). Compressive feature learning. Advances in Neural "
        "Information Processing Systems 26.",
        "Paskov, H. S., Mitchell, J. C., Hastie, T. (2014). An efficient algorithm for large scale compressive feature "
        "learning. Proceedings of AISTATS, PMLR 33.",
        f"cflengine {VERSION} (software).",
    )
    return "<ul>" + "".join(f"<li>{_text(paper)}</li>" for paper in papers) + "</ul>"
