"""The tables and reports that commands write beside their features."""

from __future__ import annotations

from typing import Any


def document_table(model: Any, corpus: Any) -> Any:
    """A row a document: number, row in the source, tokens, pointers (of a fitted model), the corpus's other columns."""
    import numpy as np
    import pandas as pd

    columns = {
        "document": np.arange(len(corpus)),
        "row": corpus.rows,
        "tokens": np.diff(model.table_.doc_ptr),
    }
    if hasattr(model, "encoding_"):
        columns["pointers"] = np.diff(model.encoding_.ptr)
    return pd.concat([pd.DataFrame(columns), corpus.metadata.add_prefix("meta_").reset_index(drop=True)], axis=1)


def _run_facts(model: Any, corpus: Any, seconds: float, arguments: dict[str, Any]) -> dict[str, Any]:
    """Sizes, time, memory and what was asked for."""
    from cflengine.engine.memory import peak_bytes

    return {
        "n_documents": len(corpus),
        "n_tokens": model.table_.n_tokens,
        "n_types": len(model.table_.vocabulary),
        "n_grams": model.index_.n_grams,
        "possible_pointers": model.index_.n_pointers,
        "seconds": seconds,
        "peak_memory_bytes": peak_bytes(),
        "corpus": corpus.report.to_dict(),
        "arguments": arguments,
    }


def run_report(model: Any, corpus: Any, seconds: float, arguments: dict[str, Any]) -> dict[str, Any]:
    """What report.json of ``cflengine compress`` says: the result, the corpus, time and memory."""
    result = model.result_
    facts = _run_facts(model, corpus, seconds, arguments)
    return result.to_dict() | facts | {"solver_seconds": result.seconds}


def path_report(path: Any, corpus: Any, seconds: float, arguments: dict[str, Any]) -> dict[str, Any]:
    """What report.json of ``cflengine path`` says: the result at every λ, the corpus, time and memory."""
    from cflengine.engine.results import versions

    points = [{"lam": point.lam, **point.result.to_dict()} for point in path.points]
    for point in points:
        del point["versions"]
    facts = _run_facts(path.estimator, corpus, seconds, arguments)
    return {"points": points} | facts | {"versions": versions()}
