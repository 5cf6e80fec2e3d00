"""The tables and reports that commands write beside their features."""

from __future__ import annotations

from typing import Any


def write_left_out(folder: Any, corpus: Any) -> None:
    """left_out.csv, where records were left out."""
    from cflengine.engine import frame_csv

    frame = corpus.report.left_out_frame()
    if len(frame):
        (folder / "left_out.csv").write_bytes(frame_csv(frame))


WORST = 10  # documents and K-grams that a report names


def document_table(model: Any, corpus: Any, gap: Any = None) -> Any:
    """A row a document: number, row in the source, tokens, pointers (of a model, not of a path), what it costs and has
    of the gap (a GapAttribution), the corpus's other columns."""
    import numpy as np
    import pandas as pd

    columns = {
        "document": np.arange(len(corpus)),
        "row": corpus.rows,
        "tokens": np.diff((model.corpus if hasattr(model, "corpus") else model.corpus_).table.doc_ptr),
    }
    if hasattr(model, "encoding_"):
        columns["pointers"] = np.diff(model.encoding_.ptr)
    if gap is not None:
        columns |= {"cost": gap.documents["cost"].to_numpy(), "gap": gap.documents["gap"].to_numpy()}
    return pd.concat([pd.DataFrame(columns), corpus.metadata.add_prefix("meta_").reset_index(drop=True)], axis=1)


def gap_report(model: Any, corpus: Any, gap: Any) -> dict[str, Any]:
    """Where the gap lies (a GapAttribution): its terms, the documents and K-grams that have most of it; and documents
    that look like no text, with their cost."""
    from cflengine.text import no_text

    names = {int(number): name for number, name in zip(model.gram_ids_, model.dictionary_["gram"], strict=True)}
    documents, grams = (frame.nlargest(WORST, "gap") for frame in (gap.documents, gap.grams))
    odd = gap.costliest(no_text(corpus.texts))
    return {
        "total": gap.total, **gap.terms(), "documents_with_99_percent": gap.nearly_all,
        "documents": [
            {"document": int(row.document), "cost": float(row.cost), "gap": float(row.gap)}
            for row in documents.itertuples()
        ],
        "grams": [{"gram": names[int(row.gram)], "gap": float(row.gap)} for row in grams.itertuples()],
        "no_text": {
            "n_documents": len(odd), "cost": float(odd["cost"].sum()),
            "documents": odd["document"].head(WORST).tolist(),
        },
    }  # fmt: skip


def _run_facts(prepared: Any, corpus: Any, seconds: float, facts: dict[str, Any]) -> dict[str, Any]:
    """Sizes, time, memory and what was asked for."""
    from cflengine.engine import peak_bytes

    return {
        "n_documents": len(corpus),
        "n_tokens": prepared.table.n_tokens,
        "n_types": len(prepared.table.vocabulary),
        "n_grams": prepared.index.n_grams,
        "possible_pointers": prepared.index.n_pointers,
        "seconds": seconds,
        "peak_memory_bytes": peak_bytes(),
        "corpus": corpus.report.to_dict(),
    } | facts


def run_report(model: Any, corpus: Any, seconds: float, own: dict[str, Any]) -> dict[str, Any]:
    """What report.json of ``cflengine compress`` says: the result, the corpus, time and memory."""
    result = model.result_
    facts = _run_facts(model.corpus_, corpus, seconds, own)
    how = {"lam": float(model.lam)} | _how(model)
    return result.to_dict() | facts | {"solver_seconds": result.seconds, "compression": how}


def _how(model: Any) -> dict[str, Any]:
    """What is stored and counted, and what that costs beside λ."""
    return {
        "max_gram": int(model.max_gram), "dictionary_cost": model.dictionary_cost, "plain_cost": model.plain_cost,
        "token_pattern": model.token_pattern, "lowercase": model.lowercase,
        "sentence_borders": model.sentence_borders, "weighting": model.weighting, "counting": model.counting,
        "temperature": float(model.temperature), "literal_cost": model.literal_cost,
    }  # fmt: skip


def path_report(path: Any, corpus: Any, seconds: float, own: dict[str, Any]) -> dict[str, Any]:
    """What report.json of ``cflengine path`` says: the result at every λ, the corpus, time and memory."""
    from cflengine.engine import versions

    points = [{"lam": point.lam, **point.result.to_dict()} for point in path.points]
    for point in points:
        del point["versions"], point["digest"]  # all have the same
    facts = _run_facts(path.corpus, corpus, seconds, own)
    facts |= {"digest": path.corpus.digest}
    return {"points": points} | facts | {"compression": _how(path.estimator), "versions": versions()}


def guess_line(comparison: Any, width: int) -> str:
    """What guessing would be right on, beside what a model is. width: of the first word."""
    from cflengine.text import printable

    part = next(name for name in ("test", "dev", "train") if len(getattr(comparison, name)))
    name, share = comparison.guess(getattr(comparison, part))
    return f"{'guessing':<{width}} {part} {100 * share:.1f} % right, by always saying {printable(name)}"
