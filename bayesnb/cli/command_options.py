"""Options that several commands share, and how help is laid out. Nothing slow is imported here."""

import argparse
import difflib
import re
import shutil
import textwrap
from collections.abc import Iterable
from typing import Any, NoReturn

from bayesnb.cli import option_values as values
from bayesnb.cli.output import FORMATS
from bayesnb.safe_output import visible

TABLES = """\
Tables are CSV, TSV or JSON lines (also compressed with gzip), Parquet, Arrow or Feather, recognised by their first
bytes or by their names; - is standard input. In CSV and TSV the first line names the columns. A column is numbers if
every cell that is not missing looks like one; digits after a leading zero (007) make the column levels. A column of
true and false is flags. All other columns are levels, including dates and numbers such as $5, 12 % or 1,234: a warning
says how to convert them with pandas. Messages count lines from 1, and rows below the header from 0.

exit codes: 0 done, 1 the job failed (because of the table, for instance, or a column that it lacks), 2 bad usage (an
unknown option or family), 130 interrupted
"""


class CommandHelp(argparse.HelpFormatter):
    """Help as wide as the terminal: paragraphs are filled, and those with an indented line stay as they are."""

    def __init__(self, prog: str) -> None:
        width = max(min(shutil.get_terminal_size().columns - 2, 118), 40)
        super().__init__(prog, max_help_position=min(28, width // 3), width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(
            part
            if "\n " in f"\n{part}"
            else textwrap.fill(" ".join(part.split()), width, break_on_hyphens=False)
            for part in paragraphs
        )


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return a question about the name that is nearest to a word, or nothing."""
    near = difflib.get_close_matches(word, names, 1)
    return f" Did you mean {near[0]}?" if near else ""


def options_of(parser: argparse.ArgumentParser, command: str) -> list[str]:
    """Return the options of a command."""
    (commands,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    return [name for action in commands.choices[command]._actions for name in action.option_strings]


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        line = visible(" ".join(message.split())).rstrip(".")
        if choice := re.fullmatch(
            r"argument COMMAND: invalid choice: '(.*)' \(choose from (.*)\)", line
        ):
            word, names = choice[1], re.findall(r"[\w-]+", choice[2])
            line = f"there is no command '{word}'; there are {', '.join(names)}.{did_you_mean(word, names)}"
        self.exit(
            2,
            f"{self.prog}: error: {line}{'' if line.endswith('?') else '.'} See {self.prog} --help\n",
        )


def add_command(
    commands: Any, name: str, examples: str, *, notes: str = "", **texts: str
) -> argparse.ArgumentParser:
    """Add a command with its examples, `--quiet` and `--debug`."""
    epilog = f"examples:\n{examples}\n\n{notes}"
    command = commands.add_parser(
        name, epilog=epilog, formatter_class=CommandHelp, allow_abbrev=False, **texts
    )
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
        help=f"{', '.join(FORMATS)}, where neither the first bytes nor the name shows it",
    )
    group.add_argument(
        "--missing",
        metavar="LIST",
        type=values.missing,
        help="texts that mean a missing cell, separated by commas; an empty text is the empty cell. Default in CSV and "
        "TSV: ',NA,NaN,?' and nothing else (None, null and N/A are levels); null in JSON, Parquet and Arrow is always "
        "missing",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHAR",
        type=values.delimiter,
        help="default: the likeliest of comma, semicolon, tab, |",
    )
    group.add_argument(
        "--decimal",
        choices=(".", ","),
        default=".",
        metavar="MARK",
        help="decimal mark: . (default) or ,",
    )
    group.add_argument(
        "--encoding",
        metavar="NAME",
        help="encoding of text (default: utf-8, or utf-16 where the file begins with its mark)",
    )


def add_model(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options about what the model is; return their group."""
    group = command.add_argument_group("the model")
    group.add_argument(
        "--family",
        metavar="[COLUMNS=]FAMILY",
        type=values.family,
        action="append",
        default=[],
        help=f"{', '.join(values.FAMILIES)}, or drop to leave columns out. COLUMNS are names or patterns such as "
        "'w_*', separated by commas; without them the family is that of all columns that no other --family names. "
        "Columns that are named together are modelled as one block if they are multinomial, joint (a table of all "
        "combinations of their levels) or multivariate (numbers with their covariances). gaussian:shared and "
        "multivariate:shared have one variance for all classes. A name takes precedence over a pattern; a name with a "
        "comma or a quote is quoted as in CSV; the family is what follows the last =. Default: bernoulli for flags "
        "and for numbers that are only 0 and 1, categorical for levels; for other numbers polyatree, unless "
        "gaussian, categorical or poisson predicts held-out labels better by more than 2 nats",
    )
    group.add_argument(
        "--prior",
        metavar="[COLUMNS=]PRIOR",
        type=values.prior,
        action="append",
        default=[],
        help="a number, which is the concentration of Dirichlet and Beta priors, or Dirichlet(...), Beta(a, b), "
        "Gamma(shape, rate), NormalInverseGamma(mean=..., count=..., shape=..., scale=...), "
        "NormalInverseWishart(mean=..., count=..., dof=..., scale=...); for the columns named, or for all "
        "columns that it fits",
    )
    group.add_argument(
        "--class-prior",
        metavar="PRIOR",
        type=values.class_prior,
        default=1.0,
        help="prior of the class probabilities: a concentration (default: 1), empirical, uniform, or known "
        "probabilities, LABEL=PROBABILITY,...",
    )
    group.add_argument(
        "--temper",
        metavar="auto|columns|loo|none|T",
        type=values.temper,
        default="auto",
        help="exponent on the columns' evidence, which corrects overconfident probabilities: a number; loo estimates "
        "one; columns estimates one for each column; none is 1; auto (default) is columns where "
        "no family (drop apart), no prior of a column and no --estimate is given, else none",
    )
    group.add_argument(
        "--dependence",
        metavar="KIND",
        choices=values.DEPENDENCE,
        default="auto",
        help="how columns that depend on each other within a class are modelled: none: as if independent; forest: "
        "links between pairs that form a spanning forest; pairs: further links too; blocks: jointly; auto (default): "
        "pairs where auto of --temper is columns, else none",
    )
    return group


def add_estimate(command: argparse._ActionsContainer) -> None:
    """Add the option about which parameters predict."""
    command.add_argument(
        "--estimate",
        choices=values.ESTIMATES,
        default="predictive",
        help="predictive (default): parameters are integrated out; mean, map, mle: they are plugged in at their "
        "posterior mean, their mode, or their maximum likelihood estimate",
    )


def add_seed(command: argparse._ActionsContainer, help: str) -> None:
    """Add the seed of random draws."""
    command.add_argument("--seed", metavar="N", type=values.whole_number, default=0, help=help)
