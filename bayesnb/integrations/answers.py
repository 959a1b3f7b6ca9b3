"""What a model answers about a table in a file: how its columns are read, and the columns of the answer."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb.integrations.file_kinds import kind_of_levels
from bayesnb.integrations.many_files import listed
from bayesnb.safe_output import visible

SLOW = 1 << 12  # rows that are predicted at once with intervals


def kinds_of_model(model: Any) -> dict[Any, str]:
    """Return how each column of the model is read: levels as they were learnt, all else as numbers."""
    kinds: dict[Any, str] = {}
    for block in model.schema_.blocks:
        for place, name in enumerate(block.names):
            if block.family.listed:
                kinds[name] = "words"
                continue
            kinds[name] = kind_of_levels(block.levels[place]) if block.levels else "number"
    return kinds


def named_kinds(model: Any, table: Any) -> Mapping[str, str]:
    """Return how each column of the table is read; by position, if the model's columns have no names."""
    learnt = kinds_of_model(model)
    kinds = {name: learnt[name] for name in model.schema_.columns if name in learnt}
    if hasattr(model, "feature_names_in_"):
        refuse_lacking(table, [str(name) for name in kinds], "the model")
        return {str(name): kind for name, kind in kinds.items()}
    if len(table.columns) != model.n_features_in_:
        raise ValueError(
            f"{table.name} has {len(table.columns)} columns, and the model {model.n_features_in_} without names: it "
            "was fitted on an array, so the table needs the same columns in the same order, and no others."
        )
    return {table.columns[place]: kind for place, kind in kinds.items()}


def refuse_lacking(table: Any, names: list[str], whose: str) -> None:
    """Raise for a table that lacks some columns."""
    lacks = [name for name in names if name not in table.columns]
    if lacks:
        what = f"the column {lacks[0]!r}" if len(lacks) == 1 else f"{len(lacks)} columns, {listed(lacks)},"
        raise ValueError(f"{table.name} lacks {what} of {whose}; it has {listed(table.columns, 20)}.")


def as_learnt(model: Any, frame: Any, table: Any) -> Any:
    """Return rows with all columns of the model, in its order; one that it dropped is empty if it is not there."""
    if hasattr(model, "feature_names_in_"):
        return frame.reindex(columns=[str(name) for name in model.feature_names_in_])
    return frame.reindex(columns=list(table.columns)).to_numpy()


def answered(model: Any, X: Any, interval: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return labels and probabilities as columns, and by the arguments of `predict_interval` also their ends."""
    labels = column_labels(model.classes_)
    ends: dict[str, Any] = {}
    if interval is None:
        share = model.predict_proba(X)
    else:
        intervals = model.predict_interval(X, **interval)
        share = intervals["probability"].values
        ends = {name: intervals[name].values for name in ("lower", "upper")}
    columns = {"predicted": model.classes_[np.argmax(share, axis=1)]}
    for prefix, numbers in {"p": share, **ends}.items():
        columns |= {f"{prefix}_{label}": numbers[:, c] for c, label in enumerate(labels)}
    return columns


def column_labels(classes: Any) -> list[str]:
    """Return labels as they stand in names of columns: without control characters, and each once."""
    labels = [visible(str(label)) for label in classes.tolist()]
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        raise ValueError(f"several labels differ by control characters only, and would name one column, {twice[0]!r}.")
    return labels


def refuse_taken(table: Any, answer: Mapping[str, Any], kept: Any, advice: str) -> None:
    """Raise where a column of the answer has the name of one that is kept."""
    taken = [name for name in answer if name in kept]
    if taken:
        raise ValueError(f"{table.name} has a column {taken[0]!r} already: rename it, or {advice}.")
