"""Law 3: in every place of a class, rows whose writers spell the time otherwise are found or reported."""

import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, Final

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, LocalIndex, Session, Table
from dynaorm.errors import DecodeError
from dynaorm.item.value import Item
from dynaorm.testing import FakeClock
from tests.fuzz.shelf import Shelf
from tests.laws.conftest import AsBytes

NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
INSTANTS: Final = [NOON + timedelta(seconds=one) for one in (0, 1, 1.5, 60)]
BOUNDS: Final = [*INSTANTS[:3], NOON + timedelta(seconds=59.999999)]


def spellings(at: datetime) -> Iterator[str]:
    """Texts of a time in UTC, as other programs write it."""
    yield at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    yield at.isoformat()
    yield at.isoformat().replace("+00:00", "-00:00")
    yield at.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    yield at.strftime("%Y-%m-%dT%H:%M:%S,%f+0000")
    if not at.microsecond % 1000:
        yield at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if not at.microsecond:
        yield at.strftime("%Y-%m-%dT%H:%M:%SZ")
        if not at.second:
            yield at.strftime("%Y-%m-%dT%H:%MZ")


ROWS: Final = list(enumerate((at, text) for at in INSTANTS for text in spellings(at)))
spelled = Table(
    "spellings-in-places",
    indexes=[
        GlobalIndex("Told"),
        GlobalIndex("Alike"),
        GlobalIndex("Entries", projection="KEYS_ONLY"),
        GlobalIndex("Native", pk=("NativePK",), sk=("word", "time", "last")),
        LocalIndex("Local"),
    ],
)


class Job(Entity, table=spelled, pk="JOB#{row:03d}", sk="JOB"):
    row: int
    at: datetime
    status: str = "open"
    word: str = "w"
    told_open = Index("Told", pk="JOBS", sk="OPEN#{at}", when=F.status == "open")
    told_done = Index("Told", pk="JOBS", sk="DONE#{at}", when=F.status == "done")
    alike_open = Index("Alike", pk="JOBS", sk="{at}", when=F.status == "open")
    alike_done = Index("Alike", pk="JOBS", sk="{at}#{row:03d}", when=F.status == "done")
    entry_open = Index("Entries", pk="JOBS", sk="OPEN#{at}#{row:03d}", when=F.status == "open")
    entry_done = Index("Entries", pk="JOBS", sk="DONE#{at}", when=F.status == "done")
    native = Index("Native", pk=("JOBS",), sk=("{word}", "{at}", "{row:03d}"))
    local = Index("Local", sk="AT#{at}")


class Urgent(Job):
    """Has the places of its base class."""


class Log(Entity, table=spelled, pk="LOGS", sk="AT#{at}#{row:03d}"):
    row: int
    at: datetime


class Event(Entity, table=spelled, pk="EVENTS", sk="{at}"):
    row: int
    at: datetime


INDEX_KEYS: Final[Mapping[str, Callable[[str, str, int], dict[str, str]]]] = {
    "Told": lambda status, text, _: {"ToldPK": "JOBS", "ToldSK": f"{status.upper()}#{text}"},
    "Alike": lambda status, text, row: {
        "AlikePK": "JOBS",
        "AlikeSK": text if status == "open" else f"{text}#{row:03d}",
    },
    "Entries": lambda status, text, row: {
        "EntriesPK": "JOBS",
        "EntriesSK": f"OPEN#{text}#{row:03d}" if status == "open" else f"DONE#{text}",
    },
    "Native": lambda _, text, row: {"NativePK": "JOBS", "word": "w", "time": text, "last": f"{row:03d}"},
    "Local": lambda _, text, __: {"LocalSK": f"AT#{text}"},
}


def items() -> Iterator[Item]:
    for (row, (_, text)), status in product(ROWS, ["open", "done"]):
        number, kind = row * 2 + (status == "done"), "Urgent" if is_urgent(row * 2) else "Job"
        item = {
            "PK": f"JOB#{number:03d}",
            "SK": "JOB",
            "_type": kind,
            "at": text,
            "status": status,
            "word": "w",
        }
        for keys in INDEX_KEYS.values():
            item |= keys(status, text, number)
        yield {"row": {"N": str(number)}, **{name: {"S": content} for name, content in item.items()}}
    for row, (_, text) in ROWS:
        common = {"row": {"N": str(row)}, "at": {"S": text}}
        yield {"PK": {"S": "LOGS"}, "SK": {"S": f"AT#{text}#{row:03d}"}, "_type": {"S": "Log"}, **common}
        yield {"PK": {"S": "EVENTS"}, "SK": {"S": text}, "_type": {"S": "Event"}, **common}


@pytest.fixture(scope="module")
def reported() -> list[DecodeError]:
    return []


