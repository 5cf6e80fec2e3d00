"""How far a given tokenizer is from the best of its size on a corpus, and which of its pieces are wasted there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError
from cflengine.engine.gaps import relative_gap
from cflengine.engine.progress import Listener
from cflengine.tokenizer.candidates import LONGEST, Candidates
from cflengine.tokenizer.exchange import Exchange
from cflengine.tokenizer.foreign import ForeignTokenizer, ForeignWords
from cflengine.tokenizer.solve import TokenizerResult, VocabularySettings, solve_vocabulary

_USUAL = 16  # units of a piece at most


@dataclass(frozen=True)
class TokenizerReport:
    """How far a tokenizer is from the best of its size on a corpus.

    Parameters
    ----------
    kind : str
        Of the tokenizer.
    entries : int
        All that it has.
    size : int
        Its pieces of two units or more.
    tokens : int
        That the corpus takes as the tokenizer encodes it.
    shortest : int
        The same with its pieces, each word in as few as possible.
    longest : int
        Units of a piece at most, for which the bound holds.
    longer : int
        Pieces of the tokenizer that are longer and used.
    left_out : int
        Words of the corpus that hold what it does not know, in none of the other numbers.
    result : TokenizerResult
        The best vocabulary found with as many pieces of two units or more (as many as the corpus has, if these are
        fewer), and the bound below which none gets.
    pieces : DataFrame
        A row a piece of two units or more, longer ones left out: piece, occurrences in the corpus, used (times in its
        own encoding), saves (tokens that the fewest pieces would be more without it, each taken by itself; in words of
        more than 512 units that hold it several times, one place at a time).
    lacking : DataFrame
        A row a piece of ``result`` that it has not: piece, occurrences, saves (tokens that they would be fewer with
        it).
    """

    kind: str
    entries: int
    size: int
    tokens: int
    shortest: int
    longest: int
    longer: int
    left_out: int
    result: TokenizerResult
    pieces: pd.DataFrame = field(repr=False)
    lacking: pd.DataFrame = field(repr=False)

    @property
    def lower_bound(self) -> float:
        """Tokens that the corpus takes with any vocabulary of as many pieces, of at most ``longest`` units, proved."""
        return self.result.lower_bound

    @property
    def above_at_least(self) -> float:
        """Share of tokens above the best found, 0 if there are none."""
        return max(self.tokens / self.result.objective - 1.0, 0.0)

    @property
    def above_at_most(self) -> float:
        """Share of tokens above the bound; below 0 where pieces that are longer than the bound allows for bring more
        than those of any vocabulary without."""
        return relative_gap(self.tokens, self.lower_bound)

    @property
    def n_wasted(self) -> int:
        """Pieces that save nothing on this corpus."""
        return int((self.pieces["saves"] == 0).sum())

    @property
    def n_absent(self) -> int:
        """Pieces that occur nowhere in it."""
        return int((self.pieces["occurrences"] == 0).sum())

    def to_dict(self) -> dict[str, Any]:
        """The numbers, those of ``result`` and the tables left out."""
        plain = ("kind", "entries", "size", "tokens", "shortest", "longest", "longer", "left_out")
        rates = ("above_at_least", "above_at_most", "n_wasted", "n_absent")
        own = {name: getattr(self, name) for name in (*plain, *rates)}
        return {("pieces" if name == "size" else name): value for name, value in own.items()}


def tokenizer_report(
    tokenizer: ForeignTokenizer,
    texts: Iterable[str],
    settings: VocabularySettings | None = None,
    *,
    longest: int | None = None,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
) -> TokenizerReport:
    """Hold a tokenizer against the best vocabulary of its size for these texts.

    Parameters
    ----------
    tokenizer : ForeignTokenizer
        The tokenizer.
    texts : Iterable[str]
        The corpus.
    settings : VocabularySettings or None, default: None
        Of the vocabulary that it is held against; None for the defaults.
    longest : int or None, default: None
        Units of a piece at most, 2 to 32; None for 16, or for as many as the longest piece has that is used here.
    listeners : Iterable[Listener], default: ()
        Get every event; one that answers False ends the search.
    n_threads : int or None, default: None
        None for all cores.

    Returns
    -------
    TokenizerReport
        How far from the best it is, proved, and which of its pieces save nothing.

    Raises
    ------
    InputError for texts without a word, or that its library cannot encode; MemoryLimitError before work that does not
    fit.
    """
    words = tokenizer.count(texts)
    if not words.table.n_words:
        left = f"; something that it does not know is in {words.left_out:,} of them" if words.left_out else ""
        raise InputError(f"there is no word in these texts that the tokenizer can encode{left}.")
    lengths = np.array([len(units) for units in tokenizer.own])
    used = lengths[words.used > 0]
    most = min(max(int(used.max()), _USUAL), LONGEST) if longest is None else longest
    if not 2 <= most <= LONGEST:
        raise InputError(f"longest must be from 2 to {LONGEST}, not {longest}.")
    every = Candidates.of(words.table, most)
    size = min(tokenizer.size, int(np.count_nonzero(every.many)))
    result = solve_vocabulary(every, size, settings, listeners=listeners, n_threads=n_threads)
    pieces, lacking, shortest = _worth(tokenizer, words, every, result, most)
    return TokenizerReport(
        kind=tokenizer.kind,
        entries=len(tokenizer.names),
        size=tokenizer.size,
        tokens=words.tokens,
        shortest=shortest,
        longest=most,
        longer=int(np.count_nonzero(used > most)),
        left_out=words.left_out,
        result=result,
        pieces=pieces,
        lacking=lacking,
    )


def _worth(
    tokenizer: ForeignTokenizer, words: ForeignWords, every: Candidates, result: TokenizerResult, longest: int
) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Its pieces, those that it lacks, and the tokens with its pieces in the fewest."""
    many = [i for i, units in enumerate(tokenizer.own) if 1 < len(units) <= longest]
    theirs = every.numbers([tokenizer.own[i] for i in many])
    best = every.numbers(result.pieces())
    present = np.zeros(every.index.n_grams, dtype=bool)
    present[theirs[theirs >= 0]] = True
    wanted = present.copy()
    wanted[best] = True
    own = every.only(wanted)
    exchange = Exchange(own, present[own.origin])
    worth = np.zeros(every.index.n_grams + 1, dtype=np.int64)  # the last: of none
    worth[own.origin] = exchange.worth_of_repeated()
    weight = np.append(every.weight, 0.0).astype(np.int64)
    pieces = pd.DataFrame(
        {
            "piece": [tokenizer.text_of(tokenizer.own[i]) for i in many],
            "occurrences": weight[theirs],
            "used": words.used[many],
            "saves": worth[theirs],
        }
    )
    more = best[~present[best]]
    lacking = pd.DataFrame(
        {
            "piece": [tokenizer.text_of(units) for units in every.pieces(more)],
            "occurrences": weight[more],
            "saves": worth[more],
        }
    )
    by = {"by": ["saves", "occurrences"], "ascending": False, "kind": "stable", "ignore_index": True}
    return pieces.sort_values(**by), lacking.sort_values(**by), exchange.tokens
