"""What a sentence contributes to the decision about its document (§5.4 of Yogatama & Smith, Tables 3 and 4)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import log_expit

from cflengine.linear.model import LinearModel
from cflengine.sentence_lasso.sentences import SentenceTable, sum_by


def relevance_table(table: SentenceTable, model: LinearModel, label: np.ndarray, classes: np.ndarray) -> pd.DataFrame:
    """A row a sentence: document, sentence (in its document), start, end (code points), label, log_odds, group_norm.

    log_odds: log p(label | all sentences) − log p(label | all but this one), the paper's score; with more than two
    classes p is that of the label against the rest. group_norm: ‖w_s‖ over the sentence's tokens; 0: not one of its
    words has a weight. label: int (N,), position in ``classes`` of each document's.
    """
    coef = model.coef
    binary = len(coef) == 1
    of_sentence = label[table.document]
    row = np.zeros(len(table), dtype=np.int64) if binary else of_sentence
    sign = np.where(binary & (of_sentence == 0), -1.0, 1.0)
    contribution = table.counts @ coef.T  # (S, 1 or C)
    per_document = sum_by(table.document, table.counts, table.n_documents) @ coef.T + model.intercept
    own = sign * contribution[np.arange(len(table)), row]
    whole = sign * per_document[table.document, row]
    squares = table.counts @ (coef.T**2)
    first = np.searchsorted(table.document, table.document)
    return pd.DataFrame(
        {
            "document": table.document,
            "sentence": np.arange(len(table)) - first,
            "start": table.start,
            "end": table.end,
            "label": classes[of_sentence],
            "log_odds": log_expit(whole) - log_expit(whole - own),
            "group_norm": np.sqrt(squares[np.arange(len(table)), row]),
        }
    )
