"""Kernels are compiled once, before the first test of this folder."""

from __future__ import annotations

import pytest

import cflengine


@pytest.fixture(scope="session", autouse=True)
def warm_kernels() -> None:
    cflengine.warm_up()
