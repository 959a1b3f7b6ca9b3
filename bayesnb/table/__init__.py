"""Any table, seen one way: columns with names, as numbers or as values. The only room that knows dataframes."""

from bayesnb.table.containers import SparseTable, Table
from bayesnb.table.files import read_file, split_labels
from bayesnb.table.frames import open_table
from bayesnb.table.values import factorize_labels, is_missing

__all__ = ["SparseTable", "Table", "factorize_labels", "is_missing", "open_table", "read_file", "split_labels"]
