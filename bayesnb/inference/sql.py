"""One SELECT that computes class probabilities, in standard SQL except for MATERIALIZED.

    cells     codes of levels, by comparisons, and numbers as they are
    scores    log p(class) + sum of exponents times log p(cell | class): for levels a number by
              CASE, for numbers the log density of Student's t, or of the negative binomial
    peaks     the largest score
    weights   exp(score - largest score), which does not overflow

Probabilities are weights divided by their sum. Numbers have all digits of a float, and an exponent,
as some databases would otherwise read decimals. MATERIALIZED keeps SQLite from copying the
expression of a column wherever it is used, which takes time and memory proportional to classes**4.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np

from bayesnb.families import Bernoulli, Categorical, Gaussian, Histogram, JointTable, Poisson
from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.formatting import list_names
from bayesnb.model.fitted import Fitted
from bayesnb.model.linked import Linked
from bayesnb.model.missing import MissingCells
from bayesnb.model.powers import of_blocks
from bayesnb.model.schema import Block, Schema

MAX_NUMBERS = 200_000  # levels times classes
MAX_TERMS = 100  # of a sum without parentheses: SQLite and DuckDB nest at most 1,000 operations
# added to the argument of the gamma function, so that Stirling's series has twelve digits
SHIFT = 10
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)
STEPS = ("cells", "scores", "peaks", "weights")
LEVEL_TYPES = (str, bool, int, float, np.bool_, np.integer, np.floating)


@dataclass(eq=False)
class Cells:
    """The columns of the table, and names of the expressions in the first step."""

    columns: Sequence[Hashable]
    names: dict[str, str] = field(default_factory=dict)

    def name(self, expression: str) -> str:
        """Return the name of an expression; each is written once."""
        return self.names.setdefault(expression, f"x{len(self.names) + 1}")


def write_select(fitted: Fitted, table: str, key: Sequence[str]) -> str:
    """Return a SELECT of the key columns and class probabilities of the rows of a table.

    The user's columns are read only in the first step, and named only in the result, so their names
    cannot clash with those of the steps.
    """
    refuse_blocks(fitted.schema)
    answers = [f"p_{label}" for label in fitted.classes.tolist()]
    refuse_same_names([*key, *answers])
    live = np.flatnonzero(fitted.model.posterior.live).tolist()
    cells = Cells(fitted.schema.columns)
    sums = write_scores(fitted, live, cells)
    scores = [f"s{c}" for c in live]
    weights = [f"w{c}" for c in live]
    kept = [f"k{n}" for n in range(len(key))]
    total = " + ".join(weights)
    shares = [f"w{c} / ({total})" if c in live else "0e0" for c in range(len(answers))]
    names = [f"{step}_" if table.lower() == step else step for step in STEPS]
    columns = [
        [*alias(map(quote_name, key), kept), *alias(cells.names, cells.names.values())],
        [*kept, *alias(sums, scores)],
        [*kept, *scores, f"{write_largest(scores)} AS largest"],
        [*kept, *alias([f"exp({score} - largest)" for score in scores], weights)],
    ]
    sources = [quote_name(table), *names]
    steps = []
    for name, source, each in zip(names, sources, columns, strict=False):
        steps.append(f"{name} AS MATERIALIZED (\n  {select(each, source, '  ')}\n)")
    final = alias([*kept, *shares], map(quote_name, [*key, *answers]))
    listed = ",\n".join(steps)
    return f"WITH {listed}\n{select(final, names[-1])}"


def write_scores(fitted: Fitted, live: Sequence[int], cells: Cells) -> list[str]:
    """Return the score of each possible class, as a sum."""
    reader = fitted.model.posterior
    blocks = fitted.schema.blocks
    powers = of_blocks(fitted.exponents, len(blocks))
    terms = [[write_number(reader.log_class[c])] for c in live]
    for block, belief, power in zip(blocks, reader.blocks, powers, strict=True):
        write = WRITERS[type(block.family)]
        for of_classes in write(block, belief, power, cells):
            for c, each in zip(live, terms, strict=True):
                each.append(of_classes[c])
    return [write_sum(each) for each in terms]


def refuse_blocks(schema: Schema) -> None:
    """Raise for blocks that SQL cannot express."""
    for block in schema.blocks:
        family = block.family
        reason = ""
        if family.words:
            reason = "blocks of words are not supported: use one column per count, with Poisson()"
        elif family.multivariate and not family.has_levels:
            reason = "a covariance needs matrices: fit with dependence='pairs', or without it"
        elif type(family) not in WRITERS:
            reason = f"there is no formula for {type(family).__name__}"
        elif family.unseen == "error":
            reason = "a SELECT cannot raise unseen='error': use 'ignore' or 'reserve'"
        if reason:
            raise ValueError(f"to_sql: {list_names(block.names, 4, repr)}: {reason}.")


def refuse_same_names(names: Sequence[str]) -> None:
    """Raise if two columns of the result have the same name."""
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"to_sql: two columns of the result are {name!r}: rename the key.")


# Levels


def write_levels(block: Block, belief: Any, power: Any, cells: Cells) -> Iterator[list[str]]:
    """Yield contributions of levels to the score of each class, column by column."""
    codes = [cells.name(write_code(block, j)) for j in range(len(block.names))]
    yield from write_tables(codes, block.sizes or [2] * len(codes), belief, power)


def write_flags(block: Block, belief: Any, power: Any, cells: Cells) -> Iterator[list[str]]:
    """Yield contributions of flags of missing cells to the score of each class."""
    family: Any = block.family
    codes = []
    for place in family.places:
        name = quote_name(cells.columns[place])
        codes.append(cells.name(f"CASE WHEN {name} IS NULL THEN 1 ELSE 0 END"))
    yield from write_tables(codes, [2] * len(codes), belief, power)


def write_links(block: Block, belief: Any, power: Any, cells: Cells) -> Iterator[list[str]]:
    """Yield contributions of links to the score of each class."""
    family: Any = block.family
    codes = []
    for u, v in family.ends:
        one, two = (cells.name(write_code(*family.columns[end])) for end in (u, v))
        code = f"{one} * {family.sizes[v]} + {two}"
        codes.append(f"(CASE WHEN {one} < 0 OR {two} < 0 THEN -1 ELSE {code} END)")
    yield from write_tables(codes, block.sizes, belief, power)


def write_combinations(block: Block, belief: Any, power: Any, cells: Cells) -> Iterator[list[str]]:
    """Yield the contribution of a combination of levels to the score of each class."""
    sizes = block.sizes
    refuse_long(prod(size + 1 for size in sizes) * len(belief))
    code = "0"
    for j, size in enumerate(sizes):
        code = f"({code}) * {size + 1} + {cells.name(write_code(block, j))} + 1"
    probes = np.array([*product(*[range(-1, size) for size in sizes])])
    scores = belief.score(probes) * power
    yield [write_lookup(f"({code})", column) for column in scores.T]


def write_code(block: Block, j: int) -> str:
    """Return an expression for the code of a level, -1 if missing or unknown."""
    family = block.family
    name = quote_name(block.names[j])
    number = write_double(name)
    otherwise = "-1"
    if block.grid is not None:
        conditions = [f"{number} <= {write_number(cut)}" for cut in block.grid.cuts_of(j)]
        otherwise = f"{len(conditions)}"
    elif family.threshold is not None:
        conditions = [f"{number} <= {write_number(family.threshold)}"]
        otherwise = "1"
    elif family.outcomes:
        conditions = [f"{number} = 0", f"{number} = 1"]
    else:
        conditions = [f"{name} = {write_level(level)}" for level in block.levels[j]]
        if family.unseen == "reserve":
            otherwise = f"{len(conditions)}"
    lines = [f"WHEN {condition} THEN {k}" for k, condition in enumerate(conditions)]
    return " ".join(["CASE", f"WHEN {name} IS NULL THEN -1", *lines, f"ELSE {otherwise} END"])


def write_tables(
    codes: Sequence[str], sizes: Sequence[int], belief: Any, power: Any
) -> Iterator[list[str]]:
    """Yield contributions of levels to the score of each class, looked up by code."""
    size = max(sizes)
    refuse_long(size * len(sizes) * len(belief))
    probes = np.minimum(np.arange(size)[:, None], np.array(sizes) - 1)
    scores = belief.cell_scores(probes) * power  # `(k, c, f)`
    for j, code in enumerate(codes):
        yield [write_lookup(code, column) for column in scores[: sizes[j], :, j].T]


def write_lookup(code: str, numbers: Array) -> str:
    """Return a lookup of numbers by code, 0 for other codes."""
    lines = " ".join(f"WHEN {k} THEN {write_number(x)}" for k, x in enumerate(numbers))
    return f"CASE {code} {lines} ELSE 0e0 END"


def refuse_long(numbers: int) -> None:
    """Raise for too many numbers."""
    if numbers > MAX_NUMBERS:
        raise ValueError(
            f"to_sql: {numbers:,} numbers of levels and classes are too many for a SELECT. Fit "
            "with dependence='forest' or None, or with fewer levels."
        )


# Numbers


def write_student(block: Block, belief: Any, power: Any, cells: Cells) -> Iterator[list[str]]:
    """Yield the log density of Student's t in each class, times the exponent.

    It is a constant - (df + 1) / 2 log(1 + z**2), with z the distance from the centre in units of
    the scale times sqrt(df). For z above 1e8 the 1 is negligible, and the square may overflow.
    """
    student = belief.predictive()
    free, center, unit = student.args
    table = np.broadcast_arrays(
        center, unit * np.sqrt(free), power * student.logpdf(center), -power * (free + 1) / 2
    )
    for j, name in enumerate(block.names):
        x = cells.name(write_double(quote_name(name)))
        terms = []
        for middle, width, top, factor in np.stack(table)[:, :, j].T:
            z = f"(({x} - {write_number(middle)}) / {write_number(width)})"
            log = f"CASE WHEN abs({z}) < 1e8 THEN ln(1 + {z} * {z}) ELSE 2 * ln(abs({z})) END"
            terms.append(f"coalesce({write_number(top)} + {write_number(factor)} * {log}, 0)")
        yield terms


def write_counts(block: Block, belief: Any, power: Any, cells: Cells) -> Iterator[list[str]]:
    """Yield the log probability of a negative binomial in each class, up to a term shared by all.

    It is log G(x + a) - log G(a) - a log(1 + 1 / b) - x log(1 + b), with G the gamma function, a
    the shape and b the rate. With A = a + 10 and Stirling's series, the first two terms minus x log
    m are

        (A - 1/2) log(1 + x / A) + x (log((x + A) / m) - 1) + series(x + A) - series(A)
        - log(product of x + a + k) + log(product of a + k)       k from 0 to 9

    where no large numbers are subtracted if m is about the mean; m is the same for all classes.
    """
    table = np.broadcast_arrays(belief.shape, belief.rate, power)
    for j, name in enumerate(block.names):
        x = cells.name(write_double(quote_name(name)))
        numbers = np.stack(table)[:, :, j].T
        usual = np.mean(numbers[:, 0] / numbers[:, 1])
        terms = []
        for a, b, weight in numbers:
            top = a + SHIFT
            series = sum(part / top ** (2 * n + 1) for n, part in enumerate(STIRLING))
            start = np.log(a + np.arange(SHIFT)).sum() - series - a * np.log1p(1 / b)
            shifted = f"({x} + {write_number(top)})"
            parts = [
                write_number(start),
                f"{write_number(top - 0.5)} * {write_log1p(f'({x} / {write_number(top)})')}",
                f"{x} * (ln({shifted} / {write_number(usual * (b + 1))}) - 1)",
                *write_series(shifted),
            ]
            rising = " * ".join(f"({x} + {write_number(a + k)})" for k in range(SHIFT))
            log = f"{' + '.join(parts)} - ln({rising})"
            terms.append(f"coalesce({write_number(weight)} * ({log}), 0)")
        yield terms


def write_log1p(u: str) -> str:
    """Return log(1 + u) for u >= 0; the quotient corrects the rounding of 1 + u."""
    return f"CASE WHEN 1 + {u} > 1 THEN ln(1 + {u}) * {u} / ((1 + {u}) - 1) ELSE {u} END"


def write_series(t: str) -> list[str]:
    """Return the terms of Stirling's series."""
    terms = []
    for n, factor in enumerate(STIRLING):
        terms.append(" / ".join([write_number(factor), *[t] * (2 * n + 1)]))
    return terms


