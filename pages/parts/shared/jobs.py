"""Solves in the background: one worker, a registry that outlives page runs, a route that pushes the trace. Reading has
threads of its own.

The worker thread calls no ``st.*``; it appends rows to its job, and a page takes a copy. One worker, since a solve
takes all cores; its first work is to compile the engine. Other sessions' jobs wait, and are told so; but for what the
app began by itself, which lets them pass at each of its events, as every job does short questions
(:meth:`JobBoard.let_pass`). A job whose page
has gone (closed tab, lost browser) is stopped after a grace period long enough for a reload to find it again by the job
id in its address.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from cflengine import IterationStats
from cflengine.compression import FINISHED
from cflengine.engine import Watch, held_memory
from pages.parts.components.live_chart import sse_done, sse_rows
from pages.parts.components.static_routes import site_url
from pages.parts.shared.words import many

_log = logging.getLogger(__name__)

QUEUED, RUNNING, DONE, FAILED = "queued", "running", "done", "failed"
GRACE_S = 6.0  # after a tab is gone: longer than a reload takes
STOPPING_S = 0.7  # a Stop is waited for: mostly the page that follows it shows the result
SILENCE_S = 150.0  # without any sign of a browser; tabs in the background are slowed to a tick a minute
KEEP_JOBS, KEEP_BYTES = 12, 1 << 30  # finished results kept beside those that open tabs show
KEEP_ROWS = 4_000  # of a trace, before it gets coarser
TRACE_PATH = "/cfl/trace"
_SOLVER = "solver"  # how the worker thread's name begins


@dataclass
class Job:
    """A piece of solver work and what it has shown so far. Fields are written by the worker alone, but for
    ``stop``, and for the state of one that is stopped while it waits."""

    label: str
    key: tuple[Any, ...]
    work: Callable[[Job], Any] | None = field(repr=False)  # None once it is done: it refers to corpora
    solver: str = ""
    gives_way: bool = False  # of work that the app began: at events, lets others pass
    between: Callable[[], object] | None = field(default=None, repr=False)  # what is done at its events, by the board
    passing: bool = False  # of no interest once it is done: forgotten before any other
    beside: bool = False  # in a thread of its own, beside the solver's queue
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = QUEUED
    rows: list[dict[str, Any]] = field(default_factory=list, repr=False)
    n_events: int = 0
    so_far: Any = field(default=None, repr=False)  # what pages may look at before the result is there
    result: Any = field(default=None, repr=False)
    error: str = ""
    held: dict[int, int] = field(default_factory=dict, repr=False)  # bytes of what is above, by the id of what has them
    last_seen: float = field(default_factory=time.monotonic)
    began: float | None = None  # time.monotonic
    orphaned_at: float | None = None
    stop: threading.Event = field(default_factory=threading.Event, repr=False)
    ended: threading.Event = field(default_factory=threading.Event, repr=False)
    turn: threading.Lock = field(default_factory=threading.Lock, repr=False)  # held while it begins, or ends unbegun

    def begin(self) -> bool:
        """Whether it is to run, now that its turn has come."""
        with self.turn:
            if self.state == QUEUED and not self.poll():
                self.error, self.state = "Stopped before it began.", FAILED
            elif self.state == QUEUED:
                self.state, self.began = RUNNING, time.monotonic()
            return self.state == RUNNING

    def end(self) -> None:
        """Ask it to stop: if it waits, it ends now; if it is running, wait a moment until it has."""
        self.stop.set()
        if self.state == QUEUED and not self.begin():
            self.ended.set()
        if self.state == RUNNING:
            self.ended.wait(STOPPING_S)

    def weigh(self) -> None:
        """Look anew at what is held."""
        self.held = held_memory(self.result, self.so_far, self.rows)

    @property
    def active(self) -> bool:
        return self.state in (QUEUED, RUNNING)

    def touch(self) -> None:
        """A browser is looking."""
        self.last_seen = time.monotonic()
        self.orphaned_at = None

    def poll(self) -> bool:
        """Whether to go on (asked by the solver between chunks of work)."""
        now = time.monotonic()
        if self.orphaned_at is not None and now - self.orphaned_at > GRACE_S:
            self.stop.set()
        if now - self.last_seen > SILENCE_S:
            self.stop.set()
        return not self.stop.is_set()

    def note(self, row: dict[str, Any]) -> None:
        """An event for the chart. All of the first KEEP_ROWS are kept; of as many rows after them every second event
        is, then every fourth, and so on, and every one in which a phase begins: a trace of hours has a length, too."""
        every = 1 << (len(self.rows) // KEEP_ROWS)
        self.n_events += 1
        if self.n_events % every == 0 or row.get("phase") != self.rows[-1].get("phase"):
            self.rows.append(row)

    def __call__(self, stats: IterationStats) -> bool:
        """The solver's listener."""
        self.note(trace_row(stats))
        return self.step()

    def step(self) -> bool:
        """At an event, when no kernel is at work: let others pass; whether to go on."""
        if self.between is not None and self.poll():
            self.between()
        return self.poll()

    @property
    def stage(self) -> str:
        """What it does beside, or before, its events, in words; '' where it says nothing."""
        if isinstance(self.so_far, Watch):
            return str(self.so_far) if self.so_far.stage and not self.rows else ""
        return getattr(self.so_far, "stage", None) or ""

    @property
    def reason(self) -> str:
        """Why the work ended, in a word or two."""
        result = getattr(self.result, "result_", None)
        if result is not None:
            return str(result.reason)
        if self.state == FAILED:
            return "failed"
        return "interrupted" if self.stop.is_set() else "done"

    @property
    def outcome(self) -> dict[str, Any]:
        """How the work ended: ``reason``, and its best ``objective``, its ``bound``, the proved ``gap``, or NaN."""
        result = getattr(self.result, "result_", None)
        names = {"objective": "objective", "bound": "lower_bound", "gap": "gap"}
        return {"reason": self.reason} | {name: getattr(result, of, math.nan) for name, of in names.items()}


