"""``python -m grice`` is the ``grice`` command."""

import sys

from grice.cli import main

sys.exit(main())