WRITERS: dict[type[Family], Callable[..., Iterator[list[str]]]] = {
    Bernoulli: write_levels,
    Categorical: write_levels,
    Histogram: write_levels,
    JointTable: write_combinations,
    Linked: write_links,
    MissingCells: write_flags,
    Gaussian: write_student,
    Poisson: write_counts,
}


# SQL syntax


def select(columns: Sequence[str], source: str, indent: str = "") -> str:
    """Return a SELECT, with one column per line."""
    lines = f",\n{indent}  ".join(columns)
    return f"{indent}SELECT\n{indent}  {lines}\n{indent}FROM {source}".removeprefix(indent)


def alias(expressions: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return expressions with aliases."""
    return [f"{each} AS {name}" for each, name in zip(expressions, names, strict=True)]


def write_sum(terms: Sequence[str]) -> str:
    """Return a sum, split by parentheses if it is long."""
    if len(terms) <= MAX_TERMS:
        return "\n    + ".join(terms)
    starts = range(0, len(terms), MAX_TERMS)
    return write_sum([f"({write_sum(terms[start : start + MAX_TERMS])})" for start in starts])


def write_double(name: str) -> str:
    """Return a column cast to double precision."""
    return f"CAST({name} AS DOUBLE PRECISION)"


def write_number(x: Any) -> str:
    """Return a number with all digits and an exponent, so that no database reads a decimal."""
    value = float(x)
    if not np.isfinite(value):
        raise ValueError(
            "to_sql: a cell is impossible in a class, or a number is not finite. Use a smoothing "
            "above 0."
        )
    text = repr(value)
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if value < 0 else text


def write_level(level: Any) -> str:
    """Return a level as a literal."""
    if not isinstance(level, LEVEL_TYPES):
        raise ValueError(
            f"to_sql: the level {level!r} is a {type(level).__name__}: convert the column to text."
        )
    if isinstance(level, str):
        if "\0" in level:
            raise ValueError(f"to_sql: the level {level!r} has a zero byte, which SQL lacks.")
        return "'" + level.replace("'", "''") + "'"
    if isinstance(level, float | np.floating):
        return write_number(level)
    return str(int(level)) if not isinstance(level, bool | np.bool_) else str(bool(level)).upper()


def quote_name(name: Any) -> str:
    """Return the name of a column or table as a quoted identifier."""
    text = str(name)
    if not text or "\0" in text:
        raise ValueError(f"to_sql: {text!r} is not a valid name in SQL.")
    return '"' + text.replace('"', '""') + '"'


def write_largest(names: Sequence[str]) -> str:
    """Return an expression for the largest of some columns."""
    if len(names) == 1:
        return names[0]
    lines = []
    for name in names[:-1]:
        others = " AND ".join(f"{name} >= {other}" for other in names if other != name)
        lines.append(f"WHEN {others} THEN {name}")
    return " ".join(["CASE", *lines, f"ELSE {names[-1]} END"])
