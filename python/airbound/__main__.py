"""The command ``airbound``: ``python -m airbound``, and the script that the package installs."""

import signal
import sys

from airbound import _native


def main() -> int:
    """Does what the command line asks for; returns the exit code."""
    # Python only notes Ctrl-C and looks at it between its own instructions, of which there are none here.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["airbound", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
