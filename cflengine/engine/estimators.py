"""What the rooms' scikit-learn estimators share."""

from __future__ import annotations

from typing import Any


def clone_sharing_listeners(estimator: Any) -> Any:
    """A copy without what was fitted; ``listeners`` are shared, since few of them survive being copied."""
    from sklearn.base import clone

    settings = estimator.get_params(deep=False)
    copies = {name: value if name == "listeners" else clone(value, safe=False) for name, value in settings.items()}
    return type(estimator)(**copies)
