"""Shards on a Dask cluster: the same answer, whatever becomes of the workers."""

from __future__ import annotations

import gc
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cflengine import GuidedSettings, ShardedSettings
from cflengine.compression.shards import cluster as clusters
from cflengine.compression.shards import on_worker, solver
from cflengine.compression.shards.cluster import OnCluster
from cflengine.compression.shards.resting import Resting
from cflengine.compression.shards.solver import solve_sharded
from cflengine.compression.solvers import memory
from cflengine.engine import MemoryLimitError, Watch
from cflengine.engine import cluster as engine_cluster
from cflengine.engine import memory as engine_memory
from cflengine.engine.checks import InputError, MissingPackageError
from cflengine.engine.cluster import (
    ClusterLostError,
    __version__,
    check_workers,
    connected,
    local_cluster,
    usable_workers,
)
from naive.corpora import costs_of, index_of, repeated_phrases

distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

INDEX = index_of(repeated_phrases(7, 90, 4))
SETTINGS = ShardedSettings(
    tol=0.0, shards=3, in_memory=True,
    guided=GuidedSettings(annealings=1, relaxation_iterations=10, anneal_rounds=2, patience=1),
)  # fmt: skip


@pytest.fixture(scope="module")
def two_workers():
    """They come back when they are killed, also where Dask would give them up before they can have begun anew."""
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "0.1s"}), local_cluster(2) as started:
        yield started


@pytest.fixture
def cluster(two_workers):
    """Both, also after a test that has killed one."""
    two_workers.wait_for_workers(2, timeout=60)
    return two_workers


@pytest.fixture(scope="module")
def expected():
    return solve_sharded(INDEX, costs_of(INDEX), SETTINGS)


def solve(cluster, **others):
    settings = replace(SETTINGS, cluster=cluster.scheduler_address)
    return solve_sharded(INDEX, costs_of(INDEX), settings, **others)