@pytest.fixture(scope="module", params=[False, True], ids=["items", "bytes"])
def session(request: pytest.FixtureRequest, reported: list[DecodeError]) -> Session:
    shelf = Shelf([spelled])
    shelf.items[spelled.name] = list(items())
    transport = AsBytes(shelf) if request.param else shelf
    return Session(transport=transport, clock=FakeClock(), on_decode_error=reported.append)


def is_open(number: int) -> bool:
    return not number % 2


def is_urgent(number: int) -> bool:
    return number % 4 < 2


ROW_OF: Final = {(item["PK"]["S"], item["SK"]["S"]): int(item["row"]["N"]) for item in items()}


JOBS: Final = {row * 2 + place: at for (row, (at, _)), place in product(ROWS, range(2))}
LINES: Final = {row: at for row, (at, _) in ROWS}
Asked = tuple[Callable[[Session], Any], Mapping[int, datetime]]


def jobs(is_wanted: Callable[[int], bool]) -> dict[int, datetime]:
    return {number: at for number, at in JOBS.items() if is_wanted(number)}


WAYS: Final[Mapping[str, Asked]] = {
    "one of two places": (lambda s: s.query(Job.told_open), jobs(is_open)),
    "the other place": (lambda s: s.query(Job.told_done), jobs(lambda one: not is_open(one))),
    "a place that looks alike": (lambda s: s.query(Job.alike_open), jobs(is_open)),
    "a place of entries": (lambda s: s.query(Job.entry_open), jobs(is_open)),
    "a place of a subclass": (
        lambda s: s.query(Urgent.told_done),
        jobs(lambda one: is_urgent(one) and not is_open(one)),
    ),
    "entries of a subclass": (
        lambda s: s.query(Urgent.entry_done),
        jobs(lambda one: is_urgent(one) and not is_open(one)),
    ),
    "both places": (lambda s: s.collection(Job.told_open, Job.told_done), JOBS),
    "places of two classes": (
        lambda s: s.collection(Urgent.told_open, Job.told_done),
        jobs(lambda one: is_urgent(one) or not is_open(one)),
    ),
    "several attributes": (lambda s: s.query(Job.native, word="w"), JOBS),
    "a local index": (lambda s: s.query(Job.local, row=9), {9: JOBS[9]}),
    "a primary key": (lambda s: s.query(Log), LINES),
    "a bare primary key": (lambda s: s.query(Event), LINES),
}
COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq")
}


@pytest.mark.parametrize(("asked", "times"), WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", COMPARED)
def test_every_spelling_is_found_or_reported(
    session: Session, reported: list[DecodeError], asked: Any, times: Mapping[int, datetime], name: str
) -> None:
    for bound in BOUNDS:
        query = getattr(asked(session), name)(at=bound)
        check_found(query, {one for one, at in times.items() if COMPARED[name](at, bound)}, reported)


@pytest.mark.parametrize(("asked", "times"), WAYS.values(), ids=WAYS)
def test_every_spelling_between_two_times_is_found_or_reported(
    session: Session, reported: list[DecodeError], asked: Any, times: Mapping[int, datetime]
) -> None:
    for low, high in ((INSTANTS[1], INSTANTS[2]), (NOON, NOON), (INSTANTS[2], INSTANTS[3])):
        query = asked(session).between(at=(low, high))
        check(query, {one for one, at in times.items() if low <= at <= high}, reported)
        assert [one.row for one in pages(query, 9)] == [one.row for one in query]
        half_open = asked(session).ge(at=low).lt(at=high)
        check(half_open, {one for one, at in times.items() if low <= at < high}, reported)


@pytest.mark.parametrize(("asked", "times"), WAYS.values(), ids=WAYS)
def test_a_place_has_its_own_entities_alone(
    session: Session, reported: list[DecodeError], asked: Any, times: Mapping[int, datetime]
) -> None:
    check(asked(session), {*times}, reported)
    assert {one.row for one in pages(asked(session), 9)} == {one.row for one in asked(session)}


def check(query: Any, wanted: set[int], reported: list[DecodeError]) -> None:
    unreadable = check_found(query, wanted, reported)
    assert query.count() == len(wanted)
    assert {row[0] for row in query.values("row")} | unreadable == wanted


def check_found(query: Any, wanted: set[int], reported: list[DecodeError]) -> set[int]:
    """The rows that were reported."""
    reported.clear()
    found = [one.row for one in query.all()]
    unreadable = {row_of(one.key) for one in reported}
    assert len({*found}) == len(found)
    assert {*found} | unreadable == wanted
    assert {*found}.isdisjoint(unreadable)
    return unreadable


def pages(query: Any, size: int) -> Iterator[Any]:
    page = query.page(size)
    yield from page
    while page.cursor is not None:
        yield from (page := query.page(size, after=page.cursor))


def row_of(key: Item) -> int:
    """The row of the item with this primary key."""
    return ROW_OF[key["PK"]["S"], key["SK"]["S"]]
