"""scikit-learn's 20 Newsgroups, fetched once from the network."""

from __future__ import annotations

import pandas as pd

from cflengine.text.corpus import Corpus, CorpusError


def load_newsgroups(*, headers: bool = False) -> Corpus:
    """All 18,846 posts of the by-date version, with their group and split as metadata.

    Parameters
    ----------
    headers : bool
        Whether headers, footers and quoted replies are kept.

    Returns
    -------
    Corpus
        The posts.

    Raises
    ------
    CorpusError
        Where the data can be neither found nor fetched.
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
