"""The key attributes of one class, of its primary key and of its indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dynaorm.entity.table import KeyAttribute
from dynaorm.entity.template.template import KeyTemplate, KeyValueError
from dynaorm.entity.template.version import VersionTemplate
from dynaorm.entity.text.scalar import Shape
from dynaorm.failure import MASK, counted
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

# Length limits in UTF-8 bytes, on the table and on indexes alike (Developer Guide, "Quotas": partition and sort key).
PARTITION_KEY_LIMIT: Final = 2048
SORT_KEY_LIMIT: Final = 1024


@record
class KeyPart:
    """One key attribute of a class.

    Attributes:
        attribute: the key attribute's name and type.
        render: field values to the key's text or bytes; None where a field is None.
        match: key to the values of the lossless fields; None for a key that it never renders.
        fields: the fields in it.
        lossless: the fields that ``match`` restores exactly.
        bare: the template is one field without literal text, so its values could equal keys of guards and versions.
        made_up: the attribute exists only for this key; False where it is a field's own attribute or a table key.
        limit: the largest length of the key, in UTF-8 bytes.
        shape: the keys it can render, including those of versions.
        text: the template as declared.
        template: the compiled template; of a versioned class, that of its own sort key.
        version: the template that a versioned class puts around it.
        constant: the key itself, if the template has no fields.
    """

    attribute: KeyAttribute
    render: Callable[[Mapping[str, Any]], str | bytes | None]
    match: Callable[[str | bytes], dict[str, Any] | None]
    fields: tuple[str, ...]
    lossless: frozenset[str]
    bare: bool
    made_up: bool
    limit: int
    shape: Shape
    text: str
    template: KeyTemplate | None = None
    version: VersionTemplate | None = None
    constant: str | None = None

    def value(self, values: Mapping[str, Any]) -> AttributeValue | None:
        """The key's attribute value; None where a field is None. Raises KeyValueError."""
        if self.constant is not None:
            return {"S": self.constant}
        key = self.render(values)
        if key is None:
            return None
        # The fast path: in ASCII, every character is one byte.
        if type(key) is str and 0 < len(key) <= self.limit and key.isascii():
            return {self.attribute.kind: key}
        return self.checked(key)

    def matches(self, item: Item) -> bool:
        """Whether this key attribute of an item matches the template."""
        stored = item.get(self.attribute.name, {}).get(self.attribute.kind)
        return stored is not None and self.match(stored) is not None

    def checked(self, key: str | bytes) -> AttributeValue:
        """A rendered key as an attribute value. Raises KeyValueError if DynamoDB would refuse its length."""
        size = len(key) if isinstance(key, bytes) or key.isascii() else len(key.encode())
        if not 0 < size <= self.limit and self.attribute.kind != "N":
            found = (
                "an empty key"
                if size == 0
                else f"a key of {counted(size, 'byte')}, more than the {self.limit} allowed"
            )
            remedy = f"give the key {self.attribute.name!r} 1 to {counted(self.limit, 'byte')}"
            problem = f"{self.text!r} renders {found}; {remedy}"
            raise KeyValueError(", ".join(self.fields), key, problem, remedy)
        return {self.attribute.kind: key}


def key_part(attribute: KeyAttribute, template: KeyTemplate, limit: int, *, made_up: bool = True) -> KeyPart:
    return KeyPart(
        attribute=attribute,
        render=template.render,
        match=template.match,
        fields=template.fields,
        lossless=template.lossless,
        bare=template.bare is not None,
        made_up=made_up,
        limit=limit,
        shape=template.shape,
        text=template.text,
        template=template,
        constant=_constant(template.render, template.fields, limit),
    )


def versioned_key_part(
    attribute: KeyAttribute, template: VersionTemplate, inner: KeyTemplate | None
) -> KeyPart:
    """The sort key of a versioned class: the key of its latest copy."""
    # The keys of later versions, which have more digits, must fit, too.
    fields, limit = inner.fields if inner else (), SORT_KEY_LIMIT - template.reserve
    return KeyPart(
        attribute=attribute,
        render=template.latest,
        match=template.match,
        fields=fields,
        lossless=inner.lossless if inner else frozenset(),
        bare=False,
        made_up=True,
        limit=limit,
        shape=template.shape,
        text=template.text,
        template=inner,
        version=template,
        constant=_constant(template.latest, fields, limit),
    )


def _constant(
    render: Callable[[Mapping[str, Any]], str | bytes | None], fields: tuple[str, ...], limit: int
) -> str | None:
    key = None if fields else render({})
    return key if isinstance(key, str) and key.isascii() and 0 < len(key) <= limit else None


def differs(
    part: KeyPart, stored: AttributeValue | None, rendered: AttributeValue | None, secret: frozenset[str]
) -> str:
    """The problem of a stored key that its template renders differently. Keys in ``secret`` are masked."""
    was, now = (repr(next(iter(key.values())) if key else None) for key in (stored, rendered))
    was, now = (MASK, "another key") if part.attribute.name in secret else (was, now)
    return (
        f"{part.attribute.name} is {was}, but {part.text!r} renders {now}; "
        f"{_remedy_of_version(part, stored, rendered) or f'if the stored key is right, {_remedy(part)}'}"
    )


def _remedy_of_version(
    part: KeyPart, stored: AttributeValue | None, rendered: AttributeValue | None
) -> str | None:
    """What to do if the class had no versions when the item was stored, or has none now."""
    was, now = (key.get("S") if key else None for key in (stored, rendered))
    if was is None or now is None:
        return None
    if part.version is None:
        is_latest = was == f"v0_{now}"
        return "if the stored key is right, declare the class with versioned=True" if is_latest else None
    if part.template is None or part.template.match(was) is None:
        return None
    return "if it was stored before its class had versions, backfill moves it"


def _remedy(part: KeyPart) -> str:
    """What makes a template render keys that are spelled in another way."""
    pieces = part.template.pieces if part.template is not None else ()
    placeholders = [one.placeholder for one in pieces]
    encoded = [one for one in placeholders if one.scalar.formatted is not None and one.open]
    texts = [one for one in placeholders if one.open and one not in encoded]
    escaped = ", ".join(f"{{{one.field}:raw}}" for one in texts)
    others = ", ".join(one.field for one in placeholders if not one.open)
    ways = [f"write {escaped} in the template"] if escaped else []
    ways += (
        [f"let encode= of {', '.join(one.field for one in encoded)} return what it has"] if encoded else []
    )
    ways += [f"give {others} an Attribute(encode=..., decode=...) that writes it so"] if others else []
    return ", or ".join(ways) or "write another literal in the template"
