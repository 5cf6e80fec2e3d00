"""The live chart: rows, events, the stream and where its scripts come from."""

from __future__ import annotations

import gzip
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from starlette.requests import Request
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from pages.parts.components import live_chart, static_routes  # noqa: E402


def test_rows_become_plain_json_numbers():
    row = {"t": np.float32(0.5), "i": np.int64(3), "best": math.inf, "bound": math.nan, "zeta": None, "x": 1}
    (encoded,) = live_chart.encode_rows([row])
    assert encoded == dict.fromkeys(live_chart.FIELDS) | {"t": 0.5, "i": 3.0}


def test_python_and_the_browser_mean_the_same_fields():
    script = ROOT.joinpath("pages", "parts", "components", "browser", "live_chart.js").read_text("utf-8")
    fields = re.search(r"const FIELDS = \[(.*?)\]", script)[1]
    assert tuple(json.loads(f"[{fields}]")) == live_chart.FIELDS


def test_events_are_well_formed():
    event = live_chart.sse_rows([{"t": 0, "i": 0, "gap": math.nan}])
    assert event.startswith("data: [") and event.endswith("\n\n") and event.count("\n") == 2
    assert json.loads(event.removeprefix("data: "))[0]["gap"] is None
    done = live_chart.sse_done("time\nlimit", objective=2.0, bound=math.nan, gap=0.1).splitlines()
    assert done[0] == "event: done"
    payload = json.loads(done[1].removeprefix("data: "))
    assert payload == {"reason": "time\nlimit", "objective": 2.0, "bound": None, "gap": 0.1}


@pytest.mark.parametrize("url", ["https://example.org/x", "//example.org/x", "/\\example.org", "x"])
def test_a_stream_comes_from_this_site(url):
    with pytest.raises(ValueError, match="not a path on this site"):
        live_chart.live_trace_chart(rows=None, stream_url=url, key="k")


def test_paths_follow_the_base_path(monkeypatch):
    assert static_routes.plotly_js_route().path == "/cfl/plotly.min.js"
    monkeypatch.setattr(static_routes.st, "get_option", {"server.baseUrlPath": "/tools/cfl/"}.get)
    assert static_routes.plotly_js_route().path == "/tools/cfl/cfl/plotly.min.js"
    assert static_routes.site_url("/events/3?x=1") == "/tools/cfl/events/3?x=1"


@pytest.mark.parametrize("zipped", [True, False])
def test_the_chart_library_is_that_of_the_installed_wheel(zipped):
    headers = [(b"accept-encoding", b"gzip, br")] if zipped else []
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": headers})
    response = static_routes.plotly_js_route().endpoint(request)
    assert "immutable" in response.headers["cache-control"]
    assert response.headers.get("content-encoding") == ("gzip" if zipped else None)
    body = gzip.decompress(response.body) if zipped else response.body
    assert body.startswith(b"/**\n* plotly.js v")


def test_the_demo_runs_without_a_browser():
    app = AppTest.from_file(str(ROOT / "tests/app/browser/demo_components.py"), default_timeout=30).run()
    assert not app.exception
    assert [text.value for text in app.text] == ["ends: 0", "clicked: None"]
