"""The versions of a derived class are verified with it: the versions and the tombstone say which class they are of."""

from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import Entity, Session, Table, tools
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.transport import Call, Transport

pages = Table("pages-of-subclasses")


class Page(Entity, table=pages, pk="PAGE#{slug}", sk="P", versioned=True):
    slug: str


class Story(Page):
    text: str = ""


class Advert(Page):
    price: int = 0


def remove(moto: Transport, sort: str) -> None:
    key = {"PK": {"S": "PAGE#a"}, "SK": {"S": sort}}
    moto.call(Call("DeleteItem", {"TableName": pages.name, "Key": key}))


def change(moto: Transport, sort: str, name: str, value: Any) -> None:
    request = {
        "TableName": pages.name,
        "Key": {"PK": {"S": "PAGE#a"}, "SK": {"S": sort}},
        "UpdateExpression": "SET #n = :v",
        "ExpressionAttributeNames": {"#n": name},
        "ExpressionAttributeValues": {":v": value},
    }
    moto.call(Call("UpdateItem", request))


Damage = Callable[[Transport], None]
LIVE: list[tuple[Damage, FindingKind]] = [
    (lambda moto: remove(moto, "v2_P"), FindingKind.VERSION_GAP),
    (lambda moto: remove(moto, "v0_P"), FindingKind.NO_LATEST),
    (lambda moto: change(moto, "v1_P", "text", {"L": []}), FindingKind.UNREADABLE),
]
DELETED: list[tuple[Damage, FindingKind]] = [
    (lambda moto: remove(moto, "v3_P"), FindingKind.VERSION_MISSING),
    (lambda moto: change(moto, "v0_P", "version", {"N": "2"}), FindingKind.VERSION_DIFFERS),
    (lambda moto: change(moto, "v0_P", "more", {"N": "2"}), FindingKind.EXTRA_ATTRIBUTES),
]


@pytest.mark.parametrize(
    ("is_deleted", "damage", "expected"),
    [(False, *one) for one in LIVE] + [(True, *one) for one in DELETED],
)
def test_wrong_versions_of_a_subclass_are_found_with_it(
    session: Session, moto: Transport, is_deleted: bool, damage: Damage, expected: FindingKind
) -> None:
    story = session.save(Story(slug="a"))
    for text in ("b", "c"):
        story.text = text
        session.save(story)
    if is_deleted:
        session.delete(story)
    damage(moto)
    found = {kind: list(tools.verify(session, kind)) for kind in (pages, Page, Story, Advert)}
    assert [(one.kind, one.entity) for one in found[pages]] == [(expected, "Story")]
    assert found[Page] == found[Story] == found[pages]
    assert found[Advert] == []
    are_left = [one.is_left for one in tools.repair(session, Story)]
    assert are_left == [not found[Story][0].repairable]
