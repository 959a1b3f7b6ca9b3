"""Options that several commands share, the types of their values, and help topics.

Nothing slow is imported at the top, so that `--help` is fast.
"""

import ast
import csv
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import click

ALL = "*"  # stands for all columns, where an option names none
ESTIMATES = ("predictive", "mean", "map", "mle")
DEPENDENCES = ("forest", "pairs", "covariance", "all")
NUMBER: click.ParamType = click.FloatRange(min=0)
PROBABILITY = click.FloatRange(min=0, max=1, min_open=True, max_open=True)
NUMBER.name = PROBABILITY.name = "number"  # for messages: "is not a valid number"
FILE = click.Path()
OUTPUT = click.Path(dir_okay=False, writable=True)
PRIOR = re.compile(r"(?:(?P<names>.+?)=)?\s*(?P<value>[A-Za-z]\w*\s*\(.*\)|[^=()]+)", re.S)

Command = Callable[..., None]
Decorator = Callable[[Command], Command]


# Types of values


def split_list(text: str) -> list[str]:
    """Split a text at commas; a part with a comma or a quote is quoted as in CSV."""
    try:
        parts = next(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise click.BadParameter(f"{text!r}: {error}.") from None
    return [part.strip() for part in parts or [""]]


def split_names(text: str) -> tuple[str, ...]:
    """Split a text at commas into names or values; raise if one is empty."""
    names = split_list(text)
    if not all(names):
        raise click.BadParameter(f"{text!r} has an empty item.")
    return tuple(names)


class ColumnOption(NamedTuple):
    """An option's value for some columns."""

    names: tuple[str, ...]  # or patterns, or `ALL`
    value: Any  # a family, None for columns that are dropped; or a prior, which may be a number
    text: str


def parse_family(text: str) -> ColumnOption:
    """Parse `[COLUMNS=]FAMILY`."""
    from bayesnb.data.families import family_named, no_family

    names, _, word = text.rpartition("=")
    word = word.strip().lower()
    try:
        family = family_named(word)
    except ValueError:
        raise click.BadParameter(no_family(word)) from None
    return ColumnOption(split_names(names or ALL), family, text)


def complete_family(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return shell completions of a family."""
    from bayesnb.families import FAMILIES

    names, equals, word = incomplete.rpartition("=")
    families = [family for family in (*FAMILIES, "drop") if family.startswith(word)]
    return [names + equals + family for family in families]


def parse_prior(text: str) -> ColumnOption:
    """Parse `[COLUMNS=]PRIOR`, where the prior is a number or a belief."""
    match = PRIOR.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(
            f"{text!r} is neither [COLUMNS=]NUMBER nor [COLUMNS=]PRIOR(...), such as "
            "age=Gamma(2, 1)."
        )
    value = match["value"].strip()
    prior = parse_belief(value) if "(" in value else NUMBER(value)
    return ColumnOption(split_names(match["names"] or ALL), prior, text)


def parse_belief(text: str) -> Any:
    """Parse a belief such as `Gamma(2, rate=0.5)`, without evaluating the text."""
    from bayesnb.families.family import conjugate_priors

    kinds = conjugate_priors()
    try:
        call: Any = ast.parse(text, mode="eval").body
        kind = kinds[call.func.id]
        args = [ast.literal_eval(arg) for arg in call.args]
        params = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (AttributeError, KeyError, SyntaxError, TypeError, ValueError):
        raise click.BadParameter(
            f"{text!r} is not a prior such as Gamma(shape=2, rate=0.5). The priors are "
            f"{', '.join(kinds)}."
        ) from None
    try:
        return kind(*args, **params)
    except (TypeError, ValueError) as error:
        raise click.BadParameter(f"{text}: {str(error).replace('.__init__()', ':')}") from None


def list_of(item: click.ParamType) -> Callable[[str], tuple[Any, ...]]:
    """Return a parser of distinct values of a type, separated by commas."""

    def parse(text: str) -> tuple[Any, ...]:
        values = tuple(map(item, split_names(text)))
        if len(set(values)) < len(values):
            raise click.BadParameter(f"{text!r} repeats a value.")
        return values

    return parse


def parse_class_prior(text: str) -> Any:
    """Parse `uniform`, `empirical`, a concentration, or the probability of each label."""
    if "=" in text:
        pairs = [part.rpartition("=") for part in split_names(text)]
        return {label.strip(): NUMBER(share) for label, _, share in pairs}
    return text if text in ("uniform", "empirical") else NUMBER(text)


def parse_temper(text: str) -> str | float:
    """Parse `auto`, `columns`, `loo`, `none`, or an exponent above 0."""
    if text in ("auto", "columns", "loo", "none"):
        return text
    try:
        exponent = float(text)
    except ValueError:
        exponent = 0.0
    if not exponent > 0:
        raise click.BadParameter(
            f"{text!r} is neither a number above 0 nor one of auto, columns, loo, none."
        )
    return exponent


def parse_delimiter(text: str) -> str:
    """Parse one character; a tab may be written `tab`."""
    mark = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(mark) != 1:
        raise click.BadParameter(f"{text!r} is neither one character nor tab.")
    return mark


# Shared options


def combine(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options, in this order in the help."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


target_option = click.option(
    "--target", metavar="COLUMN", required=True, help="Column with the labels."
)


def output_option(default: str = "-") -> Decorator:
    """Return the option for the output file."""
    return click.option(
        "-o",
        "--output",
        type=OUTPUT,
        metavar="FILE",
        default=default,
        help="File to write; - is stdout.",
    )


prob_option = click.option(
    "--prob", type=PROBABILITY, metavar="P", help="Probability of the intervals; default: 0.89."
)

model_options = combine(
    click.option(
        "--family",
        type=parse_family,
        shell_complete=complete_family,
        multiple=True,
        metavar="[COLUMNS=]FAMILY",
        help="Distribution of columns, or drop to leave them out; see bayesnb help families.",
    ),
    click.option(
        "--prior",
        type=parse_prior,
        multiple=True,
        metavar="[COLUMNS=]PRIOR",
        help="Smoothing such as 0.5, or a prior such as 'age=Gamma(2, 1)'.",
    ),
    click.option(
        "--class-prior",
        type=parse_class_prior,
        default="1",
        metavar="PRIOR",
        help="Prior of the classes: a concentration, empirical, uniform, or LABEL=PROBABILITY,...",
    ),
    click.option(
        "--temper",
        type=parse_temper,
        default="auto",
        metavar="EXPONENT",
        help="Exponent on the columns' evidence, against overconfidence: columns (one each), loo "
        "(one for all), none, or a number. auto is columns where nothing is declared, else none.",
    ),
    click.option(
        "--dependence",
        type=click.Choice(["auto", "none", *DEPENDENCES]),
        default="auto",
        help="Dependence between columns: links between pairs (forest, pairs), numbers as one "
        "Gaussian (covariance), or all. auto is all where nothing is declared, else none.",
    ),
    click.option(
        "--missing-cells",
        type=click.Choice(["omit", "auto"]),
        default="omit",
        help="Ignore missing values (omit), or also model where they occur if that predicts the "
        "label (auto).",
    ),
)

estimate_option = click.option(
    "--estimate",
    type=click.Choice(ESTIMATES),
    default="predictive",
    help="predictive integrates the parameters out; the others plug in an estimate.",
)

reading_options = combine(
    click.option(
        "--missing",
        type=split_list,
        metavar="LIST",
        help="Texts that mean a missing value; default for CSV and TSV: ',NA,NaN,?'.",
    ),
    click.option(
        "--delimiter", type=parse_delimiter, metavar="CHAR", help="Character between cells."
    ),
    click.option("--decimal", type=click.Choice([".", ","]), default=".", help="Decimal mark."),
    click.option("--encoding", metavar="NAME", help="Text encoding; default: UTF-8."),
)

# Topics of `bayesnb help`

TABLES = """\
How tables are read

Tables are CSV, TSV or JSON lines (also compressed with gzip), Parquet, Arrow or
Feather, recognised by their first bytes or by their names; - is standard input.
In CSV and TSV the first line names the columns.

  numbers  every cell that is not missing looks like a number
  levels   anything else: text, dates, $5, 12 %, 1,234, and codes such as 007
  flags    true and false

Missing cells are empty, NA, NaN or ? in CSV and TSV, and null elsewhere.
--missing ',NA,unknown' replaces that list; an empty item is the empty cell.
None, null and N/A are levels unless they are listed.

Use --delimiter, --decimal and --encoding where they are not recognised. A
warning names columns that were probably read as the wrong kind. Messages count
rows from 0, the first row below the header.

predict and explain find the columns of the model by name, in any order, and
ignore others. All tables of a fit need the same columns.

Exit codes: 0 done, 1 the job failed, 2 bad usage, 130 interrupted.
"""

FAMILIES = """\
Families, priors, and what is chosen automatically

--family COLUMNS=FAMILY declares columns; without COLUMNS, all columns that no
other --family names. COLUMNS are names or patterns such as 'w_*', separated by
commas. A name with a comma or a quote is quoted as in CSV. Names take
precedence over patterns.

  categorical   levels; also numeric codes (zip=categorical)
  bernoulli     flags, or numbers that are only 0 and 1
  gaussian      numbers with a normal distribution
  histogram     numbers with a density of any shape
  poisson       counts of events
  multinomial   counts of words, one column for each word
  joint         a table of all combinations of the columns' levels
  multivariate  numbers with a joint normal distribution
  drop          the columns are left out

multinomial, joint and multivariate make one block of the columns that are named
together. gaussian:shared and multivariate:shared have one variance for all
classes.

If a column is not declared, flags are bernoulli, levels categorical, and
numbers histogram, unless gaussian, categorical or poisson predicts held-out
labels better by more than 2 nats.

--prior [COLUMNS=]PRIOR is a number, the concentration (smoothing) of Dirichlet
and Beta priors, or one of

  Dirichlet(concentration)             categorical, multinomial, joint
  Beta(a, b)                           bernoulli
  Gamma(shape, rate)                   poisson
  NormalInverseGamma(mean=..., count=..., shape=..., scale=...)     gaussian
  NormalInverseWishart(mean=..., count=..., dof=..., scale=...)     multivariate

Without COLUMNS it applies to all columns that it fits.

If nothing is declared, exponents (--temper) and links (--dependence) are chosen
by held-out labels too. If a family other than drop, a prior or an estimate is
declared, exponents are 1 and there are no links, unless --temper and
--dependence ask for them.

Messages name parameters as in Python: temper='loo' is --temper loo here.
"""

TOPICS = {"tables": TABLES, "families": FAMILIES}
