"""The command line, on click. Data go to stdout, messages and progress to stderr.

`main.py` has the commands, each of which calls a function of the rooms below. Modules that take
time to import are imported by the command that needs them, so that `--help` and a misspelt file
name are answered at once.
"""

from bayesnb.cli.main import main as main
