"""The codecs of unions: plain unions, and unions with a discriminator.

Rule 1. The type of the attribute value decides the member of a plain union. Two members with the same type are refused.
Rule 2. The discriminator decides the member as it does in pydantic, so pydantic validates the member that was decoded.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

from dynaorm.entity.codec.value import (
    NULL,
    Codec,
    CodecError,
    Member,
    Merge,
    UnsupportedType,
    codec_of_parts,
    content,
    merge,
)
from dynaorm.entity.failing import of_user
from dynaorm.failure import shown
from dynaorm.item.value import AttributeValue, same
from dynaorm.record import record


def union_codec(members: Sequence[tuple[str, Codec]], later: Callable[[Callable[[], None]], None]) -> Codec:
    """The codec of a plain union.

    Args:
        members: names and codecs. A codec without tags is not complete yet, because its type contains the union.
        later: receives a check that must wait until all codecs are complete.
    """
    _refuse_same_tags(members)
    unfinished = [(name, codec) for name, codec in members if not codec.tags]
    by_tag = {tag: codec for _, codec in members for tag in codec.tags}
    other = unfinished[0][1] if unfinished else None
    later(lambda: _refuse_unknown_tags(members))
    codecs = [codec for _, codec in members]
    names = " or ".join(name for name, _ in members)

    def member_of(stored: AttributeValue) -> Codec | None:
        return next((codec for tag in stored if (codec := by_tag.get(tag, other)) is not None), None)

    def decode(stored: AttributeValue) -> Any:
        codec = member_of(stored)
        if codec is None:
            raise CodecError(f"is stored as {', '.join(stored)}, which is not {names}")
        return codec.decode(stored)

    encode = _first_that_fits(codecs, names)
    return codec_of_parts(encode, decode, by_tag, codecs, deeper=0, merge_parts=_merge_member(member_of))


def _merge_member(member_of: Callable[[AttributeValue], Codec | None]) -> Merge:
    """Merges values of one member of a union. A value of another member replaces what is stored."""

    def merged(stored: AttributeValue, loaded: AttributeValue, now: AttributeValue) -> AttributeValue:
        codec = member_of(stored)
        return merge(codec, stored, loaded, now) if codec is not None and codec is member_of(now) else now

    return merged


def _refuse_same_tags(members: Sequence[tuple[str, Codec]]) -> None:
    owners: dict[str, str] = {}
    for name, codec in members:
        for tag in sorted(codec.tags):
            if tag in owners:
                raise UnsupportedType(
                    f"{owners[tag]} and {name} are both stored as {tag}, so loading could not choose between them; "
                    f"keep one of them, make each a model with a Literal field and name that in "
                    f"Field(discriminator=...), or use Attribute(encode=..., decode=...)"
                )
            owners[tag] = name


def _refuse_unknown_tags(members: Sequence[tuple[str, Codec]]) -> None:
    _refuse_same_tags(members)
    for name, codec in members:
        if not codec.tags:
            raise UnsupportedType(
                f"{name} has its own encode=, so loading could not recognize it in a union; "
                f"give encode= and decode= for the whole union"
            )


def _first_that_fits(codecs: Sequence[Codec], names: str) -> Callable[[Any], AttributeValue]:
    by_type: dict[type, Codec] = {}

    def encode(value: Any) -> AttributeValue:
        known = by_type.get(type(value))
        if known is not None:
            return known.encode(value)
        within: CodecError | None = None
        for codec in codecs:
            try:
                found = codec.encode(value)
            except CodecError as problem:
                # A problem inside the value means that the value itself belongs to this member.
                within = within or (problem if problem.path else None)
            except ValueError:
                continue
            else:
                # Several typed dicts may be members. Every other class belongs to one member.
                if type(value) is not dict:
                    by_type[type(value)] = codec
                return found
        raise within or CodecError(f"is {shown(value)}, not {names}")

    return encode


def discriminated_codec(members: Mapping[str, Codec], field: str) -> Codec:
    """The codec of a union of models, dataclasses or typed dicts, chosen by the value of ``field``."""
    if any(codec.tags != {"M"} for codec in members.values()):
        raise UnsupportedType(
            f"a union with the discriminator {field!r} has a member without fields; leave the discriminator out, "
            f"or put the member into a model"
        )
    codecs = list(members.values())
    member_of = _by_discriminator(codecs, field)

    def decode(stored: AttributeValue) -> Any:
        codec = member_of(stored)
        if codec is None:
            raise CodecError(f"is stored with a {field!r} that none of {', '.join(members)} has")
        values = codec.decode(stored)
        if type(values) is dict:
            values.setdefault(field, None)  # pydantic chooses by what is given, not by defaults
        return values

    encode, merged = _first_that_fits(codecs, " or ".join(members)), _Merged(tuple(codecs))
    merge_parts = _merge_member(member_of)
    return codec_of_parts(
        encode, decode, {"M"}, codecs, deeper=0, members=merged, merge_parts=merge_parts, is_open=True
    )


def _by_discriminator(codecs: Sequence[Codec], field: str) -> Callable[[AttributeValue], Codec | None]:
    """A function that returns the codec of the member that a stored map is of; None if it is of none."""
    known: dict[tuple[str, str, Hashable], Codec] = {}

    def member_of(stored: AttributeValue) -> Codec | None:
        found = content(stored, "M")
        for codec in codecs:
            chosen_by = (codec.members or {})[field]
            attribute = str(chosen_by.attribute)
            for tag, held in found.get(attribute, NULL).items():
                token = (attribute, tag, held if isinstance(held, Hashable) else None)
                if token in known:
                    return known[token]
                if _decodes(chosen_by.codec, {tag: held}):
                    known[token] = codec
                    return codec
        return None

    return member_of


@record
class _SharedMember(Member):
    """A member that several models have. Its absence means something if it means the same to all of them."""

    models: tuple[Member, ...] = ()

    def absent(self) -> AttributeValue | None:
        first, *others = [one.absent() for one in self.models]
        return first if all(same(first, other) for other in others) else None

    def is_absence(self, value: Any) -> bool:
        return all(one.is_absence(value) for one in self.models)


def _decodes(codec: Codec, stored: AttributeValue) -> bool:
    try:
        codec.decode(stored)
    except ValueError:
        return False
    return True


class _Merged(Mapping[str, Member]):
    """The fields of several models, computed on access, because some codecs are not complete at first."""

    __slots__ = ("_codecs",)

    def __init__(self, codecs: tuple[Codec, ...]) -> None:
        self._codecs = codecs

    def __getitem__(self, name: str) -> Member:
        found = [codec.members[name] for codec in self._codecs if codec.members and name in codec.members]
        attributes = {one.attribute for one in found}
        if len(attributes) != 1:
            raise KeyError(name)
        formerly = dict.fromkeys(former for one in found for former in one.formerly)
        codec = _either([one.codec for one in found])
        return _SharedMember(name, attributes.pop(), codec, tuple(formerly), tuple(found))

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
    """The codec of a field that several models declare with different types: the first codec that fits."""
    if len(codecs) == 1:
        return codecs[0]

    def member_of(stored: AttributeValue) -> Codec:
        return next((codec for codec in codecs if _decodes(codec, stored)), codecs[0])

    def decode(stored: AttributeValue) -> Any:
        return member_of(stored).decode(stored)

    return codec_of_parts(
        _first_that_fits(codecs, "a value of that field in any of the union's members"),
        decode,
        frozenset[str]().union(*(codec.tags for codec in codecs)),
        codecs,
        deeper=0,
        nullable=any(codec.nullable for codec in codecs),
        element=codecs[0].element,
        key=codecs[0].key,
        members=codecs[0].members,
        merge_parts=_merge_member(member_of),
    )


def chosen_codec(members: Mapping[Hashable, Codec], choose: Callable[[Any], Hashable]) -> Codec:
    """The codec of a union with a function as discriminator; ``members`` are its tags and their codecs.

    Pydantic will call the function with the decoded value, a dict of field names. A function written for instances may
    choose another member for the dict. Encoding refuses such a value.
    """
    choose = of_user("the discriminator", choose)

    def member_of(stored: AttributeValue) -> Codec | None:
        return next((codec for tag, codec in members.items() if _is_chosen(tag, codec, stored, choose)), None)

    def decode(stored: AttributeValue) -> Any:
        codec = member_of(stored)
        if codec is None:
            raise CodecError(
                f"is stored as {', '.join(stored)}, for which the discriminator chooses no member of the union"
            )
        return codec.decode(stored)

    def encode(value: Any) -> AttributeValue:
        tag = choose(value)
        if tag not in members:
            raise CodecError(
                f"is {shown(value)}, for which the discriminator returns {tag!r}, which is not a Tag of the union"
            )
        stored = members[tag].encode(value)
        if member_of(stored) is not members[tag]:
            raise CodecError(
                f"is {shown(value)}, for which the discriminator chooses another member when it is a dict of field "
                f"names; make the discriminator accept such dicts"
            )
        return stored

    tags = frozenset[str]().union(*(codec.tags for codec in members.values()))
    merged, nullable = _merge_member(member_of), "NULL" in tags
    return codec_of_parts(
        encode, decode, tags, members.values(), deeper=0, nullable=nullable, merge_parts=merged
    )


def _is_chosen(
    tag: Hashable, codec: Codec, stored: AttributeValue, choose: Callable[[Any], Hashable]
) -> bool:
    return _decodes(codec, stored) and choose(codec.decode(stored)) == tag
