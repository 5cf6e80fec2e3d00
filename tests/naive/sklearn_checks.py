"""What the estimators are excused from of scikit-learn's own checks, and why."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone, is_classifier
from sklearn.utils import estimator_checks, get_tags

#: Two fits of one problem given in other words (weights for repeated rows) are equal to the gap asked for, not to the
#: last digit, which is what scikit-learn compares; LinearSVC is excused from it too.
TO_THE_GAP = {
    "check_sample_weight_equivalence_on_dense_data": "equal to tol",
    "check_sample_weight_equivalence_on_sparse_data": "equal to tol",
}

#: Weights of the classes cannot move a border that must go through 0; LogisticRegression fails this then, too.
NO_INTERCEPT = {"check_class_weight_classifiers": "there is no intercept"}


def check_scores(estimator: Any, *, poor: bool) -> None:
    """The checks of scikit-learn's that depend on how well a model predicts, and on how far it came; poor: whether it
    is to say that it need not predict well."""
    tags, name = get_tags(estimator), type(estimator).__name__
    assert (tags.classifier_tags or tags.regressor_tags).poor_score == poor
    of = (
        estimator_checks.check_classifiers_train
        if is_classifier(estimator)
        else estimator_checks.check_regressors_train
    )
    of(name, clone(estimator))
    estimator_checks.check_non_transformer_estimators_n_iter(name, clone(estimator))
