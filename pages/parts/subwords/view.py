"""What the page Tokenizer shows: size against tokens a word, a sentence cut, pieces that come and go, files."""

from __future__ import annotations

import math
import re
import tempfile
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from cflengine.engine import InputError, TerminationReason, frame_csv
from cflengine.tokenizer import SubwordTokenizer
from pages.parts.components.figure_view import figure_view
from pages.parts.components.text_view import text_view
from pages.parts.shared.commands import command_line
from pages.parts.shared.controls import rerun_at_end
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.figures import BLUE, GREEN, GREY, ORANGE
from pages.parts.shared.jobs import BOARD, Job
from pages.parts.shared.metrics import metric_row, table_height
from pages.parts.shared.words import at_least, gap_text, many, number, percent, plain, said
from pages.parts.subwords.run import CAN_COMPARE, LONGEST, SubwordRun, cut

MOST_CHARACTERS = 600
_NAMED = 60  # pieces that come, or go
_FIRST = 200  # characters of the sentence that is there at first
_HEX = "\\X"
_BYTES = re.compile(r"(?:\\x[89a-f][0-9a-f])+")  # of a character that is cut
_LISTED = 500
_ANY = f"With any vocabulary of so many entries, of pieces of at most {LONGEST} units."


def size_figure(run: SubwordRun) -> go.Figure:
    """Tokens a word over the number of entries: found, proved to be needed, by BPE, by the user's own."""
    frame, words = run.table(), max(run.n_running, 1)
    entries, found, least = (frame[name].tolist() if len(frame) else [] for name in ("entries", "per_word", "at_least"))
    bpe = [(size, tokens / words) for size, (_, tokens) in run.bpe.items()]
    if run.now is not None and run.now[0] not in run.models and math.isfinite(run.now[1]):
        size, best, bound = run.now
        entries, found, least = [*entries, size], [*found, best / words], [*least, bound / words]
    figure = go.Figure()
    for name, xs, ys, colour, dash, symbol in (
        ("byte-pair encoding", [s for s, _ in bpe], [y for _, y in bpe], GREY, "dot", "square"),
        ("found here", entries, found, BLUE, "solid", "circle"),
        ("proved: none below", entries, least, ORANGE, "dash", "triangle-up"),
    ):
        if xs:
            figure.add_scatter(
                x=xs, y=ys, name=name, mode="lines+markers", line={"color": colour, "dash": dash, "width": 2.5},
                marker={"symbol": symbol, "size": 9}, hovertemplate=f"{name}<br>%{{y:.4f}} a word<extra></extra>",
            )  # fmt: skip
    if run.report is not None:
        figure.add_scatter(
            x=[run.report.entries], y=[run.report.tokens / max(run.report.result.n_running, 1)], name="yours",
            mode="markers", marker={"color": GREEN, "symbol": "star", "size": 15},
            hovertemplate="yours, of %{x:,} entries<br>%{y:.4f} a word that it knows<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(
        title_text="entries of the vocabulary", type="log", tickvals=run.sizes, ticktext=[f"{s:,}" for s in run.sizes]
    )
    figure.update_yaxes(title_text="tokens a word")
    figure.update_layout(
        height=360, margin={"l": 10, "r": 10, "t": 10, "b": 10}, hovermode="x",
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )  # fmt: skip
    return figure


def draw_live(job: Job) -> None:
    """The figure while the job is under way, again and again; reruns the page at its end."""
    st.fragment(_live, run_every=0.7)(job.id)


