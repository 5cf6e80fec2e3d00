"""Which words of a document speak for what was predicted."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cflengine.experiments.evaluation import Evaluation
from cflengine.experiments.findings import Finding
from cflengine.experiments.methods import Candidate


def judge_of(finding: Finding, document: int) -> Candidate:
    """The recommended features as the split has them that a document is judged in.

    Parameters
    ----------
    finding : Finding
        Of the target.
    document : int
        Its number in the corpus.

    Returns
    -------
    Candidate
        Features and what is learnt from them.
    """
    assert finding.recommended is not None
    return finding.standing.by_split[finding.recommended][finding.task.split_of(document)].candidate


def word_weights(
    evaluation: Evaluation, finding: Finding, document: int, weights: np.ndarray, X: sparse.csr_matrix
) -> list[tuple[int, int, float]]:
    """What each token adds to xᵀw, x the features by which a document was judged.

    What a feature adds is shared by its places, and by the tokens of each place, alike; so the tokens' weights sum to
    xᵀw. Tokens that add nothing are left out.

    Parameters
    ----------
    evaluation : Evaluation
        The comparison.
    finding : Finding
        Of the target.
    document : int
        Its number in the corpus.
    weights : float64 ndarray (d,)
        w.
    X : CSR matrix (N, d)
        The features of all documents.

    Returns
    -------
    list of (int, int, float)
        start, end, weight; in code points.
    """
    candidate, features = judge_of(finding, document), evaluation.features
    assert features is not None
    x = X[document]
    adds = np.zeros(x.shape[1])
    adds[x.indices] = x.data * weights[x.indices]
    table = features.table
    a, b = int(table.doc_ptr[document]), int(table.doc_ptr[document + 1])
    token = np.zeros(b - a)
    model = candidate.features
    assert model is not None
    text = [evaluation.texts[document]]
    if candidate.method == "compressed:pointers":
        encoding = model.encode(text)
        known = encoding.gram >= 0
        start, length, gram = encoding.start[known], encoding.length[known].astype(int), encoding.gram[known]
    else:
        places = model.places(text)
        k, start = np.nonzero(places >= 0)
        length, gram = k + 1, places[k, start]
    share = adds[gram] / np.bincount(gram, minlength=len(adds))[gram] / length
    for more in range(int(length.max(initial=0))):
        inside = length > more
        np.add.at(token, start[inside] + more, share[inside])
    return [(int(table.start[a + i]), int(table.end[a + i]), float(token[i])) for i in np.flatnonzero(token).tolist()]
