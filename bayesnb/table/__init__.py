"""Any table, seen one way: columns with names, as numbers or as values. The only room that knows dataframes."""

from bayesnb.table.amounts import Amounts, amounts_of
from bayesnb.table.build import Blank, Part
from bayesnb.table.containers import SparseTable, Table
from bayesnb.table.files import (
    LABEL_ADVICE,
    PLAIN,
    cell_kind,
    open_sheet,
    open_stream,
    read_cells,
    read_file,
    read_text,
    split_labels,
)
from bayesnb.table.frames import is_lazy, nested, open_table, refuse_lazy
from bayesnb.table.kinds import joined
from bayesnb.table.lists import Lists
from bayesnb.table.recipes import blank_of
from bayesnb.table.records import Reading, looks_numeric
from bayesnb.table.sheets import Sheet, nothing, stacked
from bayesnb.table.texts import coded_text
from bayesnb.table.values import factorize_labels, is_missing
from bayesnb.table.writing import aligned, beside, format_of_name, open_writer

__all__ = [
    "LABEL_ADVICE",
    "PLAIN",
    "Amounts",
    "Blank",
    "Lists",
    "Part",
    "Reading",
    "Sheet",
    "SparseTable",
    "Table",
    "aligned",
    "amounts_of",
    "beside",
    "blank_of",
    "cell_kind",
    "coded_text",
    "factorize_labels",
    "format_of_name",
    "is_lazy",
    "is_missing",
    "joined",
    "looks_numeric",
    "nested",
    "nothing",
    "open_sheet",
    "open_stream",
    "open_table",
    "open_writer",
    "read_cells",
    "read_file",
    "read_text",
    "refuse_lazy",
    "split_labels",
    "stacked",
]
