"""What tests do with a session of the app: open pages, upload, press, solve, read what is shown."""

from __future__ import annotations

import time
from collections.abc import Callable

from streamlit.testing.v1 import AppTest
from streamlit.util import AttributeDictionary

from pages.parts.shared import state
from pages.parts.shared.jobs import BOARD, Job

TINY = (
    "id,text,=who\n"
    '1,"The cat sat on the mat; the cat sat.",=cmd()\n'
    "2,The dog sat on the mat.,b\n"
    '3,"A cat, a dog and <b>the mat</b> 👩‍🚀!",c\n'
    "4,,nobody\n"
)


def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for a condition; a failure, not a hang, if it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def sound(app: AppTest) -> AppTest:
    """The app, after a look at whether a page broke."""
    assert not app.exception, app.exception[0].message
    return app


def show(app: AppTest, page: str) -> AppTest:
    return sound(app.switch_page(f"pages/{page}.py").run())


def numbers(app: AppTest) -> dict[str, str]:
    """What the page's metrics show, by their labels."""
    return {metric.label: metric.value for metric in app.metric}


def sidebar(app: AppTest) -> str:
    kinds = ("markdown", "caption", "info", "error")
    return "\n".join(element.value for kind in kinds for element in app.sidebar.get(kind)).replace("\\", "")


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.caption).replace("\\", "")


def markdown(app: AppTest) -> str:
    return "\n".join(element.value for element in app.markdown).replace("\\", "")


def in_address(app: AppTest, name: str) -> str | None:
    found = app.query_params.get(name)
    return found[0] if isinstance(found, list) else found


def press(app: AppTest, label: str) -> AppTest:
    (button,) = [button for button in app.button if button.label == label]
    return read(button.click().run())


def choose_rows(app: AppTest, table: int, *rows: int) -> AppTest:
    """A click on a row of a table, or on its tick to take the choice back."""
    key = app.dataframe[table].proto.id.split("-", 2)[2]
    app.session_state[key] = AttributeDictionary(
        {"selection": AttributeDictionary({"rows": list(rows), "columns": [], "cells": []})}
    )
    return sound(app.run())


def upload(app: AppTest, name: str, data: bytes) -> AppTest:
    return read(app.file_uploader[0].upload(name, data, "application/octet-stream").run())


def unfold(app: AppTest) -> AppTest:
    """How the file that was read may be read otherwise."""
    app.session_state["reread"] = True
    return sound(app.run())


def read(app: AppTest) -> AppTest:
    """The app once what it reads has been read."""
    job = BOARD.get(app.session_state[f"{state.READ}_id"])
    if job is not None:
        until(lambda: not job.active)
        app.run()
    return sound(app)


def use(app: AppTest, name: str = "tiny.csv", data: bytes = TINY.encode()) -> AppTest:
    """A file made the session's corpus, as it is read by default."""
    return upload(app, name, data)


def solved(app: AppTest, **settings: object) -> AppTest:
    """The solver page, its run at an end."""
    show(app, "solve")
    if settings:
        app.session_state["settings"] = state.Settings(**settings)
    sound(app.button(key="run").click().run())
    until(lambda: not job_of(app).active)
    return sound(app.run())


def job_of(app: AppTest) -> Job:
    return BOARD.get(app.session_state["job_id"])


def path_job(app: AppTest) -> Job:
    return BOARD.get(app.session_state["path_id"])


def pathed(app: AppTest, first: float = 0.05, last: float = 2.0, count: int = 3) -> AppTest:
    """The path page, its path at an end."""
    show(app, "path")
    app.number_input(key="widget_first").set_value(first)
    app.number_input(key="widget_last").set_value(last)
    sound(app.number_input(key="widget_count").set_value(count).run())
    sound(app.button(key="run").click().run())
    until(lambda: not path_job(app).active, 60)
    return sound(app.run())
