"""Kernels are compiled once, before the first test of this folder; products of small matrices use one thread."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from cflengine.sentence_lasso.warm import warm_up


@pytest.fixture(scope="session", autouse=True)
def warm_kernels() -> None:
    if not {"NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"} & set(os.environ):  # there only what a test needs
        warm_up("majorise", "admm")


@pytest.fixture(scope="module", autouse=True)
def one_blas_thread() -> Iterator[None]:
    with threadpool_limits(limits=1, user_api="blas"):
        yield
