"""Hugging Face tokenizers: byte-pair encoding and the unigram language model, on words as letters."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, trainers

from benchmarks.compression.peers.alphabet import dictionaries, documents


def byte_pairs(
    corpus: dict[str, np.ndarray], sizes: list[float], limit: float, n_threads: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A dictionary for each of ``sizes``, a multiple of the number of word types; none is begun after ``limit`` s."""

    def tool(vocab_size: int, max_gram: int) -> tuple[Tokenizer, trainers.Trainer]:
        trainer = trainers.BpeTrainer(vocab_size=vocab_size, max_token_length=max_gram, show_progress=False)
        return Tokenizer(models.BPE()), trainer

    return _train(corpus, sizes, limit, tool)


def unigram(
    corpus: dict[str, np.ndarray], sizes: list[float], limit: float, n_threads: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """As :func:`byte_pairs`."""

    def tool(vocab_size: int, max_gram: int) -> tuple[Tokenizer, trainers.Trainer]:
        trainer = trainers.UnigramTrainer(
            vocab_size=vocab_size, max_piece_length=max_gram, special_tokens=["<unk>"], unk_token="<unk>",
            show_progress=False,
        )  # fmt: skip
        return Tokenizer(models.Unigram()), trainer

    return _train(corpus, sizes, limit, tool)


def _train(
    corpus: dict[str, np.ndarray],
    sizes: list[float],
    limit: float,
    tool: Callable[[int, int], tuple[Tokenizer, trainers.Trainer]],
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    n_types, max_gram = int(corpus["n_types"]), int(corpus["max_gram"])
    texts, settings, pieces = documents(corpus), [], []
    start = time.perf_counter()
    for size in sizes:
        if time.perf_counter() - start > limit:
            break
        tokenizer, trainer = tool(round(size * n_types), max_gram)
        began = time.perf_counter()
        tokenizer.train_from_iterator(texts, trainer)
        settings.append({"setting": f"{size:g} x words", "seconds": time.perf_counter() - began})
        pieces.append(tokenizer.get_vocab())
    return {"settings": settings}, dictionaries(pieces, n_types)
