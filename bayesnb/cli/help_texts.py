"""The long parts of the help: `bayesnb help tables` and `bayesnb help families`."""

TABLES = """\
How tables are read

Tables are CSV, TSV or JSON lines (also compressed with gzip), Parquet, Arrow or
Feather, recognised by their first bytes or by their names; - is standard input.
In CSV and TSV the first line names the columns.

  numbers  every cell that is not missing looks like a number
  levels   all else: text, dates, $5, 12 %, 1,234, and codes such as 007
  flags    true and false

Missing cells are empty, NA, NaN or ? in CSV and TSV, and null elsewhere.
--missing ',NA,unknown' replaces that list; an empty text is the empty cell.
None, null and N/A are levels unless they are listed.

--delimiter, --decimal and --encoding say what is not recognised. A warning
names columns that most likely are not what they are read as. Messages count
rows below the header from 0.

predict and explain find the columns of the model by name, in any order, and
ignore others. Tables of one fit need the same columns.

Exit codes: 0 done, 1 the job failed, 2 bad usage, 130 interrupted.
"""

FAMILIES = """\
Families, priors and what is chosen where nothing is declared

--family COLUMNS=FAMILY declares columns; without COLUMNS, all that no other
--family names. COLUMNS are names or patterns such as 'w_*', between commas. A
name with a comma or a quote is quoted as in CSV; a name goes before a pattern.

  categorical   levels; also numbers that are names (zip=categorical)
  bernoulli     flags, or numbers that are only 0 and 1
  gaussian      numbers from a bell curve
  histogram     numbers from a density of any shape
  poisson       counts of events
  multinomial   counts of words, one column a word
  joint         a table of all combinations of the columns' levels
  multivariate  numbers with their covariances
  drop          the columns are left out

multinomial, joint and multivariate make one block of the columns that are named
together. gaussian:shared and multivariate:shared have one variance for all
classes.

Where a column is not declared, flags are bernoulli, levels categorical, and
numbers histogram, unless gaussian, categorical or poisson predicts held-out
labels better by more than 2 nats.

--prior [COLUMNS=]PRIOR is a number, the concentration (smoothing) of Dirichlet
and Beta priors, or one of

  Dirichlet(concentration)             categorical, multinomial, joint
  Beta(a, b)                           bernoulli
  Gamma(shape, rate)                   poisson
  NormalInverseGamma(mean=..., count=..., shape=..., scale=...)     gaussian
  NormalInverseWishart(mean=..., count=..., dof=..., scale=...)     multivariate

Without COLUMNS it is for all columns that it fits.

Declare nothing, and exponents (--temper) and links (--dependence) are chosen by
held-out labels too. Declare a family other than drop, a prior or an estimate,
and the model is what you declared: exponents are 1, and nothing is linked,
unless --temper and --dependence ask for it.

Messages name parameters as Python does: temper='loo' is --temper loo here.
"""

TOPICS = {"tables": TABLES, "families": FAMILIES}
