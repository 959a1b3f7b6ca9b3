"""Any table, seen one way: columns with names, as numbers or as values. The only room that knows dataframes."""

from bayesnb.table.build import Blank, Part
from bayesnb.table.containers import SparseTable, Table
from bayesnb.table.files import read_file, read_text, split_labels
from bayesnb.table.frames import nested, open_table
from bayesnb.table.recipes import blank_of
from bayesnb.table.values import factorize_labels, is_missing

__all__ = [
    "Blank",
    "Part",
    "SparseTable",
    "Table",
    "blank_of",
    "factorize_labels",
    "is_missing",
    "nested",
    "open_table",
    "read_file",
    "read_text",
    "split_labels",
]
