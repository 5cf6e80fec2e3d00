"""Files made at a click stay until the browser has fetched them.

Streamlit forgets such a file at the second end of a script run behind its making, of any session. While something is
solved, pages tick several times a second, and the file is gone before the browser asks for it (404, and no word).
"""

from __future__ import annotations

import time

from streamlit.runtime.media_file_manager import MediaFileMetadata

KEPT_S = 60.0  # a file, at least


def keep_downloads() -> None:
    """Have Streamlit keep files for a minute; once is enough."""
    if not hasattr(MediaFileMetadata, "made_at"):
        plain = MediaFileMetadata.mark_for_delete

        def mark_for_delete(self: MediaFileMetadata) -> None:
            made_at = self.__dict__.setdefault("made_at", time.monotonic())  # asked first when the run at hand ends
            if time.monotonic() - made_at >= KEPT_S:
                plain(self)

        MediaFileMetadata.made_at = None
        MediaFileMetadata.mark_for_delete = mark_for_delete
