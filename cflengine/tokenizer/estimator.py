"""A subword tokenizer of a given size that is provably close to the best on the corpus it was fitted to."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cflengine.compression import GuidedSettings
from cflengine.engine.checks import InputError, check_positive, check_whole
from cflengine.engine.files import replaced
from cflengine.engine.gaps import relative_gap
from cflengine.engine.jit import threads
from cflengine.engine.progress import Listener
from cflengine.tokenizer.huggingface import byte_letters, tokenizer_json
from cflengine.tokenizer.pieces import Pieces
from cflengine.tokenizer.problem import PieceIndex
from cflengine.tokenizer.solve import Vocabulary, solve_size
from cflengine.tokenizer.words import Cutting, WordTable

LONGEST = 32
UNKNOWN = "<unk>"


@dataclass(frozen=True)
class TokenizerResult:
    """What a fit leaves. tokens: that the corpus takes; at_least: that it takes with any vocabulary of as many pieces
    of at most ``longest`` units, proved; words: running; size: pieces beside units and special tokens; finished:
    whether the search ended by itself. vocabulary: pieces, dual prices and the price that proves the bound."""

    tokens: int
    at_least: int
    words: int
    size: int
    finished: bool
    vocabulary: Vocabulary = field(repr=False)

    @property
    def gap(self) -> float:
        """tokens / at_least − 1."""
        return relative_gap(float(self.tokens), float(self.at_least))


class SubwordTokenizer(BaseEstimator):
    """Cuts text into the fewest pieces of a vocabulary, which is chosen so that the corpus takes few.

    Parameters
    ----------
    vocab_size : int, default: 8000
        All pieces: special tokens, units and what is chosen.
    unit : str, default: 'byte'
        "byte", of UTF-8, of which all 256 are in the vocabulary, or "character": those of the corpus, and 256 bytes for
        all others.
    pattern : str or None, default: 'gpt2'
        What words are, within which pieces stay: "whitespace", "gpt2", "gpt4", a regular expression, or None for texts
        whole.
    normalisation : Sequence[str], default: ()
        "nfc", "lowercase", or both.
    longest : int, default: 16
        Units of a piece at most, up to 32.
    min_count : int, default: 1
        How often a piece has to occur in the corpus.
    special_tokens : Sequence[str], default: ()
        Pieces that no text is cut into.
    tol : float, default: 0.001
        The relative gap at which a price is solved.
    time_limit : float or None, default: None
        Seconds for each price, None for no limit.
    random_state : int, default: 0
        Seed of what the solver draws.
    listeners : Sequence[Listener], default: ()
        Get the solver's events; False ends the fit.
    n_threads : int or None, default: None
        None for all cores.

    Attributes
    ----------
    pieces_ : list[str], by id, as files have them: bytes in GPT-2's alphabet.
    result_ : TokenizerResult
    """

    def __init__(
        self,
        vocab_size: int = 8000,
        *,
        unit: str = "byte",
        pattern: str | None = "gpt2",
        normalisation: Sequence[str] = (),
        longest: int = 16,
        min_count: int = 1,
        special_tokens: Sequence[str] = (),
        tol: float = 1e-3,
        time_limit: float | None = None,
        random_state: int = 0,
        listeners: Sequence[Listener] = (),
        n_threads: int | None = None,
    ) -> None:
        self.vocab_size = vocab_size
        self.unit = unit
        self.pattern = pattern
        self.normalisation = normalisation
        self.longest = longest
        self.min_count = min_count
        self.special_tokens = special_tokens
        self.tol = tol
        self.time_limit = time_limit
        self.random_state = random_state
        self.listeners = listeners
        self.n_threads = n_threads

    def fit(self, texts: Iterable[str] | Mapping[str, int], y: Any = None) -> Self:
        """Choose the vocabulary for these texts, or for words and how often each occurs.

        Raises InputError for texts without a word, and for a size that is too small for the units or larger than what
        the corpus offers.
        """
        check_whole(self, {"vocab_size": 1, "longest": 1, "min_count": 1, "random_state": 0})
        check_positive(self, ("tol",))
        if self.longest > LONGEST:
            raise InputError(f"longest must be at most {LONGEST}, not {self.longest}.")
        if isinstance(texts, str):
            raise InputError("fit takes a sequence of texts, not one string.")
        cutting = Cutting(self.unit, self.pattern, tuple(self.normalisation))
        counts = Counter(dict(texts)) if isinstance(texts, Mapping) else cutting.count(texts)
        table = WordTable.of(counts, cutting)
        if not table.n_words:
            raise InputError("there is no word in these texts.")
        units = self._units(table)
        size = self.vocab_size - len(units)
        if size < 0:
            raise InputError(
                f"vocab_size must be at least {len(units):,}: so many units and special tokens there are, not "
                f"{self.vocab_size:,}."
            )
        with threads(self.n_threads):
            every = PieceIndex.of(table, self.longest)
            offered = int(np.count_nonzero((every.index.lengths() > 1) & (every.weight >= self.min_count)))
            if size > offered:
                raise InputError(
                    f"vocab_size must be at most {len(units) + offered:,}, all pieces that these texts offer, not "
                    f"{self.vocab_size:,}."
                )
            settings = GuidedSettings(
                tol=self.tol, time_limit=self.time_limit, random_state=self.random_state, branching=False
            )
            found = solve_size(every, size, settings, least=self.min_count, listeners=self.listeners)
        self._keep(cutting, units, found)
        self.result_ = TokenizerResult(
            found.tokens, found.at_least, table.n_running, len(found.grams), found.finished, found
        )
        return self

    def _units(self, table: WordTable) -> list[tuple[str, np.ndarray | None]]:
        """What is in the vocabulary anyway: as it is written, and its units, None where no text is cut into it."""
        special: list[tuple[str, np.ndarray | None]] = [(piece, None) for piece in self.special_tokens]
        if self.unit == "byte":
            return special + [(letter, np.array([byte])) for byte, letter in enumerate(byte_letters())]
        known: list[tuple[str, np.ndarray | None]] = [(chr(code), np.array([code])) for code in table.alphabet().tolist()]
        spare: list[tuple[str, np.ndarray | None]] = [(f"<0x{byte:02X}>", None) for byte in range(256)]
        return [*special, (UNKNOWN, None), *spare, *known]

    def _keep(self, cutting: Cutting, units: list[tuple[str, np.ndarray | None]], found: Vocabulary) -> None:
        """What encoding and decoding take."""
        chosen = found.pieces.pieces(found.grams)
        order = sorted(range(len(chosen)), key=lambda i: (-found.pieces.weight[found.grams[i]], chosen[i].tolist()))
        every = units + [(self._written(chosen[i]), chosen[i]) for i in order]
        names = [name for name, _ in every]
        if len(set(names)) < len(names):
            raise InputError("a special token is a piece of the texts, or given twice.")
        self._cutting = cutting
        self.pieces_ = names
        self._ids = np.array([i for i, (_, own) in enumerate(every) if own is not None], dtype=np.int64)
        self._pieces = Pieces([own for _, own in every if own is not None])
        self._bytes = {name: i for i, name in enumerate(names) if name.startswith("<0x")}
        self._encoded = lru_cache(maxsize=1 << 16)(self._encode_word)

    def _written(self, units: np.ndarray) -> str:
        if self.unit == "byte":
            return "".join(byte_letters()[byte] for byte in units.tolist())
        return "".join(map(chr, units.tolist()))

    def _encode_word(self, word: str) -> tuple[int, ...]:
        units = self._cutting.units(word)
        found, begins = self._pieces.encode(units)
        ids: list[int] = []
        for piece, begin in zip(found.tolist(), begins.tolist(), strict=True):
            if piece >= 0:
                ids.append(int(self._ids[piece]))
            else:
                ids.extend(self._bytes[f"<0x{byte:02X}>"] for byte in chr(int(units[begin])).encode())
        return tuple(ids)

    def encode(self, text: str) -> list[int]:
        """The ids of the pieces of a text."""
        check_is_fitted(self, "pieces_")
        words = self._cutting.words(self._cutting.normalised(text))
        return [piece for word in words for piece in self._encoded(word)]

    def tokens(self, text: str) -> list[str]:
        """The pieces of a text, as files have them."""
        return [self.pieces_[i] for i in self.encode(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some pieces, special ones left out: for those of a text its normalised form."""
        check_is_fitted(self, "pieces_")
        special = len(self.special_tokens)
        raw = b""
        letters = {letter: byte for byte, letter in enumerate(byte_letters())}
        for i in ids:
            name = self.pieces_[i]
            if i < special or (self.unit == "character" and i == special):
                continue
            if self.unit == "byte":
                raw += bytes(letters[letter] for letter in name)
            elif i <= special + 256:
                raw += bytes([int(name[3:5], 16)])
            else:
                raw += name.encode()
        return raw.decode("utf-8", "replace")

    def save_tokenizer_json(self, path: str | os.PathLike[str]) -> None:
        """Write a tokenizer.json that Hugging Face's tokenizers load and that encodes alike."""
        check_is_fitted(self, "pieces_")
        special = list(self.special_tokens)
        unknown = len(special) if self.unit == "character" else None
        content = tokenizer_json(self._cutting, self.pieces_, special, unknown)
        with replaced(Path(path)) as file:
            file.write(json.dumps(content, ensure_ascii=False, indent=1).encode())
