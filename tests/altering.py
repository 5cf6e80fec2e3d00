"""Changed model files, for tests of what reading them says."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def altered(path: Path, change: Callable[[dict[str, Any], dict[str, bytes]], Any]) -> None:
    """The file with another header. change: gets the header and the parts of the file, and changes them."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["header.json"])
    change(header, parts)
    parts["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
