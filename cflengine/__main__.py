"""``python -m cflengine`` is the command ``cflengine``."""

import sys

from cflengine.cli import main

sys.exit(main())
