"""A later table, read as the one was that was learnt from: the same columns by name, of the same types."""

from collections.abc import Mapping
from typing import Any

from bayesnb.cli.tables import check_target, opened, reading_bar, some


def again(said: Any, path: str, own: Any) -> tuple[Any, Any]:
    """Rows and labels of a table that is scored, in the columns of what was learnt."""
    from bayesnb.table import split_labels

    kinds = {name: "number" if kind == "integer" and name != said.target else kind for name, kind in own.kinds.items()}
    with reading_bar(said, [path]) as tell:
        (sheet,) = opened(said, [path], tell)
        check_target(sheet, said.target)
        refuse_missing(sheet, list(kinds), "the table that is learnt from")
        frame = sheet.read(kinds)
    try:
        X, y = split_labels(frame, said.target)
    except ValueError as error:
        raise ValueError(f"{sheet.name}: {error}") from None
    unknown = sorted(set(y.tolist()) - set(own.y.tolist()))
    if unknown:
        raise ValueError(f"{sheet.name}: the labels {some(unknown)} in column {said.target!r} were never learnt.")
    return X, y


def refuse_missing(sheet: Any, names: list[str], whose: str) -> None:
    """Raise for a table that lacks some columns."""
    lacks = [name for name in names if name not in sheet.columns]
    if lacks:
        what = f"the column {lacks[0]!r}" if len(lacks) == 1 else f"{len(lacks)} columns, {some(lacks)},"
        raise ValueError(f"{sheet.name} lacks {what} of {whose}; it has {some(sheet.columns, 20)}.")


def kinds_of_model(model: Any) -> dict[Any, str]:
    """As what each column of the model is read: levels as they were learnt, all else as numbers."""
    kinds: dict[Any, str] = {}
    for block in model.schema_.blocks:
        for place, name in enumerate(block.names):
            kinds[name] = kind_of_levels(block.levels[place]) if block.levels else "number"
    return kinds


def kind_of_levels(levels: tuple[Any, ...]) -> str:
    """What cells are to be read as, to be looked up among levels."""
    if all(isinstance(level, bool) for level in levels):
        return "flag" if levels else "text"
    return "text" if any(isinstance(level, str) for level in levels) else "number"


def named_kinds(model: Any, sheet: Any) -> Mapping[str, str]:
    """Column of the table -> as what it is read; by position, if the model's columns have no names."""
    found = kinds_of_model(model)
    kinds = {name: found[name] for name in model.schema_.columns if name in found}
    if hasattr(model, "feature_names_in_"):
        refuse_missing(sheet, [str(name) for name in kinds], "the model")
        return {str(name): kind for name, kind in kinds.items()}
    if len(sheet.columns) != model.n_features_in_:
        raise ValueError(
            f"{sheet.name} has {len(sheet.columns)} columns, and the model {model.n_features_in_} without names: it "
            "was fitted on an array, so the table needs the same columns in the same order, and no others."
        )
    return {sheet.columns[place]: kind for place, kind in kinds.items()}


def as_learnt(model: Any, frame: Any, sheet: Any) -> Any:
    """Rows with all columns of the model, in its order; one that it dropped is empty if it is not there."""
    if hasattr(model, "feature_names_in_"):
        return frame.reindex(columns=[str(name) for name in model.feature_names_in_])
    return frame.reindex(columns=list(sheet.columns)).to_numpy()
