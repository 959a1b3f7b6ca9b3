"""The command line: one file for each command. Data go to stdout, talk and progress to stderr.

Whatever takes time to import is imported by the command that needs it, so that `--help` is quick.
"""

from bayesnb.cli.app import main

__all__ = ["main"]
