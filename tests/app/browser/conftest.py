"""What tests in a browser share: a server of the app, a browser, tabs that are watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from browsing import CHROMIUM, FLAGS, ROOT, served
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

#: Every icon that the tab is given: Chromium without a window fetches none, so that no request would tell.
ICONS = """window.icons = []; new MutationObserver(() => {
  for (const link of document.querySelectorAll("link[rel*=icon]"))
    if (!window.icons.includes(link.href)) window.icons.push(link.href);
}).observe(document, {subtree: true, childList: true, attributes: true});"""
HOW = {"viewport": {"width": 1400, "height": 1000}, "accept_downloads": True}


@pytest.fixture(scope="session")
def server(warm, tmp_path_factory) -> Iterator[str]:
    """The address of the app, started as a user starts it."""
    with served(ROOT / "app.py", tmp_path_factory.mktemp("server") / "log.txt") as url:
        yield url


@pytest.fixture(scope="module")
def chromium() -> Iterator:
    """A browser's context: what one tab has loaded, another need not load again. Of a module, since playwright keeps an
    event loop in this thread."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield browser.new_context(**HOW)
        browser.close()


@dataclass
class Watch:
    """What a page asked for and complained about."""

    hosts: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    streams: int = 0

    def attach(self, page) -> None:
        page.on("request", self._request)
        page.on("websocket", self._socket)
        page.on("response", self._response)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def _request(self, request) -> None:
        self.hosts.add(urlsplit(request.url).netloc)
        self.streams += "/cfl/trace/" in request.url

    def _socket(self, socket) -> None:
        self.hosts.add(urlsplit(socket.url).netloc)
        socket.on("framereceived", self._frame)

    def _frame(self, payload: bytes | str) -> None:
        """A message may not stand for one that the browser was sent earlier: where it was dropped meanwhile, as happens
        when reruns follow each other, the page ends with an error."""
        if len(payload) < 1_000 and ForwardMsg.FromString(payload).HasField("ref_hash"):
            self.complaints.append("a message refers to one that the browser may have dropped")

    def _response(self, response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status} {response.url}")

    def _console(self, message) -> None:
        if message.type == "error":
            self.complaints.append(message.text)


@pytest.fixture
def open_tab(chromium, server) -> Iterator[Callable]:
    """A function: an address to a page in a tab of its own, or, ``apart``, in a browser of its own; nothing may leave
    the machine or complain."""
    watch, pages = Watch(), []

    def open_one(address: str, *, apart: bool = False):
        page = (chromium.browser.new_context(**HOW) if apart else chromium).new_page()
        pages.append(page)
        page.set_default_timeout(30_000)
        watch.attach(page)
        page.add_init_script(ICONS)
        page.goto(server + address)
        page.watch = watch
        return page

    yield open_one
    for page in pages:
        page.close()
        if page.context is not chromium:
            page.context.close()
    assert watch.hosts - {""} == {urlsplit(server).netloc}, "a request left this machine"
    assert not watch.complaints
