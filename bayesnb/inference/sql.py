"""One SELECT in standard SQL that computes class probabilities.

    cells     codes of levels, by comparisons, and numbers as they are
    scores    log p(class) + sum of exponents times log p(cell | class): of a level a number by
              CASE, of a number the logarithm of Student's t, or of the negative binomial
    weights   exp(score - largest score), which does not overflow
    answer    weights divided by their sum

Numbers have all digits of a float, and an exponent: without one some databases read decimals.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np
from scipy.special import gammaln

from bayesnb.families import Bernoulli, Gaussian, Poisson
from bayesnb.families.base import Array
from bayesnb.formatting import list_names
from bayesnb.model.fitted import Fitted
from bayesnb.model.linked import Linked
from bayesnb.model.missing import MissingCells
from bayesnb.model.powers import of_blocks
from bayesnb.model.schema import Block, Schema

MAX_NUMBERS = 200_000  # of all levels and classes
# of an argument of the gamma function, from which on Stirling's series has twelve digits
SHIFT = 10
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)
LEVEL_TYPES = (str, bool, int, float, np.bool_, np.integer, np.floating)


@dataclass(eq=False)
class Cells:
    """Columns of the first step: what each is called, by its expression."""

    names: dict[str, str] = field(default_factory=dict)

    def name(self, expression: str) -> str:
        """Return the name of an expression, which is written once."""
        return self.names.setdefault(expression, f"x{len(self.names) + 1}")


def write_select(fitted: Fitted, table: str, key: Sequence[str]) -> str:
    """Return a SELECT of the class probabilities of a table's rows, beside its key columns."""
    schema = fitted.schema
    refuse_blocks(schema)
    reader = fitted.model.posterior
    cells = Cells()
    terms: list[list[str]] = [[] for _ in fitted.classes]
    powers = of_blocks(fitted.exponents, len(schema.blocks))
    for block, belief, power in zip(schema.blocks, reader.blocks, powers, strict=True):
        for of_classes in write_terms(block, belief, power, cells):
            for part, term in zip(terms, of_classes, strict=True):
                part.append(term)
    live = np.flatnonzero(reader.live).tolist()
    scores = []
    for c in live:
        parts = [write_number(reader.log_class[c]), *terms[c]]
        scores.append("\n    + ".join(parts) + f" AS s{c}")
    largest = write_largest([f"s{c}" for c in live])
    weights = [f"exp(s{c} - largest) AS w{c}" for c in live]
    total = " + ".join(f"w{c}" for c in live)
    answers = []
    for c, label in enumerate(fitted.classes.tolist()):
        value = f"w{c} / ({total})" if c in live else write_number(0.0)
        answers.append(f"{value} AS {quote_name(f'p_{label}')}")
    keys = [quote_name(name) for name in key]
    kept = ", ".join([*keys, ""])
    codes = [f"{expression} AS {name}" for expression, name in cells.names.items()]
    return (
        f"WITH cells AS (\n  SELECT {_lines([*keys, *codes])}\n  FROM {quote_name(table)}\n),\n"
        f"scores AS (\n  SELECT {_lines([*keys, *scores])}\n  FROM cells\n),\n"
        f"peaks AS (\n  SELECT scores.*, {largest} AS largest\n  FROM scores\n),\n"
        f"weights AS (\n  SELECT {_lines([*keys, *weights])}\n  FROM peaks\n)\n"
        f"SELECT {kept}{_lines(answers)}\nFROM weights"
    )


def refuse_blocks(schema: Schema) -> None:
    """Raise for blocks that no such SELECT can have."""
    for block in schema.blocks:
        family = block.family
        names = list_names(block.names, 4, repr)
        reason = ""
        if family.words:
            reason = "words are counted in no cell: count them in columns, with Poisson()"
        elif family.multivariate and not family.has_levels:
            reason = "a covariance needs a matrix: fit with dependence='pairs', or without it"
        elif not (is_coded(block) or isinstance(family, Gaussian | Poisson)):
            reason = f"there is no formula for {type(family).__name__}"
        elif family.unseen == "error":
            reason = "a SELECT cannot raise unseen='error': take 'ignore' or 'reserve'"
        if reason:
            raise ValueError(f"to_sql: {names}: {reason}.")


