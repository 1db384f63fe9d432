"""Every kind of damage to the zoo, by what must be found of it."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from dynaorm import Table
from dynaorm.flow.integrity.finding import FindingKind
from tests.dynamodb_json import Item
from tests.integrity.zoo import (
    Damage,
    Raw,
    app,
    epoch,
    far,
    guard,
    keepers,
    key_of,
    member,
    plain,
    text,
)

Do: TypeAlias = Callable[[Raw], object]

_OWNER_ANN = {"M": member("ann")}
_OWNER_ZOE = {"M": key_of("GROUP#red", "MEMBER#zoe")}
_ODD = {"S": "odd"}
_LATEST, _NEWEST = "v0_TEXT", "v4_TEXT"


def _deleted(key: Item, table: Table = app) -> Do:
    return lambda raw: raw.delete(table, key)


def _changed(key: Item, table: Table = app, /, **attributes: Any) -> Do:
    return lambda raw: raw.change(table, key, **attributes)


def _put(key: Item, table: Table = app, /, **attributes: Any) -> Do:
    return lambda raw: raw.put(table, key, **attributes)


def _copied(partition: str, sort: str, to: str, **attributes: Any) -> Do:
    """The item is stored once more, under another sort key."""
    return lambda raw: raw.put(app, raw.get(app, key_of(partition, sort)) | {"SK": text(to)} | attributes)


def _device(number: str) -> dict[str, dict[str, str]]:
    return {"Owner": text("o"), "Number": {"N": number}}


def _swap(raw: Raw) -> None:
    raw.change(plain, key_of("door#h#1"), owner={"M": key_of("HOUSE#h", "ROOM#attic")})
    raw.change(plain, key_of("door#h#2"), owner={"M": key_of("HOUSE#h", "ROOM#hall")})


def _as(kind: FindingKind, *rows: tuple[str, Do, str, str], mends: bool, table: Table = app) -> list[Damage]:
    """Damages that are found as one kind: each with its name, what it does, the keys found, and what it concerns."""
    return [
        Damage(
            name,
            do,
            frozenset((kind, table.name, key) for key in found.split(", ")),
            mends,
            frozenset(touched.split()),
        )
        for name, do, found, touched in rows
    ]


# fmt: off
DAMAGES = [
    *_as(
        FindingKind.MISSING_GUARD,
        ("a guard is deleted", _deleted(key_of("email#ann@x")), guard("email#ann@x"), "ann"),
        ("a scoped guard is deleted", _deleted(key_of("phone#red#1")), guard("phone#red#1"), "bob"),
        mends=True,
    ),
    *_as(
        FindingKind.MISSING_GUARD,
        ("a guard in a table of its own is deleted", _deleted({"Guard": text("serial#s1")}, keepers), "serial#s1",
         "device1"),
        mends=True, table=keepers,
    ),
    *_as(
        FindingKind.MISSING_GUARD,
        ("a guard is deleted where items carry no type and no revision", _deleted(key_of("door#h#1"), plain),
         guard("door#h#1"), "hall"),
        mends=True, table=plain,
    ),
    *_as(
        FindingKind.WRONG_OWNER,
        ("a guard names somebody who is gone", _changed(key_of("email#bob@x"), owner=_OWNER_ZOE),
         guard("email#bob@x"), "bob"),
        ("a guard names somebody who does not hold its value", _changed(key_of("email#bob@x"), owner=_OWNER_ANN),
         guard("email#bob@x"), "ann bob"),
        ("a guard names nothing that could be an owner",
         _changed(key_of("email#dan@x"), owner={"M": {"PK": text("x")}}), guard("email#dan@x"), "dan"),
        mends=True,
    ),
    *_as(
        FindingKind.WRONG_OWNER,
        ("two entities swap their guards", _swap, f"{guard('door#h#1')}, {guard('door#h#2')}", "hall attic"),
        mends=True, table=plain,
    ),
    *_as(
        FindingKind.WRONG_OWNER,
        ("a guard in a table of its own names another table",
         _changed({"Guard": text("serial#s2")}, keepers, owner={"M": {"table": text("elsewhere"), **_device("2")}}),
         "serial#s2", "device2"),
        mends=False, table=keepers,
    ),
    *_as(
        FindingKind.ORPHAN_GUARD,
        ("a guard is left behind by somebody who is gone", _put(key_of("email#zoe@x"), owner=_OWNER_ZOE),
         guard("email#zoe@x"), "zoe"),
        ("a guard is left behind by somebody with another value now", _put(key_of("email#old@x"), owner=_OWNER_ANN),
         guard("email#old@x"), "ann"),
        ("a guard is left behind by an entity that was deleted with another value",
         _put(key_of("slug#was"), owner={"M": key_of("BOOK#gone", _LATEST)}), guard("slug#was"), "gone"),
        ("an entity with guards is deleted", _deleted(key_of("VOUCHER#2", "VOUCHER")), guard("code#c2"), "voucher2"),
        mends=True,
    ),
    *_as(
        FindingKind.ORPHAN_GUARD,
        ("an entity with guards in another table is deleted", _deleted(_device("1"), far), "serial#s1", "device1"),
        mends=True, table=keepers,
    ),
    *_as(
        FindingKind.ORPHAN_GUARD,
        ("a guard is left behind where items carry no type and no revision",
         _put(key_of("door#h#9"), plain, owner={"M": key_of("HOUSE#h", "ROOM#attic")}), guard("door#h#9"), "attic"),
        mends=True, table=plain,
    ),
    *_as(
        FindingKind.ORPHAN_GUARD,
        ("a guard without an owner is put for a value that nobody holds", _put(key_of("email#reserved@x")),
         guard("email#reserved@x"), ""),
        ("a guard is left behind by an entity that was deleted with its value",
         _put(key_of("slug#gone"), owner={"M": key_of("BOOK#gone", _LATEST)}), guard("slug#gone"), "gone"),
        mends=False,
    ),
    *_as(
        FindingKind.EXTRA_ATTRIBUTES,
        ("a guard holds more than its owner", _changed(key_of("email#cyd@x"), note=_ODD), guard("email#cyd@x"), "cyd"),
        ("a tombstone gets a field", _changed(key_of("BOOK#gone", _LATEST), text=_ODD), "BOOK#gone v0_TEXT", "gone"),
        mends=False,
    ),
    *_as(
        FindingKind.DUPLICATE,
        ("two entities get one value",
         _put(key_of("VOUCHER#3", "VOUCHER"), _type=text("Voucher"), voucher_id=text("3"), code=text("c1")),
         guard("code#c1"), "voucher1"),
        mends=False,
    ),
    *_as(
        FindingKind.GUARD_EXPIRY,
        ("a guard expires earlier than its owner", _changed(key_of("code#c1"), ends=epoch(1)), guard("code#c1"),
         "voucher1"),
        ("a guard has expired and its owner has not", _changed(key_of("code#c2"), ends=epoch(-1)), guard("code#c2"),
         "voucher2"),
        ("a guard never expires and its owner does", _changed(key_of("code#c1"), ends=None), guard("code#c1"),
         "voucher1"),
        mends=True,
    ),
    *_as(
        FindingKind.VERSION_MISSING,
        ("the newest version is deleted", _deleted(key_of("BOOK#1", _NEWEST)), "BOOK#1 v0_TEXT", "book1"),
        ("the latest copy loses its number", _changed(key_of("BOOK#1", _LATEST), version=None), "BOOK#1 v0_TEXT",
         "book1"),
        ("the latest copy gets the number 0", _changed(key_of("BOOK#2", _LATEST), version={"N": "0"}),
         "BOOK#2 v0_TEXT", "book2"),
        ("the newest version of some fields is deleted", _deleted(key_of("PAGE#1", "r_002_PAGE")), "PAGE#1 r_0_PAGE",
         "page"),
        mends=True,
    ),
    *_as(
        FindingKind.VERSION_MISSING,
        ("the last version of a deleted entity is deleted", _deleted(key_of("BOOK#gone", "v1_TEXT")),
         "BOOK#gone v0_TEXT", "gone"),
        mends=False,
    ),
    *_as(
        FindingKind.VERSION_GAP,
        ("a version in between is deleted", _deleted(key_of("BOOK#1", "v2_TEXT")), "BOOK#1 v1_TEXT", "book1"),
        mends=False,
    ),
    *_as(
        FindingKind.VERSION_DIFFERS,
        ("the latest copy is changed", _changed(key_of("BOOK#2", _LATEST), text=_ODD), "BOOK#2 v0_TEXT", "book2"),
        ("the newest version is changed", _changed(key_of("BOOK#2", _NEWEST), text=_ODD), "BOOK#2 v0_TEXT", "book2"),
        ("the number of the latest copy is put back", _changed(key_of("BOOK#1", _LATEST), version={"N": "3"}),
         "BOOK#1 v0_TEXT", "book1"),
        ("the latest copy is put back to an older version",
         _copied("BOOK#1", "v3_TEXT", to=_LATEST, _type=text("Book")), "BOOK#1 v0_TEXT", "book1"),
        ("a version nobody saved is stored", _copied("BOOK#2", _NEWEST, to="v5_TEXT", version={"N": "5"}),
         "BOOK#2 v0_TEXT", "book2"),
        mends=False,
    ),
    *_as(
        FindingKind.VERSION_DIFFERS,
        ("the number of a tombstone is put back", _changed(key_of("BOOK#gone", _LATEST), version={"N": "0"}),
         "BOOK#gone v0_TEXT", "gone"),
        mends=True,
    ),
    *_as(
        FindingKind.NO_LATEST,
        ("the latest copy is deleted", _deleted(key_of("PAGE#1", "r_0_PAGE")), "PAGE#1 r_002_PAGE", "page"),
        ("a tombstone is deleted", _deleted(key_of("BOOK#gone", _LATEST)), "BOOK#gone v1_TEXT", "gone"),
        mends=True,
    ),
    *_as(
        FindingKind.INDEX_KEYS,
        ("an entity gets the keys of an index that its class does not declare",
         _changed(key_of("GROUP#blue", "INFO"), GSI1PK=_ODD, GSI1SK=_ODD), "GROUP#blue INFO", "blue"),
        mends=False,
    ),
    *_as(
        FindingKind.INDEX_KEYS,
        ("an index key is changed", _changed(member("ann"), GSI1PK=text("STATUS#old")), "GROUP#red MEMBER#ann", "ann"),
        ("an index key is removed", _changed(member("dan"), GSI1SK=None, LSI1SK=None), "GROUP#blue MEMBER#dan", "dan"),
        ("an index key is left over", _changed(member("cyd"), LSI1SK=text("HOURS#1")), "GROUP#red MEMBER#cyd", "cyd"),
        mends=True,
    ),
    *_as(
        FindingKind.TOTAL,
        ("a total is changed", _changed(key_of("GROUP#red", "INFO"), members={"N": "7"}, hours={"N": "0.75"}),
         "GROUP#red INFO", "red"),
        ("a total is removed", _changed(key_of("GROUP#blue", "INFO"), hours=None), "GROUP#blue INFO", "blue"),
        mends=True,
    ),
    *_as(
        FindingKind.STORED_VALUES,
        ("a value that its validator changes", _changed(member("dan"), status=text("NEW")), "GROUP#blue MEMBER#dan",
         "dan"),
        mends=True,
    ),
    *_as(
        FindingKind.UNKNOWN_ITEM,
        ("an item of no class is stored", _put(key_of("SOMETHING", "ELSE"), a=text("b")), "SOMETHING ELSE", ""),
        # It may be counted in totals, which are not repaired then.
        ("an item of a class that is gone is stored", _put(key_of("BOOK#9", _LATEST), _type=text("Scroll")),
         "BOOK#9 v0_TEXT", "red blue"),
        mends=False,
    ),
    *_as(
        FindingKind.UNREADABLE,
        ("a version says that it is another", _changed(key_of("BOOK#1", "v1_TEXT"), version={"N": "7"}),
         "BOOK#1 v1_TEXT", "book1"),
        ("a field gets a value of another type", _changed(key_of("GROUP#red", "INFO"), title={"N": "1"}),
         "GROUP#red INFO", "red"),
        mends=False,
    ),
    Damage(
        "a required field is removed",
        _changed(key_of("VOUCHER#2", "VOUCHER"), code=None),
        frozenset(
            {
                (FindingKind.UNREADABLE, app.name, "VOUCHER#2 VOUCHER"),
                (FindingKind.NOT_JUDGED, app.name, guard("code#c2")),  # nobody can tell who holds it
            }
        ),
        mends=False,
        touches=frozenset({"voucher2"}),
    ),
]
# fmt: on


def together(damages: Iterable[Damage]) -> list[Damage]:
    """As many damages as concern no item twice."""
    chosen: list[Damage] = []
    for one in damages:
        if not any(one.touches & other.touches for other in chosen):
            chosen.append(one)
    return chosen


def portions() -> list[list[Damage]]:
    """Every damage, as few times as many can be done together."""
    left, found = list(DAMAGES), []
    while left:
        found.append(together(left))
        left = [one for one in left if one not in found[-1]]
    return found
