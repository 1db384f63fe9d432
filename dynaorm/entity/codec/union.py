"""The codecs of unions: of types told apart by how they are stored, and of models told apart by a discriminator.

Rule 1. The type of the attribute value tells the members of a plain union apart; members stored alike are refused.
Rule 2. The members of a discriminated union are told apart by pydantic's own rule: what is decoded is what it chooses.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

from dynaorm.entity.codec.value import NULL, Codec, Misfit, Unstorable
from dynaorm.failure import shown
from dynaorm.item.value import AttributeValue


def union_codec(members: Sequence[tuple[str, Codec]], later: Callable[[Callable[[], None]], None]) -> Codec:
    """``X | Y`` of members with names.

    Args:
        members: names and codecs. One without tags is a type that is not finished yet, because it contains the union.
        later: takes what must wait until all types are finished.
    """
    _refuse_same_tags(members)
    unfinished = [(name, codec) for name, codec in members if not codec.tags]
    by_tag = {tag: codec for _, codec in members for tag in codec.tags}
    other = unfinished[0][1] if unfinished else None
    later(lambda: _refuse_untold(members))
    codecs = [codec for _, codec in members]
    names = " or ".join(name for name, _ in members)

    def decode(stored: AttributeValue) -> Any:
        for tag in stored:
            codec = by_tag.get(tag, other)
            if codec is not None:
                return codec.decode(stored)
        raise Misfit(f"is stored as {', '.join(stored)}, which is no {names}")

    return Codec(_first_that_fits(codecs, names), decode, frozenset(by_tag))


def _refuse_same_tags(members: Sequence[tuple[str, Codec]]) -> None:
    owners: dict[str, str] = {}
    for name, codec in members:
        for tag in sorted(codec.tags):
            if tag in owners:
                raise Unstorable(
                    f"{owners[tag]} and {name} are both stored as {tag}, so a stored value does not tell which it is; "
                    f"keep one of them, wrap each in a model of its own with a discriminator, "
                    f"or use Attribute(encode=..., decode=...)"
                )
            owners[tag] = name


def _refuse_untold(members: Sequence[tuple[str, Codec]]) -> None:
    _refuse_same_tags(members)
    for name, codec in members:
        if not codec.tags:
            raise Unstorable(
                f"how {name} is stored is up to its own encode, so it cannot be a member of a union; "
                f"give encode and decode for the whole union"
            )


def _first_that_fits(codecs: Sequence[Codec], names: str) -> Callable[[Any], AttributeValue]:
    by_type: dict[type, Codec] = {}

    def encode(value: Any) -> AttributeValue:
        known = by_type.get(type(value))
        if known is not None:
            return known.encode(value)
        within: Misfit | None = None
        for codec in codecs:
            try:
                found = codec.encode(value)
            except Misfit as problem:
                # A problem at some part of the value means that the value as a whole is of this member.
                within = within or (problem if problem.path else None)
            except ValueError:
                continue
            else:
                # Several dicts can be members, when they are typed; of any other class there is one.
                if type(value) is not dict:
                    by_type[type(value)] = codec
                return found
        raise within or Misfit(f"is {shown(value)}, not {names}")

    return encode


def discriminated_codec(members: Mapping[str, Codec], field: str) -> Codec:
    """Models, dataclasses or typed dicts with a field whose values differ; ``members`` are their names and codecs."""
    if any(codec.tags != {"M"} for codec in members.values()):
        raise Unstorable(
            f"a union discriminated by {field!r} has a member that is no model; leave the discriminator out, "
            f"or wrap the member in a model"
        )
    codecs = list(members.values())
    known: dict[tuple[str, str, Hashable], Codec] = {}

    def decode(stored: AttributeValue) -> Any:
        found = stored.get("M")
        if found is None:
            raise Misfit(f"is stored as {', '.join(stored)}, not as M")
        for codec in codecs:
            attribute, told_by = (codec.members or {})[field]
            for tag, content in found.get(str(attribute), NULL).items():
                token = (str(attribute), tag, content if isinstance(content, Hashable) else None)
                if token in known:
                    return known[token].decode(stored)
                if _decodes(told_by, {tag: content}):
                    known[token] = codec
                    return codec.decode(stored)
        raise Misfit(f"is stored with a {field!r} of none of {', '.join(members)}")

    encode = _first_that_fits(codecs, " or ".join(members))
    return Codec(encode, decode, frozenset({"M"}), members=_Merged(tuple(codecs)))


def _decodes(codec: Codec, stored: AttributeValue) -> bool:
    try:
        codec.decode(stored)
    except ValueError:
        return False
    return True


class _Merged(Mapping[str, tuple[str | int, Codec]]):
    """The fields of several models. Computed when asked for: while classes are declared, some are unfinished."""

    __slots__ = ("_codecs",)

    def __init__(self, codecs: tuple[Codec, ...]) -> None:
        self._codecs = codecs

    def __getitem__(self, name: str) -> tuple[str | int, Codec]:
        found = [codec.members[name] for codec in self._codecs if codec.members and name in codec.members]
        attributes = {attribute for attribute, _ in found}
        if len(attributes) != 1:
            raise KeyError(name)
        return attributes.pop(), _either([codec for _, codec in found])

    def __iter__(self) -> Iterator[str]:
        names = {name: None for codec in self._codecs for name in codec.members or ()}
        return (name for name in names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except KeyError:
            return False
        return True


def _either(codecs: Sequence[Codec]) -> Codec:
    """The codec of a field that several models have, each with a type of its own: the first that fits."""
    if len(codecs) == 1:
        return codecs[0]

    def decode(stored: AttributeValue) -> Any:
        return next((codec for codec in codecs if _decodes(codec, stored)), codecs[0]).decode(stored)

    return Codec(
        _first_that_fits(codecs, "a value of that field in any of the union's members"),
        decode,
        frozenset[str]().union(*(codec.tags for codec in codecs)),
        nullable=any(codec.nullable for codec in codecs),
        element=codecs[0].element,
        members=codecs[0].members,
    )


def chosen_codec(members: Mapping[Hashable, Codec], choose: Callable[[Any], Hashable]) -> Codec:
    """A union with a function as discriminator: ``members`` are the tags it can give, and their codecs.

    The function is asked about what is decoded, as pydantic will ask it. Made for instances, it may take a dict of
    field names for something else; that is noticed when the value is saved, and refused.
    """

    def told(stored: AttributeValue) -> Codec | None:
        return next((codec for tag, codec in members.items() if _is_chosen(tag, codec, stored, choose)), None)

    def decode(stored: AttributeValue) -> Any:
        codec = told(stored)
        if codec is None:
            raise Misfit(
                f"is stored as {', '.join(stored)}, which the discriminator takes for no member of the union"
            )
        return codec.decode(stored)

    def encode(value: Any) -> AttributeValue:
        tag = choose(value)
        if tag not in members:
            raise Misfit(f"is {shown(value)}, for which the discriminator gives {tag!r}, no Tag of the union")
        stored = members[tag].encode(value)
        if told(stored) is not members[tag]:
            raise Misfit(
                f"is {shown(value)}, which the discriminator does not tell from other members of the union once it is "
                f"a dict of field names; make it tell such dicts apart"
            )
        return stored

    tags = frozenset[str]().union(*(codec.tags for codec in members.values()))
    return Codec(encode, decode, tags, nullable="NULL" in tags)


def _is_chosen(
    tag: Hashable, codec: Codec, stored: AttributeValue, choose: Callable[[Any], Hashable]
) -> bool:
    return _decodes(codec, stored) and choose(codec.decode(stored)) == tag
