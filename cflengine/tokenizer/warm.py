"""Compile (or load from the disk cache) the kernels of this package once."""

from __future__ import annotations

from cflengine.engine.warm import WarmUp


def _toy() -> None:
    from cflengine.tokenizer.estimator import SubwordTokenizer

    # a word of more than 16 units: covers are of the width that the longest pieces need
    words = {"".join("abc"[i * i * k % 3] for i in range(3, 3 + k)): k for k in range(2, 20)}
    SubwordTokenizer(264, tol=1e-9).fit(words).encode("abc")


warm_up = WarmUp({"tokenizer": _toy})
