"""gensim Phrases: pairs that occur together more often than chance, joined, and again until K words can be reached."""

from __future__ import annotations

import math
import time
from itertools import pairwise
from typing import Any

import numpy as np
from gensim.models.phrases import Phrases

from benchmarks.compression.peers.alphabet import from_ids


def phrases(
    corpus: dict[str, np.ndarray], grid: list[tuple[int, float]], limit: float, n_threads: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A dictionary for each (min_count, threshold) of ``grid``: all phrases of at most K words of any pass.

    No setting is begun after ``limit`` seconds.
    """
    max_gram = int(corpus["max_gram"])
    words = [str(token) for token in corpus["tokens"].tolist()]
    texts = [words[a:b] for a, b in pairwise(corpus["doc_ptr"].tolist())]
    settings, arrays = [], {}
    start = time.perf_counter()
    for i, (min_count, threshold) in enumerate(grid):
        if time.perf_counter() - start > limit:
            break
        began = time.perf_counter()
        joined, found = texts, set()
        for _ in range(math.ceil(math.log2(max_gram))):
            model = Phrases(joined, min_count=min_count, threshold=threshold, delimiter=" ")
            joined = [model[text] for text in joined]
            found |= {phrase for text in joined for phrase in text if 1 <= phrase.count(" ") < max_gram}
        seconds = time.perf_counter() - began
        settings.append({"setting": f"min_count {min_count}, threshold {threshold:g}", "seconds": seconds})
        arrays |= from_ids(i, [[int(word) for word in phrase.split()] for phrase in sorted(found)])
    return {"settings": settings}, arrays
