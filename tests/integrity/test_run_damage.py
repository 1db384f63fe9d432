"""Every kind of damage is found, and nothing else; what can be mended is, and nothing else is touched."""

from collections.abc import Iterable

import pytest

from dynaorm.flow.finding import Finding
from dynaorm.flow.mend import Outcome
from dynaorm.integrity.run import Options, repair, verify
from tests.integrity.damages import DAMAGES
from tests.integrity.zoo import TABLES, Damage, Found, Raw, populate


def found(findings: Iterable[Finding]) -> list[Found]:
    return sorted(
        (
            (one.kind, one.table, " ".join(next(iter(value.values())) for value in one.key.values()))
            for one in findings
        ),
        key=str,
    )


def wanted(*damages: Damage) -> list[Found]:
    return sorted((one for damage in damages for one in damage.found), key=str)


def test_what_is_saved_is_clean(raw: Raw) -> None:
    populate(raw.session)
    assert list(raw.session.verify(*TABLES)) == []
    assert list(verify(raw.session, *TABLES, options=Options(segments=4))) == []
    assert list(repair(raw.session, *TABLES)) == []


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.name.replace(" ", "-"))
def test_damage_is_found_and_mended_or_left_and_nothing_else_is_touched(raw: Raw, damage: Damage) -> None:
    populate(raw.session)
    damage.do(raw)
    damaged = raw.items(*TABLES)
    findings = list(raw.session.verify(*TABLES))
    assert found(findings) == wanted(damage), [str(one) for one in findings]
    assert {one.mendable for one in findings} == {damage.mends}
    assert found(verify(raw.session, *TABLES, options=Options(segments=3))) == wanted(damage)
    planned = list(repair(raw.session, *TABLES, options=Options(dry_run=True)))
    assert {one.outcome for one in planned} == {Outcome.PLANNED if damage.mends else Outcome.LEFT}
    assert raw.items(*TABLES) == damaged

    mended = list(repair(raw.session, *TABLES))
    assert found(one.finding for one in mended) == wanted(damage)
    assert {one.outcome for one in mended} == {Outcome.MENDED if damage.mends else Outcome.LEFT}
    after = raw.items(*TABLES)
    if not damage.mends:
        assert after == damaged
        return
    assert list(raw.session.verify(*TABLES)) == []
    keys = {key for _, _, key in damage.found}
    assert untouched(after, keys) == untouched(damaged, keys)
    assert list(repair(raw.session, *TABLES)) == []
    assert raw.items(*TABLES) == after


def untouched(items: dict[str, list[dict[str, object]]], keys: set[str]) -> list[str]:
    """Every item but those of some keys, and the versions of a book or page among them."""
    return [
        repr(item)
        for table in TABLES
        for item in items[table.name]
        if not any(key.split()[0] in repr([item[name] for name in table.key_names]) for key in keys)
    ]
