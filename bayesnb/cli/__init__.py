"""The command line: one file for each command. Data go to stdout, messages and progress to stderr.

Modules that take time to import are imported by the command that needs them, so that `--help` and a misspelt file name
are answered at once.
"""

from bayesnb.cli.command_line import main

__all__ = ["main"]
