"""Totals: what an ``Aggregate`` keeps in an entity is what the live entities that name it add up to."""

from collections.abc import Iterator
from decimal import Decimal

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import DynaormError
from dynaorm.plan.aggregates import EXACT, contributions
from dynaorm.plan.reads import Ident
from dynaorm.testing.census import Broken, Census, Inconsistency, Live


def broken_totals(census: Census) -> Iterator[Inconsistency]:
    """Which totals do not add up.

    A target that does not exist owes nothing. One that was deleted, and created anew while something still named it,
    does not add up: by contract it began again at 0.
    """
    sums: dict[Ident, dict[str, Decimal]] = {}
    for live in census.live.values():
        if not live.mapping.aggregates:
            continue
        try:
            dues = list(contributions(live.mapping, live.stored.item))
        except DynaormError as problem:
            yield live.stored.breaks(Broken.TOTAL, f"what it adds cannot be told: {problem}")
            continue
        for due in dues:
            total = sums.setdefault(due.ident, {})
            for name, number in due.totals.items():
                total[name] = EXACT.add(total.get(name, Decimal(0)), number)
    for ident, live in census.live.items():
        for name in live.mapping.maintained:
            yield from _compared(live, live.mapping, name, sums.get(ident, {}).get(name, Decimal(0)))


def _compared(live: Live, mapping: EntityMapping, name: str, wanted: Decimal) -> Iterator[Inconsistency]:
    stored = mapping.fields[name].stored_in(live.stored.item)
    found = Decimal(0) if stored is None else Decimal(stored["N"])
    if found != wanted:
        yield live.stored.breaks(
            Broken.TOTAL, f"{name} is {found}, and {mapping.maintained[name]} adds up to {wanted}"
        )
