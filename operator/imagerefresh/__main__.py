"""Makes `python -m imagerefresh` the same as the command `imagerefresh`."""

import sys

from imagerefresh.cli import main

sys.exit(main())
