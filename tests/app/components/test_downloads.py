"""Files that are made at a click are there when the browser asks for them."""

from __future__ import annotations

import time

from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from pages.parts.shared import guard


def test_a_file_outlives_the_ends_of_runs_for_a_minute(monkeypatch):
    guard.keep_downloads()
    guard.keep_downloads()
    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    deferred = manager.add_deferred(lambda: b"a,b\n", "text/csv", "row", "a.csv")
    url = manager.execute_deferred(deferred)
    for _ in range(5):
        manager.remove_orphaned_files()
    file = url.removeprefix("/media/")
    assert manager.read_file(file).content == b"a,b\n"
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + guard.KEPT_S + 1.0)
    manager.remove_orphaned_files()
    manager.remove_orphaned_files()
    assert manager.read_file(file) is None
