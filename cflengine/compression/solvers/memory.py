"""What a solve will take, estimated before it starts.

Bytes a token at K = 3, with 0.56 K-grams to a token. Everybody: the index 18.2; w 12, slots 12, ranks 6; y, z, the
best y 12; the dictionary cost 4.5; the best solution 1; and, while a bound is computed, shares 12: 78 ("relaxation").
The homotopy: the multipliers of w = θ 12, a second ψ and its K-grams 1.6. The guided solver: the relaxation it returns
to 20; the average of its multipliers 4; the local search's dictionaries, worth and cover 5, prices 7: 112; what it
returns to, and w while a bound is computed, go to disk from some millions of tokens on (engine/mapped.py): 86.
Reweighting:
weights, z and the best z 36, α 8 in the place of y and z. A shard: the guided solver's; divided costs 5, the prices
that are tried 4, dictionaries 3, the dual prices 8, two more covers 2. Of the whole there is then the index, costs 5,
the result 9 and, while that is certified, sums by K-gram 11.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from cflengine.compression.passes.blocks import BLOCK_TOKENS
from cflengine.compression.shards.settings import ShardedSettings
from cflengine.engine import mapped
from cflengine.engine.cluster import LOCAL
from cflengine.engine.memory import fits, require_bytes
from cflengine.engine.settings import Limits
from cflengine.text.kgrams import MOST_POINTERS, check_pointers, index_bytes

# solver -> (bytes a pointer, a token, a K-gram) beside the index
_STATE = {
    "relaxation": (14, 13, 8),
    "homotopy": (18, 14, 9),
    "guided": (18, 28, 22),
    "guided on disk": (10, 19, 33),
    "reweighting": (26, 30, 9),
    "relay": (18, 36, 22),
    "shard": (18, 42, 36),
    "whole": (0, 9, 28),  # beside the shards
    "exact": (7000, 0, 0),  # mostly HiGHS's; as measured on small corpora, and it takes no others
}
_GRAMS_PER_TOKEN = (0.0, 0.2, 0.4, 0.6, 1.3, 2.1, 3.0, 3.9, 4.8)  # by K
_WORKER = 150 << 20  # bytes of a process of a local cluster before it has a shard
_SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)  # of the documents, that may fit
_SHARDS_TRIED = (2, 4, 8, 16, 32, 64)  # of a corpus that does not fit
# a token, where a document is cut (blocks.py): choices of the encoding programme; slacks and prices of the projection
_CUT = 1
_CUT_PROJECTION = 16


def state_bytes(
    n_tokens: int, max_gram: int, solver: str = "guided", *, grams_per_token: float = 0.6, longest: int = 0
) -> int:
    """Bytes that index and solver hold at their peak for a corpus of ``n_tokens``.

    solver: a solver's name, or "relaxation" for the homotopy's first stage alone. longest: tokens of the longest
    document.

    >>> round(state_bytes(1_000_000, 3, "relaxation", grams_per_token=0.56) / 1e6, 1)
    77.7
    """
    if solver == "guided" and 4 * max_gram * n_tokens > mapped.IN_MEMORY:
        solver = "guided on disk"
    pointer, token, gram = _STATE[solver]
    per_token = pointer * max_gram + token + gram * grams_per_token
    if longest > 2 * BLOCK_TOKENS:
        per_token += _CUT_PROJECTION if solver == "reweighting" else _CUT
    return index_bytes(n_tokens, max_gram, grams_per_token) + int(n_tokens * per_token)


def sharded_bytes(
    n_tokens: int, max_gram: int, shards: int, *, grams_per_token: float = 0.6, longest: int = 0, workers: int = 0
) -> int:
    """Bytes that the index and the largest of ``shards`` hold at their peak; shards: 1 where all are in memory, else
    they are on disk, and so is what the index says of pointers. A shard is a run of documents, so that it has at most
    ``longest`` tokens more than an equal part. workers: processes of this machine that have a shard each in memory,
    while another one may be on its way to them; 0 where they are worked on in this one."""
    largest = min(n_tokens, -(-n_tokens // shards) + longest)
    whole = state_bytes(n_tokens, max_gram, "whole", grams_per_token=grams_per_token)
    if shards > 1:
        whole -= 4 * max_gram * n_tokens
    shard = state_bytes(largest, max_gram, "shard", grams_per_token=grams_per_token, longest=longest)
    return whole + (workers + 1) * shard + workers * _WORKER


def enough_shards(n_tokens: int, max_gram: int, longest: int) -> tuple[int, int] | None:
    """The fewest shards, waiting on disk, in which a corpus fits into memory.

    Parameters
    ----------
    n_tokens : int
        Of the corpus.
    max_gram : int
        K.
    longest : int
        Tokens of the longest document.

    Returns
    -------
    tuple of int and int, or None
        Shards, and the bytes that these take; None where no number is enough.
    """
    for n in _SHARDS_TRIED if n_tokens * max_gram <= MOST_POINTERS else ():
        needed = sharded_bytes(n_tokens, max_gram, n, grams_per_token=_rate(max_gram), longest=longest)
        if fits(needed):
            return n, needed
    return None


def needed_bytes(n_tokens: int, max_gram: int, longest: int, solver: str) -> int:
    """What a solve in one piece takes of a corpus whose K-grams have not been counted yet.

    Parameters
    ----------
    n_tokens : int
        Of the corpus.
    max_gram : int
        K.
    longest : int
        Tokens of the longest document.
    solver : str
        Its name.

    Returns
    -------
    int
        Bytes.
    """
    return state_bytes(n_tokens, max_gram, solver, grams_per_token=_rate(max_gram), longest=longest)


def _rate(max_gram: int) -> float:
    """Distinct K-grams a token, before they are counted: as in IMDb, RateBeer and 20 Newsgroups, of 3 to 15 million
    tokens, up to K = 8; beyond, nearly every token begins a new one."""
    known = _GRAMS_PER_TOKEN[: max_gram + 1][-1]
    return known + max(0, max_gram + 1 - len(_GRAMS_PER_TOKEN))


def require_memory(n_tokens: int, max_gram: int, longest: int, solver: str, settings: Limits) -> None:
    """Raises MemoryLimitError, before any work, for a corpus that does not fit, with what would; longest: tokens of
    the longest document. InputError for more pointers than can be numbered, in shards or not."""
    check_pointers(n_tokens, max_gram)
    sharded = settings if isinstance(settings, ShardedSettings) else None

    def needed(share: float = 1.0, k: int = max_gram) -> int:
        n = int(share * n_tokens)
        if sharded is None:
            return needed_bytes(n, k, min(longest, n), solver)
        shards = 1 if sharded.in_memory and sharded.cluster is None else sharded.shards
        workers = min(shards, os.cpu_count() or 1) if sharded.cluster == LOCAL else 0
        rate = _rate(k)
        return sharded_bytes(n, k, shards, grams_per_token=rate, longest=min(longest, n), workers=workers)

    what = f"Compressing {n_tokens:,} tokens with K = {max_gram}"
    advice = "" if fits(needed()) else _what_fits(needed, max_gram, enough_shards(n_tokens, max_gram, longest), sharded)
    require_bytes(needed(), what, advice)


def _what_fits(
    needed: Callable[..., int], max_gram: int, enough: tuple[int, int] | None, sharded: ShardedSettings | None
) -> str:
    """Fewer documents, a smaller K, more shards: what would fit. needed: bytes by share of the documents and K."""
    share = next((share for share in _SHARES if fits(needed(share))), 0.0)
    smaller = next((k for k in range(max_gram - 1, 0, -1) if fits(needed(k=k))), 0)
    advice = [f"take {100 * share:g} % of the documents" if share else "take far fewer documents"]
    advice += [f"K = {smaller}"] if smaller else []
    if enough is not None and (sharded is None or sharded.cluster is None or sharded.shards < enough[0]):
        advice.append(f"solve it in shards that wait on disk (cflengine compress --shards {enough[0]})")
    elif enough is not None:
        advice.append(f"solve the shards one after the other (--shards {enough[0]}, without --cluster)")
    return ", ".join(advice[:-1]) + f" or {advice[-1]}." if len(advice) > 1 else f"{advice[0]}."
