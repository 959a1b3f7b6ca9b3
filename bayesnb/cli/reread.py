"""A later table, read as the one was that was learnt from: the same columns by name, of the same types."""

from typing import Any

from bayesnb.cli.tables import check_target, opened, reading_bar, some


def again(said: Any, path: str, own: Any) -> tuple[Any, Any]:
    """Rows and labels of a table that is scored, in the columns of what was learnt."""
    from bayesnb.data import split_labels
    from bayesnb.integrations.answers import refuse_lacking

    kinds = {name: "number" if kind == "integer" and name != said.target else kind for name, kind in own.kinds.items()}
    with reading_bar(said, [path]) as tell:
        (sheet,) = opened(said, [path], tell)
        check_target(sheet, said.target)
        refuse_lacking(sheet, list(kinds), "the table that is learnt from")
        frame = sheet.read(kinds)
    try:
        X, y = split_labels(frame, said.target)
    except ValueError as error:
        raise ValueError(f"{sheet.name}: {error}") from None
    unknown = sorted(set(y.tolist()) - set(own.y.tolist()))
    if unknown:
        raise ValueError(f"{sheet.name}: the labels {some(unknown)} in column {said.target!r} were never learnt.")
    return X, y
