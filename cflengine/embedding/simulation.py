"""Documents whose words follow beta-binomial laws: where wMMD², its power and its bias are known beforehand.

Words 0 … V − 1; of class c, X ~ BetaBin(V − 1, α_c, β_c), and with probability ``irrelevant`` instead a word of
``n_irrelevant`` others, the same for both classes. The article: V = 500, documents of 10 words, 200 documents, α = β =
0.5 against 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import betabinom

from cflengine.embedding.inference import document_gram, p_value, permuted_statistics, tie_tolerance
from cflengine.embedding.laws import DocumentKernel, WordLaws
from cflengine.embedding.settings import Kernel
from cflengine.engine.checks import InputError, check_positive, check_whole, is_number
from cflengine.engine.progress import Poll, go_on


@dataclass(frozen=True)
class BetaBinomial:
    """Two classes whose words follow beta-binomial laws.

    Parameters
    ----------
    n_words : int, default: 500
        V.
    first : tuple[float, float], default: (0.5, 0.5)
        Shape parameters α₀, β₀.
    second : tuple[float, float], default: (5.0, 5.0)
        Shape parameters α₁, β₁.
    irrelevant : float, default: 0.0
        Share of irrelevant words in a document.
    n_irrelevant : int, default: 100
        How many irrelevant words there are.
    """

    n_words: int = 500
    first: tuple[float, float] = (0.5, 0.5)
    second: tuple[float, float] = (5.0, 5.0)
    irrelevant: float = 0.0
    n_irrelevant: int = 100

    def __post_init__(self) -> None:
        check_whole(self, {"n_words": 2, "n_irrelevant": 1})
        for shapes in (self.first, self.second):
            two = isinstance(shapes, tuple | list) and len(shapes) == 2
            if not (two and all(is_number(shape) and 0 < shape < np.inf for shape in shapes)):
                raise InputError(f"shapes must be two numbers above 0, not {shapes!r}.")
        if not (is_number(self.irrelevant) and 0 <= self.irrelevant < 1):
            raise InputError(f"irrelevant must be a share from 0 to below 1, not {self.irrelevant!r}.")

    def laws(self) -> np.ndarray:
        """float64 (2, V or V + n_irrelevant): the probability of each word in each class."""
        support = np.arange(self.n_words)
        own = np.stack([betabinom.pmf(support, self.n_words - 1, *shapes) for shapes in (self.first, self.second)])
        if not self.irrelevant:
            return own
        others = np.full((2, self.n_irrelevant), self.irrelevant / self.n_irrelevant)
        return np.hstack([(1.0 - self.irrelevant) * own, others])

    def overlap(self) -> float:
        """Σ_v min of both laws: 1 where they are the same."""
        return float(self.laws().min(axis=0).sum())

    def towards(self, share: float) -> BetaBinomial:
        """The second law's shapes moved from the first's (0) to where they are (1), by equal factors: α₀^(1−s) α₁^s."""
        shapes = [float(a ** (1.0 - share) * b**share) for a, b in zip(self.first, self.second, strict=True)]
        return replace(self, second=(shapes[0], shapes[1]))

    def population(self, M: np.ndarray, kernel: Kernel) -> float:
        """wMMD² of the laws themselves, which the estimate is unbiased for."""
        difference = np.subtract(*self.laws())
        return float(difference @ kernel(M, M) @ difference)

    def documents(self, n_documents: int, lengths: int | Sequence[int], rng: np.random.Generator) -> WordLaws:
        """Half of them of each class; lengths: words of all, or of each, which then is drawn from these."""
        y = np.arange(n_documents) % 2
        laws = self.laws()
        sizes = rng.choice(np.atleast_1d(lengths), n_documents)
        words = [rng.choice(laws.shape[1], size, p=laws[c] / laws[c].sum()) for size, c in zip(sizes, y, strict=True)]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        counts = sparse.csr_matrix(
            (np.ones(indptr[-1]), np.concatenate(words), indptr), shape=(n_documents, laws.shape[1])
        )
        return WordLaws.of(counts, y, 2)


@dataclass(frozen=True)
class PowerSettings:
    """How the power of the test is simulated.

    Parameters
    ----------
    n_repeats : int, default: 100
        Simulations of each setting.
    n_permutations : int, default: 99
        Of a test.
    level : float, default: 0.05
        Of the test.
    length : int, default: 10
        Words of a document.
    """

    n_repeats: int = 100
    n_permutations: int = 99
    level: float = 0.05
    length: int = 10

    def __post_init__(self) -> None:
        check_whole(self, {"n_repeats": 2, "n_permutations": 19, "length": 1})
        check_positive(self, ("level",))
        if not 1.0 / (1 + self.n_permutations) <= self.level < 1.0:
            raise InputError(
                f"level must be below 1, and at least 1/(1 + n_permutations), the least p there is, not {self.level!r}."
            )


def power(
    laws: BetaBinomial,
    sizes: Sequence[int],
    M: np.ndarray,
    kernel: Kernel,
    settings: PowerSettings | None = None,
    *,
    random_state: int = 0,
    n_threads: int | None = None,
    poll: Poll = lambda: True,
) -> pd.DataFrame:
    """How often the test finds a difference that is there, by the number of documents.

    Parameters
    ----------
    laws : BetaBinomial
        The laws that both classes' words are drawn from.
    sizes : Sequence[int]
        Numbers of documents, each at least 4.
    M : numpy.ndarray
        float64 (V, r), the words' vectors.
    kernel : Kernel
        Of the statistic.
    settings : PowerSettings or None, default: None
        Repeats, permutations, words of a document; None for the defaults.
    random_state : int, default: 0
        Of all that is drawn.
    n_threads : int or None, default: None
        None for all cores.
    poll : Callable, default: lambda: True
        Asked whether to go on.

    Returns
    -------
    pandas.DataFrame
        A row a size: how often the test rejects, with its standard error, and the mean of the statistic beside wMMD² of
        the laws, and the laws' overlap.

    Raises
    ------
    InputError for fewer than four documents; Stopped once ``poll`` says False.
    """
    own = settings or PowerSettings()
    sizes = list(sizes)
    if not sizes or not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 4 for n in sizes):
        raise InputError(f"a simulation needs four documents or more: sizes must be whole numbers, not {sizes!r}.")
    rows = []
    truth, overlap = laws.population(M, kernel), laws.overlap()
    for n in sizes:
        rng = np.random.default_rng((random_state, n))
        rejected, found = [], []
        for repeat in range(own.n_repeats):
            go_on(poll)
            drawn = laws.documents(n, own.length, rng)
            kernel_of = DocumentKernel(document_gram(drawn, M, kernel, n_threads=n_threads))
            statistics = permuted_statistics(kernel_of, drawn.y, 2, own.n_permutations, seed=repeat)
            tolerance = tie_tolerance(kernel_of.diagonal)
            rejected.append(p_value(statistics, tolerance) <= own.level)
            found.append(statistics[0])
        share = float(np.mean(rejected))
        rows.append(
            {
                "documents": n,
                "power": share,
                "standard_error": float(np.sqrt(share * (1 - share) / own.n_repeats)),
                "mean_statistic": float(np.mean(found)),
                "statistic_error": float(np.std(found, ddof=1) / np.sqrt(own.n_repeats)),
                "population": truth,
                "overlap": overlap,
            }
        )
    return pd.DataFrame(rows)
