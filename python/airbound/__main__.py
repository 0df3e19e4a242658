"""The command ``airbound``, as ``python -m airbound`` and as the script that the package installs."""

import signal
import sys

from airbound import _native


def main() -> int:
    """Runs the command line; returns the exit code."""
    # Python handles Ctrl-C between its own instructions only, and none run during the call.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["airbound", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
