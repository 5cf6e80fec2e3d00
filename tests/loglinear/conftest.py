"""Kernels are compiled once, before the first test of this folder; products of small matrices use one thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from cflengine.loglinear.model.problem import ChainData, ChainFeatures, chain_features
from cflengine.loglinear.warm import warm_up
from naive.loglinear import chain_data


@pytest.fixture(scope="session", autouse=True)
def warm_kernels() -> None:
    warm_up()
    warm_up("chain")


@pytest.fixture(scope="module", autouse=True)
def one_blas_thread() -> Iterator[None]:
    with threadpool_limits(limits=1, user_api="blas"):
        yield


@pytest.fixture(scope="session")
def chain() -> tuple[ChainData, ChainFeatures]:
    """Data and features of a small chain."""
    data = chain_data(0)
    return data, chain_features(data, 4)
