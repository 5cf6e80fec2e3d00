"""The middleware that tells a page where the server is: pages only, whole, whatever their size."""

from __future__ import annotations

import asyncio
import gzip
from typing import NamedTuple

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pages.parts.components.backend_address import BackendAddress

PAGE = "<!DOCTYPE html>\n<html>\n  <head>\n    <title>é</title>\n  </head>\n</html>" + " " * 5000
DOWNLOAD = {"content-disposition": 'attachment; filename="report.html"'}


async def _pieces():
    for k in range(0, len(PAGE), 100):
        yield PAGE[k : k + 100]


APP = Starlette(
    routes=[
        Route("/page", lambda request: HTMLResponse(PAGE)),
        Route("/pieces", lambda request: StreamingResponse(_pieces(), media_type="text/html")),
        Route("/headless", lambda request: HTMLResponse("plain")),
        Route("/missing", lambda request: HTMLResponse(PAGE, status_code=404)),
        Route("/same", lambda request: Response(status_code=304)),
        Route("/data", lambda request: JSONResponse({"a": "<head>"})),
        Route("/report", lambda request: HTMLResponse(PAGE, headers=DOWNLOAD)),
    ],
    middleware=[Middleware(BackendAddress), Middleware(GZipMiddleware)],
)


class Answer(NamedTuple):
    """What the server sends."""

    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        zipped = self.headers.get("content-encoding") == "gzip"
        return (gzip.decompress(self.body) if zipped else self.body).decode()


def ask(path: str, accept: str, method: str = "GET") -> Answer:
    """A request, as a browser makes it."""
    headers = [(b"accept", accept.encode()), (b"accept-encoding", b"gzip"), (b"host", b"localhost")]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": b"", "headers": headers, "scheme": "http", "root_path": "",
        "server": ("localhost", 80), "client": ("localhost", 1),
    }  # fmt: skip
    sent: list[dict] = []
    asked: list[int] = []

    async def receive() -> dict:
        if asked:
            await asyncio.Event().wait()  # the browser stays: nothing more comes from it
        asked.append(1)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    asyncio.run(APP(scope, receive, send))
    got = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(got, b"".join(message.get("body", b"") for message in sent[1:]))


@pytest.mark.parametrize("path", ["/page", "/pieces"])
def test_a_page_says_where_the_server_is(path):
    answer = ask(path, "text/html,*/*")
    assert answer.text.count("BACKEND_BASE_URL") == 1 and answer.text.index("<head>") < answer.text.index("BACKEND")
    assert answer.text.endswith(PAGE[PAGE.index("<title>") :])
    assert int(answer.headers["content-length"]) == len(answer.body)


@pytest.mark.parametrize("path", ["/headless", "/missing", "/same", "/data", "/report"])
def test_all_else_passes_unchanged(path):
    expected = {"/headless": "plain", "/same": "", "/data": '{"a":"<head>"}'}.get(path, PAGE)
    assert ask(path, "text/html").text == expected


def test_scripts_and_data_are_not_touched():
    answer = ask("/page", "*/*")
    assert answer.text == PAGE and answer.headers["content-encoding"] == "gzip"
    length = ask("/page", "text/html", "HEAD").headers["content-length"]
    assert length == ask("/page", "*/*", "HEAD").headers["content-length"], "what is asked by HEAD is not rewritten"