def check_same(first, second):
    numbers = ("objective", "lower_bound", "gap", "n_iterations", "reason")
    assert {name: getattr(first, name) for name in numbers} == {name: getattr(second, name) for name in numbers}
    for name in ("cover", "alpha", "dictionary"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_a_cluster_answers_as_this_process_does(cluster, expected):
    check_same(solve(cluster), expected)
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        held = client.run(lambda: len(__import__("cflengine.compression.shards.on_worker", fromlist=["x"])._held))
    assert set(held.values()) == {0}  # the workers have forgotten the shards


@pytest.mark.parametrize(("n_killed", "copies"), [(1, True), (2, False)], ids=["one", "all"])
def test_workers_that_are_killed_change_nothing(cluster, expected, monkeypatch, n_killed, copies):
    """Their processes, in mid-run: the other takes over, or they come back; with copies of shards that were taken on
    the way, and from the beginning."""
    if copies:
        monkeypatch.setattr(clusters, "_COPY_AFTER_S", 0.0)
    killed = []

    def kill(stats) -> None:
        if stats.stage == "annealing" and not killed:
            killed.extend([worker.pid for worker in cluster.workers.values()][:n_killed])
            for process in killed:
                os.kill(process, signal.SIGKILL)

    result = solve(cluster, listeners=[kill])
    assert len(killed) == n_killed
    check_same(result, expected)


def test_a_worker_lost_while_its_shard_is_copied(cluster, expected, monkeypatch):
    monkeypatch.setattr(clusters, "_COPY_AFTER_S", 0.0)
    task, killed = OnCluster._task, []

    def kill_first(self, worker, function, *arguments):
        if function is on_worker.state and not killed:
            killed.extend(one.pid for one in cluster.workers.values())
            for process in killed:
                os.kill(process, signal.SIGKILL)
        return task(self, worker, function, *arguments)

    monkeypatch.setattr(OnCluster, "_task", kill_first)
    check_same(solve(cluster), expected)
    assert len(killed) == 2


def test_a_copy_that_finds_a_full_disk_leaves_the_last_one_whole(cluster, expected, monkeypatch):
    monkeypatch.setattr(clusters, "_COPY_AFTER_S", 0.0)
    put, tried = Resting.put, []

    def full(self, thing):
        if self.path.suffix == ".b":
            self.path.write_bytes(b"half of it")
            tried.append(self.path)
            raise InputError("the disk is full.")
        put(self, thing)

    monkeypatch.setattr(Resting, "put", full)
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        forgotten = []

        def forget(stats) -> None:
            if stats.stage == "annealing" and not forgotten and tried:
                forgotten.extend(client.run(lambda: on_worker._held.clear()))

        check_same(solve(cluster, listeners=[forget]), expected)
    assert forgotten and not any(path.exists() for path in tried)


def test_a_worker_that_has_forgotten_its_shards_is_given_them_again(cluster, expected):
    """As another process at the address of the one that held them has."""
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        forgotten = []

        def forget(stats) -> None:
            if stats.stage == "annealing" and not forgotten:
                forgotten.extend(client.run(lambda: on_worker._held.clear()))

        result = solve(cluster, listeners=[forget])
    assert len(forgotten) == 2
    check_same(result, expected)


def test_a_run_on_a_cluster_can_be_stopped(cluster):
    result = solve(cluster, listeners=[lambda stats: stats.iteration < 30])
    assert result.reason == "interrupted" and result.certificate.covered and result.lower_bound > 0
    settings = replace(SETTINGS, cluster=cluster.scheduler_address, time_limit=1e-6)
    assert solve_sharded(INDEX, costs_of(INDEX), settings).reason == "time limit"


def test_a_scheduler_that_does_not_answer_is_one_sentence(monkeypatch):
    monkeypatch.setattr(engine_cluster, "CONNECT_S", 0.5)
    with (
        pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_cluster_without_workers_is_one_sentence(monkeypatch):
    monkeypatch.setattr(engine_cluster, "WORKERS_S", 0.2)
    with (
        local_cluster(0) as empty,
        distributed.Client(empty, set_as_default=False) as client,
        pytest.raises(InputError, match="no workers"),
    ):
        check_workers(client)


def client_of(versions, scheduler=__version__):
    """A client whose workers answer so, and whose scheduler, or raises so."""

    def run_on_scheduler(function):
        if isinstance(scheduler, Exception):
            raise scheduler
        return scheduler

    return SimpleNamespace(
        wait_for_workers=lambda *_, **__: None, run=lambda *_, **__: versions, run_on_scheduler=run_on_scheduler
    )


def test_workers_that_come_back_are_waited_for():
    """The scheduler lists a lost one for a while, then none, before the next is there."""
    answers = iter([{"tcp://a:1": OSError("it is lost")}, {}, {}, {"tcp://b:1": __version__}])
    client = SimpleNamespace(wait_for_workers=lambda *_, **__: None, run=lambda *_, **__: next(answers))
    assert usable_workers(client) == ["tcp://b:1"]


def test_workers_of_another_version_get_no_shard(monkeypatch):
    """Also those that come later."""
    monkeypatch.setattr(engine_cluster, "WORKERS_S", 0.2)
    client = client_of({"tcp://b:1": "0.0.1", "tcp://a:1": __version__, "tcp://c:1": OSError("lost meanwhile")})
    assert usable_workers(client) == ["tcp://a:1"]
    with pytest.raises(InputError, match=r"worker tcp://b:1 has cflengine 0.0.1"):
        usable_workers(client_of({"tcp://b:1": "0.0.1"}))
    with pytest.raises(ClusterLostError, match="lost all of its workers"):
        usable_workers(client_of({}))
    with pytest.raises(ClusterLostError, match="lost all of its workers"):
        usable_workers(client_of({"tcp://c:1": OSError("lost meanwhile")}))


def test_workers_of_another_version_are_refused():
    client = client_of({"tcp://a:1": "0.0.1"})
    with pytest.raises(
        InputError, match=r"worker tcp://a:1 has cflengine 0.0.1, but this is .*: they must be the same"
    ):
        check_workers(client)


def test_workers_without_the_package_are_refused():
    with pytest.raises(InputError, match="install it there, too"):
        check_workers(client_of({"tcp://a:1": ModuleNotFoundError("No module named 'cflengine'")}))
    with pytest.raises(InputError, match=r"cannot run cflengine .*RuntimeError: of some other kind"):
        check_workers(client_of({"tcp://b:1": __version__, "tcp://a:1": RuntimeError("of some other kind")}))


def test_a_scheduler_without_the_package_is_refused():
    """It reads what it hands on."""
    with pytest.raises(InputError, match=r"the scheduler cannot run cflengine .*install it there, too"):
        check_workers(client_of({"tcp://a:1": __version__}, ModuleNotFoundError("No module named 'cflengine'")))
    with pytest.raises(InputError, match=r"the scheduler has cflengine 0.0.1, but this is"):
        check_workers(client_of({"tcp://a:1": __version__}, "0.0.1"))
    check_workers(client_of({"tcp://a:1": __version__}))


def test_a_client_that_is_gone_leaves_nothing_on_workers(cluster, tmp_path):
    """It has not let its workers forget their shards; its connection ends."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    shards = solver._shards(INDEX, costs_of(INDEX), np.array([0, 3, INDEX.n_documents]), Watch())
    client = distributed.Client(cluster.scheduler_address, set_as_default=False)
    executor = OnCluster(client, shards, tmp_path, scratch)
    assert executor.handed_out > 0 and list(scratch.iterdir())
    # what is wanted is no more than that they are held: neither the scheduler nor a worker keeps a shard in memory
    names, until = ["hold"], time.monotonic() + 30
    while any(name.startswith("hold") for name in names) and time.monotonic() < until:
        names = client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks])
    assert len(names) == 2 and all(name.startswith("held") for name in names)
    client.close()
    while list(scratch.iterdir()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not list(scratch.iterdir())
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as other:
        assert not any(other.run(lambda: len(on_worker._held)).values())


def test_a_shard_that_was_taken_anew_is_not_let_go(tmp_path):
    on_worker.hold("a", 0, np.arange(3), str(tmp_path))
    first = on_worker.held("a", 0)
    on_worker.hold("a", 0, np.arange(4), str(tmp_path))
    second = on_worker.held("a", 0)
    del first
    gc.collect()
    assert len(on_worker.state("a", 0)) == 4
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(second)
    del second
    gc.collect()
    with pytest.raises(on_worker.NotHeldError):
        on_worker.state("a", 0)
    assert not list(tmp_path.iterdir())


def test_a_scheduler_that_goes_away_is_one_sentence(tmp_path):
    """In the middle of the work, in a process that is killed."""
    logged = []
    handler = logging.Handler()
    handler.emit = logged.append
    logging.getLogger("distributed.client").addHandler(handler)
    begin = "from distributed.cli.dask_scheduler import main; main()"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file"]
    file = tmp_path / "scheduler.json"
    scheduler = subprocess.Popen([sys.executable, "-c", begin, *options, str(file)], stderr=subprocess.DEVNULL)
    try:
        address = ""
        while not address and scheduler.poll() is None:
            with suppress(OSError, ValueError):  # it is not there yet, or not whole
                address = json.loads(file.read_text())["address"]
            time.sleep(0.05)
        with pytest.raises(ClusterLostError, match=f"scheduler at {address} is gone"), connected(address) as client:
            future = client.submit(sum, [1])  # there is no worker for it
            scheduler.kill()
            future.result()
    finally:
        scheduler.kill()
        scheduler.wait(30)
        logging.getLogger("distributed.client").removeHandler(handler)
    assert not logged


def test_the_folders_of_workers_are_where_they_are_asked_to_be_and_go_with_the_next(tmp_path):
    shard = np.arange(3)
    on_worker.hold("a", 0, shard, str(tmp_path))
    (folder,) = tmp_path.iterdir()
    on_worker.hold("b", 0, shard, str(tmp_path))
    assert folder.exists()  # its run is at work
    on_worker.drop("b")
    on_worker._folders.pop("a")[0].pop_all()  # as if the process was killed: its lock is gone, but not its folder
    del on_worker._held["a", 0]
    gc.collect()
    on_worker.hold("c", 0, shard, str(tmp_path))
    on_worker.drop("c")
    assert not list(tmp_path.iterdir())


def test_what_goes_wrong_on_a_worker_is_said(cluster, tmp_path):
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        executor = OnCluster(client, [np.arange(3)], tmp_path)
        assert executor.each("sum") == [3]
        with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
            executor.each("frobnicate")
        executor.close()


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingPackageError, match=r"cflengine\[cluster\]"), connected("local"):
        pass


@pytest.mark.parametrize("wrong", ["here", "", 8786, "http://a:1", "tcp:// a", "tcp://a", "tcp:/127.0.0.1:1"])
def test_addresses_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match="cluster must be 'local' or an address"):
        ShardedSettings(cluster=wrong)
    with pytest.raises(ValueError, match="cluster must be 'local' or an address"), connected(wrong):
        pass


def test_a_cluster_is_not_for_one_shard():
    with pytest.raises(ValueError, match="two shards or more"):
        ShardedSettings(cluster="local", shards=1)


def test_the_workers_of_this_machine_count_in_what_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(memory, "require_bytes", lambda needed, *_: asked.append(needed))
    for cluster in (None, "tcp://a:1", "local"):
        memory.require_memory(10**6, 3, 1000, "sharded", ShardedSettings(shards=8, cluster=cluster))
    assert asked[0] == asked[1] and asked[2] > asked[0] + min(8, os.cpu_count()) * memory._WORKER


def test_what_would_fit_is_said(monkeypatch):
    def refusal(name: str, settings) -> str:
        with pytest.raises(MemoryLimitError) as refused:
            memory.require_memory(100_000_000, 3, 1000, name, settings)
        return str(refused.value)

    monkeypatch.setattr(engine_memory, "available_bytes", lambda: 6 << 30)
    said = refusal("guided", GuidedSettings())
    share = float(said.split("take ")[1].split(" %")[0]) / 100
    assert 0 < share < 1
    memory.require_memory(int(share * 100_000_000), 3, 1000, "guided", GuidedSettings())
    shards = int(refusal("sharded", ShardedSettings(shards=2)).split("--shards ")[1].split(")")[0])
    memory.require_memory(100_000_000, 3, 1000, "sharded", ShardedSettings(shards=shards))
    local = refusal("sharded", ShardedSettings(shards=shards, cluster="local"))
    assert "without --cluster" in local


def test_a_disk_that_is_full_while_shards_are_handed_out_leaves_none_on_workers(cluster, tmp_path):
    def shards():
        yield next(solver._shards(INDEX, costs_of(INDEX), np.array([0, 3, INDEX.n_documents]), Watch()))
        raise OSError(28, "No space left on device")

    with distributed.Client(cluster, set_as_default=False) as client:
        with pytest.raises(OSError, match="No space left"):
            OnCluster(client, shards(), tmp_path)
        assert not any(client.run(lambda: len(on_worker._held)).values())


INTERRUPTED = """
import signal, sys
from cflengine.engine.cluster import connected
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
with connected("local") as client:
    print("ready", flush=True)
    sys.stdin.readline()
    print(client.submit(lambda: 7).result(timeout=20), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="groups of processes are POSIX's")
def test_a_terminals_interrupt_ends_no_worker_of_this_machine():
    """It goes to the whole group of processes; the workers have the answers."""
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    time.sleep(0.5)
    said, wrong = process.communicate("\n", timeout=60)
    assert said == "7\n" and process.returncode == 0, wrong


def test_more_pointers_than_can_be_numbered_are_refused_before_work(monkeypatch):
    """However many shards there are, and much memory."""
    monkeypatch.setattr(memory, "fits", lambda needed: True)
    assert memory.enough_shards(700_000_000, 3, 1000) is not None
    assert memory.enough_shards(800_000_000, 3, 1000) is None
    with pytest.raises(InputError, match=r"more than 2\^31 pointers: take a smaller K or fewer documents"):
        memory.require_memory(800_000_000, 3, 1000, "sharded", ShardedSettings(shards=64))
