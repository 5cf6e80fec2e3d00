"""One vocabulary each, by this engine and by its peers, in a process of its own."""

from __future__ import annotations

import gzip
import io
import json
import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.corpora import corpus_path
from cflengine.tokenizer import PATTERNS, Cutting, SubwordTokenizer

MIXTURE = ("imdb", "20news_bydate", "german_news", "chinese_waimai")
HUGGING_FACE = ("Hugging Face BPE", "Hugging Face Unigram")
SENTENCEPIECE = ("SentencePiece BPE", "SentencePiece Unigram")
PEERS = (*HUGGING_FACE, *SENTENCEPIECE)
_BYTES_OF_MIXTURE = 2_000_000  # of each corpus
_TESTED = 3_000  # texts whose encodings are compared


@cache
def halves(name: str, data: str | None, limit: int | None) -> tuple[list[str], list[str]]:
    """Texts to train on and texts held out: every other one."""
    texts: list[str] = []
    for one in MIXTURE if name == "mixture" else (name,):
        with gzip.open(corpus_path(one, data), "rt", encoding="utf-8") as lines:
            own = [json.loads(line)["text"] for line in lines]
        if name == "mixture":
            share = _BYTES_OF_MIXTURE / sum(len(text.encode()) for text in own)
            own = own[: max(math.ceil(share * len(own)), 1)] if share < 1 else own
        texts += own
    texts = texts[:limit]
    return texts[::2], texts[1::2]


def tokens_of(encode: Callable[[str], Any], texts: list[str], cutting: Cutting) -> tuple[int, int]:
    """(tokens, words) of texts of which each word is encoded by itself."""
    counts = cutting.count(texts)
    return sum(n * len(encode(word)) for word, n in counts.items()), counts.total()


def rates(counted: Callable[[list[str]], tuple[int, int]], train: list[str], held: list[str]) -> dict[str, Any]:
    """Tokens, tokens a word and bytes a token of both halves."""
    found: dict[str, Any] = {}
    for half, texts in (("train", train), ("held_out", held)):
        tokens, words = counted(texts)
        size = sum(len(text.encode()) for text in texts)
        found |= {f"{half}_tokens": tokens, f"{half}_per_word": tokens / words, f"{half}_bytes": size / tokens}
    return found


def ours(name: str, size: int, data: str | None, limit: int | None, time_limit: float) -> dict[str, Any]:
    """This engine's: its tokens and what is proved, and how many texts its file encodes alike."""
    train, held = halves(name, data, limit)
    cutting = Cutting()
    began = time.perf_counter()
    model = SubwordTokenizer(size, time_limit=time_limit).fit(train)
    seconds = time.perf_counter() - began
    result = model.result_
    found = {
        "seconds": seconds, "lower_bound": result.lower_bound, "gap": result.gap, "reason": str(result.reason),
        "words": result.n_running, "types": result.n_words,
    }  # fmt: skip
    return found | _agreement(model, held) | rates(lambda t: tokens_of(model.encode, t, cutting), train, held)


def _agreement(model: SubwordTokenizer, texts: list[str]) -> dict[str, Any]:
    try:
        import tokenizers
    except ImportError:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        model.save_tokenizer_json(path)
        other = tokenizers.Tokenizer.from_file(str(path))
    some = texts[:_TESTED]
    alike = sum(other.encode(text).ids == model.encode(text) for text in some)
    return {"texts_compared": len(some), "texts_alike": alike}


def peer(kind: str, name: str, size: int, data: str | None, limit: int | None) -> dict[str, Any]:
    """A peer's. Raises ImportError where it is not installed."""
    train, held = halves(name, data, limit)
    fit = _hugging_face if kind in HUGGING_FACE else _sentencepiece
    began = time.perf_counter()
    counted, entries = fit(kind, size, train)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "entries": entries} | rates(counted, train, held)


def _hugging_face(kind: str, size: int, texts: list[str]) -> tuple[Callable[[list[str]], tuple[int, int]], int]:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    BPE = kind.endswith("BPE")
    tokenizer = Tokenizer(models.BPE() if BPE else models.Unigram())
    split = pre_tokenizers.Split(Regex(PATTERNS["gpt2"]), "isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    common = {"vocab_size": size, "initial_alphabet": alphabet, "show_progress": False}
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(**common) if BPE else trainers.UnigramTrainer(**common, max_piece_length=16)
    )
    cutting = Cutting()
    return lambda t: tokens_of(lambda w: tokenizer.encode(w).ids, t, cutting), tokenizer.get_vocab_size()


def _sentencepiece(kind: str, size: int, texts: list[str]) -> tuple[Callable[[list[str]], tuple[int, int]], int]:
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for text in texts for line in text.split("\n") if line.strip()), model_writer=model,
        vocab_size=size, model_type=kind.split()[1].lower(), byte_fallback=True, character_coverage=0.9995,
        normalization_rule_name="identity", remove_extra_whitespaces=False, hard_vocab_limit=False,
        max_sentence_length=1 << 20, minloglevel=2, num_threads=2,
    )  # fmt: skip
    own = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    cutting = Cutting()

    def counted(some: list[str]) -> tuple[int, int]:
        lines: Counter[str] = Counter(line for text in some for line in text.split("\n"))
        breaks = sum(text.count("\n") for text in some)
        tokens = sum(n * len(own.encode(line)) for line, n in lines.items()) + breaks
        return tokens, cutting.count(some).total()

    return counted, own.get_piece_size()
