"""The thread setting holds for a block and is put back, whatever happens in it."""

from __future__ import annotations

import numba
import pytest

from cflengine.engine.jit import FEW_ENTRIES, one_blas_thread, thread_count, threads

MOST = numba.config.NUMBA_NUM_THREADS


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", 2.0, [1]])
def test_what_is_not_a_positive_integer_raises(wrong):
    before = thread_count()
    with pytest.raises(ValueError, match="n_threads"), threads(wrong):
        pytest.fail("the block ran")
    assert thread_count() == before


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (None, MOST), (10_000, MOST)])
def test_block_runs_with_as_many_as_asked_and_there_are(asked, given):
    before = thread_count()
    with threads(asked) as count:
        assert count == given == thread_count()
    assert thread_count() == before


def test_setting_is_put_back_after_an_exception():
    with threads(1):
        with pytest.raises(KeyError), threads(None):
            raise KeyError
        assert thread_count() == 1


def test_two_threads_may_want_a_single_one_of_blas():
    """The second enters before the first leaves; when both have left, the setting is as it was."""
    from threadpoolctl import threadpool_info

    def counts():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with one_blas_thread():
        pass  # every library is loaded
    before = counts()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(counts()) == {1}
    second.__exit__(None, None, None)
    assert counts() == before


@pytest.mark.parametrize(("asked", "entries", "given"), [
    (None, FEW_ENTRIES - 1, 1), (None, FEW_ENTRIES, MOST), (2, 1, min(2, MOST)), (None, None, MOST),
])  # fmt: skip
def test_little_work_is_for_one_thread_unless_more_are_asked_for(asked, entries, given):
    with threads(asked, entries) as count:
        assert count == given == thread_count()