def held_bytes(jobs: Iterable[Job]) -> int:
    """What jobs hold in memory; what two of them share is there once."""
    united: dict[int, int] = {}
    for job in jobs:
        united |= job.held
    return sum(united.values())


def trace_row(stats: IterationStats) -> dict[str, Any]:
    """An event as a row of the live chart (``live_chart.FIELDS``), and the stage of the solver in words."""
    relaxing = stats.stage == "relaxation" or stats.extra.get("round") == 1
    words = stats.stage
    if stats.stage == "homotopy":
        words = f"ζ = {stats.get('zeta'):.1f}"
    elif "round" in stats.extra:
        words = f"round {stats.extra['round']:.0f}"
    return {
        "t": stats.elapsed_s,
        "i": stats.iteration,
        "objective": stats.objective,
        "best": stats.best_objective,
        # later on w no longer solves the relaxation, and its value says nothing of interest
        "relaxed": stats.get("relaxation") if stats.iteration and relaxing else math.nan,
        "bound": stats.lower_bound,
        # the guided solver has no ζ of its own
        "zeta": math.nan if stats.stage.startswith("guided: ") else stats.get("zeta"),
        "lam": stats.lam,
        "gap": stats.gap,
        "phase": _phase(stats.stage, relaxing),
        "stage": words,
    }


def _phase(stage: str, relaxing: bool) -> float:
    """0 while the relaxation is solved, then 1; 2 where the guided solver has taken over; NaN for the result."""
    if stage.endswith(FINISHED):
        return math.nan
    return 2.0 if stage.startswith("guided: ") else float(not relaxing)


