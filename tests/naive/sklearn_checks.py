"""What the estimators are excused from of scikit-learn's own checks, and why."""

from __future__ import annotations

#: Two fits of one problem given in other words (weights for repeated rows) are equal to the gap asked for, not to the
#: last digit, which is what scikit-learn compares; LinearSVC is excused from it too.
TO_THE_GAP = {
    "check_sample_weight_equivalence_on_dense_data": "equal to tol",
    "check_sample_weight_equivalence_on_sparse_data": "equal to tol",
}

#: Weights of the classes cannot move a border that must go through 0; LogisticRegression fails this then, too.
NO_INTERCEPT = {"check_class_weight_classifiers": "there is no intercept"}
