"""A subword tokenizer of a given size that is provably close to the best on the corpus it was fitted to."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from cflengine.engine.checks import InputError, check_whole
from cflengine.engine.estimators import all_or_nothing, outside
from cflengine.engine.progress import Listener
from cflengine.linear.parameters import read_parameters, written_parameters
from cflengine.linear.saving import Parts, require
from cflengine.tokenizer.candidates import LONGEST, Candidates
from cflengine.tokenizer.fitted import FittedTokenizer, check_distinct
from cflengine.tokenizer.huggingface import byte_letters
from cflengine.tokenizer.solve import VocabularySettings, solve_vocabulary
from cflengine.tokenizer.words import Cutting, WordTable


class SubwordTokenizer(FittedTokenizer):
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

    @all_or_nothing
    def fit(self, texts: Iterable[str] | Mapping[str, int], y: Any = None) -> Self:
        """Choose the vocabulary for these texts.

        Parameters
        ----------
        texts : Iterable[str] or Mapping[str, int]
            Texts; or strings and how often each occurs, cut as texts are.
        y : object, default: None
            Not read.

        Returns
        -------
        SubwordTokenizer
            Itself.

        Raises
        ------
        InputError for texts without a word, and for a size that is too small for the units or larger than what the
        corpus has; MemoryLimitError, before any work.
        """
        check_whole(self, {"vocab_size": 1, "longest": 1, "min_count": 1})
        if self.longest > LONGEST:
            raise InputError(f"longest must be at most {LONGEST}, not {self.longest}.")
        cutting = self.cutting()
        for name in ("required", "forbidden", "special_tokens"):
            _check_strings(name, getattr(self, name))
        counts = cutting.recount(texts) if isinstance(texts, Mapping) else cutting.count(texts)
        table = WordTable.of(counts, cutting)
        if not table.n_words:
            raise InputError("there is no word in these texts.")
        alphabet = table.alphabet()
        units = self._units(alphabet)
        size = self.vocab_size - len(units)
        check_distinct(name for name, _ in units)
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
        self._warn_of_units({name for name, _ in units}, cutting)
        forbidden = every.find([*unwanted, *(piece for piece in map(self._read, names) if piece is not None)])
        every = every.requiring(every.flags(numbers))
        if (every.required & forbidden).any():
            raise InputError("a piece is both required and forbidden, or special.")
        allowed = every.many & (every.weight >= self.min_count) & ~forbidden
        least, most = (len(units) + int(np.count_nonzero(f)) for f in (every.required, allowed | every.required))
        often = f" that occur {self.min_count:,} times" if self.min_count > 1 else ""
        if not least <= self.vocab_size <= most:
            raise InputError(
                f"vocab_size must be between {least:,} (units, special tokens, required pieces) and {most:,} (with all "
                f"pieces of these texts{often}), not {self.vocab_size:,}."
            )
        settings = VocabularySettings(tol=self.tol, time_limit=self.time_limit)
        result = solve_vocabulary(
            every, size, settings, allowed=allowed, listeners=self.listeners, n_threads=self.n_threads
        )
        self._keep(cutting, alphabet, result.pieces(), result.weight)
        self.result_ = result
        return self

    def cutting(self) -> Cutting:
        """How texts become words of units, by the parameters.

        Returns
        -------
        Cutting
            Of its unit, pattern and normalisation.

        Raises
        ------
        InputError for those that are none.
        """
        steps: Any = self.normalisation
        return Cutting(self.unit, self.pattern, tuple(steps) if isinstance(steps, list) else steps)

    def _warn_of_units(self, there: set[str], cutting: Cutting) -> None:
        """A unit alone is a piece because it occurs, or as a byte, whatever is asked for."""

        def alone(pieces: Sequence[str]) -> set[str]:
            whole = {piece: cutting.normalised(piece) for piece in pieces}
            return {piece for piece, text in whole.items() if len(cutting.units(text)) == 1}

        known = {piece for piece in alone(self.forbidden) if self.unit == "byte" or cutting.normalised(piece) in there}
        absent = alone(self.required) - there if self.unit == "character" else set()
        for pieces, what, why in (
            (known, "forbidden", "single units of these texts are always there"),
            (absent, "required", "these texts do not have them"),
        ):
            if pieces:
                named = ", ".join(map(repr, sorted(pieces)))
                warnings.warn(f"{what} units are left out, since {why}: {named}.", UserWarning, stacklevel=outside())

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
                stacklevel=outside(),
            )

    def _read(self, name: str) -> np.ndarray | None:
        """The units of a piece that would be written so; None where none would."""
        if self.unit != "byte" or not set(name) <= set(byte_letters()):
            return None
        return np.array([byte_letters().index(letter) for letter in name], dtype=np.int32)

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


def _check_strings(name: str, given: Any) -> None:
    """Raises InputError unless they are strings, none of them empty or with a surrogate that stands alone."""
    if isinstance(given, str) or not isinstance(given, Iterable) or not all(isinstance(one, str) for one in given):
        raise InputError(f"{name} must be a sequence of strings, not {given!r}.")
    for one in given:
        if not one or (not one.isascii() and any("\ud800" <= letter <= "\udfff" for letter in one)):
            raise InputError(f"{name} must not hold {one!r}: it is empty, or has what is no character.")
