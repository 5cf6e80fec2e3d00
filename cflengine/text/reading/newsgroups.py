"""Corpora that have a name: the sample, and scikit-learn's 20 Newsgroups, fetched once from the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from cflengine.engine.installed import sample_file
from cflengine.text.corpus import Corpus, CorpusError
from cflengine.text.reading.readers import read_corpus

SAMPLE, NEWSGROUPS = "sample", "20newsgroups"


def read_input(source: str, *, limit: int | None = None, **how: Any) -> Corpus:
    """What the INPUT of a command names: a file or folder (see :func:`~cflengine.text.reading.readers.read_corpus`,
    which ``how`` is for), or "sample" or "20newsgroups" where no file is called that.

    Parameters
    ----------
    source : str
        A file or folder, or "sample" or "20newsgroups" where no file is called that.
    limit : int or None, default: None
        Stop at this many kept documents, None for all.
    **how : object
        As :func:`~cflengine.text.reading.readers.read_corpus` takes it.
    """
    if source not in (SAMPLE, NEWSGROUPS) or Path(source).exists():
        return read_corpus(source, limit=limit, **how)
    if source == SAMPLE:
        return read_corpus(sample_file(), limit=limit, **how)
    corpus = load_newsgroups()
    return corpus.head(limit) if limit else corpus


def load_newsgroups(*, headers: bool = False) -> Corpus:
    """All 18,846 posts of the by-date version, with their group and split as metadata.

    headers: keep headers, footers and quoted replies. Raises CorpusError where the data can be neither found nor
    fetched.
    """
    from sklearn.datasets import fetch_20newsgroups

    remove = () if headers else ("headers", "footers", "quotes")
    texts, groups, splits = [], [], []
    for split in ("train", "test"):
        try:
            bunch = fetch_20newsgroups(subset=split, remove=remove)
        except OSError as error:
            raise CorpusError(
                f"20 Newsgroups could not be fetched ({error.__class__.__name__}): it needs the network once; "
                "upload a corpus or take the sample reviews instead."
            ) from error
        texts += list(bunch.data)
        groups += [bunch.target_names[target] for target in bunch.target]
        splits += [split] * len(bunch.data)
    metadata = pd.DataFrame({"group": groups, "split": splits})
    return Corpus.from_texts(texts, name="20 Newsgroups", metadata=metadata)
