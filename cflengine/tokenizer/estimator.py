"""A subword tokenizer of a given size that is provably close to the best on the corpus it was fitted to."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cflengine.engine.checks import InputError, check_whole
from cflengine.engine.files import replaced
from cflengine.engine.progress import Listener
from cflengine.linear.parameters import read_parameters, written_parameters
from cflengine.linear.saving import Parts, SavedModel, require
from cflengine.text import TokenTable
from cflengine.text.stored import as_documents
from cflengine.tokenizer.candidates import LONGEST, Candidates
from cflengine.tokenizer.huggingface import UNKNOWN, byte_letters, byte_names, sentencepiece_vocab, tokenizer_json
from cflengine.tokenizer.pieces import Pieces
from cflengine.tokenizer.solve import VocabularySettings, solve_vocabulary
from cflengine.tokenizer.words import Cutting, WordTable

_REMEMBERED = 1 << 16  # words whose pieces are kept at hand


class SubwordTokenizer(SavedModel, BaseEstimator):
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
        whole. In an expression ``\\w`` stands for letters, marks, numbers, connectors such as "_", and joiners; one
        that other tokenizers would read in another way is refused (:mod:`cflengine.tokenizer.patterns`).
    normalisation : Sequence[str], default: ()
        "nfc", "lowercase", or both.
    longest : int, default: 16
        Units of a piece at most, up to 32.
    min_count : int, default: 1
        How often a piece has to occur in the corpus.
    required, forbidden : Sequence[str], default: ()
        Pieces that the vocabulary must, or must not, have; those that do not occur within a word of the corpus are
        passed over.
    special_tokens : Sequence[str], default: ()
        Pieces that no text is cut into.
    tol : float, default: 0.001
        Ends once the corpus takes at most this much more than with the best vocabulary of the size, proved.
    time_limit : float or None, default: None
        Seconds, None for no limit.
    listeners : Sequence[Listener], default: ()
        Get the solver's events; False ends the fit.
    n_threads : int or None, default: None
        None for all cores.

    Attributes
    ----------
    pieces_ : list[str], by id, as files have them: bytes in GPT-2's alphabet.
    result_ : TokenizerResult; of an estimator that was fitted here, not loaded.
    """

    kind = "subwords"

    def __init__(
        self,
        vocab_size: int = 8000,
        *,
        unit: str = "byte",
        pattern: str | None = "gpt2",
        normalisation: Sequence[str] = (),
        longest: int = 16,
        min_count: int = 1,
        required: Sequence[str] = (),
        forbidden: Sequence[str] = (),
        special_tokens: Sequence[str] = (),
        tol: float = 1e-3,
        time_limit: float | None = None,
        listeners: Sequence[Listener] = (),
        n_threads: int | None = None,
    ) -> None:
        self.vocab_size = vocab_size
        self.unit = unit
        self.pattern = pattern
        self.normalisation = normalisation
        self.longest = longest
        self.min_count = min_count
        self.required = required
        self.forbidden = forbidden
        self.special_tokens = special_tokens
        self.tol = tol
        self.time_limit = time_limit
        self.listeners = listeners
        self.n_threads = n_threads

    def fit(self, texts: Iterable[str] | Mapping[str, int], y: Any = None) -> Self:
        """Choose the vocabulary for these texts, or for strings and how often each occurs, cut as texts are.

        Raises InputError for texts without a word, and for a size that is too small for the units or larger than what
        the corpus offers.
        """
        check_whole(self, {"vocab_size": 1, "longest": 1, "min_count": 1})
        if self.longest > LONGEST:
            raise InputError(f"longest must be at most {LONGEST}, not {self.longest}.")
        cutting = Cutting(self.unit, self.pattern, tuple(self.normalisation))
        for name in ("required", "forbidden", "special_tokens"):
            _check_strings(name, getattr(self, name))
        counts = cutting.recount(texts) if isinstance(texts, Mapping) else cutting.count(texts)
        table = WordTable.of(counts, cutting)
        if not table.n_words:
            raise InputError("there is no word in these texts.")
        alphabet = table.alphabet()
        units = self._units(alphabet)
        size = self.vocab_size - len(units)
        if len({name for name, _ in units}) < len(units):
            raise InputError("a special token is given twice, or is a unit.")
        if size < 0:
            raise InputError(
                f"vocab_size must be at least {len(units):,}: so many units and special tokens there are, not "
                f"{self.vocab_size:,}."
            )
        every = Candidates.of(table, self.longest)
        names = [name for name, own in units if own is None]  # of pieces that no text is cut into
        wanted, unwanted = (
            [cutting.units(cutting.normalised(piece)) for piece in pieces]
            for pieces in (self.required, (*self.forbidden, *names))
        )
        numbers = every.numbers(wanted)
        self._warn_of_missing(numbers, wanted)
        forbidden = every.find([*unwanted, *(piece for piece in map(self._read, names) if piece is not None)])
        every = every.requiring(every.flags(numbers))
        if (every.required & forbidden).any():
            raise InputError("a piece is both required and forbidden, or special.")
        allowed = every.many & (every.weight >= self.min_count) & ~forbidden
        least, most = (len(units) + int(np.count_nonzero(f)) for f in (every.required, allowed | every.required))
        if not least <= self.vocab_size <= most:
            raise InputError(
                f"vocab_size must be between {least:,} (units, special tokens, required pieces) and {most:,} (with all "
                f"pieces of these texts), not {self.vocab_size:,}."
            )
        settings = VocabularySettings(tol=self.tol, time_limit=self.time_limit)
        result = solve_vocabulary(
            every, size, settings, allowed=allowed, listeners=self.listeners, n_threads=self.n_threads
        )
        self._keep(cutting, alphabet, result.pieces(), result.weight)
        self.result_ = result
        return self

    def _units(self, alphabet: np.ndarray) -> list[tuple[str, np.ndarray | None]]:
        """What is in the vocabulary anyway: as it is written, and its units, None where no text is cut into it."""
        special: list[tuple[str, np.ndarray | None]] = [(piece, None) for piece in self.special_tokens]
        if self.unit == "byte":
            return special + [(letter, np.array([byte])) for byte, letter in enumerate(byte_letters())]
        known: list[tuple[str, np.ndarray | None]] = [(chr(code), np.array([code])) for code in alphabet.tolist()]
        spare: list[tuple[str, np.ndarray | None]] = [(name, None) for name in byte_names()]
        return [*special, (UNKNOWN, None), *spare, *known]

    def _keep(self, cutting: Cutting, alphabet: np.ndarray, chosen: list[np.ndarray], weight: np.ndarray) -> None:
        """What encoding, decoding and files take: the units of the corpus, the pieces chosen, how often each occurs."""
        every = self._units(alphabet) + [(self._written(piece), piece) for piece in chosen]
        names = [name for name, _ in every]
        if len(set(names)) < len(names):
            raise InputError("a special token is given twice, or is a unit.")
        self._cutting, self._alphabet, self._chosen, self._weight = cutting, alphabet, chosen, weight
        self.pieces_ = names
        self._ids = np.array([i for i, (_, own) in enumerate(every) if own is not None], dtype=np.int64)
        self._pieces = Pieces([own for _, own in every if own is not None])
        self._bytes = [names.index(name) for name in byte_names()] if self.unit == "character" else []
        self._raw = [self._bytes_of(i) for i in range(len(names))]
        self._encoded: dict[str, tuple[int, ...]] = {}

    def _warn_of_missing(self, numbers: np.ndarray, wanted: list[np.ndarray]) -> None:
        missing = [
            piece for piece, number, own in zip(self.required, numbers.tolist(), wanted, strict=True)
            if number < 0 and len(own) > 1
        ]  # fmt: skip
        if missing:
            warnings.warn(
                f"required pieces that are nowhere in these texts, within a word and of at most {self.longest} units, "
                f"are left out: {', '.join(map(repr, missing[:5]))}{' ...' if len(missing) > 5 else ''}.",
                UserWarning,
                stacklevel=3,
            )

    def _read(self, name: str) -> np.ndarray | None:
        """The units of a piece that would be written so; None where none would."""
        if self.unit != "byte" or not set(name) <= set(byte_letters()):
            return None
        return np.array([byte_letters().index(letter) for letter in name], dtype=np.int32)

    def _written(self, units: np.ndarray) -> str:
        if self.unit == "byte":
            return "".join(byte_letters()[byte] for byte in units.tolist())
        return "".join(map(chr, units.tolist()))

    def _bytes_of(self, i: int) -> bytes:
        """What an entry stands for; nothing, if no text is cut into it."""
        name, special = self.pieces_[i], len(self.special_tokens)
        if i < special or (self.unit == "character" and i == special):
            return b""
        if self.unit == "byte":
            return bytes(byte_letters().index(letter) for letter in name)
        return bytes([int(name[3:5], 16)]) if i <= special + 256 else name.encode()

    def _encode_word(self, word: str) -> tuple[int, ...]:
        units = self._cutting.units(word)
        found, begins = self._pieces.encode(units)
        ids: list[int] = []
        for piece, begin in zip(found.tolist(), begins.tolist(), strict=True):
            if piece >= 0:
                ids.append(int(self._ids[piece]))
            else:
                ids.extend(self._bytes[byte] for byte in chr(int(units[begin])).encode())
        return tuple(ids)

    def encode(self, text: str) -> list[int]:
        """The ids of the pieces of a text.

        Parameters
        ----------
        text : str
            A text.

        Returns
        -------
        list[int]
            Places in pieces_, in the order of the text.
        """
        check_is_fitted(self, "pieces_")
        ids: list[int] = []
        for word in self._cutting.words(self._cutting.normalised(text)):
            found = self._encoded.get(word)
            if found is None:
                if len(self._encoded) >= _REMEMBERED:
                    self._encoded = {}
                found = self._encoded[word] = self._encode_word(word)
            ids.extend(found)
        return ids

    def tokens(self, text: str) -> list[str]:
        """The pieces of a text, as files have them.

        Parameters
        ----------
        text : str
            A text.

        Returns
        -------
        list[str]
            In the order of the text.
        """
        return [self.pieces_[i] for i in self.encode(text)]

    def text_of(self, i: int) -> str:
        """An entry as a reader sees it: bytes that are no whole character by their numbers."""
        check_is_fitted(self, "pieces_")
        if self.unit == "character" or i < len(self.special_tokens):
            return self.pieces_[i]
        return self._raw[i].decode("utf-8", "backslashreplace")

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some pieces, special ones left out: for those of a text its normalised form.

        Parameters
        ----------
        ids : Iterable[int]
            Places in pieces_.

        Returns
        -------
        str
            Bytes that are no characters become U+FFFD.

        Raises
        ------
        InputError for an id that is none.
        """
        check_is_fitted(self, "pieces_")
        raw: list[bytes] = []
        for i in ids:
            if not 0 <= i < len(self.pieces_):
                raise InputError(f"ids are from 0 to {len(self.pieces_) - 1:,}, so {i} is none.")
            raw.append(self._raw[i])
        return b"".join(raw).decode("utf-8", "replace")

    def table(self, texts: Iterable[str]) -> TokenTable:
        """Texts as tokens, which CompressiveFeatures takes in the place of documents: its K-grams are then of pieces.

        Forms are as files have them; start and end are of the normalised text, and a character that is cut belongs to
        each of its pieces.
        """
        check_is_fitted(self, "pieces_")
        ids = [np.array(self.encode(text), dtype=np.int64) for text in as_documents(texts)]
        doc_ptr = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        every = np.concatenate([np.zeros(0, dtype=np.int64), *ids])
        begun = np.array([sum(byte & 0xC0 != 0x80 for byte in raw) for raw in self._raw])[every]
        within = np.array([raw[:1] >= b"\x80" and raw[:1] < b"\xc0" for raw in self._raw])[every]
        reached = np.concatenate([[0], np.cumsum(begun)])
        end = reached[1:] - np.repeat(reached[doc_ptr[:-1]], np.diff(doc_ptr))
        entries, first, tokens = np.unique(every, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order))
        forms = [self.pieces_[i] for i in entries[order]]
        return TokenTable(rank[tokens], doc_ptr, (end - begun - within).astype(np.int32), end.astype(np.int32), forms)

    def pieces_frame(self) -> pd.DataFrame:
        """A row a piece: id, piece, as files have it; occurrences: in the words of the corpus, chosen: whether it was
        (units and special tokens are there anyway; their occurrences are not counted, −1)."""
        check_is_fitted(self, "pieces_")
        chosen = np.arange(len(self.pieces_)) >= len(self.pieces_) - len(self._weight)
        occurrences = np.full(len(self.pieces_), -1, dtype=np.int64)
        occurrences[chosen] = self._weight
        columns = {"id": np.arange(len(self.pieces_)), "piece": self.pieces_}
        return pd.DataFrame(columns | {"occurrences": occurrences, "chosen": chosen})

    def to_parts(self) -> Parts:
        """The tokenizer as values that JSON has, and arrays."""
        arrays = {
            "alphabet": self._alphabet,
            "units": np.concatenate([np.zeros(0, dtype=np.int32), *self._chosen]),
            "ptr": np.cumsum([0, *map(len, self._chosen)], dtype=np.int64),
            "weight": self._weight,
        }
        return {"parameters": written_parameters(self)}, arrays

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Self:
        """The other way; name: of the file. Raises ModelFileError where the parts do not fit together."""
        require("parameters" in header and {"alphabet", "units", "ptr", "weight"} <= set(arrays), name)
        model = cls(**read_parameters(cls, header["parameters"], name, least=("unit", "pattern", "normalisation")))
        alphabet, units, ptr, weight = (arrays[key] for key in ("alphabet", "units", "ptr", "weight"))
        require(all(one.ndim == 1 and one.dtype.kind in "iu" for one in (alphabet, units, ptr, weight)), name)
        require(len(ptr) == len(weight) + 1 and ptr[0] == 0 and ptr[-1] == len(units), name)
        require(bool((np.diff(ptr) > 1).all()), name)
        cutting = Cutting(model.unit, model.pattern, tuple(model.normalisation))
        most = 256 if model.unit == "byte" else sys.maxunicode + 1
        require(all(bool(((one >= 0) & (one < most)).all()) for one in (alphabet, units)), name)
        model._keep(cutting, alphabet, np.split(units, ptr[1:-1]) if len(weight) else [], weight)
        return model

    def save_tokenizer_json(self, path: str | os.PathLike[str]) -> None:
        """Write a tokenizer.json that Hugging Face's tokenizers load and that encodes alike, but for special tokens
        that stand in a text: there they are cut out of it, while here they are text like any other."""
        check_is_fitted(self, "pieces_")
        special = list(self.special_tokens)
        unknown = len(special) if self.unit == "character" else None
        content = tokenizer_json(self._cutting, self.pieces_, special, unknown)
        with replaced(Path(path)) as file:
            file.write(json.dumps(content, ensure_ascii=False, indent=1).encode())

    def save_sentencepiece_vocab(self, path: str | os.PathLike[str]) -> None:
        """Write the pieces as SentencePiece lists them, a line each: the piece, "▁" for a space, a tab and a score,
        one for all; line breaks and tabs of pieces as it writes bytes, <0x0A>. Raises InputError for pieces of bytes,
        which such a list cannot hold."""
        check_is_fitted(self, "pieces_")
        if self.unit != "character":
            raise InputError('a list for SentencePiece takes pieces of characters: unit="character".')
        with replaced(Path(path)) as file:
            file.write(sentencepiece_vocab(self.pieces_).encode())


def _check_strings(name: str, given: Any) -> None:
    """Raises InputError unless they are strings, none of them empty or with a surrogate that stands alone."""
    if isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise InputError(f"{name} must be a sequence of strings, not {given!r}.")
    for one in given:
        if not one or (not one.isascii() and any("\ud800" <= letter <= "\udfff" for letter in one)):
            raise InputError(f"{name} must not hold {one!r}: it is empty, or has what is no character.")