def _live(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    run: SubwordRun = job.so_far
    rerun_at_end(job)
    st.caption(plain(run.stage) or "Waiting for the solver …")
    if run.sizes:
        figure_view(
            size_figure(run), "subwords_live", "Tokens a word takes by size of the vocabulary, above the proved limit"
        )


def draw_sizes(run: SubwordRun) -> int:
    """The figure and the numbers of the size that is looked at, which is returned."""
    figure_view(
        size_figure(run), "subwords_sizes", "Tokens a word takes by size of the vocabulary, above the proved limit"
    )
    st.caption(
        "Tokens that a word of this corpus takes, on average: the best vocabulary found, and what no vocabulary of so "
        f"many entries can go below, with pieces of up to {LONGEST} units, as byte-pair encoding has them here. "
        "Recomputed from the words."
        + ("" if CAN_COMPARE else ' For byte-pair encoding beside: `pip install "cflengine[foreign]"`.')
    )
    if run.most < run.choice.largest:
        st.caption(
            f"The words of this corpus have {run.most:,} different pieces, bytes or characters included: no vocabulary "
            "can have more entries."
        )
    sizes = list(run.models)
    if run.stopped:
        broken = run.models[sizes[-1]].result_.reason is TerminationReason.INTERRUPTED
        left = [s for s in run.sizes if s not in run.models]
        st.caption(
            "⚠ Stopped"
            + (f" while {sizes[-1]:,} entries were chosen: better ones may be found" if broken else "")
            + (f"; not tried: {', '.join(f'{s:,}' for s in left)} entries" if left else "")
            + ". Press **Choose** to go on."
        )
    size = st.segmented_control(
        "Entries", sizes, default=sizes[-1], required=True, format_func=lambda s: f"{s:,}", key="subwords_size"
    )
    result = run.models[size].result_
    items: list[Any] = [
        ("Tokens", number(result.objective), f"Of {number(result.n_running)} words."),
        ("Tokens a word", number(result.tokens_per_word, 4)),
        ("At least, proved", at_least(result.least_tokens_per_word, 4), _ANY),
        ("Gap, proved", gap_text(result.gap)),
    ]
    if size in run.bpe:
        more = run.bpe[size][1] / result.objective - 1.0
        how_many = f"{percent(abs(more), 1)} {'more' if more > 0 else 'less'}" if more else "as many"
        items.append(("BPE takes", how_many, f"Byte-pair encoding, with pieces of at most {LONGEST} units, too."))
    metric_row(items)
    return size


def draw_sentence(run: SubwordRun, size: int, loaded: LoadedCorpus) -> None:
    """A sentence cut by the vocabulary of this size, and by another tokenizer beside it."""
    first = next((text for text in loaded.corpus.texts if text.strip()), "")
    text = st.text_area(
        "A sentence", _beginning(first), max_chars=MOST_CHARACTERS, height=90, key=f"subwords_text_{loaded.id}"
    )
    if not text.strip():
        st.info("Type a sentence.")
        return
    columns = [("Found here", run.models[size])]
    if run.theirs is not None:
        columns.append(("Yours", run.theirs))
    if size in run.bpe:
        columns.append(("Byte-pair encoding", run.bpe[size][0]))
    for place, (name, model) in zip(st.columns(len(columns)), columns, strict=True):
        with place:
            try:
                pieces = cut(model, text)
            except InputError as error:  # another's tokenizer need not know every character
                st.markdown(f"**{name}**")
                st.info(said(error))
                continue
            st.markdown(f"**{name}**: {many(len(pieces), 'token')}")
            documents, grams = pieces_view(pieces)
            text_view(documents, grams=grams, key=f"subwords_view_{name}", height=260, unit="character", name=name)


def _beginning(text: str) -> str:
    """The first words of a text, on one line."""
    line = " ".join(text[: 2 * _FIRST].split())
    return line if len(line) <= _FIRST else line[:_FIRST].rsplit(" ", 1)[0]


def _legible(piece: str) -> str:
    """A piece with the bytes of characters that are cut as numbers: ⟨E3 81⟩."""
    return _BYTES.sub(lambda match: f"⟨{' '.join(match[0].upper().split(_HEX)[1:])}⟩", piece)


def pieces_view(pieces: list[str]) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
    """Pieces one after the other, for the text view; bytes of a character that is cut count as one."""
    lengths = [len(_BYTES.sub("?", piece)) for piece in pieces]
    pieces = list(map(_legible, pieces))
    numbers = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    ends, total = [], 0
    for piece in pieces:
        total += len(piece)
        ends.append(total)
    pointers = {
        "start": [end - len(piece) for piece, end in zip(pieces, ends, strict=True)],
        "end": ends,
        "gram": [numbers[piece] for piece in pieces],
        "length": lengths,
    }
    grams = {i: {"label": piece, "count": pieces.count(piece), "cost": 1.0} for piece, i in numbers.items()}
    return [{"title": "", "text": "".join(pieces), "pointers": pointers, "meta": ""}], grams


def draw_changes(run: SubwordRun, size: int) -> None:
    """Pieces that come and go between this size and the one before."""
    before, came, gone = run.changes(size)
    if before is None:
        st.info("This is the smallest size: choose a larger one above to see what comes, and what goes.")
        return
    st.markdown(
        f"From {before:,} to {size:,} entries {many(len(came), 'piece')} come and {len(gone):,} go: a larger "
        "vocabulary is no extension of a smaller one, where greedy training only ever adds."
    )
    for place, title, pieces in zip(st.columns(2), ("Come", "Go"), (came, gone), strict=True):
        place.markdown(f"**{title}**, most frequent first")
        shown = " ".join(f"`{_visible(piece)}`" for piece in pieces[:_NAMED])
        rest = f" … and {len(pieces) - _NAMED:,} more" if len(pieces) > _NAMED else ""
        place.markdown((shown or "none") + rest)


def _visible(piece: str) -> str:
    """A piece in a line of code: spaces and breaks as signs, nothing that Markdown reads."""
    signs = str.maketrans({" ": "␣", "\n": "⏎", "\r": "⏎", "\t": "⇥", "`": "ˋ"})
    return _legible(piece.translate(signs))


def draw_theirs(run: SubwordRun) -> None:
    """The user's tokenizer held against the best of its size."""
    report = run.report
    if run.refused:
        st.error(plain(run.refused))
        return
    if report is None:
        st.info(
            "Drop a `tokenizer.json` or a SentencePiece model above and press **Choose**: it is compared with "
            "the best vocabulary of its size for this corpus."
        )
        return
    found = report.result
    distance = (
        [("Fewer than without longer pieces", percent(-report.above_at_most))]
        if report.tokens < found.lower_bound
        else [
            ("Above the best, at least", percent(report.above_at_least)),
            ("Above the best, at most", percent(report.above_at_most)),
        ]
    )
    metric_row(
        [
            ("Tokens", number(report.tokens), f"As it encodes {number(found.n_running)} words."),
            ("Same pieces, fewest", number(report.shortest), "Its pieces, each word in as few as possible."),
            ("Best found", number(found.objective), "With as many pieces of two units or more."),
            ("At least, proved", at_least(found.lower_bound), f"Of pieces of at most {report.longest} units."),
            *distance,
        ]
    )
    if report.longer:
        st.caption(
            f"{many(report.longer, 'piece')} that it uses {'has' if report.longer == 1 else 'have'} more than "
            f"{report.longest} units, which the bound does not allow for."
        )
    st.caption(
        f"{plain(report.kind)}, {report.entries:,} entries. {report.n_wasted:,} of its "
        f"{many(len(report.pieces), 'piece')} of two units or more save nothing on this corpus; "
        f"{report.n_absent:,} do not occur in it."
        + (f" {many(report.left_out, 'word')} left out: it does not know them." if report.left_out else "")
    )
    for place, title, frame in zip(
        st.columns(2), ("Its pieces", "Pieces that it lacks"), (report.pieces, report.lacking), strict=True
    ):
        shown = frame.iloc[::-1] if frame is report.pieces else frame
        shown = shown.head(_LISTED).assign(piece=shown["piece"].head(_LISTED).map(_visible))
        place.markdown(f"**{title}**" + (", those first that save least" if frame is report.pieces else ""))
        place.dataframe(
            shown, hide_index=True, height=table_height(len(shown), 300), alt=f"{title}: occurrences and tokens saved"
        )
    st.download_button(
        "All its pieces (CSV)", lambda: frame_csv(report.pieces), "their-pieces.csv", "text/csv", on_click="ignore",
        key="subwords_their_pieces",
    )  # fmt: skip


def draw_files(run: SubwordRun, size: int, loaded: LoadedCorpus) -> None:
    """The vocabulary to take away, and the command that chooses it again."""
    model = run.models[size]
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "tokenizer.json", lambda: _json(model), "tokenizer.json", "application/json", on_click="ignore",
            key="subwords_json", type="primary", help="Loads in Hugging Face's tokenizers, and cuts alike there.",
        )  # fmt: skip
        st.download_button(
            "Pieces (CSV)", lambda: frame_csv(model.pieces_frame()), "pieces.csv", "text/csv", on_click="ignore",
            key="subwords_pieces",
            help="id, piece, how often it occurs. Bytes are named by letters, as in tokenizer.json: Ġ is a blank.",
        )  # fmt: skip
        st.download_button(
            "Sizes (CSV)", lambda: frame_csv(run.table()), "sizes.csv", "text/csv", on_click="ignore",
            key="subwords_table",
        )  # fmt: skip
    st.caption("The same from the command line, with a proof that `cflengine verify` checks:")
    options = {"vocab_size": size, "unit": model.unit, "pattern": model.pattern}
    if model.normalisation:
        options["normalise"] = "lowercase"
    st.code(command_line("tokenizer", loaded, options, "tokenizer"), language="shell", wrap_lines=True)


def _json(model: SubwordTokenizer) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        model.save_tokenizer_json(Path(folder) / "tokenizer.json")
        return (Path(folder) / "tokenizer.json").read_bytes()
