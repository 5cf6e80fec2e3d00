"""SentencePiece: byte-pair encoding and the unigram language model, on words as letters."""

from __future__ import annotations

import io
import time
from typing import Any

import numpy as np
import sentencepiece

from benchmarks.compression.peers.alphabet import dictionaries, documents

if tuple(map(int, sentencepiece.__version__.split(".")[:3])) >= (0, 2, 3):
    # From 0.2.3 on the unigram trainer looks for its first pieces among bytes and drops those that end within a
    # character, which is where words end that are code points with the same first byte: nearly all are lost.
    raise ImportError("sentencepiece before 0.2.3 is wanted")

_LONGEST = 1 << 15  # characters of a sentence: the trainer of BPE counts them in 16 bits


def train(
    corpus: dict[str, np.ndarray], kind: str, sizes: list[float], limit: float, n_threads: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A dictionary for each of ``sizes``, a multiple of the number of word types; kind: "bpe" or "unigram".

    No size is begun after ``limit`` seconds.
    """
    n_types = int(corpus["n_types"])
    texts = [text[i : i + _LONGEST] for text in documents(corpus) for i in range(0, len(text), _LONGEST)]
    settings, pieces = [], []
    start = time.perf_counter()
    for size in sizes:
        if time.perf_counter() - start > limit:
            break
        model = io.BytesIO()
        began = time.perf_counter()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=model, model_type=kind, vocab_size=round(size * n_types),
            max_sentencepiece_length=int(corpus["max_gram"]), max_sentence_length=8 * _LONGEST, num_threads=n_threads,
            character_coverage=1.0, hard_vocab_limit=False, normalization_rule_name="identity",
            # a word is a letter: nothing about scripts, digits or blanks applies
            add_dummy_prefix=False, remove_extra_whitespaces=False, split_by_unicode_script=False,
            split_by_number=False, split_by_whitespace=False, minloglevel=2,
        )  # fmt: skip
        settings.append({"setting": f"{size:g} x words", "seconds": time.perf_counter() - began})
        trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        pieces.append([trained.id_to_piece(i) for i in range(len(trained))])
    return {"settings": settings}, dictionaries(pieces, n_types)
