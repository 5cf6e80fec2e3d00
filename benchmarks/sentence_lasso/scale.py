"""A generated corpus of the size of the paper's bills task: 37,850 documents, 2.5 million sentences, 10,000 words."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.measure import memory_of, timed
from cflengine.sentence_lasso import MajoriseSettings, Penalty, TrainingData, solve, sum_by
from cflengine.sentence_lasso import warm_up as warm_up  # for measure.py

FULL = {"documents": 37_850, "sentences": 2_526_063, "words": 10_001}
QUICK = {"documents": 400, "sentences": 6_000, "words": 2_000}


def generate(documents: int, sentences: int, words: int, seed: int = 0) -> tuple[TrainingData, np.ndarray]:
    """Sentences of 3 to 30 Zipf-distributed words; labels from a few hundred words and noise, 1 in 8 positive."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 31, sentences)
    probability = 1.0 / np.arange(1, words + 1)
    word = rng.choice(words, size=int(lengths.sum()), p=probability / probability.sum()).astype(np.int32)
    ptr = np.concatenate(([0], np.cumsum(lengths)))
    counts = sparse.csr_matrix((np.ones(len(word)), word, ptr), shape=(sentences, words))
    counts.sum_duplicates()
    document = np.sort(np.concatenate([np.arange(documents), rng.integers(0, documents, sentences - documents)]))
    X = sum_by(document, counts, documents)
    telling = rng.choice(np.arange(50, words), 300, replace=False)
    score = X[:, telling] @ rng.normal(size=300) + 2.0 * rng.normal(size=documents)
    y = np.where(score > np.quantile(score, 0.874), 1.0, -1.0)  # 87.4 % of the bills are of the frequent class
    return TrainingData(X, counts), y


def task(documents: int, sentences: int, words: int) -> dict[str, Any]:
    """Generate and solve to 1e-2; run in a fresh process."""
    data, y = generate(documents, sentences, words)
    penalty = Penalty("sentence", lam_sen=0.01, lam_las=1.0)
    here, prepared = timed(data.start, y, penalty)
    result, seconds = timed(solve, here, MajoriseSettings(tol=1e-2))
    return {
        "documents": documents, "sentences": sentences, "entries": int(data.counts.nnz), "groups": data.groups.n_groups,
        "prepare_s": prepared, "solve_s": seconds, "objective": result.objective, "bound": result.lower_bound,
        "gap": result.gap, "support": result.support, "reason": str(result.reason),
    }  # fmt: skip


def measure(quick: bool) -> dict[str, dict[str, Any]]:
    """The figures and the peak of memory."""
    return {"bills": memory_of("benchmarks.sentence_lasso.scale:task", **(QUICK if quick else FULL))}


def show(results: dict[str, dict[str, Any]]) -> str:
    """A line or two."""
    f = results["bills"]
    return (
        f"{f['documents']:,} documents, {f['sentences']:,} sentences, {f['groups']:,} of them different, "
        f"{f['entries']:,} entries\n"
        f"laid out in {f['prepare_s']:.1f} s, solved in {f['solve_s']:.1f} s: objective {f['objective']:,.3f}, "
        f"bound {f['bound']:,.3f}, gap {f['gap']:.1e} ({f['reason']}), {f['support']:,} words\n"
        f"peak memory {f['peak'] / 1e6:,.0f} MB ({(f['peak'] - f['baseline']) / f['entries']:.0f} bytes an entry "
        "above the interpreter's)"
    )
