"""One vocabulary each, by this engine and by its peers, in a process of its own."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.corpora import corpus_path
from benchmarks.measure import own_peak
from benchmarks.tokenizers.quality import bits_a_character
from cflengine.tokenizer import PATTERNS, Cutting, SubwordTokenizer
from cflengine.tokenizer import warm_up as warm_up  # for measure.py

MIXTURE = ("imdb", "20news_bydate", "german_news", "chinese_waimai")
_LONGEST = 16  # bytes of a piece
WHOLE = {"imdb_whole": "imdb"}  # nothing is held out, and this engine fits alone
_BYTES_OF_MIXTURE = 2_000_000  # of each corpus
_WORDS_COMPARED = 1_000_000  # whose encodings are compared with those of the exported file
_WORDS_OF_A_MODEL = (1_000_000, 200_000)  # that a language model reads, and that it predicts


def parts_of(name: str) -> tuple[str, ...]:
    """The corpora that a case is made of."""
    return MIXTURE if name == "mixture" else (WHOLE.get(name, name),)


@cache
def halves(name: str, data: str | None, limit: int | None) -> tuple[list[str], list[str]]:
    """Texts to train on and texts held out: every other one."""
    texts: list[str] = []
    for one in parts_of(name):
        with gzip.open(corpus_path(one, data), "rt", encoding="utf-8") as lines:
            own = [json.loads(line)["text"] for line in lines]
        if name == "mixture":
            share = _BYTES_OF_MIXTURE / sum(len(text.encode()) for text in own)
            own = own[: max(math.ceil(share * len(own)), 1)] if share < 1 else own
        texts += own
    texts = texts[:limit]
    return (texts, []) if name in WHOLE else (texts[::2], texts[1::2])


@dataclass(frozen=True)
class Encoder:
    """A vocabulary that has been trained.

    cut: a text's words, or lines, which are encoded one by one; encode: the numbers, below size, of the tokens of each.
    """

    cut: Callable[[str], Iterable[str]]
    encode: Callable[[list[str]], list[list[int]]]
    size: int
    _known: dict[str, list[int]] = field(default_factory=dict)

    def ids(self, text: str) -> list[int]:
        """The numbers of a text's tokens."""
        parts = list(self.cut(text))
        self._learn(parts)
        return [number for one in parts for number in self._known[one]]

    def _learn(self, parts: Iterable[str]) -> None:
        new = list({one for one in parts if one not in self._known})
        if new:
            self._known.update(zip(new, self.encode(new), strict=True))

    def measured(self, train: list[str], held: list[str]) -> dict[str, Any]:
        """Tokens, tokens a word and bytes a token of both halves; bits a character, where something is held out."""
        found: dict[str, Any] = {}
        for half, texts in (("train", train), ("held_out", held)):
            if texts:
                counts = Counter(one for text in texts for one in self.cut(text))
                words = counts.total() if self.cut is words_of else Cutting().count(texts).total()
                self._learn(counts)
                tokens = sum(n * len(self._known[one]) for one, n in counts.items())
                size = sum(len(text.encode()) for text in texts)
                found |= {f"{half}_tokens": tokens, f"{half}_per_word": tokens / words, f"{half}_bytes": size / tokens}
        if held:
            read, predicted = (list(up_to(*each)) for each in zip((train, held), _WORDS_OF_A_MODEL, strict=True))
            found["bits_a_character"] = bits_a_character(self.ids, self.size, read, predicted)
        return found


def up_to(texts: list[str], n_words: int) -> Iterator[str]:
    """The first texts, with about so many words."""
    words = 0
    for text in texts:
        if words >= n_words:
            return
        yield text
        words += sum(1 for _ in words_of(text))


def words_of(text: str) -> Iterator[str]:
    """By GPT-2's pattern."""
    cutting = Cutting()
    return cutting.words(cutting.normalised(text))


