"""Corpora in memory, shared by the pages and sessions of this server, by digest; uploads on their way there."""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from cflengine import Corpus, read_corpus
from cflengine.engine import Watch, held_memory, sample_file
from cflengine.text import (
    NEWSGROUPS,
    SAMPLE,
    USUAL_TOKENS,
    CorpusCheck,
    TokenChoice,
    Tokenizer,
    TokenTable,
    check_corpus,
    load_newsgroups,
    plain_tokens,
    suggested_tokens,
)

_KEEP, _KEEP_BYTES = 4, 1 << 30
SMALL = 2_000_000  # characters, which are cut into tokens in a fraction of a second by any means
# written by sample_data/solve.py
SAMPLE_PATH, SAMPLE_FILM, SAMPLE_MAX_GRAM = sample_file("reviews.path"), sample_file("reviews.stages"), 3


@dataclass(frozen=True)
class LoadedCorpus:
    """A corpus, its tokens, and how it can be had again: ``source`` and the options it was read with.

    content: see :func:`content_id`. tokens: what a token is.
    """

    id: str
    corpus: Corpus
    source: str
    options: dict[str, Any] = field(default_factory=dict)
    content: str = ""
    tokens: TokenChoice = USUAL_TOKENS

    @cached_property
    def table(self) -> TokenTable:
        """The texts in tokens."""
        return self._cut(None)

    @cached_property
    def check(self) -> CorpusCheck:
        """What a look at texts, tokens and columns finds."""
        return check_corpus(self.corpus, self.table)

    @property
    def is_checked(self) -> bool:
        """Whether :attr:`check` is there, which takes a while to make."""
        return "check" in self.__dict__

    @cached_property
    def suggested(self) -> str:
        """The preset of tokens that suits the texts."""
        return suggested_tokens(self.corpus.texts)

    def count(self, watch: Watch) -> None:
        """Make :attr:`table`, unless it is there. Raises Stopped where ``watch`` says so."""
        if "table" not in self.__dict__:
            self.__dict__["table"] = self._cut(watch)

    def _cut(self, watch: Watch | None) -> TokenTable:
        chosen = self.tokens
        options = {"lowercase": chosen.lowercase, "sentence_borders": chosen.sentence_borders}
        if sum(map(len, self.corpus.texts)) < SMALL:  # nothing compiled is waited for
            return plain_tokens(self.corpus.texts, chosen.pattern, **options)
        return Tokenizer(chosen.pattern, **options)(self.corpus.texts, watch)


_corpora: OrderedDict[str, LoadedCorpus] = OrderedDict()
_in_use: WeakValueDictionary[str, LoadedCorpus] = WeakValueDictionary()  # those that a session holds stay known
_lock = threading.Lock()


def remember(
    corpus: Corpus,
    *,
    source: str,
    name: str | None = None,
    options: dict[str, Any] | None = None,
    tokens: TokenChoice = USUAL_TOKENS,
) -> LoadedCorpus:
    """Keep a corpus under ``name`` or by what is in it; the least recently used of more than a few, or of more than a
    gigabyte, is dropped, unless a session holds it."""
    content = content_id(corpus)
    if tokens != USUAL_TOKENS:
        content += hashlib.blake2b(repr(tokens).encode("utf-8", "replace"), digest_size=3).hexdigest()
    told = repr((source, corpus.name, sorted((options or {}).items()))).encode("utf-8", "replace")
    told_id = hashlib.blake2b(told, digest_size=3).hexdigest()  # the same texts read otherwise are not called the same
    loaded = LoadedCorpus(name or content + told_id, corpus, source, options or {}, content, tokens)
    with _lock:
        known = _corpora.pop(loaded.id, None) or _in_use.get(loaded.id)
        if known is not None and known.content == content:
            loaded = known  # its tokens may be there already
        else:
            same = [one for one in _in_use.values() if one.content == content and "table" in one.__dict__]
            if same:
                loaded.__dict__["table"] = same[0].table
        _corpora[loaded.id] = _in_use[loaded.id] = loaded
        while len(_corpora) > 1 and (len(_corpora) > _KEEP or _held_bytes() > _KEEP_BYTES):
            _corpora.popitem(last=False)
    return loaded


def _held_bytes() -> int:
    """What the corpora that are kept take in memory."""
    return sum(held_memory(*_corpora.values()).values())


def content_id(corpus: Corpus) -> str:
    """Hex digits for texts and metadata: the same texts with other labels are another corpus."""
    columns = corpus.metadata.astype(str)
    rows = pd.util.hash_pandas_object(columns, index=False).to_numpy() if len(columns.columns) else np.zeros(0)
    digest = hashlib.blake2b(repr(list(columns.columns)).encode("utf-8", "replace"), digest_size=4)
    digest.update(rows.tobytes())
    return corpus.digest + digest.hexdigest()


def recall(corpus_id: str | None) -> LoadedCorpus | None:
    """The corpus of that id if this server still has it; the sample is read whenever it is asked for."""
    with _lock:
        if corpus_id in _corpora:
            _corpora.move_to_end(corpus_id)
        loaded = _in_use.get(corpus_id)  # those of _corpora are held by it
    if loaded is not None:
        return loaded
    if corpus_id == SAMPLE:
        options = {"text_column": "text"}
        return remember(
            read_corpus(sample_file(), text_column="text"),
            source=SAMPLE,
            name=SAMPLE,
            options=options,
        )
    return None


def cut_otherwise(loaded: LoadedCorpus, tokens: TokenChoice) -> LoadedCorpus:
    """The same corpus in other tokens."""
    name = loaded.source if loaded.source in (SAMPLE, NEWSGROUPS) and tokens == USUAL_TOKENS else None
    return remember(loaded.corpus, source=loaded.source, name=name, options=loaded.options, tokens=tokens)


def fetch_newsgroups() -> LoadedCorpus:
    """20 Newsgroups through scikit-learn; CorpusError without network."""
    return recall(NEWSGROUPS) or remember(load_newsgroups(), source=NEWSGROUPS, name=NEWSGROUPS)


def spill(upload: Any) -> Path:
    """Move an upload to a temporary file and out of the server's memory.

    Streamlit keeps uploads in memory even after their tab is closed, at twice their size. The file is removed
    when the session ends.
    """
    handle, name = tempfile.mkstemp(prefix="cflengine-", suffix=Path(upload.name).suffix[:12])
    with os.fdopen(handle, "wb") as file:
        file.write(upload.getbuffer())
    _session_files().append(Path(name))
    context = get_script_run_ctx()
    manager = getattr(context, "uploaded_file_mgr", None)
    if manager is not None:
        manager.remove_file(context.session_id, upload.file_id)
    return Path(name)


def session_path(suffix: str) -> Path:
    """Of a file that is not there yet, and is removed when the session ends."""
    path = Path(tempfile.gettempdir()) / f"cflengine-{secrets.token_hex(16)}{suffix}"
    _session_files().append(path)
    return path


def _remove_files(files: list[Path]) -> None:
    for path in files:
        path.unlink(missing_ok=True)


@st.cache_resource(scope="session", on_release=_remove_files, show_spinner=False)
def _session_files() -> list[Path]:
    return []
