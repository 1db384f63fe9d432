"""A module of entity classes from a NoSQL Workbench model.

Rule 1. Nothing is guessed. A field is an attribute, with its own name. A key is a template only if the model says so in
        the alias of the key; otherwise it is the attribute itself.
Rule 2. A facet becomes a class. Without facets, the sample items with the same value of a type attribute do. If nothing
        stored could tell the classes apart, there is one class for the whole table.
Rule 3. A field is required if every sample item has it.
"""

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.record import record

_TYPE_ATTRIBUTE: Final = re.compile(r"_?(entity_?)?(type|kind|class)(_?name)?", re.IGNORECASE)
_REVISION: Final = "_rev"
_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*)((?::[^{}]+|!s)?)\}")
_VERSIONS: Final = "v{version}_"
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[A-Z]")

_TYPES: Final[Mapping[str, str]] = {
    "S": "str",
    "N": "Decimal",
    "B": "bytes",
    "BOOL": "bool",
    "M": "dict[str, AnyValue]",
    "L": "list[AnyValue]",
    "SS": "set[str]",
    "NS": "set[Decimal]",
    "BS": "set[bytes]",
    "NULL": "AnyValue",
}
# A field of such a name would stand for itself in the types of the fields after it.
_WORDS_OF_TYPES: Final = frozenset(_WORD.findall(" ".join((*_TYPES.values(), "int"))))
_KEY_CLASSES: Final[Mapping[str, str]] = {"N": "NumberKey", "B": "BinaryKey"}
# The names that the module imports.
_IMPORTED: Final = (
    "Annotated",
    "AnyValue",
    "Attribute",
    "BinaryKey",
    "Decimal",
    "Entity",
    "GlobalIndex",
    "InKey",
    "Index",
    "LocalIndex",
    "NumberKey",
    "Table",
)


def module_of_workbench(model: Mapping[str, Any]) -> str:
    """The text of a Python module with the tables and entity classes of a model.

    Args:
        model: the content of the model's JSON file.

    Raises:
        UsageError: it is no model.

    Examples:
        >>> "class User(" in module_of_workbench(workbench(describe(app), {"app": samples(app)}))
        True
    """
    try:
        tables = [_Table.of(one) for one in model["DataModel"]]
        names = _FreeNames({*_IMPORTED, *dir(builtins)})
        blocks = [block for one in tables for block in one.blocks(names)]
    except (LookupError, TypeError, AttributeError, ValueError) as problem:
        raise UsageError(
            problem=f"this is no model of NoSQL Workbench ({type(problem).__name__}: {shown(str(problem))})",
            remedy="give the content of the JSON file that Workbench exports",
        ) from problem
    title = _line(model.get("ModelName", "tables"))
    head = [
        f'"""The tables of {title}, written by dynaorm from a model of NoSQL Workbench."""',
        *_imports(blocks),
    ]
    return "\n".join(head) + "\n\n" + "\n\n\n".join(blocks) + "\n"


def _imports(blocks: Sequence[str]) -> Iterator[str]:
    text = "\n".join(blocks)
    used = [name for name in _IMPORTED if re.search(rf"\b{name}\b", text)]
    standard = [("decimal", "Decimal"), ("typing", "Annotated")]
    lines = [f"from {module} import {name}" for module, name in standard if name in used]
    if lines:
        yield ""
        yield from lines
    yield ""
    own = ", ".join(sorted((name for name in used if name not in ("Decimal", "Annotated")), key=str.lower))
    yield f"from dynaorm import {own}"


def _line(text: object) -> str:
    """A text that can stand in a docstring: of one line, without what would end or escape it."""
    return re.sub(r"\s+", " ", str(text)).replace("\\", "/").replace('"', "'").strip() or "a model"


def _quoted(text: str) -> str:
    """A text as ruff writes it."""
    quoted = repr(text)
    return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in text else quoted


