"""A gate on quality: on the sample, every solver's objective, proved gap and steps stay near those of a stored run.

``python tests/test_quality.py`` writes ``baselines.json`` anew, after a change that is meant.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from cflengine import (
    ADMMSettings,
    ChainCRF,
    CompressiveFeatures,
    GuidedSettings,
    HomotopySettings,
    LogisticClassifier,
    PenalisedClassifier,
    PLQClassifier,
    PLQRegressor,
    RelaySettings,
    ReweightingSettings,
    SentenceLassoClassifier,
    ShardedSettings,
    SubwordTokenizer,
    read_input,
)
from cflengine.engine import sample_file
from cflengine.text import read_columns

BASELINES = Path(__file__).with_name("baselines.json")
#: what is let pass: relative to the stored objective, times the others; no gap is held to less than rounding
MORE_COST, MORE_GAP, MORE_STEPS, ROUNDING = 3e-4, 1.5, 1.3, 1e-9


@cache
def reviews() -> tuple[list[str], np.ndarray, np.ndarray, Any]:
    """Texts, sentiment, overall rating and word counts of the first 400."""
    corpus = read_input("sample", text_column="text", limit=400)
    texts, metadata = list(corpus.texts), corpus.metadata
    counts = CountVectorizer(min_df=3).fit_transform(texts).astype(np.float64)
    return texts, metadata["sentiment"].to_numpy(), metadata["overall"].to_numpy(float), counts


@cache
def tagged() -> tuple[list[Any], list[Any]]:
    sentences = list(read_columns(sample_file("tagged.conll")))[:150]
    attributes = [[[f"w={row[0]}", f"p={row[1]}"] for row in one] for one in sentences]
    return attributes, [[row[-1] for row in one] for one in sentences]


def grams(settings: Any, solver: str, lam: float = 1.0, max_gram: int = 3) -> Any:
    return CompressiveFeatures(lam, max_gram, solver, settings=settings).fit(reviews()[0]).result_


def classified(model: Any) -> Any:
    return model.fit(reviews()[3], reviews()[1]).result_


def by_admm() -> Any:
    settings = ADMMSettings(max_iter=1000)
    return SentenceLassoClassifier(0.03, 0.1, solver="admm", settings=settings).fit(*reviews()[:2]).result_


def exactly() -> Any:
    return CompressiveFeatures(solver="exact").fit(reviews()[0][:12]).result_


CASES: dict[str, Callable[[], Any]] = {
    "guided": lambda: grams(GuidedSettings(tol=0.0, branching=False), "guided"),  # all of its phases
    "guided, λ 0.2, K 5": lambda: grams(GuidedSettings(tol=0.0, branching=False), "guided", 0.2, 5),
    "guided, trees": lambda: grams(GuidedSettings(tol=0.0, annealings=1), "guided"),
    "exact": exactly,
    "sharded": lambda: grams(ShardedSettings(tol=0.0, shards=3, in_memory=True), "sharded"),
    "homotopy": lambda: grams(HomotopySettings(), "homotopy"),
    "reweighting": lambda: grams(ReweightingSettings(rounds=4), "reweighting"),
    "relay": lambda: grams(RelaySettings(tol=1.2e-3), "relay"),
    "sentence lasso": lambda: SentenceLassoClassifier(0.003, 0.01).fit(*reviews()[:2]).result_,
    "sentence lasso, ADMM": by_admm,
    "elastic net": lambda: classified(PenalisedClassifier("elastic", l1=0.01, l2=0.01)),
    "lasso": lambda: classified(PenalisedClassifier("lasso", l1=0.01)),
    "ridge": lambda: classified(PenalisedClassifier("ridge", l2=0.01)),
    "logistic, L-BFGS": lambda: classified(LogisticClassifier(solver="lbfgs")),
    "logistic, clustered": lambda: classified(LogisticClassifier(solver="clustered")),
    "logistic, Newton": lambda: classified(LogisticClassifier(solver="newton-cg")),
    "logistic, dual": lambda: classified(LogisticClassifier(solver="dual")),
    "logistic, OWL-QN": lambda: classified(LogisticClassifier(solver="lbfgs", l1_ratio=0.5)),
    "chain": lambda: ChainCRF(tol=1e-5).fit(*tagged()).result_,
    "chain, clustered": lambda: ChainCRF(tol=1e-5, solver="clustered").fit(*tagged()).result_,
    "hinge": lambda: classified(PLQClassifier("hinge")),
    "quantile": lambda: PLQRegressor("quantile:0.9").fit(reviews()[3], reviews()[2]).result_,
    "tokenizer": lambda: SubwordTokenizer(400).fit(reviews()[0][:60]).result_,
}  # fmt: skip


def figures(result: Any) -> dict[str, float]:
    return {"objective": float(result.objective), "gap": float(result.gap), "steps": int(result.n_iterations)}


@pytest.mark.parametrize("name", CASES)
def test_a_solver_is_as_good_as_it_was(name):
    stored, found = json.loads(BASELINES.read_text(encoding="utf-8"))[name], figures(CASES[name]())
    assert found["objective"] <= stored["objective"] * (1 + MORE_COST) + 1e-9
    assert found["gap"] <= MORE_GAP * stored["gap"] + ROUNDING
    assert found["steps"] <= MORE_STEPS * stored["steps"] + 2


def test_every_case_is_stored():
    assert set(json.loads(BASELINES.read_text(encoding="utf-8"))) == set(CASES)


if __name__ == "__main__":
    BASELINES.write_text(
        json.dumps({name: figures(solve()) for name, solve in CASES.items()}, indent=1) + "\n", "utf-8"
    )
