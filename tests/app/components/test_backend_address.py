"""The middleware that tells a page where the server is: pages only, whole, whatever their size."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pages.parts.components.backend_address import BackendAddress

PAGE = "<!DOCTYPE html>\n<html>\n  <head>\n    <title>é</title>\n  </head>\n</html>" + " " * 5000


async def _pieces():
    for k in range(0, len(PAGE), 100):
        yield PAGE[k : k + 100]


@pytest.fixture(scope="module")
def client() -> TestClient:
    routes = [
        Route("/page", lambda request: HTMLResponse(PAGE)),
        Route("/pieces", lambda request: StreamingResponse(_pieces(), media_type="text/html")),
        Route("/headless", lambda request: HTMLResponse("plain")),
        Route("/missing", lambda request: HTMLResponse(PAGE, status_code=404)),
        Route("/same", lambda request: Response(status_code=304)),
        Route("/data", lambda request: JSONResponse({"a": "<head>"})),
    ]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(BackendAddress), Middleware(GZipMiddleware)]))


@pytest.mark.parametrize("path", ["/page", "/pieces"])
def test_a_page_says_where_the_server_is(client, path):
    answer = client.get(path, headers={"accept": "text/html,*/*"})
    assert answer.text.count("BACKEND_BASE_URL") == 1 and answer.text.index("<head>") < answer.text.index("BACKEND")
    assert answer.text.endswith(PAGE[PAGE.index("<title>") :]) and int(answer.headers["content-length"]) == len(
        answer.content
    )


@pytest.mark.parametrize("path", ["/headless", "/missing", "/same", "/data"])
def test_all_else_passes_unchanged(client, path):
    answer = client.get(path, headers={"accept": "text/html"})
    assert "BACKEND" not in answer.text
    assert answer.text == {"/headless": "plain", "/missing": PAGE, "/same": "", "/data": '{"a":"<head>"}'}[path]


def test_scripts_and_data_are_not_touched(client):
    answer = client.get("/page", headers={"accept": "*/*"})
    assert answer.text == PAGE and answer.headers["content-encoding"] == "gzip"
