"""The server's address, told to the browser before Streamlit looks for it.

On the address of a page (``/phrases``) Streamlit's script asks for its endpoints below that page first, gets two 404s,
and only then asks at the root. Where ``window.__streamlit`` names the server there is nothing to look for.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# pages are one segment below the server's base, and Streamlit's own files are found in the same way
_SCRIPT = b"""<script>
      window.__streamlit = { ...window.__streamlit, BACKEND_BASE_URL: new URL(".", window.location.href).href }
    </script>"""


class BackendAddress:
    """ASGI middleware: adds the script to every page of HTML; whatever else is asked for passes through."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = scope["type"] == "http" and scope["method"] == "GET"
        if not wanted or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self.app(scope, receive, send)
            return
        plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        await self.app({**scope, "headers": plain}, receive, _Addition(send))


class _Addition:
    """Holds an answer of HTML back until it is whole, and sends it with the script in its head."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.start: Message | None = None
        self.body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message["headers"])
            page = headers.get("content-type", "").startswith("text/html")
            # what is downloaded, a report for instance, stays as it is
            if message["status"] == 200 and page and "content-disposition" not in headers:
                self.start = message
                return
        if self.start is None or message["type"] != "http.response.body":
            await self.send(message)
            return
        self.body += message.get("body", b"")
        if message.get("more_body", False):
            return
        body = self.body.replace(b"<head>", b"<head>\n    " + _SCRIPT, 1)
        MutableHeaders(raw=self.start["headers"])["content-length"] = str(len(body))
        await self.send(self.start)
        await self.send({"type": "http.response.body", "body": body})
