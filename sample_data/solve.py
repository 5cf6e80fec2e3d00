"""Solve the sample once and for all: ``python -m sample_data.solve`` writes ``reviews.path``.

The app opens with this result, checked against ``reviews.csv`` and certified anew, while the engine may still be
compiling. The solver is deterministic: the same version writes the same pointers.
"""

from __future__ import annotations

from pathlib import Path

from cflengine import CompressiveFeatures, GuidedSettings, read_corpus
from cflengine.compression import CompressionSession, solve_path, write_lambda_path
from cflengine.text import plain_tokens

HERE = Path(__file__).resolve().parent
LAMS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
MAX_GRAM = 3


def main() -> None:
    """Solve for every λ and write the file."""
    corpus = read_corpus(HERE / "reviews.csv", text_column="text")
    session = CompressionSession(CompressiveFeatures(max_gram=MAX_GRAM), plain_tokens(corpus.texts))
    estimator = session.estimator
    points = solve_path(
        session.corpus.index, LAMS, GuidedSettings(tol=0.0), costs_at=estimator.costs_at, solver=session.solver
    )
    write_lambda_path(HERE / "reviews.path", session.corpus, points)
    print(points.frame().drop(columns=["reason", "seconds"]).to_string(index=False))


if __name__ == "__main__":
    main()
