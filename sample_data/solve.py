"""Solve the sample once and for all: ``python -m sample_data.solve`` writes ``reviews.path`` and ``reviews.stages``.

The app opens with this result, checked against ``reviews.csv`` and certified anew, while the engine may still be
compiling. The solver is deterministic: the same version writes the same pointers.
"""

from __future__ import annotations

from pathlib import Path

from cflengine import CompressiveFeatures, GuidedSettings, HomotopySettings, read_corpus
from cflengine.compression import (
    CompressionSession,
    RelaySettings,
    solve_path,
    solve_relay,
    write_lambda_path,
    write_stages,
)
from cflengine.text import plain_tokens

HERE = Path(__file__).resolve().parent
LAMS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
MAX_GRAM, FILM_LAM = 3, 1.0


def main() -> None:
    """Solve for every λ, once by the homotopy as the app runs it, and write the files."""
    corpus = read_corpus(HERE / "reviews.csv", text_column="text")
    session = CompressionSession(CompressiveFeatures(max_gram=MAX_GRAM), plain_tokens(corpus.texts))
    estimator = session.estimator
    points = solve_path(
        session.corpus.index, LAMS, GuidedSettings(tol=0.0), costs_at=estimator.costs_at, solver=session.solver
    )
    write_lambda_path(HERE / "reviews.path", session.corpus, points)
    settings = RelaySettings(homotopy=HomotopySettings(keep_stages=True, relaxation_gap=1e-3))
    costs = estimator.costs_at(FILM_LAM)
    film = solve_relay(session.corpus.index, costs, settings, lam=FILM_LAM)
    write_stages(HERE / "reviews.stages", session.corpus, FILM_LAM, film.stages)
    print(points.frame().drop(columns=["reason", "seconds"]).to_string(index=False))


if __name__ == "__main__":
    main()
