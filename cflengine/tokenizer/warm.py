"""Compile (or load from the disk cache) the kernels of this package once."""

from __future__ import annotations

from cflengine.engine.warm import WarmUp


def _toy() -> None:
    from cflengine.tokenizer.estimator import SubwordTokenizer

    SubwordTokenizer(260).fit(["abab abc", "abcabc bc"]).encode("abc")


warm_up = WarmUp({"tokenizer": _toy})
