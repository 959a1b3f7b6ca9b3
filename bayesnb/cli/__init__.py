"""The command line, built with click. Data go to stdout, messages and progress to stderr.

The commands in `main.py` call functions of the other packages. Slow modules are imported by the
command that needs them, so that `--help` and errors in file names are immediate.
"""

from bayesnb.cli.main import main as main
