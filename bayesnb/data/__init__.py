"""Tables of all kinds with one interface: named columns, as numbers or as values.

Only this room knows dataframes.
"""

from bayesnb.data.columns import Lists, is_lazy, is_missing, refuse_lazy
from bayesnb.data.files import Reading, TableReader, open_reader, read_file, read_text, write_frames
from bayesnb.data.tables import (
    SparseTable,
    Table,
    TableTemplate,
    open_table,
)

__all__ = [
    "Lists",
    "Reading",
    "SparseTable",
    "Table",
    "TableReader",
    "TableTemplate",
    "is_lazy",
    "is_missing",
    "open_reader",
    "open_table",
    "read_file",
    "read_text",
    "refuse_lazy",
    "write_frames",
]
