"""Which items must be stored for entities of a drawn class, computed without dynaorm."""

from binascii import crc32
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tests.laws.mixed_classes import SMALL, Info, Spec, Values

Stored = dict[str, Any]
"""An item, or an attribute value, that is made here."""


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _milliseconds(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def stored_time(codec: str, at: datetime) -> Stored:
    """A time in the form of a codec."""
    return {
        "": {"S": _time(at)},
        "iso": {"S": at.strftime("%Y-%m-%dT%H:%M:%SZ")},
        "ms": {"N": str(_milliseconds(at))},
        "pynamodb": {"S": at.strftime("%Y-%m-%dT%H:%M:%S.%f+0000")},
        "milliseconds": {"S": _time(at)[:-4] + "Z"},
    }[codec]


def cut(at: datetime, unit: str) -> datetime:
    """A time as exact as it is stored."""
    step = {"s": 1_000_000, "iso": 1_000_000, "ms": 1000, "milliseconds": 1000}.get(unit, 1)
    return at.replace(microsecond=at.microsecond // step * step)


def _any(value: Any) -> Any:
    if value is None:
        return {"NULL": True}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, list):
        return {"L": [_any(one) for one in value]}
    return {"M": {name: _any(one) for name, one in value.items()}}


def _info(info: Info) -> Stored:
    seen = {} if info.seen is None else {"seenAt": stored_time("iso", info.seen)}
    return {"city": {"S": info.city}, "floor": {"N": str(info.floor)}, **seen}


class Expected:
    """The items that must be stored for entities of a spec."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def text(self, value: str, *, literal: bool = True) -> str:
        """A value in a key that has literal text, too."""
        if self.spec.escape == "no" or not literal:
            return value
        return value.replace("%", "%25").replace("#", "%23")

    def key(self, one: Values) -> Stored:
        """The primary key."""
        spec, number = self.spec, f"{one['n']:03d}"
        partition = "THING#" + self.text(one["group"])
        if spec.key == "one of":
            partition += f"#{one['shard']}"
        if not spec.sort:
            return {"PK": {"S": f"{partition}#{number}"}}
        if spec.sort == "N":
            return {"PK": {"S": partition}, "SK": {"N": str(one["n"])}}
        if spec.sort == "B":
            prefix = b"v0_" if spec.versioned else b""
            return {"PK": {"S": partition}, "SK": {"B": prefix + one["blob"]}}
        if spec.key == "desc":
            number = f"{999 - one['n']:03d}"
        if spec.key == "computed":
            number = f"b{one['n'] % 2}#{number}"
        if spec.key == "nested":
            number = f"{self.text(one['info'].city)}#{number}"
        return {"PK": {"S": partition}, "SK": {"S": self.version_key(f"T#{number}", 0)}}

    def version_key(self, sort: str, number: int) -> str:
        kind = self.spec.versioned
        if not kind:
            return sort
        if kind == "template":
            return f"V{number}_{sort}"
        return f"v{number:04d}_{sort}" if kind == "padded" and number else f"v{number}_{sort}"

    def attributes(self, one: Values) -> Stored:
        """The attributes of the fields, and the stored computed one."""
        spec = self.spec
        found: dict[str, Any] = {
            "group": {"S": one["group"]},
            "n": {"N": str(one["n"])},
            "blob": {"B": one["blob"]},
            "shard": {"N": str(one["shard"])},
            "num": {"N": str(one["num"])},
            "state": {"S": one["state"]},
            "info": {"M": _info(one["info"])},
            "when" if spec.codec else "at": stored_time(spec.codec, one["at"]),
            "doc": {"S": "{}" if not one["doc"] else '{"a": 1}'},
        }
        found |= {
            name: {"S": one[name]}
            for name in ("text", "nick", "slug", "mail", "tag", "note")
            if one[name] is not None
        }
        found |= self._special(one)
        return {name: value for name, value in found.items() if name not in self.only_in_key()}

    def _special(self, one: Values) -> Stored:
        """The attributes that have a meaning, and those that may be absent."""
        spec, label = self.spec, self.label(one)
        until = one.get("until")
        found: dict[str, Any] = {
            "tags": {"SS": sorted(one["tags"])} if one["tags"] else None,
            "extra": None if one["extra"] is None else _any(one["extra"]),
            "until": None if until is None else {"N": self.until(until)},
            "kind": {"S": one["kind"]} if spec.typed == "field" else None,
            "more": {"N": str(one["more"])} if "more" in one else None,
            "theLabel": {"S": label} if label is not None and "stored" in spec.computed else None,
        }
        for name, attribute, codec in TIMES:
            found[attribute] = None if one.get(name) is None else stored_time(codec, one[name])
        return {name: value for name, value in found.items() if value is not None}

    def only_in_key(self) -> tuple[str, ...]:
        spec = self.spec
        if spec.in_key == "field":
            return ("n",)
        if spec.in_key != "table":
            return ()
        shard = ("shard",) if spec.key == "one of" else ()
        return ("group", "blob", *shard) if spec.sort == "B" else ("group", "n", *shard)

    def until(self, at: datetime) -> str:
        return str(_milliseconds(at) // (1 if self.spec.expires == "ms" else 1000))

    def label(self, one: Values) -> str | None:
        return None if one["text"] is None else f"{one['num']}:{one['text']}"

    def index_keys(self, one: Values) -> Stored:
        """The attributes of the indexes that are no fields."""
        text, number, shard = one["text"], f"{one['n']:03d}", crc32(str(one["n"]).encode()) % 3 + 1
        state, small = self.text(one["state"]), one["num"] < SMALL
        place = "SMALL#" + state if small else None if text is None else "LARGE#" + self.text(text)
        changed = None if one.get("changed") is None else _time(one["changed"])
        label = self.label(one)
        keys: dict[str, dict[str, Any]] = {
            "places": {"GSI1PK": place, "GSI1SK": number},
            "functions": {"GSI1PK": place, "GSI1SK": number},
            "native": {"NatPK1": one["state"], "NatPK2": one["group"], "NatSK1": text, "NatSK2": one["num"]},
            "local": {"LSI1SK": text},
            "shard": {"GSI3PK": f"S#{state}#{shard}", "GSI3SK": text},
            "one of": {"GSI4PK": f"C#{one['shard']}", "GSI4SK": one["n"]},
            "times": {"GSI5PK": "ALL", "GSI5SK": changed},
            "nested": {"GSI6PK": "CITY#" + self.text(one["info"].city)},
            "computed": {"GSI7PK": None if label is None else "L#" + self.text(label), "GSI7SK": number},
        }
        chosen = [keys[index] for index in self.spec.indexes if index in keys]
        complete = [one for one in chosen if None not in one.values()]
        return {name: _any(value) for one in complete for name, value in one.items()}

    def claims(self, one: Values) -> Iterator[tuple[str, str]]:
        """The keys of the guard items: partition and sort key."""
        for kind in self.spec.unique:
            claim = self._claim(kind, one)
            if kind == "template" and one["tag"] is not None:
                yield "_u#" + self.text(one["tag"]), "_u#"
            elif claim is not None:
                yield claim, claim

    def _claim(self, kind: str, one: Values) -> str | None:
        small = one["num"] < SMALL
        found = {
            "plain": ("text", one["text"]),
            "normalize": ("nick", one["nick"] and one["nick"].casefold()),
            "scope": ("slug", one["slug"] and f"{_part(one['group'])}#{_part(one['slug'])}"),
            "when": ("mail", one["mail"] if small else None),
            "function": ("mail", one["mail"] if small else None),
            "composite": ("pair", one["text"] and f"{_part(one['text'])}#{one['num']}"),
            "computed": ("claim", self.label(one)),
        }.get(kind)
        return None if found is None or found[1] is None else f"{found[0]}#{found[1]}"

    def is_counted(self, one: Values) -> bool:
        return bool(self.spec.counted) and (
            self.spec.counted not in ("when", "function") or one["num"] < SMALL
        )


def _part(text: str) -> str:
    return text.replace("%", "%25").replace("#", "%23")


TIMES: Final = (
    ("created", "created", ""),
    ("changed", "changed", ""),
    ("created_ms", "created_ms", "ms"),
    ("changed_iso", "changedAt", "iso"),
)
