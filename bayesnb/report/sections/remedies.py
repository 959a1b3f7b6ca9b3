"""What would mend what was found, and what it gives: computed where it can be, and said as advice where it cannot."""

from bayesnb.families.family import joint_family
from bayesnb.families.wording import fixed
from bayesnb.report.facts import Facts
from bayesnb.report.facts.columns import Column
from bayesnb.report.wording import brief, count, percent


def tempering(facts: Facts) -> str:
    """What the exponent that predicts best gives on held-out rows; plain text."""
    found, held, how = facts.judged.tempered, facts.judged.held, facts.advice.temper
    if facts.model.temper == "loo":
        return ""
    if found is None or held is None:
        return f"{how} raises what the columns say to the power under which held-out labels are the most probable."
    losses = f"the held-out log loss goes from {fixed(held.log_loss.value, 3)} to {fixed(found.line.log_loss.value, 3)}"
    if found.gain.lower <= 0:
        return f"{how} (the power {found.power:.2g}) would make no clear difference: {losses}."
    right = f"{percent(held.accuracy.value)} to {percent(found.line.accuracy.value)}"
    return (
        f"With {how}, which raises what the columns say to the power {found.power:.2g}, {losses}, and the share of "
        f"right labels from {right}; the most probable label changes for {count(found.changed, 'row')} of "
        f"{held.rows:,}."
    )


def mends(facts: Facts) -> bool:
    """Whether less extreme probabilities are clearly better, held out."""
    found = facts.judged.tempered
    return found is not None and found.gain.lower > 0 and found.power < 1


def jointly(facts: Facts, least: float) -> str:
    """How the pair of one kind with the most evidence is modelled as one block; nothing, where there is none."""
    pair = next((pair for pair in facts.asked.pairs if pair[2] > least and alike(pair[0], pair[1], facts)), None)
    if pair is None:
        return ""
    keys, joint = [pair[0].key, pair[1].key], joint_family(pair[0].family)
    assert joint is not None  # as they are alike
    names = " and ".join(brief(own.name, 40) for own in pair[:2])
    return f"Or model {names} jointly, as one block: {facts.advice.declare(keys, joint.word)}."


def alike(one: Column, two: Column, facts: Facts) -> bool:
    """Whether there is a family for a block of both, and rows enough for all combinations of their levels."""
    blocks = facts.model.schema_.blocks
    if type(one.family) is not type(two.family) or joint_family(one.family) is None:
        return False
    return not one.family.has_levels or blocks[one.b].sizes[one.j] * blocks[two.b].sizes[two.j] <= len(facts.codes)


def settling(facts: Facts) -> str:
    """What leaves every class a distribution in every column; plain text."""
    if facts.model.estimate in ("map", "mle"):
        return f"A proper prior and {facts.advice.setting('estimate', 'predictive')} mend that."
    return "A proper prior mends that."


def possible(facts: Facts) -> str:
    """What keeps cells or classes from being impossible; plain text."""
    model, advice = facts.model, facts.advice
    if model.estimate in ("map", "mle"):
        return (
            f"Under {advice.setting('estimate', model.estimate)} what a class has not shown can be impossible: "
            f"{advice.setting('estimate', 'predictive')} with a smoothing above 0 leaves nothing impossible."
        )
    if all(block.strictly_proper.all() for block in model.model_.prior.blocks):
        return (
            "The columns make nothing impossible here, but the class prior does: without the row, its class has "
            f"probability 0. {advice.setting('class_prior', 1.0)} gives every class one."
        )
    return "Use a smoothing above 0, or a proper prior: without one, whatever a class has not shown is impossible."
