"""Options that several commands share, and how help is laid out."""

import argparse
import shutil
import textwrap
from typing import Any, NoReturn

from bayesnb.cli import specs
from bayesnb.cli.problems import UsageError
from bayesnb.visible import visible

FORMATS = ("csv", "tsv", "parquet", "arrow", "jsonl")
TABLES = """\
Tables are CSV, TSV, JSON lines (each also packed by gzip), Parquet, Arrow or Feather, told apart by their first bytes
and then by their names; - is standard input. In CSV and TSV the first line names the columns. A column is numbers if
every cell looks like one, missing cells apart; digits after a leading zero (007) make it levels, true and false are
flags, and whatever else there is are levels, dates included. Messages count lines from 1, and rows below the header
from 0.

exit codes: 0 done, 1 the job failed (the table is at fault, say, or lacks a column that an option names), 2 bad usage
(an unknown option or family), 130 interrupted
"""


class Layout(argparse.HelpFormatter):
    """Help as wide as the terminal: paragraphs are filled, and lines that begin with blanks stay as they are."""

    def __init__(self, prog: str) -> None:
        width = max(min(shutil.get_terminal_size().columns - 2, 118), 40)
        super().__init__(prog, max_help_position=min(28, width // 3), width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(self._paragraph(part, width) for part in text.strip("\n").split("\n\n"))

    @staticmethod
    def _paragraph(text: str, width: int) -> str:
        plain = not any(line.startswith(" ") for line in text.splitlines())
        return textwrap.fill(" ".join(text.split()), width, break_on_hyphens=False) if plain else text


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {visible(' '.join(message.split()))}. See {self.prog} --help\n")


def new_command(commands: Any, name: str, examples: str, **words: Any) -> argparse.ArgumentParser:
    """A command with its examples, `--quiet` and `--debug`."""
    more = words.pop("more", "")
    command = commands.add_parser(
        name, epilog=f"examples:\n{examples}\n\n{more}", formatter_class=Layout, allow_abbrev=False, **words
    )
    talk = command.add_argument_group("talk")
    talk.add_argument("-q", "--quiet", action="store_true", help="say nothing but warnings and errors")
    talk.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return command


def add_reading(command: argparse.ArgumentParser) -> None:
    """How tables are read."""
    group = command.add_argument_group("how tables are read")
    group.add_argument(
        "--format",
        metavar="FORMAT",
        choices=FORMATS,
        help=f"{', '.join(FORMATS)}, where neither bytes nor names tell it",
    )
    group.add_argument(
        "--missing",
        metavar="LIST",
        type=specs.missing,
        help="cells that are missing, between commas; an empty one is the empty cell. Default: ',NA,NaN,?' in CSV and "
        "TSV, exactly so (None, null or N/A are levels); what JSON, Parquet and Arrow have as null is always missing",
    )
    group.add_argument(
        "--delimiter", metavar="CHAR", type=specs.delimiter, help="default: the likeliest of comma, semicolon, tab, |"
    )
    group.add_argument(
        "--decimal", choices=(".", ","), default=".", metavar="MARK", help="of decimals: . (default) or ,"
    )
    group.add_argument("--encoding", metavar="NAME", help="of text (default: utf-8; utf-16 by its mark)")


def add_model(command: argparse.ArgumentParser) -> None:
    """What the model is."""
    group = command.add_argument_group("the model")
    group.add_argument(
        "--family",
        metavar="[COLUMNS=]FAMILY",
        type=specs.family,
        action="append",
        default=[],
        help="categorical, bernoulli, gaussian, multivariate, poisson, multinomial, joint or drop, for some columns "
        "(names or patterns such as 'w_*', between "
        "commas) or, without any, for all that no other --family names. Columns that are named together are one block "
        "if they are multinomial, joint (a table of all combinations of their levels) or multivariate (numbers with "
        "their covariances); gaussian:shared and multivariate:shared have one variance for all classes. A name goes "
        "before a pattern; one with a comma or a quote is quoted as in CSV, and what follows the last = is the family. "
        "Default: flags are bernoulli, levels categorical, numbers gaussian",
    )
    group.add_argument(
        "--prior",
        metavar="[COLUMNS=]PRIOR",
        type=specs.prior,
        action="append",
        default=[],
        help="a number, the concentration of dice and coins, or Dirichlet(...), Beta(a, b), Gamma(shape, rate), "
        "NormalInverseGamma(mean=..., count=..., shape=..., scale=...), NormalInverseWishart(mean=..., count=..., "
        "dof=..., scale=...); for some columns or for all that it fits",
    )
    add_weights(group)


def add_weights(group: argparse._ActionsContainer) -> None:
    """How much the classes and the columns count."""
    group.add_argument(
        "--class-prior",
        metavar="PRIOR",
        type=specs.class_prior,
        default=1.0,
        help="how frequent the classes are: a concentration (default: 1), empirical, uniform, or given as "
        "LABEL=PROBABILITY,...",
    )
    group.add_argument(
        "--temper", metavar="loo|T", type=specs.temper, help="power of the columns' evidence; loo finds it"
    )


def add_estimate(command: argparse.ArgumentParser) -> None:
    """What predicts."""
    command.add_argument(
        "--estimate",
        choices=specs.ESTIMATES,
        default="predictive",
        help="parameters integrated out (default), or plugged in at their mean, mode or maximum likelihood",
    )


def add_seed(command: argparse._ActionsContainer, what: str) -> None:
    """Whatever is drawn."""
    command.add_argument("--seed", metavar="N", type=specs.whole_number, default=0, help=what)


def reading_of(said: Any) -> Any:
    """How the user says that tables are to be read."""
    from bayesnb.data import Reading

    if said.delimiter is not None and said.delimiter == said.decimal:
        raise UsageError(f"--delimiter and --decimal are both {said.decimal!r}.")
    return Reading(said.format, said.delimiter, said.encoding, said.decimal, said.missing)