def ours(name: str, size: int, data: str | None, limit: int | None, time_limit: float) -> dict[str, Any]:
    """This engine's: its tokens and what is proved, and how many texts its file encodes alike."""
    train, held = halves(name, data, limit)
    began = time.perf_counter()
    model = SubwordTokenizer(size, time_limit=time_limit).fit(train)
    seconds = time.perf_counter() - began
    result = model.result_
    found = {
        "seconds": seconds, "peak_fitting": own_peak(), "lower_bound": result.lower_bound, "gap": result.gap,
        "reason": str(result.reason), "words": result.n_running, "types": result.n_words,
    }  # fmt: skip
    encoder = Encoder(words_of, lambda words: [model.encode(word) for word in words], len(model.pieces_))
    return found | _agreement(model, held or train) | encoder.measured(train, held)


def _agreement(model: SubwordTokenizer, texts: list[str]) -> dict[str, Any]:
    try:
        import tokenizers
    except ImportError:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        model.save_tokenizer_json(path)
        other = tokenizers.Tokenizer.from_file(str(path))
    some = list(up_to(texts, _WORDS_COMPARED))
    alike = sum(theirs.ids == model.encode(text) for text, theirs in zip(some, other.encode_batch(some), strict=True))
    return {"texts_compared": len(some), "texts_alike": alike, "words_compared": Cutting().count(some).total()}


def peer(kind: str, name: str, size: int, data: str | None, limit: int | None) -> dict[str, Any]:
    """A peer's. Raises ImportError where it is not installed."""
    train, held = halves(name, data, limit)
    began = time.perf_counter()
    encoder = PEERS[kind](kind, size, train)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak_fitting": own_peak(), "entries": encoder.size} | encoder.measured(train, held)


def hugging_face(kind: str, size: int, texts: list[str]) -> Encoder:
    """Of bytes and of the same words."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    BPE = kind.endswith("BPE")
    tokenizer = Tokenizer(models.BPE() if BPE else models.Unigram())
    split = pre_tokenizers.Split(Regex(PATTERNS["gpt2"]), "isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    common = {"vocab_size": size, "initial_alphabet": alphabet, "show_progress": False}
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(**common) if BPE else trainers.UnigramTrainer(**common, max_piece_length=_LONGEST)
    )
    return Encoder(words_of, lambda some: [one.ids for one in tokenizer.encode_batch(some)], tokenizer.get_vocab_size())


def greedtok(kind: str, size: int, texts: list[str]) -> Encoder:
    """Greedy partition cover (arXiv 2501.06246), of the same words."""
    from pcatt import greedy_encoder, pco_tokenizer

    counts = {word.encode(): n for word, n in Cutting().count(texts).items()}
    solver = pco_tokenizer.build(word_counts=counts, verbose=False)
    solver.initialize_graph(_LONGEST, 1)
    # rank 0 stands for "not covered" in its state: a piece that occurs nowhere takes it
    solver.custom_steps([bytes(_LONGEST)])
    ranks, _ = solver.solve_to_step(1 + size - 256)
    encoder = greedy_encoder.build(ranks[1:], {})
    return Encoder(words_of, encoder.batch_tokenize_whole, encoder.get_rules_size())


def sentence_piece(kind: str, size: int, texts: list[str]) -> Encoder:
    """Of its own words, from characters with bytes for the rare."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for text in texts for line in text.split("\n") if line.strip()), model_writer=model,
        vocab_size=size, model_type=kind.split()[1].lower(), byte_fallback=True, character_coverage=0.9995,
        normalization_rule_name="identity", remove_extra_whitespaces=False, hard_vocab_limit=False,
        max_sentence_length=1 << 20, minloglevel=2, num_threads=2,
    )  # fmt: skip
    own = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    line_break = own.get_piece_size()  # the number of a token that no file has

    def encode(lines: list[str]) -> list[list[int]]:
        return [[line_break] if line == "\n" else ids for line, ids in zip(lines, own.encode(lines), strict=True)]

    return Encoder(lambda text: filter(None, re.split("(\n)", text)), encode, line_break + 1)


PEERS: dict[str, Callable[[str, int, list[str]], Encoder]] = {
    "Hugging Face BPE": hugging_face,
    "Hugging Face Unigram": hugging_face,
    "SentencePiece BPE": sentence_piece,
    "SentencePiece Unigram": sentence_piece,
    "GreedTok": greedtok,
}
