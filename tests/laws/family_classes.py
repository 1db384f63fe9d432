"""Random families of classes in several tables: derived classes, unique values, versions, totals, guards elsewhere."""

import types
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from dynaorm import Aggregate, Entity, ExpiresAt, GlobalIndex, Index, Table, Unique

Pick: TypeAlias = Callable[[Sequence[Any]], Any]
"""Takes one of several."""

_numbers = count()


class Derived(NamedTuple):
    """A class that derives from the base of its family, or from the derived class before it.

    ``elsewhere``: it has a table of its own. ``counted``: the target in which it is counted, too.
    """

    from_base: bool
    elsewhere: int | None
    is_unique: bool
    counted: str
    is_indexed: bool
    formerly: bool


class Family(NamedTuple):
    """A base class and what derives from it. ``unique`` may be ``shared`` with other families."""

    table: int
    versioned: bool
    expires: bool
    unique: str
    counted: str
    is_indexed: bool
    derived: tuple[Derived, ...]


class World(NamedTuple):
    """Families over three tables. ``guards`` says which tables keep their guard items in a table of guards."""

    guards: tuple[bool, ...]
    targets: int
    families: tuple[Family, ...]


_COUNTED: Final = ("", "Team", "Club")


def world_of(pick: Pick) -> World:
    return World(
        tuple(pick((False, True)) for _ in range(3)),
        pick((0, 1, 2)),
        tuple(_family(pick) for _ in range(pick((1, 2, 3)))),
    )


def _family(pick: Pick) -> Family:
    derived = tuple(
        Derived(
            pick((True, False)),
            pick((None, None, None, 0, 1, 2)),
            pick((False, True)),
            pick(_COUNTED),
            pick((False, True)),
            pick((False, True)),
        )
        for _ in range(pick((0, 1, 2)))
    )
    expires = pick((False, False, False, True))
    found = Family(
        pick((0, 1, 2)),
        not expires and pick((False, True)),
        expires,
        pick(("", "own", "shared")),
        "" if expires else pick(_COUNTED),
        pick((False, True)),
        derived,
    )
    if expires:  # what expires is not counted
        found = found._replace(derived=tuple(one._replace(counted="") for one in derived))
    # A class in a table of its own would have the constraint of its base class again.
    return found._replace(
        derived=tuple(
            one._replace(elsewhere=None) if found.unique == "own" or one.elsewhere == found.table else one
            for one in found.derived
        )
    )


class Classes(NamedTuple):
    """What a world declares. ``kinds`` are the classes of the families, ``targets`` those that keep totals."""

    tables: tuple[Table, ...]
    kinds: tuple[Any, ...]
    targets: tuple[Any, ...]

    @property
    def everything(self) -> tuple[Any, ...]:
        return (*self.kinds, *self.targets)


def declare(world: World) -> Classes:
    """The classes of a world, on tables with names that nothing else has."""
    number = next(_numbers)
    guards = Table(f"families-{number}-guards", type_attribute=None, revision_attribute=None)
    tables = tuple(
        Table(
            f"families-{number}-{at}",
            indexes=[GlobalIndex(f"GSI{one}") for one in range(3)],
            guard_table=guards if is_apart else None,
        )
        for at, is_apart in enumerate(world.guards)
    )
    place = {"table": tables[world.targets], "pk": "TEAM#{team}", "sk": "TEAM"}
    team = _class("Team", Entity, {"team": str, **_totals("people")}, dict(_zeros("people")), **place)
    club = _class("Club", team, _totals("awards"), dict(_zeros("awards")))
    making = _Making(tables, {"Team": (team, "people"), "Club": (club, "awards")})
    kinds = [kind for at, family in enumerate(world.families) for kind in making.family(f"F{at}", family)]
    return Classes((*tables, guards), tuple(kinds), (team, club))


_TOTALS: Final = range(20)


def _totals(name: str) -> dict[str, Any]:
    return {f"{name}{at}": int for at in _TOTALS}


def _zeros(name: str) -> dict[str, int]:
    return {f"{name}{at}": 0 for at in _TOTALS}


def _class(name: str, base: Any, fields: dict[str, Any], space: dict[str, Any], **keywords: Any) -> Any:
    space = {**space, "__annotations__": fields, "__module__": __name__}
    return types.new_class(name, (base,), keywords, lambda own: own.update(space))


class _Making:
    """Declares the classes of families. Each aggregate has a total of its own."""

    def __init__(self, tables: Sequence[Table], targets: dict[str, tuple[Any, str]]) -> None:
        self.tables, self.targets, self.numbers = tables, targets, count()

    def family(self, name: str, family: Family) -> list[Any]:
        fields: dict[str, Any] = {"id": str, "team": str, "note": str, "mail": str | None}
        space: dict[str, Any] = {"note": "", "mail": None}
        if family.unique:
            constraint = Unique("mail", shared=True) if family.unique == "shared" else Unique(f"{name}-mail")
            fields["mail"] = Annotated[str | None, constraint]
        if family.expires:
            fields["until"], space["until"] = Annotated[datetime | None, ExpiresAt()], None
        keys: dict[str, Any] = {"pk": f"{name}#{{id}}", "sk": name, "versioned": family.versioned}
        counted = [(f"in_{name}", family.counted)] if family.counted else []
        base_place = {"table": self.tables[family.table], **keys}
        found = [_class(name, Entity, fields, space | self.more(0, name, family, counted), **base_place)]
        known = [(counted, family.table)]
        for at, one in enumerate(family.derived):
            own, base = f"{name}D{at}", 0 if one.from_base else at
            more: dict[str, Any] = {f"tag{at}": str | None}
            if one.is_unique:
                more[f"tag{at}"] = Annotated[str | None, Unique(f"{own}-tag", shared=True)]
            counted = [(f"in_{own}", one.counted)] if one.counted else []
            inherited, table = known[base]
            place = table if one.elsewhere is None else one.elsewhere
            is_elsewhere = place != table
            known.append((inherited + counted, place))
            options: dict[str, Any] = {}
            if is_elsewhere:
                options = {**keys, "table": self.tables[place], "pk": f"{own}#{{id}}"}
            if one.formerly:
                options["formerly"] = (f"Former{own}",)
            space = {f"tag{at}": None, **self.more(at + 1, own, one, counted)}
            if is_elsewhere:  # it counts in totals of its own
                space |= {name: self.aggregate(target) for name, target in inherited}
            found.append(_class(own, found[base], more, space, **options))
        return found

    def more(self, level: int, name: str, one: Any, counted: Any) -> dict[str, Any]:
        found: dict[str, Any] = {attribute: self.aggregate(target) for attribute, target in counted}
        if one.is_indexed:
            found[f"by_{name}"] = Index(f"GSI{level}", pk=f"{name}#{{team}}", sk="{id}")
        return found

    def aggregate(self, name: str) -> Any:
        target, total = self.targets[name]
        return Aggregate(target, key={"team": "team"}, count=f"{total}{next(self.numbers)}")
