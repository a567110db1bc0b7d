"""`python -m stratasim`: the command."""

import sys

from ._core import main

if __name__ == "__main__":
    sys.exit(main(["stratasim", *sys.argv[1:]]))
