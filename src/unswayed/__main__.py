"""``python -m unswayed``: the same program as the `unswayed` script."""

import sys

from unswayed.cli import main

if __name__ == "__main__":
    sys.exit(main())
