"""Any table, seen one way: columns with names, as numbers or as values. The only room that knows dataframes."""

from bayesnb.data.amounts import Amounts, amounts_of
from bayesnb.data.blank_tables import Blank, DrawnColumns, blank_of
from bayesnb.data.column_values import coded_text, factorize_labels, is_missing
from bayesnb.data.containers import SparseTable, Table
from bayesnb.data.files import (
    LABEL_ADVICE,
    PLAIN,
    aligned,
    beside,
    cell_kind,
    format_of_name,
    open_sheet,
    open_stream,
    open_writer,
    read_cells,
    read_file,
    read_text,
    split_labels,
)
from bayesnb.data.frames import is_lazy, nested, open_table, refuse_lazy, table_of_columns
from bayesnb.data.lists import Lists
from bayesnb.data.sheets import FileSheet, nothing, stacked
from bayesnb.data.sources import Reading
from bayesnb.data.text_cells import joined
from bayesnb.data.text_files import looks_numeric

__all__ = [
    "LABEL_ADVICE",
    "PLAIN",
    "Amounts",
    "Blank",
    "DrawnColumns",
    "FileSheet",
    "Lists",
    "Reading",
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
    "table_of_columns",
]
