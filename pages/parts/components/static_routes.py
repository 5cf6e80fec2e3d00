"""Routes that hand the browser what it would otherwise fetch from a CDN.

The chart library is the one inside the installed plotly wheel: never committed, never fetched from outside.
``app.py`` mounts the route beside the pages: ``app = st.App(__file__, routes=[plotly_js_route(), ...])``.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib.metadata import version
from importlib.resources import files

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

PLOTLY_JS_PATH = "/cfl/plotly.min.js"
#: Site-relative address of the library. The version is part of it, so browsers may keep the file for good.
PLOTLY_JS_URL = f"{PLOTLY_JS_PATH}?v={version('plotly')}"


def site_url(path: str) -> str:
    """A root-relative ``path`` ("/cfl/…") under the server's ``baseUrlPath``, if it has one.

    Streamlit mounts the routes of ``st.App`` at the root whatever ``server.baseUrlPath`` says, so both the
    routes and the addresses given to the browser pass through here: a reverse proxy forwards only what lies
    under the base path. Raises ValueError for anything but a path on this site.
    """
    if not path.startswith("/") or path.startswith(("//", "/\\")):
        raise ValueError(f"not a path on this site: {path!r}")
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}{path}" if base else path


def plotly_js_route() -> Route:
    """The route that serves plotly.min.js, to be given to ``st.App(..., routes=[...])``."""
    return Route(site_url(PLOTLY_JS_PATH), _plotly_js, methods=["GET"])


def _plotly_js(request: Request) -> Response:
    # Not async: starlette then runs it in a thread, and packing 5 MB does not hold up the event loop.
    zipped = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if zipped:
        headers["Content-Encoding"] = "gzip"
    return Response(_plotly_bytes(zipped), media_type="text/javascript", headers=headers)


@cache
def _plotly_bytes(zipped: bool) -> bytes:
    # Kept packed: the server's own middleware would compress the 5 MB again for every browser.
    raw = files("plotly").joinpath("package_data/plotly.min.js").read_bytes()
    return gzip.compress(raw, compresslevel=6, mtime=0) if zipped else raw
