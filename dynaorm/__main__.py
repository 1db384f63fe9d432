"""``python -m dynaorm`` is the same as ``dynaorm``."""

import sys

from dynaorm.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