class _FreeNames:
    """Names that are given once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken}

    def snake(self, text: str) -> str:
        return self._free("_".join(one.lower() for one in _WORD.findall(text)), "field")

    def camel(self, text: str) -> str:
        return self._free("".join(one[:1].upper() + one[1:] for one in _WORD.findall(text)), "Item")

    def _free(self, name: str, otherwise: str) -> str:
        if not name[:1].isalpha():
            name = f"{otherwise}_{name}" if name and otherwise.islower() else otherwise + name
        number, found = 1, name
        while found in self._taken or keyword.iskeyword(found):
            number += 1
            found = f"{name}_{number}" if name.islower() else f"{name}{number}"
        self._taken.add(found)
        return found


@record
class _Key:
    """A key attribute of a model."""

    name: str
    type: str

    @property
    def declared(self) -> str:
        of_type = _KEY_CLASSES.get(self.type)
        return _quoted(self.name) if of_type is None else f"{of_type}({_quoted(self.name)})"


def _keys(attributes: Mapping[str, Any]) -> tuple[_Key, ...]:
    sides = [attributes["PartitionKey"], *([attributes["SortKey"]] if attributes.get("SortKey") else [])]
    return tuple(_Key(str(one["AttributeName"]), str(one["AttributeType"])) for one in sides)


@record
class _Facet:
    """What becomes a class.

    Attributes:
        name: the name of the facet, or the value of the type attribute.
        aliases: the aliases of the table's key attributes, by their names.
        attributes: the attributes of its items besides the table's key.
        items: its sample items.
    """

    name: str
    aliases: Mapping[str, str]
    attributes: tuple[str, ...]
    items: tuple[Mapping[str, Any], ...]


@record
class _Table:
    """A table of a model.

    Attributes:
        name: its name.
        keys: its key attributes.
        types: the types of its other attributes.
        indexes: its indexes, as the model has them, each with its kind.
        facets: what becomes classes.
        type_attribute: the attribute that names the class of an item; None if there is none.
        revision: whether its items have revisions of dynaorm.
    """

    name: str
    keys: tuple[_Key, ...]
    types: Mapping[str, str]
    indexes: tuple[tuple[str, Mapping[str, Any]], ...]
    facets: tuple[_Facet, ...]
    type_attribute: str | None
    revision: bool

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "_Table":
        keys = _keys(table["KeyAttributes"])
        types = {
            str(one["AttributeName"]): str(one["AttributeType"])
            for one in table.get("NonKeyAttributes") or ()
        }
        indexes = [("GlobalIndex", one) for one in table.get("GlobalSecondaryIndexes") or ()]
        indexes += [("LocalIndex", one) for one in table.get("LocalSecondaryIndexes") or ()]
        for _, index in indexes:
            types |= {one.name: one.type for one in _keys(index["KeyAttributes"])}
        types = {name: kind for name, kind in types.items() if name not in {key.name for key in keys}}
        facets = [*_facets_of(table, keys)]
        items = [item for one in facets for item in one.items] or [*(table.get("TableData") or ())]
        names = [one.name for one in facets]
        type_attribute = _type_attribute(facets, items, types)
        if not facets and type_attribute is not None:
            facets = _by_type(items, type_attribute, keys)
        elif len(names) > 1 and type_attribute is None:
            facets = []  # nothing stored tells their items apart
        whole = _Facet(str(table["TableName"]), {}, tuple(types), tuple(items))
        return cls(
            str(table["TableName"]),
            keys,
            types,
            tuple(indexes),
            tuple(facets or [whole]),
            type_attribute,
            _REVISION in types,
        )

    @property
    def has_templates(self) -> bool:
        """Whether the aliases of its keys are templates: one of them has a field in braces."""
        return any(_PLACEHOLDER.search(alias) for one in self.facets for alias in one.aliases.values())

    # -- its text ------------------------------------------------------------------------------------------------------

    def blocks(self, names: _FreeNames) -> Iterator[str]:
        """The statements of the table and its classes."""
        variable = names.snake(self.name)
        yield self._declaration(variable)
        for one in self.facets:
            yield _Class(self, one).text(variable, names.camel(one.name))

    def _declaration(self, variable: str) -> str:
        arguments = [_quoted(self.name), f"pk={self.keys[0].declared}"]
        arguments.append(f"sk={self.keys[1].declared if len(self.keys) > 1 else None}")
        indexes = [_index(kind, one) for kind, one in self.indexes]
        if self.type_attribute != "_type":
            named = None if self.type_attribute is None else _quoted(self.type_attribute)
            arguments.append(f"type_attribute={named}")
        if not self.revision:
            arguments.append("revision_attribute=None")
        lines = [f"{variable} = Table(", *(f"    {one}," for one in arguments)]
        if indexes:
            lines += ["    indexes=[", *(f"        {one}," for one in indexes), "    ],"]
        return "\n".join([*lines, ")"])


def _index(kind: str, index: Mapping[str, Any]) -> str:
    partition, *sort = _keys(index["KeyAttributes"])
    arguments = [_quoted(str(index["IndexName"]))]
    if kind == "GlobalIndex":
        arguments.append(f"pk={partition.declared}")
    arguments.append(f"sk={sort[0].declared if sort else None}")
    projection = index.get("Projection") or {}
    if projection.get("ProjectionType") == "INCLUDE":
        arguments.append(
            f"projection=[{', '.join(_quoted(str(one)) for one in projection['NonKeyAttributes'])}]"
        )
    elif projection.get("ProjectionType", "ALL") != "ALL":
        arguments.append(f"projection={_quoted(str(projection['ProjectionType']))}")
    return f"{kind}({', '.join(arguments)})"


# -- what becomes classes ----------------------------------------------------------------------------------------------


def _facets_of(table: Mapping[str, Any], keys: tuple[_Key, ...]) -> Iterator[_Facet]:
    for one in table.get("TableFacets") or ():
        name = str(one["FacetName"])
        if name.startswith("("):  # the guards and versions of an export
            continue
        given = one.get("KeyAttributeAlias") or {}
        aliases = (given.get("PartitionKeyAlias"), given.get("SortKeyAlias"))
        yield _Facet(
            name,
            {key.name: str(alias) for key, alias in zip(keys, aliases, strict=False) if alias},
            tuple(map(str, one.get("NonKeyAttributes") or ())),
            tuple(one.get("TableData") or ()),
        )


def _type_attribute(
    facets: Sequence[_Facet], items: Sequence[Mapping[str, Any]], types: Mapping[str, str]
) -> str | None:
    """The attribute that names the class of each item; None if no attribute does."""
    candidates = [name for name, kind in types.items() if kind == "S" and _TYPE_ATTRIBUTE.fullmatch(name)]
    if facets:
        candidates = [one for one in candidates if all(one in facet.attributes for facet in facets)]
    for name in candidates:
        if all("S" in item.get(name, ()) and item[name]["S"] for item in items) and all(
            {item[name]["S"] for item in one.items} <= {one.name} for one in facets
        ):
            return name
    return None


def _by_type(items: Sequence[Mapping[str, Any]], attribute: str, keys: tuple[_Key, ...]) -> list[_Facet]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        groups.setdefault(item[attribute]["S"], []).append(item)
    known = {key.name for key in keys}
    return [
        _Facet(
            name,
            {},
            tuple(dict.fromkeys(one for item in group for one in item if one not in known)),
            tuple(group),
        )
        for name, group in groups.items()
    ]


def _in_key(name: str) -> str:
    return f"    {name}: Annotated[str, InKey()]"


# -- classes -----------------------------------------------------------------------------------------------------------


@record
class _Class:
    """A class of a table."""

    table: _Table
    facet: _Facet

    def text(self, variable: str, name: str) -> str:
        names = _FreeNames({*dir(BaseModel), *_WORDS_OF_TYPES})
        fields = {one: names.snake(one) for one in self._attributes}
        keys = {key.name: self._template(key, fields) for key in self.table.keys}
        head = [f"class {name}(", "    Entity,", f"    table={variable},"]
        head += [
            f"    {role}={_quoted(keys[key.name])},"
            for role, key in zip(("pk", "sk"), self.table.keys, strict=False)
        ]
        if name != self.facet.name:
            head.append(f"    name={_quoted(self.facet.name)},")
        if self._is_versioned:
            head.append("    versioned=True,")
        lines = [*head, "):", f'    """{_line(self.facet.name)}."""', ""]
        lines += [_in_key(one) for one in self._only_in_keys(keys, fields)]
        lines += [self._field(attribute, field) for attribute, field in fields.items()]
        lines += [f"    {names.snake('by_' + one)} = Index({_quoted(one)})" for one in self._indexes(fields)]
        return "\n".join(lines)

    @property
    def _attributes(self) -> list[str]:
        """The attributes that become fields: those of the key first, if they are no templates."""
        kept = {self.table.type_attribute, _REVISION if self.table.revision else None}
        keys = [key.name for key in self.table.keys if not self._has_template(key)]
        return [
            *keys,
            *(one for one in dict.fromkeys(self.facet.attributes) if one not in kept and one not in keys),
        ]

    def _has_template(self, key: _Key) -> bool:
        """Whether the alias of a key is a template of dynaorm, whose fields are attributes or in the key alone."""
        alias = self._own_alias(key)
        is_template = alias not in ("", key.name) and not re.search(r"[{}]", _PLACEHOLDER.sub("", alias))
        return key.type == "S" and self.table.has_templates and is_template and "{version}" not in alias

    def _own_alias(self, key: _Key) -> str:
        """The alias of a key; of a versioned class, that of its own sort key."""
        return self.facet.aliases.get(key.name, "").removeprefix(_VERSIONS)

    @property
    def _is_versioned(self) -> bool:
        return any(
            self.facet.aliases.get(key.name, "").startswith(_VERSIONS) and self._has_template(key)
            for key in self.table.keys
        )

    def _template(self, key: _Key, fields: Mapping[str, str]) -> str:
        return self._own_alias(key) if self._has_template(key) else f"{{{fields[key.name]}}}"

    def _only_in_keys(self, keys: Mapping[str, str], fields: Mapping[str, str]) -> list[str]:
        named = [
            one
            for key in self.table.keys
            if self._has_template(key)
            for one, _ in _PLACEHOLDER.findall(keys[key.name])
        ]
        return [one for one in dict.fromkeys(named) if one not in fields.values()]

    def _field(self, attribute: str, field: str) -> str:
        kind = self._type(attribute)
        stored = f"Attribute({_quoted(attribute)})" if field != attribute else ""
        if not self._is_required(attribute) and kind != "AnyValue":
            kind = f"{kind} | None"
        annotation = f"Annotated[{kind}, {stored}]" if stored else kind
        default = "" if self._is_required(attribute) else " = None"
        return f"    {field}: {annotation}{default}"

    def _type(self, attribute: str) -> str:
        own = {key.name: key.type for key in self.table.keys}
        kind = own.get(attribute) or self.table.types.get(attribute, "S")
        stored = [item[attribute] for item in self.facet.items if attribute in item]
        # A model may call every attribute a string, whatever its sample items have.
        seen = {next(iter(one)) for one in stored}
        if attribute not in own and len(seen) == 1:
            (kind,) = seen
        elif attribute not in own and len(seen) > 1:
            return "AnyValue"
        if kind == "N" and stored and all(re.fullmatch(r"-?[0-9]+", str(one.get("N"))) for one in stored):
            return "int"
        return _TYPES.get(kind, "AnyValue")

    def _is_required(self, attribute: str) -> bool:
        is_key = attribute in {key.name for key in self.table.keys}
        items = self.facet.items
        return is_key or (bool(items) and all(attribute in item for item in items))

    def _indexes(self, fields: Mapping[str, str]) -> Iterator[str]:
        """The indexes whose keys the class has."""
        own = {*fields, *(key.name for key in self.table.keys)}
        for _, index in self.table.indexes:
            if all(key.name in own for key in _keys(index["KeyAttributes"])):
                yield str(index["IndexName"])