def is_coded(block: Block) -> bool:
    """Return whether cells are codes of levels, so that a table of numbers says all."""
    family = block.family
    has_levels = bool(family.has_levels or block.grid is not None)
    return has_levels or isinstance(family, Bernoulli | MissingCells | Linked)


def write_terms(block: Block, belief: Any, power: Any, cells: Cells) -> Iterator[list[str]]:
    """Yield what a feature adds to the score of each class, feature by feature."""
    if isinstance(block.family, Linked):
        yield from write_links(block, belief, power, cells)
    elif block.family.combined:
        yield write_combinations(block, belief, power, cells)
    elif is_coded(block):
        codes = [cells.name(write_code(block, j)) for j in range(len(block.names))]
        yield from write_tables(codes, level_counts(block), belief, power)
    elif isinstance(block.family, Gaussian):
        yield from write_student(block, belief, power, cells)
    else:
        yield from write_counts(block, belief, power, cells)


# Levels


def level_counts(block: Block) -> list[int]:
    """Return the number of levels of each column."""
    if isinstance(block.family, Bernoulli | MissingCells):
        return [2] * len(block.names)
    return list(block.sizes)


def write_code(block: Block, j: int) -> str:
    """Return the expression of a column's level: -1 where it is missing, or not known."""
    family = block.family
    if isinstance(family, MissingCells):
        name = quote_name(str(block.names[j]).removesuffix(" missing"))
        return f"CASE WHEN {name} IS NULL THEN 1 ELSE 0 END"
    name = quote_name(block.names[j])
    number = f"CAST({name} AS DOUBLE PRECISION)"
    conditions = []
    otherwise = "-1"
    if block.grid is not None:
        conditions = [f"{number} <= {write_number(cut)}" for cut in block.grid.cuts_of(j)]
        otherwise = f"{len(conditions)}"
    elif isinstance(family, Bernoulli):
        conditions = [f"{number} = 0", f"{number} = 1"]
        if family.threshold is not None:
            conditions = [f"{number} <= {write_number(family.threshold)}"]
            otherwise = "1"
    else:
        conditions = [f"{name} = {write_level(level)}" for level in block.levels[j]]
        if family.unseen == "reserve":
            otherwise = f"{len(conditions)}"
    lines = [f"WHEN {condition} THEN {k}" for k, condition in enumerate(conditions)]
    return " ".join(["CASE", f"WHEN {name} IS NULL THEN -1", *lines, f"ELSE {otherwise} END"])


def write_tables(
    codes: Sequence[str], sizes: Sequence[int], belief: Any, power: Any
) -> Iterator[list[str]]:
    """Yield what each level adds to the score of each class, by the name of the column's code."""
    size = max(sizes)
    refuse_long(size * len(sizes) * len(belief))
    probes = np.minimum(np.arange(size)[:, None], np.array(sizes) - 1)
    scores = belief.cell_scores(probes) * power  # `(k, c, f)`
    for j, code in enumerate(codes):
        yield [write_lookup(code, column) for column in scores[: sizes[j], :, j].T]


def write_lookup(code: str, numbers: Array) -> str:
    """Return the number of a code, 0 of any other."""
    lines = " ".join(f"WHEN {k} THEN {write_number(x)}" for k, x in enumerate(numbers))
    return f"CASE {code} {lines} ELSE 0e0 END"


def write_combinations(block: Block, belief: Any, power: Any, cells: Cells) -> list[str]:
    """Return what the combination of several columns' levels adds to the score of each class."""
    sizes = block.sizes
    refuse_long(prod(size + 1 for size in sizes) * len(belief))
    codes = [cells.name(write_code(block, j)) for j in range(len(sizes))]
    probes = np.array([*product(*[range(-1, size) for size in sizes])])
    code = "0"
    for name, size in zip(codes, sizes, strict=True):
        code = f"({code}) * {size + 1} + {name} + 1"
    scores = belief.score(probes) * power
    return [write_lookup(f"({code})", column) for column in scores.T]


def write_links(block: Block, belief: Any, power: Any, cells: Cells) -> Iterator[list[str]]:
    """Yield what each link adds to the score of each class."""
    family: Any = block.family
    columns = family.columns
    codes = []
    for u, v in family.ends:
        one, two = (cells.name(write_code(*columns[end])) for end in (u, v))
        code = f"{one} * {family.sizes[v]} + {two}"
        codes.append(f"(CASE WHEN {one} < 0 OR {two} < 0 THEN -1 ELSE {code} END)")
    yield from write_tables(codes, family.pairs.sizes, belief, power)


