"""How well a dictionary from elsewhere compresses a corpus: "how far from optimal is your vocabulary?"

The K-grams a vocabulary D may use are D and all single words, which a lossless code cannot do without. Sought is a
binary solution of problem (1) (problem.py) over these alone. Its objective divided by any lower bound on (1) proves
how far from optimal D is at most as it was used here.

An optimal encoding at given prices is found by the encoding programme (§3.1 of Paskov, Mitchell, Hastie, AISTATS 2014,
Θ(Kn)). What to charge for the dictionary is the question:

    start    D free, so that D is used wherever it saves a pointer; a word that D lacks costs c(s) a use;
    or       every K-gram s of D at c(s) / (its occurrences in the corpus), as if all of them were used;
    then     c(s) / u_s, u_s how often s was used last time (1 where it was not): a K-gram that is hardly used is
             made expensive and dropped, "pruned";
    then     the K-grams in use free, which cannot cost more; as long as it gains, from the third line again.

Both starts are tried, and single words alone: the best of all solutions met is kept. It is a good use of D, not
provably the best one: finding that is the same hard problem on fewer K-grams.

Shapes as in problem.py; a dictionary is uint8 or bool (G,), a flag for each K-gram of the index.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.passes.binary import Coder, count_uses
from cflengine.engine.checks import InputError
from cflengine.text.gram_table import number_grams
from cflengine.text.kgrams import KGramIndex
from cflengine.text.tokens import Tokenizer, TokenTable


def encode_with_vocabulary(
    index: KGramIndex, costs: StorageCosts, grams: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """The corpus encoded with a given dictionary and single words, the dictionary pruned until no gain.

    Every token is covered, and single words alone never cost less. Deterministic for any number of threads.

    Parameters
    ----------
    index : KGramIndex
        The K-grams of the corpus.
    costs : StorageCosts
        d and c.
    grams : bool or uint8 ndarray (G,)
        The dictionary.

    Returns
    -------
    tuple of three
        cover, uint8 (n,), the pointers (bit k-1 of cover[i]: that of length k at token i); the objective of (1) there;
        used, uint8 (G,), the K-grams in use.

    Raises
    ------
    InputError
        If ``grams`` has another shape or dtype.
    """
    grams = np.asarray(grams)
    if grams.shape != (index.n_grams,) or grams.dtype not in (np.bool_, np.uint8):
        raise InputError(
            f"grams must be flags (bool or uint8) of shape ({index.n_grams},), one a K-gram, "
            f"not {grams.dtype} of shape {grams.shape}."
        )
    coder, c = Coder(index, costs), costs.dictionary
    chosen = grams.astype(bool)
    words = np.arange(index.n_grams) < index.len_ptr[1]
    best = coder.single_words()
    objective, _, _ = coder.evaluate(best)
    for start in (0.0, c / np.maximum(index.counts(), 1)):
        price = np.where(chosen, start, np.where(words, c, np.inf))
        cover, value = _prune(coder, coder.encode(price), chosen | words)
        if value < objective:
            best, objective = cover, value
    objective, _, used = coder.evaluate(best)
    return best, objective, used


def _prune(coder: Coder, cover: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, float]:
    """From one solution on: its K-grams priced by use, then free, until that brings no gain."""
    cover, objective, _ = coder.re_encode(cover)
    for candidate, value, _ in coder.price_by_use(count_uses(coder.index, cover), least=1.0, allowed=allowed):
        if not value < objective:
            break
        cover, objective = candidate, value
    return cover, objective


def match_vocabulary(
    table: TokenTable, index: KGramIndex, phrases: Iterable[str], tokenizer: Tokenizer
) -> tuple[np.ndarray, list[str]]:
    """Which K-grams of the index a list of phrases names. Θ(Kn).

    Parameters
    ----------
    table : TokenTable
        Tokens of the corpus.
    index : KGramIndex
        Their K-grams.
    phrases : iterable of str
        The list.
    tokenizer : Tokenizer
        What cuts a phrase into words; it must be the corpus's own.

    Returns
    -------
    tuple of uint8 ndarray (G,) and list of str
        A flag for each K-gram named, and the phrases that name none, in order, each once: they do not occur in the
        corpus, have more than K words, or none at all.

    Raises
    ------
    TypeError
        If ``phrases`` is one string or one of them is not a string.
    """
    if isinstance(phrases, str | bytes):
        raise TypeError("phrases must be a sequence of strings, not one string.")
    listed = list(phrases)
    cut = tokenizer(listed)
    number = {form: token for token, form in enumerate(table.vocabulary)}
    known = np.array([number.get(form, -1) for form in cut.vocabulary], dtype=np.int32)
    tokens = known[cut.tokens] if len(known) else cut.tokens
    gram = match_sequences(index, tokens, cut.doc_ptr)
    flags = np.zeros(index.n_grams, dtype=np.uint8)
    flags[gram[gram >= 0]] = 1
    return flags, list(dict.fromkeys(listed[i] for i in np.flatnonzero(gram < 0)))


def match_sequences(index: KGramIndex, tokens: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """The K-gram that each of some token sequences is. Θ(Kn): the sequences go into a hash table, which is asked at
    every position.

    Parameters
    ----------
    index : KGramIndex
        The K-grams of the corpus.
    tokens : int32 ndarray
        Ids as in the index, −1 for a word the corpus lacks.
    ptr : int64 ndarray (P+1,)
        Sequence p is tokens[ptr[p]:ptr[p+1]].

    Returns
    -------
    int32 ndarray (P,)
        −1 where it is none of the index.
    """
    tokens, ptr = np.ascontiguousarray(tokens, dtype=np.int32), np.ascontiguousarray(ptr, dtype=np.int64)
    lengths = np.diff(ptr)
    result = np.full(len(lengths), -1, dtype=np.int32)
    # an unknown word is given an id that no token of the corpus has: hash tables take no negative ids
    asked = np.where(tokens >= 0, tokens, index.tokens.max(initial=-1) + 1).astype(np.int32)
    parent, parent_here = np.zeros(len(tokens), dtype=np.int32), np.zeros(index.n_tokens, dtype=np.int32)
    for k in range(index.max_gram):
        number = np.empty(len(tokens), dtype=np.int32)
        grams = number_grams(asked, ptr, k + 1, parent, 0, number)
        found = grams.find(index.tokens, index.doc_ptr, k + 1, parent_here)
        gram_of = np.full(grams.n_grams, -1, dtype=np.int32)
        here = np.flatnonzero(found >= 0)
        gram_of[found[here]] = index.gram_of[k, here]
        whole = np.flatnonzero(lengths == k + 1)
        result[whole] = gram_of[number[ptr[whole]]]
        parent, parent_here = number, found
    return result
