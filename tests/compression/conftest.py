"""Kernels are compiled once, before the first test of this folder."""

from __future__ import annotations

import os

import pytest

import cflengine


@pytest.fixture(scope="session", autouse=True)
def warm_kernels() -> None:
    if not {"NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"} & set(os.environ):  # there only what a test needs
        cflengine.warm_up()
