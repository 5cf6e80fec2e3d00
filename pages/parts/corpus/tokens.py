"""What a word is: presets and one's own pattern, each shown on the corpus's own text before it is taken."""

from __future__ import annotations

import streamlit as st

from cflengine.text import PRESETS, TokenChoice, check_pattern, has_dictionary, plain_tokens
from pages.parts.corpus.reading import Reading, choose
from pages.parts.shared import corpora
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.words import in_tags, said

OWN = "own"
_SHOWN = 260  # characters of the preview
_STYLE = """<style>.cut span { border: 1px solid rgba(128,128,128,.45); border-radius: 3px; padding: 0 2px;
margin: 1px; display: inline-block; line-height: 1.45; max-width: 100%; overflow-wrap: anywhere }</style>"""


def what_tokens(tokens: TokenChoice) -> str:
    """A choice in a sentence."""
    if tokens.own:
        return f"Matches of {tokens.own}"
    note = PRESETS[tokens.preset].note
    return f"{note[0].upper()}{note[1:]}" + ("" if tokens.punctuation else "; punctuation dropped") + "."


def draw_tokens(loaded: LoadedCorpus) -> None:
    """The choice, a preview, and a button where it is another one than now."""
    now = loaded.tokens
    title = f"`{now.own}`" if now.own else PRESETS[now.preset].title.lower()
    with st.expander(f"What is a word: {title}", key="tokens"):
        chosen = _choose(now, loaded.suggested, loaded.id)
        try:
            table = _preview(chosen, loaded)
        except ValueError as error:  # an own pattern that is none, a dictionary that is not there
            st.error(said(error))
            return
        st.html(_STYLE + table)
        if chosen != now and st.button("Cut the corpus like this", type="primary", key="tokens_take"):
            choose(lambda watch: Reading(corpora.cut_otherwise(loaded, chosen)), loaded.corpus.name)


def _choose(now: TokenChoice, suggested: str, key: str) -> TokenChoice:
    names = [name for name in PRESETS if name != "dictionary" or has_dictionary() or now.preset == name]
    preset = st.radio(
        "A token is", [*names, OWN], index=len(names) if now.own else names.index(now.preset),
        format_func=lambda name: _title(name, suggested), key=f"tokens_preset_{key}", label_visibility="collapsed",
        captions=[*(PRESETS[name].note for name in names), "every match of a regular expression"],
    )  # fmt: skip
    own = ""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        if preset == OWN:
            own = st.text_input("Regular expression", now.own or r"\w+|[^\w\s]", key=f"tokens_own_{key}", width=320)
        keep = st.toggle("Lower-case and upper-case are the same", now.lowercase, key=f"tokens_lower_{key}")
        marks = True
        if preset != OWN:
            marks = not st.toggle("Drop punctuation", not now.punctuation, key=f"tokens_drop_{key}")
        within = st.toggle("Phrases end with the sentence", now.sentence_borders, key=f"tokens_sentences_{key}")
    if not has_dictionary():
        st.caption('Words by a dictionary (Chinese, Japanese, Thai): `pip install "cflengine[icu]"`.')
    if preset == OWN:
        return TokenChoice(own=own or " ", lowercase=keep, sentence_borders=within)
    return TokenChoice(str(preset), punctuation=marks, lowercase=keep, sentence_borders=within)


def _title(name: str, suggested: str) -> str:
    title = "My own pattern" if name == OWN else PRESETS[name].title
    return f"{title} (suits this corpus)" if name == suggested else title


def _preview(chosen: TokenChoice, loaded: LoadedCorpus) -> str:
    """The beginning of the longest of the first documents, its tokens in frames. Raises ValueError."""
    text = max(loaded.corpus.texts[:50], key=len)[:_SHOWN]
    table = plain_tokens([text], check_pattern(chosen.pattern), lowercase=False)
    spans = ((a, e, "") for a, e in zip(table.start.tolist(), table.end.tolist(), strict=True))
    return f'<p class="cut" aria-label="Preview">{in_tags(text, spans, "span")}</p>'
