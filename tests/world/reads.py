"""The rules that read: every answer is a plain filter over what the oracle holds, in key order."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from dynaorm import F, any_of
from tests.counted_rules import rule
from tests.world.cast import FACTS, Audit, Kind, Lamp, Lead, Login, Member, Page, Point, Room, Team, Values
from tests.world.machine import KINDS, VERSIONED, Writes, key_of, values_of

QUESTIONS = ["by team", "by teams", "active", "active leads", "rooms", "points", "sizes", "hours", "scan"]


def text_in_key(value: Any) -> str:
    return str(value).replace("%", "%25").replace("#", "%23")


@dataclass
class Question:
    """A query, the entities of the class that belong to its answer, and their order; None for no order."""

    query: Any
    kind: Kind
    belongs: Callable[[Values], bool]
    order: Callable[[Values], Any] | None


class Machine(Writes):
    """All rules."""

    @rule(data=st.data(), way=st.sampled_from(["get", "get_by", "history", "ask", "ask", "collection"]))
    def read(self, data: st.DataObject, way: str) -> None:
        reads: dict[str, Callable[[st.DataObject], None]] = {
            "get": self.get,
            "get_by": self.get_by,
            "history": self.read_history,
            "ask": self.ask,
            "collection": self.ask_for_a_collection,
        }
        reads[way](data)

    # -- by key and by value -------------------------------------------------------------------------------------------

    def get(self, data: st.DataObject) -> None:
        kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
        keys = [(kind, data.draw(st.sampled_from(FACTS[kind].names))) for kind in kinds]
        expected = [self.world.values((FACTS[kind].family, name), self.now, kind) for kind, name in keys]
        entities = self.calm.get_many([key_of(kind, name) for kind, name in keys])
        assert [entity and values_of(entity) for entity in entities] == expected
        kind, name = keys[0]
        entity = self.calm.get(key_of(kind, name))
        assert (entity and values_of(entity)) == expected[0]
        assert self.calm.exists(key_of(kind, name)) is (expected[0] is not None)
        if entity is not None:
            assert type(entity) is self.world.rows[FACTS[kind].family, name].kind
            self.hold(entity)

    def get_by(self, data: st.DataObject) -> None:
        pairs = [(Member, "email"), (Lead, "email"), (Page, "alias"), (Login, "alias")]
        kind, field = data.draw(st.sampled_from(pairs))
        value = data.draw(st.sampled_from([value for value in FACTS[kind].pools[field] if value is not None]))
        entity = self.calm.get_by(kind, **{field: value})
        live = self.world.live(kind, self.now)
        holders = [values for values in live if (values[field] or "").casefold() == value.casefold()]
        assert [values_of(each) for each in (entity,) if each is not None] == holders

    def read_history(self, data: st.DataObject) -> None:
        kind = data.draw(st.sampled_from([*VERSIONED.values()]))
        name = data.draw(st.sampled_from(FACTS[kind].names))
        row, key = self.world.rows.get((FACTS[kind].family, name)), key_of(kind, name)
        versions = row.versions if row is not None else {}
        history = list(self.calm.history(key))
        assert [version.number for version in history] == sorted(versions, reverse=True)
        assert {version.number: dict(version.values) for version in history} == versions
        if len(versions) > 1:
            first, last = versions[min(versions)], versions[max(versions)]
            differing = {name for name in first if first[name] != last[name]}
            assert self.calm.diff(key, min(versions), max(versions)).keys() == differing
        if kind is not Audit:
            old = self.calm.get(key, version=1)
            assert (old and values_of(old)) == versions.get(1)
            self.read_past(data, key, row)

    def read_past(self, data: st.DataObject, key: Any, row: Any) -> None:
        """What was stored at a time, unless its version was pruned."""
        log = [] if row is None else row.log
        at = data.draw(
            st.sampled_from([at + step for at, _ in log for step in (-0.0005, 0, 0.0005)] or [0.0])
        )
        numbers = [number for since, number in log if since <= at]
        if not numbers or numbers[-1] is None or numbers[-1] in row.versions:
            old = self.calm.get(key, as_of=datetime.fromtimestamp(at, UTC))
            assert (old and values_of(old)) == (row.versions.get(numbers[-1]) if numbers else None)

    # -- queries -------------------------------------------------------------------------------------------------------

    def question(self, data: st.DataObject, what: str) -> Question:
        s, least = self.calm, data.draw(st.sampled_from([None, 0, 1, 7, 8]))
        if what in ("by team", "by teams"):
            team = data.draw(st.sampled_from(["red", "blue#", "green"]))
            teams = [team] if what == "by team" else ["red", "green"]
            query = s.query(Member.by_team, team=team if what == "by team" else any_of(*teams))
            return Question(
                query if least is None else query.ge(visits=least),
                Member,
                lambda values: values["team"] in teams and (least is None or values["visits"] >= least),
                lambda values: (f"{values['visits']:03d}", text_in_key(values["name"])),
            )
        if what in ("active", "active leads"):
            kind: Kind = Member if what == "active" else Lead
            query = s.query(Member.if_active if kind is Member else Lead.if_active, tenant="t")
            belongs: Callable[[Values], bool] = lambda values: values["active"] and values["tenant"] == "t"  # noqa: E731
            return Question(query, kind, belongs, lambda values: values["name"])
        if what == "rooms":
            kind = data.draw(st.sampled_from([Room, Lamp]))
            return Question(
                s.query(kind, house="h"), kind, lambda _: True, lambda values: text_in_key(values["name"])
            )
        if what == "points":
            query = s.query(Point, device="d")
            return Question(
                query if least is None else query.ge(name=least),
                Point,
                lambda values: least is None or values["name"] >= least,
                lambda values: values["name"],
            )
        if what in ("sizes", "hours"):
            total = "members" if what == "sizes" else "hours"
            query = s.query(Team.by_size if what == "sizes" else Team.by_hours, kind="team")
            return Question(
                query if least is None else query.ge(**{total: least}),
                Team,
                lambda values: least is None or values[total] >= least,
                lambda values: values[total],
            )
        kind = data.draw(st.sampled_from([Member, Lead, Login, Page, Team, Point]))
        return Question(s.scan(kind, segments=data.draw(st.integers(1, 2))), kind, lambda _: True, None)

    def condition(self, data: st.DataObject, kind: Kind) -> tuple[Any, Callable[[Values], bool]]:
        conditions: list[tuple[Any, Callable[[Values], bool]]] = [(None, lambda _: True)]
        if issubclass(kind, Member):
            conditions += [
                (F.active == True, lambda values: values["active"]),  # noqa: E712
                (F.visits < 8, lambda values: values["visits"] < 8),
                (
                    F.email.missing() | (F.visits > 0),
                    lambda values: values["email"] is None or values["visits"] > 0,
                ),
                (~F.number.is_in([1, 2]), lambda values: values["number"] not in (1, 2)),
                (
                    F.hours.between(1, 3),
                    lambda values: values["hours"] is not None and 1 <= values["hours"] <= 3,
                ),
            ]
        drawn: tuple[Any, Callable[[Values], bool]] = data.draw(st.sampled_from(conditions))
        return drawn

    def ask(self, data: st.DataObject) -> None:
        """Whatever methods are chained, the answer is that of a filter over the oracle's entities."""
        question = self.question(data, data.draw(st.sampled_from(QUESTIONS)))
        condition, holds = self.condition(data, question.kind)
        query = question.query if condition is None else question.query.filter(condition)
        live = self.world.live(question.kind, self.now)
        expected = [values for values in live if question.belongs(values) and holds(values)]
        order = question.order or (lambda values: repr(values["name"]))
        expected.sort(key=order)
        if question.order is not None and data.draw(st.booleans()):
            query, expected = query.descending(), expected[::-1]

        def same(answer: list[Values]) -> bool:
            return (answer if question.order else sorted(answer, key=order)) == expected

        size = data.draw(st.integers(1, 3))
        assert same([values_of(entity) for entity in query.all()])
        assert query.count() == len(expected)
        assert len(query.limit(size).all()) == min(size, len(expected))
        assert (query.first() is None) is (not expected)
        assert {key.fields["name"] for key in query.keys().all()} == {values["name"] for values in expected}
        if question.order is not None:
            assert [values_of(entity) for entity in query.limit(size)] == expected[:size]
        assert same(self.paged(query, size))

    def paged(self, query: Any, size: int) -> list[Values]:
        answer: list[Values] = []
        cursor = None
        while True:
            page = query.page(size, after=cursor)
            assert len(page) <= size
            answer += [values_of(entity) for entity in page]
            if (cursor := page.cursor) is None:
                return answer

    def ask_for_a_collection(self, data: st.DataObject) -> None:  # noqa: ARG002 - as the others
        for kind, entities in zip(
            (Room, Lamp), self.calm.collection(Room, Lamp, house="h").split(), strict=True
        ):
            answer = sorted(repr(values_of(entity)) for entity in entities)
            assert answer == sorted(map(repr, self.world.live(kind, self.now)))
