"""A vocabulary of a given size and its proof.

    exchanges    pieces are added one by one, then exchanged until that brings little (exchange.py): a vocabulary
                 within about a hundredth of the best, and the price µ at which it would be about the best;
    relaxation   of problem (1) at that price, which moves until there are as many pieces as wanted (relaxation.py):
                 from time to time its bound (2), and exchanges from the pieces that it has most of;
    exchanges    from the best vocabulary, with some pieces more and fewer in between, until that brings nothing.

The bound is recomputed from the best prices and all words (certificate.py); it holds for all vocabularies of pieces
that are allowed. Nothing is drawn. Any number of pieces in this file is without the units that there are anyway.

Examples
--------
The words "ab" and "abc", each once, in characters. One piece beside the units there are anyway: "ab" or
"abc" leaves three tokens, none fewer, and that is proved.

>>> from cflengine import SubwordTokenizer
>>> model = SubwordTokenizer(261, unit="character", pattern=None, special_tokens=()).fit(["ab", "abc"])
>>> model.result_.size, model.result_.objective, model.result_.gap
(1, 3.0, 0.0)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.jit import threads
from cflengine.engine.progress import Listener, TerminationReason
from cflengine.engine.results import Result
from cflengine.engine.run import Run
from cflengine.engine.settings import Limits
from cflengine.tokenizer.candidates import Candidates
from cflengine.tokenizer.certificate import count_tokens, dual_bound
from cflengine.tokenizer.exchange import Exchange
from cflengine.tokenizer.problem import tokens_at_least
from cflengine.tokenizer.relaxation import Relaxation

_CANDIDATES = 12  # as many times the size: those that exchanges choose among at first
_MARGIN = 0.4  # of what the last of them can save: others may still be worth it
_LEAST_PRICE = 0.25  # of a token: below, nothing would be saved by fewer pieces
_BELOW = 0.7  # of the price: pieces that can save as much stay, should the price fall
_PRICES = 4  # how often it may fall below
_STEPS = 25  # of the relaxation, then a bound
_LOOK = 100  # steps before the first vocabulary from them
_REST = 0.01  # of what is open: the relaxation ends when as many steps prove no more than that
_LEAST_GAIN = 1e-5  # of the tokens, that exchanges have to save a round before there is a bound
_BEGIN, _LAST = 0.3, 0.8  # of the time, which the first exchanges take at most, and where the last begin


@dataclass(frozen=True, kw_only=True)
class VocabularySettings(Limits):
    """When the search for a vocabulary ends.

    Parameters
    ----------
    tol : float, default: 0.001
        Proved relative gap between the tokens and those of any vocabulary of the size.
    time_limit : float or None, default: None
        Seconds of solver time, listeners excluded; None for no limit.
    """

    tol: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.tol:
            raise InputError(f"tol must be a positive number, not {self.tol!r}.")


@dataclass(frozen=True, kw_only=True)
class TokenizerResult(Result):
    """A vocabulary and what is proved about it.

    Parameters
    ----------
    objective : float
        The tokens that the corpus takes with it.
    lower_bound : float
        Those that it takes with any vocabulary of as many pieces, all allowed ones considered, at least.
    gap : float
        objective / lower_bound − 1, rounded outward.
    reason : TerminationReason
        Why the solver ended.
    n_iterations : int
        Of the solver.
    n_passes : float
        Over the data.
    seconds : float
        Of solver time.
    solver : str
        Its name.
    settings : Mapping[str, Any]
        Every parameter.
    events : tuple[IterationStats, ...] or DataFrame
        Those of the solve, or the table that they were saved as.
    n_running : int
        Words of the corpus.
    n_words : int
        Distinct ones.
    size : int
        Pieces of two units or more, those ``required`` included.
    required : int
        How many were required.
    mu : float
        The price of a piece that proves the bound.
    units : ndarray
        int32, the units of the pieces, one after the other, most frequent first.
    ptr : ndarray
        int64 (size + 1,), borders in ``units``.
    weight : ndarray
        int64 (size,), how often each occurs in the words.
    alpha : ndarray
        float64 (n,), the dual prices of units that prove the bound.
    """

    n_running: int
    n_words: int
    size: int
    required: int
    mu: float
    units: np.ndarray = field(repr=False)
    ptr: np.ndarray = field(repr=False)
    weight: np.ndarray = field(repr=False)
    alpha: np.ndarray = field(repr=False)

    def pieces(self) -> list[np.ndarray]:
        """int32 each: the units of the pieces."""
        return np.split(self.units, self.ptr[1:-1]) if self.size else []

    @property
    def tokens_per_word(self) -> float:
        """That the corpus takes with this vocabulary."""
        return self.objective / self.n_running

    @property
    def least_tokens_per_word(self) -> float:
        """That it takes with any of the size, proved."""
        return self.lower_bound / self.n_running


def solve_vocabulary(
    every: Candidates,
    size: int,
    settings: VocabularySettings | None = None,
    *,
    allowed: np.ndarray | None = None,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
) -> TokenizerResult:
    """Choose the pieces with which the words take the fewest tokens, and prove how few any choice could reach.

    Parameters
    ----------
    every : Candidates
        The words, and their pieces, G of them.
    size : int
        How many pieces of two units or more, those that are required included.
    settings : VocabularySettings or None, default: None
        Gap and limits; None for the defaults.
    allowed : numpy.ndarray or None, default: None
        bool (G,), pieces that may be chosen; None for all.
    listeners : Iterable[Listener], default: ()
        Get every event; one that answers False ends the search.
    n_threads : int or None, default: None
        None for all cores.

    Returns
    -------
    TokenizerResult
        The pieces, the tokens that the words take, and the bound.

    Raises
    ------
    InputError where there are not as many pieces, or more are required.
    """
    allowed = every.many if allowed is None else allowed & every.many
    n_possible, required = int(np.count_nonzero(allowed | every.required)), int(np.count_nonzero(every.required))
    if not required <= size <= n_possible:
        raise InputError(
            f"size must be between {required:,} and {n_possible:,}, pieces required and all, not {size:,}."
        )
    with threads(n_threads, every.index.gram_of.size):
        return VocabularyRun(every, size, allowed, settings or VocabularySettings(), listeners).run()


class VocabularyRun(Run):
    """One solve. ``free``: how many pieces are to be chosen; ``chosen``: bool (G,), the best vocabulary."""

    solver = "tokenizer"

    def __init__(
        self,
        every: Candidates,
        size: int,
        allowed: np.ndarray,
        settings: VocabularySettings,
        listeners: Iterable[Listener],
    ) -> None:
        super().__init__(settings, listeners)
        self.every, self.size, self.allowed = every, size, allowed
        self.free = size - int(np.count_nonzero(every.required))
        self.chosen = every.required.copy()
        self._proof = 0.0, 0.0, np.zeros(every.index.n_tokens)  # bound, price, dual prices; recomputed
        self._told: tuple[float, np.ndarray] | None = None  # price and dual prices of the relaxation's best bound
        self._out_of_time = False  # the relaxation, which has but a share of it

    @property
    def reason(self) -> TerminationReason:
        """Why it ended."""
        reason = super().reason
        short = self._out_of_time and reason is TerminationReason.CONVERGED and not self.proved
        return TerminationReason.TIME_LIMIT if short else reason

    def run(self) -> TokenizerResult:
        """Exchanges, relaxation, certificate."""
        self._prove(0.0, self._prices_of_length())
        mu = self._exchange(self._few(), self.chosen, _LEAST_GAIN)
        if not self.free:  # those that are required, and at this price no other is worth it
            mu = float(self.every.most_saved.max(initial=0.0)) + 1.0
            self._prove(mu, Exchange(self.every, self.every.required).shortest_prices())
            return self._result()
        for _ in range(_PRICES):
            least = max(_BELOW * mu, _LEAST_PRICE)
            if self.proved or not self.may_go_on() or self._relax(mu, least) > least or least == _LEAST_PRICE:
                break
            mu = least
        if not self.proved and self.may_go_on():
            self._exchange(self.allowed & (self.every.most_saved > least), self.chosen, thorough=True)
        return self._result()

    def _few(self) -> np.ndarray:
        """bool (G,): those that can save most, more than enough for the size."""
        most = np.where(self.allowed, self.every.most_saved, 0.0)
        at = _CANDIDATES * self.size
        if at >= np.count_nonzero(self.allowed):
            return self.allowed
        few: np.ndarray = self.allowed & (most > _MARGIN * np.partition(most, -at)[-at])
        return few

    def _exchange(self, wanted: np.ndarray, start: np.ndarray, least: float = 0.0, *, thorough: bool = False) -> float:
        """Search at the size among the pieces ``wanted``, bool (G,), from a vocabulary, bool (G,), by rounds that save
        a share of ``least``; the price at which it would be about the best."""
        wanted = wanted | start
        if np.count_nonzero(wanted & self.every.many) < self.size:
            wanted |= self.allowed
        own = self.every.only(wanted)
        exchange = Exchange(own, start[own.origin])

        def step() -> bool:
            self.iteration += 1
            self._update_incumbent(exchange)
            return self.report("exchanges", float(exchange.tokens), support=exchange.size) and not self.proved

        def early() -> bool:
            return step() and (self._told is not None or not self._later_than(_BEGIN))

        exchange.resize(self.size, step)
        if math.isinf(self.best_objective):  # it may have been stopped
            exchange.resize(self.size, at_once=True)
        exchange.improve(early, least)
        if thorough:
            exchange.oscillate(step, _REST * (self.best_objective - self.lower_bound))
        self._update_incumbent(exchange)
        return exchange.price()

    def _update_incumbent(self, exchange: Exchange) -> None:
        """Keep its vocabulary if it is the best of the size."""
        if exchange.size == self.size and exchange.tokens < self.best_objective:
            self.best_objective = float(exchange.tokens)
            self.chosen = np.zeros(self.every.index.n_grams, dtype=bool)
            self.chosen[exchange.pieces.origin[exchange.present > 0]] = True

    def _relax(self, mu: float, least: float) -> float:
        """The relaxation from a price on, none below ``least``, and vocabularies from what it has of each piece; the
        price in the end."""
        pieces = self.every.only(self.allowed & (self.every.most_saved > least))
        _, alpha = Exchange(pieces, self.chosen[pieces.origin]).cover(mu)
        relaxation = Relaxation(pieces, self.free, mu, least, alpha)
        look, before = _LOOK, self.lower_bound
        while self._steps(relaxation):
            rests = False
            if relaxation.steps % _LOOK == 0:
                rests = self.lower_bound - before < _REST * (self.best_objective - before)
                before = self.lower_bound
            if rests or relaxation.steps >= look:
                look *= 2
                some, most = (self._among_all(relaxation, f) for f in (relaxation.support(), relaxation.rounded()))
                self._exchange(some, most)
            if rests:
                break
        return relaxation.mu

    def _steps(self, relaxation: Relaxation) -> bool:
        """Some steps, and what they prove; False where that is enough, or it is to end."""
        for _ in range(_STEPS):
            self._out_of_time = self._later_than(_LAST)
            if self._out_of_time or not self.may_go_on():
                return False
            relaxation.step()
        self.iteration += _STEPS
        for bound, alpha in relaxation.bounds():
            if self.raise_bound(bound):
                self._told = relaxation.mu, alpha
        self.report("relaxation", support=int(np.count_nonzero(relaxation.support())), extra={"mu": relaxation.mu})
        return not self.proved

    def _later_than(self, share: float) -> bool:
        """Whether more than a share of the time has passed."""
        limit = self.settings.time_limit
        return limit is not None and self.progress.elapsed_s > share * limit

    def _among_all(self, relaxation: Relaxation, some: np.ndarray) -> np.ndarray:
        """Flags of the relaxation's pieces as flags of all, bool (G,)."""
        flags = np.zeros(self.every.index.n_grams, dtype=bool)
        flags[relaxation.pieces.origin] = some
        return flags

    def _prices_of_length(self) -> np.ndarray:
        """Prices float64 (n,) under which a word costs as many tokens as if all pieces were there: its count at every
        K-th unit."""
        table = self.every.table
        within = np.arange(len(table.units)) - np.repeat(table.ptr[:-1], np.diff(table.ptr))
        return np.where(within % self.every.index.max_gram == 0, self.every.unit_counts, 0).astype(np.float64)

    def _prove(self, mu: float, alpha: np.ndarray) -> None:
        """Recompute what prices prove, from all words and pieces allowed."""
        every = self.every
        cost = np.where(self.allowed | every.required | ~every.many, every.group_cost(mu), math.inf)
        value = dual_bound(every.index.gram_of, every.unit_counts, cost, alpha)
        at_least = float(tokens_at_least(value, mu, self.free))
        if at_least >= self._proof[0]:
            self._proof = at_least, mu, alpha
        self.raise_bound(at_least)

    def _result(self) -> TokenizerResult:
        """The certificate: tokens counted from the pieces that the words are cut into, the bound from prices."""
        every, table = self.every, self.every.table
        if self._told is not None:
            self._prove(*self._told)
        own = every.only(self.chosen)
        cover, _ = Exchange(own, own.many).cover(0.0)
        tokens = count_tokens(own.index.gram_of, table.ptr, table.counts, cover)
        bound, mu, alpha = self._proof
        self.report("certificate", tokens, support=self.size, extra={"mu": mu})
        grams = np.flatnonzero(self.chosen)
        grams = grams[np.lexsort((grams, -every.weight[grams]))]
        pieces = every.pieces(grams)
        return TokenizerResult(
            n_running=table.n_running,
            n_words=table.n_words,
            size=len(grams),
            required=self.size - self.free,
            mu=mu,
            units=np.concatenate([np.zeros(0, dtype=np.int32), *pieces]),
            ptr=np.cumsum([0, *map(len, pieces)]),
            weight=every.weight[grams].astype(np.int64),
            alpha=alpha,
            **self.facts(tokens, bound),
        )
