"""Random classes as they were, and as they are declared now: what comes between, in any combination.

``earlier`` takes declarations away from a spec and puts others in their place, as far as items of the one fit the
other. ``make_earlier`` declares the result, without some fields, and with other templates of its indexes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dynaorm import Index
from tests.laws.mixed_classes import UNIQUES, Classes, Info, Pick, Spec, fitting, make

OF_THE_KEY: Final = ("sort", "key", "typed", "escape", "totals")
SINCE: Final = ("versioned", "in_key", "guards")
"""What an earlier class may lack, and have in no other way."""

LOOKED_AT: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("plain", "local"), frozenset({"text"})),
    **dict.fromkeys(("when", "function"), frozenset({"mail", "num"})),
    **dict.fromkeys(("composite", "computed"), frozenset({"text", "num"})),
    **dict.fromkeys(("places", "functions", "native"), frozenset({"state", "text", "num"})),
    "normalize": frozenset({"nick"}),
    "scope": frozenset({"slug"}),
    "template": frozenset({"tag"}),
    "fields": frozenset({"state", "num"}),
    "shard": frozenset({"state", "text"}),
    "one of": frozenset({"shard"}),
    "nested": frozenset({"info"}),
}
LATER: Final = (
    *("text", "nick", "slug", "mail", "tag", "num", "state"),
    *("info", "tags", "extra", "doc", "note", "at", "shard"),
)
UNUSUAL: Final[Mapping[str, Any]] = {
    "text": "x",
    "nick": "Bob",
    "slug": "s",
    "mail": "m",
    "tag": "t",
    "note": "n1",
    "extra": "e",
    "num": 3,
    "state": "closed",
    "shard": 2,
    "doc": {"a": 1},
    "info": Info(city="oslo", floor=1),
}
OTHER_TEMPLATES: Final[Mapping[str, tuple[str, Callable[[], Any], str]]] = {
    "local": ("by_local", lambda: Index("LSI1", sk="{state}"), "state"),
    "nested": ("by_city", lambda: Index("GSI6", pk="TOWN#{info.city}"), "info"),
    "shard": ("by_shard", lambda: Index("GSI3", pk="S#{state}#{n:shard5}", sk="{n:03d}"), "state"),
    "one of": ("by_choice", lambda: Index("GSI4", pk="C#{shard}", sk="{num}"), "num"),
    "native": (
        "by_native",
        lambda: Index("Nat", pk=("{state}", "{group}"), sk=("{note}", "{num}")),
        "note",
    ),
}
KEYS_OF_INDEXES: Final[Mapping[str, Sequence[str]]] = {
    "native": ("NatPK1", "NatPK2", "NatSK1", "NatSK2"),
    "shard": ("GSI3PK", "GSI3SK"),
    "one of": ("GSI4PK", "GSI4SK"),
    "times": ("GSI5PK", "GSI5SK"),
    "nested": ("GSI6PK",),
    "computed": ("GSI7PK", "GSI7SK"),
}
"""The attributes that dynaorm makes up for an index that an earlier class may have had."""


class Earlier(NamedTuple):
    """A spec as it was.

    Attributes:
        spec: its settings.
        without: the fields that came later.
        templates: the indexes in which the class had another place.
        defaults: what the class of today gives to fields that came later, where that is not the usual default.
    """

    spec: Spec
    without: frozenset[str] = frozenset()
    templates: tuple[str, ...] = ()
    defaults: tuple[tuple[str, Any], ...] = ()


def earlier(now: Spec, pick: Pick) -> Earlier:
    """What a spec may have been before."""
    spec = next((one for one in (_before(now, pick) for _ in range(9)) if _fits(one, now)), now)
    used = frozenset[str]().union(*(LOOKED_AT.get(one, ()) for one in (*spec.unique, *spec.indexes)))
    used |= LOOKED_AT["fields"] if spec.counted else frozenset()
    used |= LOOKED_AT["computed"] if spec.computed else frozenset()
    used |= {"num"} if spec.versioned == "some" else frozenset()
    used |= {{"nested": "info", "one of": "shard"}.get(spec.key, "")}
    is_young = pick((True, False))
    without = frozenset(one for one in LATER if is_young and one not in used and pick((True, False, False)))
    others = [one for one in OTHER_TEMPLATES if one in spec.indexes and one in now.indexes]
    templates = [one for one in others if OTHER_TEMPLATES[one][2] not in without and pick((1, 0, 0, 0))]
    unusual = [(name, value) for name, value in UNUSUAL.items() if name in without and pick((True, False))]
    return Earlier(spec, without, tuple(templates), tuple(unusual))


def _before(now: Spec, pick: Pick) -> Spec:
    spec, dropped = now, pick([one for one in KEYS_OF_INDEXES if one not in now.indexes] or [""])
    fewer = [("", *(one for one in found if pick((0, 0, 1)))) for found in (now.unique, now.indexes)]
    kept = [one for one in now.indexes if one == "local" or one in fewer[1]]
    changes: dict[str, Mapping[str, Any]] = {
        "unique": {"unique": tuple(filter(None, fewer[0]))},
        "dropped unique": {"unique": tuple(sorted({*now.unique, pick(UNIQUES)}))},
        "indexes": {"indexes": tuple(kept)},
        "dropped index": {"indexes": tuple(sorted({*now.indexes, dropped} - {""}))},
        "counted": {"counted": pick(("", "plain", "when"))},
        "computed": {"computed": pick(("", "plain")) if now.computed else ""},
        "times": {"times": ""},
        "expires": {"expires": ""},
        "subclass": {"subclass": ""},
        "name": {"formerly": "was" if now.formerly and now.typed == "own" else now.formerly},
        "revision": {"revision": ""},
        **{name: {name: ""} for name in SINCE},
    }  # fmt: skip
    for name in {pick(sorted(changes)) for _ in range(pick((1, 2, 3, 5)))}:
        spec = spec._replace(**changes[name])
    return fitting(spec)


def _fits(spec: Spec, now: Spec) -> bool:
    """Whether the keys are the same, and nothing was there that would have to be deleted or moved back."""
    is_local = [("local" in one.indexes) for one in (spec, now)]
    same = all(getattr(spec, name) == getattr(now, name) for name in OF_THE_KEY)
    fits = all(getattr(spec, name) in ("", getattr(now, name)) for name in SINCE)
    return same and fits and is_local[0] == is_local[1]


def make_earlier(was: Earlier) -> Classes:
    """Declare the classes as they were."""
    places = {OTHER_TEMPLATES[one][0]: OTHER_TEMPLATES[one][1]() for one in was.templates}
    return make(was.spec, without=was.without, places=places)
