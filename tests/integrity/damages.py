"""Every kind of damage to the zoo, with what must be found of it."""

from collections.abc import Iterable

from dynaorm.flow.integrity.finding import FindingKind
from tests.integrity.zoo import (
    Damage,
    Raw,
    app,
    damage,
    epoch,
    far,
    guard,
    keepers,
    key_of,
    member,
    plain,
    text,
)

_OWNER_ANN = {"M": member("ann")}
_ODD = {"S": "odd"}


def _device(number: str) -> dict[str, dict[str, str]]:
    return {"Owner": text("o"), "Number": {"N": number}}


def _swap(raw: Raw) -> None:
    raw.change(plain, key_of("door#h#1"), owner={"M": key_of("HOUSE#h", "ROOM#attic")})
    raw.change(plain, key_of("door#h#2"), owner={"M": key_of("HOUSE#h", "ROOM#hall")})


DAMAGES = [
    damage(
        "a guard is deleted",
        lambda raw: raw.delete(app, key_of("email#ann@x")),
        (FindingKind.MISSING_GUARD, app, guard("email#ann@x")),
        on="ann",
    ),
    damage(
        "a scoped guard is deleted",
        lambda raw: raw.delete(app, key_of("phone#red#1")),
        (FindingKind.MISSING_GUARD, app, guard("phone#red#1")),
        on="bob",
    ),
    damage(
        "a guard names somebody who is gone",
        lambda raw: raw.change(app, key_of("email#bob@x"), owner={"M": key_of("GROUP#red", "MEMBER#zoe")}),
        (FindingKind.WRONG_OWNER, app, guard("email#bob@x")),
        on="bob",
    ),
    damage(
        "a guard names somebody who does not hold its value",
        lambda raw: raw.change(app, key_of("email#bob@x"), owner=_OWNER_ANN),
        (FindingKind.WRONG_OWNER, app, guard("email#bob@x")),
        on="ann bob",
    ),
    damage(
        "a guard names nothing that could be an owner",
        lambda raw: raw.change(app, key_of("email#dan@x"), owner={"M": {"PK": text("x")}}),
        (FindingKind.WRONG_OWNER, app, guard("email#dan@x")),
        on="dan",
    ),
    damage(
        "a guard is left behind by somebody who is gone",
        lambda raw: raw.put(app, key_of("email#zoe@x"), owner={"M": key_of("GROUP#red", "MEMBER#zoe")}),
        (FindingKind.ORPHAN_GUARD, app, guard("email#zoe@x")),
        on="zoe",
    ),
    damage(
        "a guard is left behind by somebody with another value now",
        lambda raw: raw.put(app, key_of("email#old@x"), owner=_OWNER_ANN),
        (FindingKind.ORPHAN_GUARD, app, guard("email#old@x")),
        on="ann",
    ),
    damage(
        "a guard is left behind by an entity that was deleted",
        lambda raw: raw.put(app, key_of("slug#gone"), owner={"M": key_of("BOOK#gone", "v0_TEXT")}),
        (FindingKind.ORPHAN_GUARD, app, guard("slug#gone")),
        on="gone",
    ),
    damage(
        "a guard without an owner is put for a value that nobody holds",
        lambda raw: raw.put(app, key_of("email#reserved@x")),
        (FindingKind.ORPHAN_GUARD, app, guard("email#reserved@x")),
        mends=False,
    ),
    damage(
        "a guard holds more than its owner",
        lambda raw: raw.change(app, key_of("email#cyd@x"), note=_ODD),
        (FindingKind.EXTRA_ATTRIBUTES, app, guard("email#cyd@x")),
        mends=False,
        on="cyd",
    ),
    damage(
        "a tombstone gets a field",
        lambda raw: raw.change(app, key_of("BOOK#gone", "v0_TEXT"), text=_ODD),
        (FindingKind.EXTRA_ATTRIBUTES, app, "BOOK#gone v0_TEXT"),
        mends=False,
        on="gone",
    ),
    damage(
        "an entity gets the keys of an index that its class does not declare",
        lambda raw: raw.change(app, key_of("GROUP#blue", "INFO"), GSI1PK=_ODD, GSI1SK=_ODD),
        (FindingKind.INDEX_KEYS, app, "GROUP#blue INFO"),
        mends=False,
        on="blue",
    ),
    damage(
        "an entity with guards is deleted",
        lambda raw: raw.delete(app, key_of("VOUCHER#2", "VOUCHER")),
        (FindingKind.ORPHAN_GUARD, app, guard("code#c2")),
        on="voucher2",
    ),
    damage(
        "two entities get one value",
        lambda raw: raw.put(
            app, key_of("VOUCHER#3", "VOUCHER"), _type=text("Voucher"), voucher_id=text("3"), code=text("c1")
        ),
        (FindingKind.DUPLICATE, app, guard("code#c1")),
        mends=False,
        on="voucher1",
    ),
    damage(
        "a guard expires earlier than its owner",
        lambda raw: raw.change(app, key_of("code#c1"), ends=epoch(1)),
        (FindingKind.GUARD_EXPIRY, app, guard("code#c1")),
        on="voucher1",
    ),
    damage(
        "a guard has expired and its owner has not",
        lambda raw: raw.change(app, key_of("code#c2"), ends=epoch(-1)),
        (FindingKind.GUARD_EXPIRY, app, guard("code#c2")),
        on="voucher2",
    ),
    damage(
        "a guard never expires and its owner does",
        lambda raw: raw.change(app, key_of("code#c1"), ends=None),
        (FindingKind.GUARD_EXPIRY, app, guard("code#c1")),
        on="voucher1",
    ),
    damage(
        "the newest version is deleted",
        lambda raw: raw.delete(app, key_of("BOOK#1", "v4_TEXT")),
        (FindingKind.VERSION_MISSING, app, "BOOK#1 v0_TEXT"),
        on="book1",
    ),
    damage(
        "a version in between is deleted",
        lambda raw: raw.delete(app, key_of("BOOK#1", "v2_TEXT")),
        (FindingKind.VERSION_GAP, app, "BOOK#1 v1_TEXT"),
        mends=False,
        on="book1",
    ),
    damage(
        "the latest copy is changed",
        lambda raw: raw.change(app, key_of("BOOK#2", "v0_TEXT"), text=_ODD),
        (FindingKind.VERSION_DIFFERS, app, "BOOK#2 v0_TEXT"),
        mends=False,
        on="book2",
    ),
    damage(
        "the newest version is changed",
        lambda raw: raw.change(app, key_of("BOOK#2", "v4_TEXT"), text=_ODD),
        (FindingKind.VERSION_DIFFERS, app, "BOOK#2 v0_TEXT"),
        mends=False,
        on="book2",
    ),
    damage(
        "the number of the latest copy is put back",
        lambda raw: raw.change(app, key_of("BOOK#1", "v0_TEXT"), version={"N": "3"}),
        (FindingKind.VERSION_DIFFERS, app, "BOOK#1 v0_TEXT"),
        mends=False,
        on="book1",
    ),
    damage(
        "the latest copy is put back to an older version",
        lambda raw: raw.put(
            app,
            {**raw.get(app, key_of("BOOK#1", "v3_TEXT")), "SK": text("v0_TEXT")},
            _type=text("Book"),
        ),
        (FindingKind.VERSION_DIFFERS, app, "BOOK#1 v0_TEXT"),
        mends=False,
        on="book1",
    ),
    damage(
        "a version nobody saved is stored",
        lambda raw: raw.put(
            app, {**raw.get(app, key_of("BOOK#2", "v4_TEXT")), "SK": text("v5_TEXT"), "version": {"N": "5"}}
        ),
        (FindingKind.VERSION_DIFFERS, app, "BOOK#2 v0_TEXT"),
        mends=False,
        on="book2",
    ),
    damage(
        "the latest copy is deleted",
        lambda raw: raw.delete(app, key_of("PAGE#1", "r_0_PAGE")),
        (FindingKind.NO_LATEST, app, "PAGE#1 r_002_PAGE"),
        mends=False,
        on="page",
    ),
    damage(
        "the newest version of some fields is deleted",
        lambda raw: raw.delete(app, key_of("PAGE#1", "r_002_PAGE")),
        (FindingKind.VERSION_MISSING, app, "PAGE#1 r_0_PAGE"),
        on="page",
    ),
    damage(
        "a version says that it is another",
        lambda raw: raw.change(app, key_of("BOOK#1", "v1_TEXT"), version={"N": "7"}),
        (FindingKind.UNREADABLE, app, "BOOK#1 v1_TEXT"),
        mends=False,
        on="book1",
    ),
    damage(
        "the last version of a deleted entity is deleted",
        lambda raw: raw.delete(app, key_of("BOOK#gone", "v1_TEXT")),
        (FindingKind.VERSION_MISSING, app, "BOOK#gone v0_TEXT"),
        mends=False,
        on="gone",
    ),
    damage(
        "an index key is changed",
        lambda raw: raw.change(app, member("ann"), GSI1PK=text("STATUS#old")),
        (FindingKind.INDEX_KEYS, app, "GROUP#red MEMBER#ann"),
        on="ann",
    ),
    damage(
        "an index key is removed",
        lambda raw: raw.change(app, member("dan"), GSI1SK=None, LSI1SK=None),
        (FindingKind.INDEX_KEYS, app, "GROUP#blue MEMBER#dan"),
        on="dan",
    ),
    damage(
        "an index key is left over",
        lambda raw: raw.change(app, member("cyd"), LSI1SK=text("HOURS#1")),
        (FindingKind.INDEX_KEYS, app, "GROUP#red MEMBER#cyd"),
        on="cyd",
    ),
    damage(
        "a total is changed",
        lambda raw: raw.change(app, key_of("GROUP#red", "INFO"), members={"N": "7"}, hours={"N": "0.75"}),
        (FindingKind.TOTAL, app, "GROUP#red INFO"),
        on="red",
    ),
    damage(
        "a total is removed",
        lambda raw: raw.change(app, key_of("GROUP#blue", "INFO"), hours=None),
        (FindingKind.TOTAL, app, "GROUP#blue INFO"),
        on="blue",
    ),
    damage(
        "an item of no class is stored",
        lambda raw: raw.put(app, key_of("SOMETHING", "ELSE"), a=text("b")),
        (FindingKind.UNKNOWN_ITEM, app, "SOMETHING ELSE"),
        mends=False,
    ),
    damage(
        "an item of a class that is gone is stored",
        lambda raw: raw.put(app, key_of("BOOK#9", "v0_TEXT"), _type=text("Scroll")),
        (FindingKind.UNKNOWN_ITEM, app, "BOOK#9 v0_TEXT"),
        mends=False,
        on="red blue",  # it may be counted in totals, which are not repaired then
    ),
    damage(
        "a field gets a value of another type",
        lambda raw: raw.change(app, key_of("GROUP#red", "INFO"), title={"N": "1"}),
        (FindingKind.UNREADABLE, app, "GROUP#red INFO"),
        mends=False,
        on="red",
    ),
    damage(
        "a value that its validator changes",
        lambda raw: raw.change(app, member("dan"), status=text("NEW")),
        (FindingKind.STORED_VALUES, app, "GROUP#blue MEMBER#dan"),
        on="dan",
    ),
    damage(
        "a required field is removed",
        lambda raw: raw.change(app, key_of("VOUCHER#2", "VOUCHER"), code=None),
        (FindingKind.UNREADABLE, app, "VOUCHER#2 VOUCHER"),
        mends=False,
        on="voucher2",
    ),
    damage(
        "a guard in a table of its own is deleted",
        lambda raw: raw.delete(keepers, {"Guard": text("serial#s1")}),
        (FindingKind.MISSING_GUARD, keepers, "serial#s1"),
        on="device1",
    ),
    damage(
        "a guard in a table of its own names another table",
        lambda raw: raw.change(
            keepers,
            {"Guard": text("serial#s2")},
            owner={"M": {"table": text("elsewhere"), **_device("2")}},
        ),
        (FindingKind.WRONG_OWNER, keepers, "serial#s2"),
        mends=False,
        on="device2",
    ),
    damage(
        "an entity with guards in another table is deleted",
        lambda raw: raw.delete(far, _device("1")),
        (FindingKind.ORPHAN_GUARD, keepers, "serial#s1"),
        on="device1",
    ),
    damage(
        "a guard is deleted where items carry no type and no revision",
        lambda raw: raw.delete(plain, key_of("door#h#1")),
        (FindingKind.MISSING_GUARD, plain, guard("door#h#1")),
        on="hall",
    ),
    damage(
        "a guard is left behind where items carry no type and no revision",
        lambda raw: raw.put(plain, key_of("door#h#9"), owner={"M": key_of("HOUSE#h", "ROOM#attic")}),
        (FindingKind.ORPHAN_GUARD, plain, guard("door#h#9")),
        on="attic",
    ),
    damage(
        "two entities swap their guards",
        _swap,
        (FindingKind.WRONG_OWNER, plain, guard("door#h#1")),
        (FindingKind.WRONG_OWNER, plain, guard("door#h#2")),
        on="hall attic",
    ),
]


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
