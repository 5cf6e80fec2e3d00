"""What the app's tests share: warm kernels, a server that has been visited, a board without old jobs, sessions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.caching import clear_session_resource_cache
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, local_script_runner
from visiting import show, solved, sound, until, use

from cflengine import warm_up

ROOT = Path(__file__).resolve().parents[2]

# to Streamlit every AppTest is a new server, which asks all installed packages for components: 0.2 s for nothing
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# and every run of it is one, which compiles the scripts that it runs
local_script_runner.ScriptCache = cache(ScriptCache)


def wait_for_the_script(runner: local_script_runner.LocalScriptRunner, seconds: float) -> None:
    """Until the script has ended; AppTest itself asks a thousand times a second, a sixteenth of all that tests do."""
    runner._script_thread.join(seconds)
    if runner._script_thread.is_alive():
        runner.request_stop()
        raise RuntimeError(f"the script did not end within {seconds} seconds")


local_script_runner.require_widgets_deltas = wait_for_the_script


@pytest.fixture(autouse=True, scope="module")
def own_main() -> Iterator[None]:
    """Streamlit leaves the script that it has run in the place of the main module, where every process that
    multiprocessing starts, as a worker of a cluster, would run it anew: the whole app."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(scope="session")
def warm() -> None:
    """Every kernel compiled, in this process and in the cache on disk that a server reads."""
    warm_up()


@pytest.fixture
def visited(monkeypatch) -> None:
    """AppTest starts every run like a new server; here the server has been visited, as nearly always."""
    begin = PagesManager.__init__

    def begin_visited(self, *arguments, **named):
        begin(self, *arguments, **named)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", begin_visited)


@pytest.fixture
def board() -> Iterator:
    """The server's job board; whatever a test leaves running is stopped."""
    from pages.parts.shared.jobs import BOARD

    yield BOARD
    for job in list(BOARD._jobs.values()):
        job.stop.set()
        until(lambda job=job: not job.active)


@pytest.fixture
def close_tab() -> Callable[[], None]:
    """A function that does what the server does when a tab is closed or a connection lost."""
    return lambda: clear_session_resource_cache("test session id")  # AppTest's, the same for all its sessions


@pytest.fixture
def exploring() -> bool:
    """Whether a corpus is solved as soon as it is chosen; most tests want to say what is solved, and when."""
    return False


@pytest.fixture(scope="session")
def solved_paths() -> dict:
    """What paths of this process's tests have found, by what they depend on."""
    return {}


@pytest.fixture
def remembered(solved_paths, monkeypatch) -> None:
    """A path that a test before has solved is there at once: for tests of what comes after it."""
    from pages.parts.shared.path_run import PathRun

    solve, found = PathRun.solve, ("corpus", "points", "by_homotopy", "stages", "first")

    def solve_once(self, table, listener, *, first=None) -> None:
        key = (*self.texts, self.lams, self.max_gram, self.settings, self.tokens, first)
        if key not in solved_paths:
            solve(self, table, listener, first=first)
            assert len(self.points) == len(self.lams)  # none was stopped
            solved_paths[key] = {name: getattr(self, name) for name in found}
        vars(self).update(solved_paths[key])

    monkeypatch.setattr(PathRun, "solve", solve_once)


@pytest.fixture
def open_app(warm, visited, board, close_tab, exploring, monkeypatch) -> Iterator[Callable[..., AppTest]]:
    """A function: a page and a query to a session of the app that shows that page."""
    monkeypatch.setattr("pages.parts.shared.choosing.EXPLORE", exploring)

    def start(page: str = "corpus", **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        sound(app.run())
        return show(app, page) if page != "corpus" else app

    yield start
    close_tab()


@pytest.fixture
def tiny(open_app) -> AppTest:
    """A session with a small corpus, solved."""
    return solved(use(open_app()))
