"""`python -m bayesnb`."""

import sys

from bayesnb.cli import main

if __name__ == "__main__":
    sys.exit(main())
