"""A comparison and a trained network as files; CSV cells that a spreadsheet would run are defused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cflengine.embedding.classifier import WordMMDEmbedding
from cflengine.embedding.comparison import Comparison
from cflengine.embedding.problem import most_words
from cflengine.embedding.vectors import write_text
from cflengine.engine.files import frame_csv, write_arrays, write_report
from cflengine.engine.memory import peak_bytes
from cflengine.engine.results import versions
from cflengine.linear.export import about_corpus
from cflengine.linear.labels import Labels, Split
from cflengine.text.corpus import Corpus

_LONGEST_WORD = 200


@dataclass(frozen=True, kw_only=True)
class EmbeddingAnalysis:
    """What was compared and learnt of a corpus.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    labels : Labels
        Their classes.
    documents : ndarray
        int64, those that were compared.
    comparison : Comparison
        The statistic.
    split : Split
        What the network learnt from and is judged by.
    model : WordMMDEmbedding or None, default: None
        None without a network.
    """

    corpus: Corpus = field(repr=False)
    labels: Labels
    documents: np.ndarray = field(repr=False)
    comparison: Comparison
    split: Split
    model: WordMMDEmbedding | None = None

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """A row a labelled document: document, row in the source, split, label, predicted, probability."""
        assert self.model is not None
        parts = [(name, getattr(self.split, name)) for name in ("train", "dev", "test")]
        documents = np.concatenate([part for _, part in parts])
        names = np.concatenate([np.full(len(part), name, dtype=object) for name, part in parts])
        order = np.argsort(documents, kind="stable")
        documents, names = documents[order], names[order]
        probability = self.model.predict_proba([self.corpus.texts[d] for d in documents.tolist()])
        return pd.DataFrame(
            {
                "document": documents,
                "row": np.asarray(self.corpus.rows)[documents],
                "split": names,
                "label": self.labels.of(documents),
                "predicted": self.model.classes_[probability.argmax(axis=1)],
                "probability": probability.max(axis=1),
            }
        )

    def accuracies(self) -> dict[str, float]:
        """The share of right ones in each part that has documents."""
        found = self.predictions
        right = found["label"].astype(str) == found["predicted"].astype(str)
        return {str(part): float(own.mean()) for part, own in right.groupby(found["split"], sort=False)}


def witness_table(found: Comparison) -> pd.DataFrame:
    """The witness functions of all pairs of classes, as witness.csv has them.

    Parameters
    ----------
    found : Comparison
        Of the classes.

    Returns
    -------
    pandas.DataFrame
        A row a word and pair: of, against, word, class, witness, contribution, share, share in other.
    """
    names, frames = [str(name) for name in found.words.classes], []
    most = most_words(len(names))
    for a, b in combinations(range(len(names)), 2):
        frame = found.witness(a, b).head(most)
        frame.columns = [*frame.columns[:4], "share", "share in other"]
        frame.insert(0, "against", names[b])
        frame.insert(0, "of", names[a])
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def statistic_report(found: Comparison) -> dict[str, Any]:
    """What statistic.json says.

    Parameters
    ----------
    found : Comparison
        Of the classes.

    Returns
    -------
    dict[str, Any]
        The statistic's numbers, and ``pairwise``, those of each pair of classes.
    """
    return found.summary() | {"pairwise": found.pairwise.to_dict("records")}


def embedding_report(analysis: EmbeddingAnalysis, command: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What report.json says, and of it statistic.json the part that is about the statistic.

    Parameters
    ----------
    analysis : EmbeddingAnalysis
        What was found.
    command : Mapping[str, Any]
        What was asked for.
    seconds : float
        Since the command began.

    Returns
    -------
    dict[str, Any]
        As JSON has it.
    """
    found, labels = analysis.comparison, analysis.labels
    report: dict[str, Any] = {
        "statistic": found.summary(), "pairwise": found.pairwise.to_dict("records"),
        "classes": list(labels.classes), "n_unlabelled": labels.n_unlabelled, "seconds": seconds,
        "peak_memory_bytes": peak_bytes(), "corpus": analysis.corpus.report.to_dict(), "versions": versions(),
    }  # fmt: skip
    if analysis.model is not None:
        result = analysis.model.result_
        (before, after), errors = result.discrepancies(), result.discrepancy_errors()
        report["training"] = {
            "network": result.solver, "settings": dict(result.settings), "reason": str(result.reason),
            "epochs": result.n_iterations, "best_epoch": result.best_epoch, "cross_entropy": result.objective,
            "accuracy": analysis.accuracies(), "n_words": len(analysis.model.words_),
            "wmmd_before": before, "wmmd_after": after, "wmmd_error": max(errors), "seconds": result.seconds,
            "n_words_drawn": analysis.model.n_drawn_,
        }  # fmt: skip
    return report | dict(command)


def write_embedding(folder: Path, analysis: EmbeddingAnalysis, report: dict[str, Any]) -> None:
    """Write all files of ``cflengine embed``, report.json last.

    Parameters
    ----------
    folder : Path
        One that is there.
    analysis : EmbeddingAnalysis
        What was found.
    report : dict[str, Any]
        What :func:`embedding_report` says.
    """
    found, model = analysis.comparison, analysis.model
    frames = {
        "witness": witness_table(found),
        "pairwise": found.pairwise,
        "null": pd.DataFrame({"statistic": found.null}),
    }
    vectors = found.words.vectors
    words, M = vectors.words, vectors.M
    arrays: dict[str, Any] = {"words": word_array(words), "vectors": M}
    if model is not None:
        frames |= {"predictions": analysis.predictions, "trace": model.trace_}
        arrays |= {"trained_words": word_array(model.words_), "trained_vectors": model.vectors_}
        arrays["initial_vectors"] = model.initial_vectors_
        words, M = model.words_, model.vectors_
        model.save(
            folder / "model.cflm",
            about=about_corpus(analysis.corpus, analysis.labels.column, len(analysis.split.train)),
        )
    for name, frame in frames.items():
        (folder / f"{name}.csv").write_bytes(frame_csv(frame))
    write_arrays(folder / "vectors.npz", arrays)
    write_text(folder / "vectors.txt", words, np.asarray(M))
    write_report(folder, statistic_report(found), "statistic.json")
    write_report(folder, report)


def word_array(words: Sequence[str]) -> np.ndarray:
    """Words as an npz holds them.

    Parameters
    ----------
    words : Sequence[str]
        V words.

    Returns
    -------
    numpy.ndarray
        Text (V,); as UTF-8 lines, uint8, where one is so long that all of its length would be too much.
    """
    if max(map(len, words)) <= _LONGEST_WORD:
        return np.array(words, dtype=str)
    return np.frombuffer(
        "\n".join(word.replace("\n", "␊") for word in words).encode("utf-8", "surrogatepass"), dtype=np.uint8
    )