class JobBoard:
    """All jobs of this server."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._kept: dict[str, Job] = {}
        self._held: dict[int, frozenset[str]] = {}
        self._lock = threading.Lock()
        self._asked: deque[Callable[[], object]] = deque()  # work that waits, but for jobs that give way
        self._questions: deque[Callable[[], object]] = deque()  # short work that waits
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=_SOLVER)

    def submit(self, job: Job) -> Future:
        """Queue a job and forget the oldest finished ones."""
        self.add(job)
        if job.gives_way:
            return self._pool.submit(self._run, job)
        self._asked.append(lambda: self._run(job))
        return self._pool.submit(self._run_next)

    def let_pass(self, jobs: bool) -> None:
        """Answer the questions that were asked meanwhile, and with ``jobs`` run those, too, in the midst of a job in
        the solver's thread: at an event, when it has no kernel at work."""
        while threading.current_thread().name.startswith(_SOLVER) and (self._questions or (jobs and self._asked)):
            self._run_next()

    def _run_next(self) -> None:
        """The question that was asked first, or the work, unless it has been let pass."""
        waiting = self._questions or self._asked
        if waiting:
            waiting.popleft()()

    def start(self, job: Job) -> threading.Thread:
        """Begin a job that is no solve, at once; the thread it runs in."""
        job.beside = True
        self.add(job)
        thread = threading.Thread(target=self._run, args=(job,), name="reader", daemon=True)
        thread.start()
        return thread

    def add(self, job: Job) -> None:
        """List a job, which may be done, and forget the oldest finished ones."""
        if not job.active:
            job.weigh()
        with self._lock:
            self._jobs[job.id] = job
            for old in [other for other in self._jobs.values() if other.passing and not other.active]:
                if old is not job:
                    del self._jobs[old.id]
            self._forget(job)

    def _forget(self, new: Job) -> None:
        """The oldest finished jobs but for ``new``, and what open tabs show, as long as there is too much of them."""
        held = frozenset[str]().union(*self._held.values(), [new.id])
        loose = [job.id for job in self._jobs.values() if not job.active and job.id not in held]
        while loose and (len(self._jobs) > KEEP_JOBS or held_bytes(self._jobs.values()) > KEEP_BYTES):
            del self._jobs[loose.pop(0)]

    def hold(self, session: int, job_ids: Iterable[str]) -> None:
        """These jobs are what an open tab shows: they stay until it holds others, or none."""
        with self._lock:
            self._held[session] = frozenset(job_ids)

    def release(self, session: int) -> None:
        """A tab is gone."""
        with self._lock:
            self._held.pop(session, None)

    def enqueue(self, work: Callable[[], Any], *, short: bool = False) -> Future:
        """Run something in the solver's thread, unlisted, after what was asked for already; like jobs it passes those
        that give way. short: a question, which is answered before jobs that wait, and at the next event of any job."""
        future: Future = Future()

        def answer() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(work())
            except BaseException as error:  # as the pool does: what asks for the result is told
                future.set_exception(error)

        (self._questions if short else self._asked).append(answer)
        self._pool.submit(self._run_next)
        return future

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits."""
        return any(job.active and not job.beside for job in list(self._jobs.values()))

    def keep(self, job: Job) -> None:
        """List a job that is done, for as long as the server runs."""
        with self._lock:
            self._kept[job.id] = job

    def get(self, job_id: str | None) -> Job | None:
        """A job by its id; None if there is none (any more)."""
        return (self._jobs.get(job_id) or self._kept.get(job_id)) if job_id else None

    def seen(self, job_id: str | None) -> Job | None:
        """A job by its id, with the sign that a browser is looking at it (:meth:`Job.touch`)."""
        job = self.get(job_id)
        if job is not None:
            job.touch()
        return job

    def before(self, job: Job) -> int:
        """How many active jobs go before this one: of those that give way, none but before each other; those that
        were stopped end in a moment."""
        with self._lock:
            others = [other for other in self._jobs.values() if other.active and not other.beside]
            others = [other for other in others if other is job or not other.stop.is_set()]
        asked = [other for other in others if not other.gives_way]
        ahead = asked + [other for other in others if other.gives_way] if job.gives_way else asked
        return ahead.index(job) if job in ahead else 0

    def place(self, job: Job) -> str:
        """What is said of a job that waits; "" of one that does not, or will not for long."""
        ahead = self.before(job) if job.state == QUEUED else 0
        if ahead:
            return f"Queued: {many(ahead, 'solve')} before yours."
        running = [other for other in list(self._jobs.values()) if other.state == RUNNING and not other.beside]
        steps = any(other.gives_way or other.stop.is_set() for other in running)
        return "Queued: it begins in a moment." if job.state == QUEUED and steps else ""

    def _run(self, job: Job) -> None:
        try:
            if not job.begin():
                return
            assert job.work is not None
            job.between = functools.partial(self.let_pass, job.gives_way)
            job.result = job.work(job)
            job.state = DONE
        except (ValueError, MemoryError) as error:  # MemoryLimitError included: sentences meant for the user
            job.error, job.state = str(error), FAILED
        except Exception:
            _log.exception("a job failed")
            what = "Reading" if job.beside else "The solver"
            job.error, job.state = f"{what} failed unexpectedly; the terminal has the details.", FAILED
        finally:
            job.work = job.between = None
            job.weigh()
            for other in list(self._jobs.values()):
                if other is not job and other.so_far is not None and other.so_far is job.result:
                    other.weigh()  # pages go on with what is done: a path gets further points
            with self._lock:
                self._forget(job)
            job.ended.set()


BOARD = JobBoard()


def stream_url(job: Job) -> str:
    """Where the job's trace can be followed."""
    return f"{TRACE_PATH}/{job.id}"


def followed(job: Job) -> dict[str, Any]:
    """What the live chart needs to show a job: its stream while it works; afterwards its rows, and how it ended."""
    if job.active:  # asked once: it may end at any moment
        return {"rows": None, "stream_url": stream_url(job), "ended": None}
    return {"rows": job.rows, "stream_url": None, "ended": job.outcome}


def trace_route() -> Route:
    """The server-sent-events route, to be given to ``st.App(..., routes=[...])``."""
    return Route(site_url(TRACE_PATH + "/{job}"), _trace, methods=["GET"])


async def _trace(request: Request) -> Response:
    job = BOARD.get(request.path_params["job"])
    if job is None:
        return PlainTextResponse("no such job", status_code=404)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(job), media_type="text/event-stream", headers=headers)


async def _events(job: Job) -> AsyncIterator[str]:
    """Rows as they come, about 16 times a second; a comment line keeps a quiet connection open."""
    sent, quiet = 0, 0
    yield "retry: 1000\n\n"
    while True:
        active = job.active  # read before the rows: none can come after it is false
        rows = job.rows[sent:]
        if rows:
            sent += len(rows)
            quiet = 0
            yield sse_rows(rows)
        elif quiet >= 16:
            quiet = 0
            yield ": waiting\n\n"
        if not active:
            break
        # not touch(): the last turn of a closed tab's stream may come after the session was released
        job.last_seen = time.monotonic()
        quiet += 1
        await asyncio.sleep(0.06)
    yield sse_done(**job.outcome)
