"""Options that several commands share, and how help is laid out. Nothing slow is imported here."""

import argparse
import shutil
import textwrap
from typing import Any, NoReturn

from bayesnb.cli import option_values as values
from bayesnb.cli.output import FORMATS
from bayesnb.safe_output import visible

TABLES = """\
Tables are CSV, TSV, JSON lines (each also packed by gzip), Parquet, Arrow or Feather, recognised by their first bytes
and then by their names; - is standard input. In CSV and TSV the first line names the columns. A column is numbers if
every cell that is not missing looks like one; digits after a leading zero (007) make it levels, true and false are
flags, and all other cells are levels, dates included. Messages count lines from 1, and rows below the header from 0.

exit codes: 0 done, 1 the job failed (the table is at fault, say, or lacks a column that an option names), 2 bad usage
(an unknown option or family), 130 interrupted
"""


class CommandHelp(argparse.HelpFormatter):
    """Help as wide as the terminal: paragraphs are filled, and those with an indented line stay as they are."""

    def __init__(self, prog: str) -> None:
        width = max(min(shutil.get_terminal_size().columns - 2, 118), 40)
        super().__init__(prog, max_help_position=min(28, width // 3), width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(
            part if "\n " in f"\n{part}" else textwrap.fill(" ".join(part.split()), width, break_on_hyphens=False)
            for part in paragraphs
        )


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {visible(' '.join(message.split()))}. See {self.prog} --help\n")


def add_command(commands: Any, name: str, examples: str, *, notes: str = "", **texts: str) -> argparse.ArgumentParser:
    """Add a command with its examples, `--quiet` and `--debug`."""
    epilog = f"examples:\n{examples}\n\n{notes}"
    command = commands.add_parser(name, epilog=epilog, formatter_class=CommandHelp, allow_abbrev=False, **texts)
    group = command.add_argument_group("messages")
    group.add_argument("-q", "--quiet", action="store_true", help="print only warnings and errors")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return command


def add_reading(command: argparse.ArgumentParser) -> None:
    """Add the options about how tables are read."""
    group = command.add_argument_group("how tables are read")
    group.add_argument(
        "--format",
        metavar="FORMAT",
        choices=FORMATS,
        help=f"{', '.join(FORMATS)}, where neither bytes nor names show it",
    )
    group.add_argument(
        "--missing",
        metavar="LIST",
        type=values.missing,
        help="cells that are missing, between commas; an empty one is the empty cell. Default: ',NA,NaN,?' in CSV and "
        "TSV, exactly so (None, null or N/A are levels); what JSON, Parquet and Arrow have as null is always missing",
    )
    group.add_argument(
        "--delimiter", metavar="CHAR", type=values.delimiter, help="default: the likeliest of comma, semicolon, tab, |"
    )
    group.add_argument(
        "--decimal", choices=(".", ","), default=".", metavar="MARK", help="decimal mark: . (default) or ,"
    )
    group.add_argument(
        "--numbers",
        metavar="COLUMNS",
        type=values.listed,
        default=(),
        help="columns, between commas, whose cells are numbers written for people, such as $1,234.50, 12 %% or "
        "1.234,50 €, or dates such as 2020-04-03, which become days since 1970-01-01; `bayesnb predict` needs it too",
    )
    group.add_argument("--encoding", metavar="NAME", help="of text (default: utf-8; utf-16 by its mark)")


def add_model(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options about what the model is; return their group."""
    group = command.add_argument_group("the model")
    group.add_argument(
        "--family",
        metavar="[COLUMNS=]FAMILY",
        type=values.family,
        action="append",
        default=[],
        help=f"{', '.join(values.FAMILIES)} or drop, for some columns (names or patterns such as 'w_*', between "
        "commas) or, without any, for all that no other --family names. Columns that are named together are one block "
        "if they are multinomial, joint (a table of all combinations of their levels) or multivariate (numbers with "
        "their covariances); gaussian:shared and multivariate:shared have one variance for all classes. A name goes "
        "before a pattern; one with a comma or a quote is quoted as in CSV, and what follows the last = is the family. "
        "Default: flags and numbers that are only 0 and 1 are bernoulli, levels categorical, and of numbers polyatree, "
        "gaussian, categorical and poisson that which alone predicts held-out labels best",
    )
    group.add_argument(
        "--prior",
        metavar="[COLUMNS=]PRIOR",
        type=values.prior,
        action="append",
        default=[],
        help="a number, the concentration of Dirichlet and Beta priors, or Dirichlet(...), Beta(a, b), "
        "Gamma(shape, rate), NormalInverseGamma(mean=..., count=..., shape=..., scale=...), "
        "NormalInverseWishart(mean=..., count=..., dof=..., scale=...); for some columns or for all that it fits",
    )
    group.add_argument(
        "--class-prior",
        metavar="PRIOR",
        type=values.class_prior,
        default=1.0,
        help="how frequent the classes are: a concentration (default: 1), empirical, uniform, or given as "
        "LABEL=PROBABILITY,...",
    )
    group.add_argument(
        "--temper",
        metavar="auto|columns|loo|T",
        type=values.temper,
        default="auto",
        help="power of the columns' evidence; loo estimates it, columns one for each, which may fall with the length "
        "of a text; auto (default) is columns where no family is declared, else 1",
    )
    group.add_argument(
        "--dependence",
        metavar="KIND",
        choices=values.DEPENDENCE,
        default="auto",
        help="columns that depend on each other given the class: none are linked, those of a spanning forest (forest), "
        "or further pairs besides (pairs); or they are modelled jointly (blocks); auto (default) is pairs where no "
        "family is declared, else none",
    )
    return group


def add_estimate(command: argparse._ActionsContainer) -> None:
    """Add the option about which parameters predict."""
    command.add_argument(
        "--estimate",
        choices=values.ESTIMATES,
        default="predictive",
        help="parameters integrated out (default), or plugged in at their mean, mode or maximum likelihood",
    )


def add_seed(command: argparse._ActionsContainer, help: str) -> None:
    """Add the seed of random draws."""
    command.add_argument("--seed", metavar="N", type=values.whole_number, default=0, help=help)
