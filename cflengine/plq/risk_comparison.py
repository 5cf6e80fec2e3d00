"""A labelled corpus and a loss, from text to a judged model: what the command and the app do, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError
from cflengine.linear.labels import read_labels, read_numbers, read_sensitive, split_documents
from cflengine.linear.model_comparison import PARTS, ModelComparison
from cflengine.plq.constraints import by_column
from cflengine.plq.estimator import PLQClassifier, PLQRegressor
from cflengine.plq.losses import Loss


@dataclass(frozen=True, kw_only=True)
class RiskComparison:
    """Split documents whose target is a class or a number.

    Parameters
    ----------
    comparison : ModelComparison
        Documents, features and split.
    values : ndarray or None, default: None
        float64 (n,), the numbers; None for classes.
    n_unread : int, default: 0
        Values of the column that were no numbers.
    sensitive : ndarray or None, default: None
        float64 (n,), the column of a fairness constraint; None for none.
    """

    comparison: ModelComparison = field(repr=False)
    values: np.ndarray | None = field(repr=False, default=None)
    n_unread: int = 0
    sensitive: np.ndarray | None = field(repr=False, default=None)

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        metadata: pd.DataFrame,
        column: str,
        features: Any,
        *,
        numbers: bool,
        classes: Sequence[str] | None = None,
        dev: str | float | None = None,
        test: str | float | None = None,
        random_state: int = 0,
        sensitive: str | None = None,
    ) -> RiskComparison:
        """Split the documents that have a target, and learn features from those for training.

        features: a scikit-learn pipeline from texts to a matrix; numbers: whether the target is a number; classes:
        the classes, None for all; sensitive: a column. Raises ValueError for columns that are not there or hold
        something else, and for documents without a value of the sensitive one.
        """
        found = read_numbers(metadata, column) if numbers else None
        labels = read_labels(metadata, column, classes) if found is None else found.stratum
        split = split_documents(labels, metadata, dev=dev, test=test, random_state=random_state)
        comparison = ModelComparison.of(texts, labels, split, features)
        values = None if found is None else found.y[comparison.documents]
        g = None
        if sensitive is not None:
            g = read_sensitive(metadata, sensitive)[comparison.documents]
            if np.isnan(g[comparison.train]).any():
                missing = int(np.isnan(g[comparison.train]).sum())
                raise InputError(f"{missing:,} training documents have no value in the column {sensitive!r}.")
        return cls(comparison=comparison, values=values, n_unread=found.n_unread if found else 0, sensitive=g)

    @property
    def target(self) -> np.ndarray:
        """(n,): the documents' classes, as names, or their numbers."""
        return self.comparison.classes[self.comparison.y] if self.values is None else self.values

    def estimator(self, loss: str | Loss, **parameters: Any) -> PLQClassifier | PLQRegressor:
        """A classifier or a regressor, as the target is; constraints may name features (:func:`by_column`)."""
        given = parameters.pop("constraints", ())
        constraints = [by_column(one, self.comparison.names) for one in given]
        kind = PLQClassifier if self.values is None else PLQRegressor
        return kind(loss, constraints=constraints, **parameters)

    def fit(self, model: Any) -> Any:
        """Fitted to the training documents."""
        X, y, sensitive = self._training()
        return model.fit(X, y, sensitive=sensitive)

    def path(self, model: Any, Cs: Iterable[float]) -> list[Any]:
        """Fitted at every C, smallest first."""
        X, y, sensitive = self._training()
        return model.path(X, y, Cs, sensitive=sensitive)

    def _training(self) -> tuple[Any, np.ndarray, np.ndarray | None]:
        where = self.comparison.train
        sensitive = None if self.sensitive is None else self.sensitive[where]
        return self.comparison.X[where], self.target[where], sensitive

    def judge(self, model: Any) -> dict[str, float]:
        """What the model is worth on every part that has documents: the share that is right, or the mean loss."""
        predicted = model.predict(self.comparison.X)
        return {
            part: self._worth(model, predicted, getattr(self.comparison, part))
            for part in PARTS
            if len(getattr(self.comparison, part))
        }

    def _worth(self, model: Any, predicted: np.ndarray, where: np.ndarray) -> float:
        if self.values is None:
            return float(np.mean(predicted[where] == self.target[where]))
        return float(model.loss_.parts.value(predicted[where] - self.values[where]).mean())

    def best(self, path: pd.DataFrame) -> int:
        """Which model of a path (:meth:`path_frame`) to keep: the best on the development documents, of equal ones the
        most regularised. Raises ValueError without development documents."""
        if "dev" not in path:
            raise InputError("choosing C needs development documents.")
        return int(np.argmax(path["dev"] if self.values is None else -path["dev"]))

    def path_frame(self, models: Sequence[Any]) -> pd.DataFrame:
        """A row a C: what it is worth by part, objective, bound, gap, features with a weight, passes, seconds."""
        rows = []
        for model in models:
            row: dict[str, Any] = {"C": model.C} | self.judge(model)
            row["objective"] = sum(result.objective for result in model.results_)
            row["lower_bound"] = sum(result.lower_bound for result in model.results_)
            row["gap"], row["violation"] = model.duality_gap_, model.violation_
            row["features"] = int(np.count_nonzero(np.atleast_2d(model.coef_).any(axis=0)))
            row["passes"] = sum(result.n_passes for result in model.results_)
            rows.append(row | {"seconds": sum(result.seconds for result in model.results_)})
        return pd.DataFrame(rows)