# Numbers


def write_student(block: Block, belief: Any, power: Any, cells: Cells) -> Iterator[list[str]]:
    """Yield the log density of Student's t in each class, times the exponent."""
    shape = (len(belief), len(block.names))
    student = belief.predictive()
    free, center, unit = (np.broadcast_to(each, shape) for each in student.args)
    height = student.logpdf(center)
    weight = np.broadcast_to(power, shape[1:])
    for j, name in enumerate(block.names):
        x = cells.name(f"CAST({quote_name(name)} AS DOUBLE PRECISION)")
        terms = []
        for c in range(len(belief)):
            gap = f"({x} - {write_number(center[c, j])}) / {write_number(unit[c, j])}"
            factor = -weight[j] * (free[c, j] + 1) / 2
            log = f"ln(1 + {gap} * ({gap}) / {write_number(free[c, j])})"
            top = write_number(weight[j] * height[c, j])
            terms.append(f"coalesce({top} + {write_number(factor)} * {log}, 0)")
        yield terms


def write_counts(block: Block, belief: Any, power: Any, cells: Cells) -> Iterator[list[str]]:
    """Yield the log probability of a negative binomial in each class, up to a number for all."""
    shape = (len(belief), len(block.names))
    size, rate = (np.broadcast_to(each, shape) for each in (belief.shape, belief.rate))
    weight = np.broadcast_to(power, shape[1:])
    for j, name in enumerate(block.names):
        x = cells.name(f"CAST({quote_name(name)} AS DOUBLE PRECISION)")
        terms = []
        for c in range(len(belief)):
            a, b = float(size[c, j]), float(rate[c, j])
            constant = write_number(a * np.log(b / (b + 1)) - gammaln(a))
            slope = write_number(-np.log1p(b))
            log = f"{constant} + {slope} * {x} + {write_log_gamma(f'({x} + {write_number(a)})')}"
            terms.append(f"coalesce({write_number(weight[j])} * ({log}), 0)")
        yield terms


def write_log_gamma(z: str) -> str:
    """Return the log of the gamma function of a positive number, by Stirling's series above it."""
    t = f"({z} + {SHIFT})"
    rising = " * ".join([z, *(f"({z} + {k})" for k in range(1, SHIFT))])
    series = []
    for n, factor in enumerate(STIRLING):
        power = " / ".join([write_number(factor), *[t] * (2 * n + 1)])
        series.append(power)
    half_log = write_number(np.log(2 * np.pi) / 2)
    return f"({t} - 5e-1) * ln{t} - {t} + {half_log} + {' + '.join(series)} - ln({rising})"


# Words of the language


def write_number(x: Any) -> str:
    """Return a number with all of its digits, which no database takes for a decimal."""
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
            f"to_sql: the level {level!r} is a {type(level).__name__}: make text of that column."
        )
    if isinstance(level, str):
        if "\0" in level:
            raise ValueError(f"to_sql: the level {level!r} has a zero byte, which SQL cannot say.")
        return "'" + level.replace("'", "''") + "'"
    if isinstance(level, float | np.floating):
        return write_number(level)
    return str(int(level)) if not isinstance(level, bool | np.bool_) else str(bool(level)).upper()


def quote_name(name: Any) -> str:
    """Return a name of a column or a table as an identifier."""
    text = str(name)
    if not text or "\0" in text:
        raise ValueError(f"to_sql: {text!r} can be no name in SQL.")
    return '"' + text.replace('"', '""') + '"'


def write_largest(names: Sequence[str]) -> str:
    """Return the largest of some columns."""
    if len(names) == 1:
        return names[0]
    lines = []
    for name in names[:-1]:
        others = " AND ".join(f"{name} >= {other}" for other in names if other != name)
        lines.append(f"WHEN {others} THEN {name}")
    return " ".join(["CASE", *lines, f"ELSE {names[-1]} END"])


def refuse_long(numbers: int) -> None:
    """Raise for tables of too many numbers."""
    if numbers > MAX_NUMBERS:
        raise ValueError(
            f"to_sql: {numbers:,} numbers of levels and classes are too many for a SELECT. Fit "
            "with dependence='forest' or None, or with fewer levels."
        )


def _lines(items: Sequence[str]) -> str:
    return ",\n    ".join(items)
