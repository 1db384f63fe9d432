"""Any healthy table, damaged anyhow: exactly the damage is found, and repairing twice is repairing once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import tools
from dynaorm.flow.integrity.finding import FindingKind, Outcome
from dynaorm.integrity.run import RunOptions, repair, verify
from dynaorm.transport import Transport
from tests.integrity.conftest import created
from tests.integrity.test_run_damage import found
from tests.integrity.zoo import TOMORROW, Book, Found, Group, Member, Raw, Voucher, app, key_of, text
from tests.memory import MEMORY

AppItem = dict[str, Any]


@dataclass
class Herd:
    """A table, what was done to it, and what has to be found."""

    raw: Raw
    items: list[AppItem]
    expected: set[Found] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)

    def free(self, kind: str, *partitions: AppItem) -> bool:
        """Whether nothing was done yet to some item collections. They are taken now."""
        names = {partition["PK"]["S"] for partition in partitions}
        if names & self.touched:
            return False
        self.touched |= names
        event(kind)
        return True

    def expect(self, kind: FindingKind, item: AppItem) -> None:
        self.expected.add((kind, app.name, f"{item['PK']['S']} {item['SK']['S']}"))

    def guards(self) -> Iterator[AppItem]:
        return (item for item in self.items if "owner" in item)

    def of(self, name: str) -> Iterator[AppItem]:
        return (item for item in self.items if item.get("_type") == text(name))

    def newest(self) -> Iterator[AppItem]:
        return (item for item in self.of("Book") if "deleted" not in item)


def key(item: AppItem) -> AppItem:
    return {"PK": item["PK"], "SK": item["SK"]}


def owner(guard: AppItem) -> AppItem:
    found: AppItem = guard["owner"]["M"]
    return found


def delete_guard(herd: Herd, guard: AppItem) -> None:
    if herd.free("guard deleted", guard, owner(guard)):
        herd.raw.delete(app, key(guard))
        herd.expect(FindingKind.MISSING_GUARD, guard)


def misdirect_guard(herd: Herd, guard: AppItem) -> None:
    if herd.free("guard misdirected", guard, owner(guard)):
        herd.raw.change(app, key(guard), owner={"M": key_of("VOUCHER#nobody", "VOUCHER")})
        herd.expect(FindingKind.WRONG_OWNER, guard)


def leave_guard(herd: Herd, guard: AppItem) -> None:
    left = key_of(f"{guard['PK']['S']}+left")
    if herd.free("guard left", guard, left, owner(guard)):
        herd.raw.put(app, left, owner=guard["owner"])
        herd.expect(FindingKind.ORPHAN_GUARD, left)


def delete_owner(herd: Herd, voucher: AppItem) -> None:
    guard = key_of(f"code#{voucher['code']['S']}")
    if herd.free("owner deleted", voucher, guard):
        herd.raw.delete(app, key(voucher))
        herd.expect(FindingKind.ORPHAN_GUARD, guard)


def repeat_value(herd: Herd, voucher: AppItem) -> None:
    guard = key_of(f"code#{voucher['code']['S']}")
    if herd.free("value repeated", voucher, guard):
        copy = key_of(f"{voucher['PK']['S']}+copy", "VOUCHER")
        attributes = {name: value for name, value in voucher.items() if name not in copy}
        herd.raw.put(app, copy, **{**attributes, "voucher_id": text(f"{voucher['voucher_id']['S']}+copy")})
        herd.expect(FindingKind.DUPLICATE, guard)


def delete_newest(herd: Herd, book: AppItem) -> None:
    if herd.free("newest deleted", book):
        herd.raw.delete(app, {**key(book), "SK": text(f"v{book['version']['N']}_TEXT")})
        herd.expect(FindingKind.VERSION_MISSING, book)


def delete_between(herd: Herd, book: AppItem) -> None:
    number = int(book["version"]["N"])
    if number > 2 and herd.free("version between deleted", book):
        herd.raw.delete(app, {**key(book), "SK": text(f"v{number - 1}_TEXT")})
        herd.expect(FindingKind.VERSION_GAP, {**key(book), "SK": text(f"v{number - 2}_TEXT")})


def prune(herd: Herd, book: AppItem) -> None:
    """Old versions may go: that is no damage."""
    if int(book["version"]["N"]) > 1 and herd.free("pruned", book):
        herd.raw.delete(app, {**key(book), "SK": text("v1_TEXT")})


def change_latest(herd: Herd, book: AppItem) -> None:
    if herd.free("latest changed", book):
        herd.raw.change(app, key(book), text=text("something else"))
        herd.expect(FindingKind.VERSION_DIFFERS, book)


def change_index(herd: Herd, member: AppItem) -> None:
    if herd.free("index key changed", member):
        herd.raw.change(app, key(member), GSI1SK=text("something else"))
        herd.expect(FindingKind.INDEX_KEYS, member)


def change_total(herd: Herd, group: AppItem) -> None:
    if herd.free("total changed", group):
        herd.raw.change(app, key(group), members={"N": str(int(group["members"]["N"]) + 1)})
        herd.expect(FindingKind.TOTAL, group)


def add_junk(herd: Herd, group: AppItem) -> None:
    junk = key_of(f"JUNK#{len(herd.expected)}", "JUNK")
    if herd.free("junk", junk):
        herd.raw.put(app, junk)
        herd.expect(FindingKind.UNKNOWN_ITEM, junk)


DAMAGES: list[tuple[Callable[[Herd, AppItem], None], Callable[[Herd], Iterator[AppItem]]]] = [
    (delete_guard, Herd.guards),
    (misdirect_guard, Herd.guards),
    (leave_guard, Herd.guards),
    (delete_owner, lambda herd: herd.of("Voucher")),
    (repeat_value, lambda herd: herd.of("Voucher")),
    (delete_newest, Herd.newest),
    (delete_between, Herd.newest),
    (prune, Herd.newest),
    (change_latest, Herd.newest),
    (change_index, lambda herd: herd.of("Member")),
    (change_total, lambda herd: herd.of("Group")),
    (add_junk, lambda herd: herd.of("Group")),
]

texts = st.text("ab#%é", min_size=1, max_size=4)
members = st.lists(
    st.tuples(st.sampled_from("rg"), texts, st.one_of(st.none(), st.decimals(-9, 9, places=2))),
    max_size=4,
    unique_by=lambda one: one[1].casefold(),
)
books = st.lists(st.tuples(texts, st.integers(1, 4)), max_size=3, unique_by=lambda one: one[0])
vouchers = st.lists(st.tuples(texts, st.booleans()), max_size=3, unique_by=lambda one: one[0])
damages = st.lists(st.tuples(st.sampled_from(DAMAGES), st.integers(0, 20)), max_size=6)


def fill(raw: Raw, herd: Any) -> None:
    session = raw.session
    for name in "rg":
        session.save(Group(group_id=name))
    for group, name, hours in herd[0]:
        session.save(Member(group_id=group, name=name, email=f"{name}@x", phone=name, hours=hours))
    for isbn, versions in herd[1]:
        book = session.save(Book(isbn=isbn, slug=isbn))
        for number in range(versions - 1):
            book.text = str(number)
            session.save(book)
    for code, ends in herd[2]:
        session.save(Voucher(voucher_id=code, code=code, ends=TOMORROW if ends else None))


@settings(max_examples=4)
@given(herd=st.tuples(members, books, vouchers), chosen=damages, segments=st.integers(1, 3))
def test_exactly_the_damage_is_found(
    moto_line: tuple[Transport, Any], herd: Any, chosen: Any, segments: int
) -> None:
    with MEMORY.empty():
        for raw in created(Raw(moto_line[1], str, moto_line[0])):
            fill(raw, herd)
            assert [str(one) for one in tools.verify(raw.session, app)] == []
            bench = Herd(raw, raw.items(app)[app.name])
            for (do, candidates), number in chosen:
                some = list(candidates(bench))
                if some:
                    do(bench, some[number % len(some)])
            options = RunOptions(segments=segments)
            findings = list(verify(raw.session, app, options=options))
            assert set(found(findings)) == bench.expected
            assert len(findings) == len(bench.expected)
            mended = list(repair(raw.session, app, options=options))
            assert {one.outcome for one in mended} <= {
                Outcome.REPAIRED,
                Outcome.NEEDS_DECISION,
                Outcome.SKIPPED,
            }
            left = [one.finding for one in mended if one.is_left]
            assert not any(one.repairable for one in left)
            assert found(tools.verify(raw.session, app)) == found(left)
            stored = raw.items(app)
            assert found(one.finding for one in repair(raw.session, app)) == found(left)
            assert raw.items(app) == stored
