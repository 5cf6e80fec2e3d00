"""``cflengine app``: the app in the browser."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import Any

from cflengine.cli.values import number
from cflengine.engine import InputError, app_folder

_APP = """\
Open the app: a corpus in, features out, the solver live, every number with its proof.

It runs on this computer and is reached from this computer alone; nothing is sent elsewhere. Ctrl-C ends it.
"""

_EXAMPLES = """\
examples:
  cflengine app
  cflengine app --port 8600 --no-browser      (on a server: ssh -L 8600:localhost:8600 HOST, then localhost:8600)
"""


def add_command(commands: Any) -> None:
    """The command's options."""
    app = commands.add_parser(
        "app", help="open the app in the browser", description=_APP, epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    app.add_argument(
        "--port", type=number(int, 1, 65535), metavar="N", help="of the server (default: the first free one from 8501)"
    )
    app.add_argument("--no-browser", action="store_true", help="do not open a browser; the address is printed")
    app.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    script = app_folder() / "app.py"
    if not script.exists():
        raise InputError(f"the app is not installed: there is no {script}. Install cflengine again.")
    words = [sys.executable, "-m", "streamlit", "run", str(script)]
    if arguments.port is not None:
        words += ["--server.port", str(arguments.port)]
    if arguments.no_browser:
        words += ["--server.headless", "true"]
    if sys.platform != "win32":
        os.execv(sys.executable, words)  # the server takes this process over: signals reach it
    return subprocess.run(words, check=False).returncode
