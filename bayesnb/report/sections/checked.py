"""What the checks found, and, shortly, what they did not."""

from bayesnb.report.facts import Facts
from bayesnb.report.markup import paragraph, table, text
from bayesnb.report.sections.checks import CHECKS, LOOK, OK, SKIPPED, WARNING, Check
from bayesnb.report.wording import count

SAID = {LOOK: "Look at it", WARNING: "Warning"}


def checked(facts: Facts) -> str:
    """What was found, and, shortly, what was not."""
    found = [check(facts) for check in CHECKS]
    odd = [one for state in (WARNING, LOOK) for one in found if one.state == state]
    fine, skipped = ([one for one in found if one.state == state] for state in (OK, SKIPPED))
    rows = [
        (text(one.name), f'<span class="state {one.state}">{SAID[one.state]}</span>', text(one.what), text(one.advice))
        for one in odd
    ]
    intro = paragraph(summary(odd, len(found) - len(skipped)))
    table_of = table("What was found", ("Check", "State", "Found", "What to do"), rows, "cards prose checks")
    return intro + (table_of if rows else "") + short_list("Nothing found", fine) + short_list("Not checked", skipped)


def summary(odd: list[Check], done: int) -> str:
    if not odd:
        return f"Of {count(done, 'check')} of the table and the model, none found anything."
    serious = sum(one.state == WARNING for one in odd)
    found, alone = f"{len(odd)} found something", serious == 1
    tail = f", {serious} of them {'a warning' if alone else 'warnings'}" if serious else ""
    if len(odd) == 1:
        found, tail = "one found something", ": a warning" if serious else ""
    return f"Of {count(done, 'check')} of the table and the model, {found}{tail}."


def short_list(head: str, some: list[Check]) -> str:
    if not some:
        return ""
    lines = "".join(f"<li>{text(one.name)}: {text(one.what.rstrip('.'))}.</li>" for one in some)
    return f"<h3>{head}</h3><ul class='notes'>{lines}</ul>"
