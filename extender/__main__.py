"""``python -m extender`` and ``shuntyard-extender``."""

import sys

from extender.app.main import main

if __name__ == "__main__":
    sys.exit(main())
