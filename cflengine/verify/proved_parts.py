"""What a compressed corpus costs and what its dual prices prove, part by part, in plain numpy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from cflengine.compression.model.branching import Branching, from_arrays
from cflengine.compression.model.certificate import Certificate
from cflengine.compression.model.lifting import Lifted, lift_parts
from cflengine.compression.model.parts import PartsCertificate, part_facts
from cflengine.compression.model.problem import StorageCosts, external_macro_costs, storage_costs
from cflengine.text.token_table import TokenTable
from cflengine.verify.corpus_parts import CorpusPart
from cflengine.verify.findings import CannotVerifyError, FalseResult, proof_array, require


def costs_of(part: CorpusPart, settings: Mapping[str, Any]) -> StorageCosts:
    """What the part's K-grams and pointers cost, as the report says."""
    lam, gram_of, lengths = float(settings["lam"]), part.gram_of, part.lengths
    if settings.get("plain_cost") is not None:
        return external_macro_costs(gram_of, lengths, lam, float(settings["plain_cost"]))
    return storage_costs(gram_of, lengths, lam, dictionary_cost=_stored(settings, part))


def _stored(settings: Mapping[str, Any], part: CorpusPart) -> np.ndarray:
    """c(s): float64 (G,)."""
    kind = settings.get("dictionary_cost")
    if kind == "words":
        return part.lengths.astype(np.float64)
    if kind != "characters":
        raise CannotVerifyError(f"costs of kind {kind!r} cannot be recomputed from the files.")
    sizes = np.array([len(word) for word in part.table.vocabulary], dtype=np.int64)[part.tokens]
    total, stored = np.concatenate([[0], np.cumsum(sizes)]), np.zeros(part.n_grams)
    for k, row in enumerate(part.gram_of):
        places = np.flatnonzero(row >= 0)
        stored[row[places]] = total[places + k + 1] - total[places] + k  # and the blanks between
    return stored


def prices_of(proof: Mapping[str, np.ndarray], n_tokens: int) -> tuple[np.ndarray, list[Branching]]:
    """What a bound is proved by, of the arrays of proof.npz: float64 (n,), and branching trees. Any prices prove some
    bound; these are to prove what is said."""
    alpha = proof_array(proof, "alpha")
    require(alpha.dtype.kind == "f" and alpha.shape == (n_tokens,), "there is not one price for every token.")
    with false_where_wrong():
        return alpha.astype(np.float64), list(from_arrays(proof))


def add_part(
    proof: PartsCertificate, part: CorpusPart, cover: np.ndarray, alpha: np.ndarray, costs: StorageCosts,
    waiting: list[Branching],
) -> None:  # fmt: skip
    """A part's solution, uint8 (n,), and what the prices of all tokens and the trees prove of it, added to those of the
    others; its trees are taken from ``waiting``."""
    here = alpha[part.span]
    lifted = _lifted_part(part, here, costs, waiting)
    with false_where_wrong():
        facts = part_facts(cover, here, part.gram_of, costs, part.shared, lifted)
    proof.add(facts, part.numbers)


def certificate_of(proof: PartsCertificate, waiting: list[Branching]) -> Certificate:
    """What all parts come to. Raises FalseResult where a tree is of none."""
    require(not waiting, "a branching tree is of tokens that are not there.")
    with false_where_wrong():
        certificate = proof.certificate()
    require(certificate.covered, "the pointers leave a token uncovered: documents cannot be decoded.")
    return certificate


def ties_documents(branchings: list[Branching], table: TokenTable) -> bool:
    """Whether a tree is of several documents."""
    ends = (np.searchsorted(table.doc_ptr, one.spans - [0, 1], side="right") for one in branchings)
    return any(np.any(documents != documents[:1, :1]) for documents in ends)


def _lifted_part(part: CorpusPart, alpha: np.ndarray, costs: StorageCosts, waiting: list[Branching]) -> Lifted | None:
    """What branching trees prove of the part; these are taken from ``waiting``."""
    begin, end = part.span.start, part.span.stop
    own = [one for one in waiting if len(one.spans) and np.all((begin <= one.spans) & (one.spans <= end))]
    if not own:
        return None
    waiting[:] = [one for one in waiting if all(one is not mine for mine in own)]
    counts = np.bincount(part.gram_of[part.gram_of >= 0], minlength=part.n_grams)
    counts[part.shared] += 1  # they stand elsewhere, too
    mine = [one.moved(begin, len(part.gram_of)) for one in own]
    with false_where_wrong():
        return lift_parts(alpha, part.gram_of, costs, counts, mine)


@contextmanager
def false_where_wrong() -> Iterator[None]:
    """What is wrong with branching trees, as FalseResult."""
    try:
        yield
    except ValueError as error:
        raise FalseResult(str(error)) from error
