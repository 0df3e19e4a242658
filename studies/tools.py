"""Programs that the studies start: found before a study begins, or named in one sentence."""

import argparse
import pathlib
import shutil


def program(name):
    """The path of a program, as a type of argparse: a missing one ends a study with exit code 2."""
    found = shutil.which(name)
    if found is None:
        raise argparse.ArgumentTypeError(f"there is no program {name} ({pathlib.Path(name).name} of `make build`, or an example of the study's page)")
    return str(pathlib.Path(found).resolve())
