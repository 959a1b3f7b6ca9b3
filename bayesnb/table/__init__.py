"""Any table, seen one way: columns with names, as numbers or as values. The only room that knows dataframes."""

from bayesnb.table.containers import SparseTable, Table, open_table
from bayesnb.table.files import read_file, split_labels
from bayesnb.table.values import is_missing

__all__ = ["SparseTable", "Table", "is_missing", "open_table", "read_file", "split_labels"]
