"""The keywords of a class statement: ``class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE")``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from pydantic import BaseModel, ConfigDict
from typing_extensions import Format, get_annotations

from dynaorm.entity.marker import Declaration
from dynaorm.entity.table import UNSET, Table
from dynaorm.entity.template import is_template
from dynaorm.failure import nearest, shown
from dynaorm.record import record, replace

ANY: Final = "*"
"""The name of a class that takes the types that nobody declared."""


def misnamed(body: Mapping[str, Any]) -> Iterator[str]:
    """The declarations of a class body under such names, and the values in place of methods."""
    for name, value in body.items():
        if isinstance(value, Declaration) and _is_taken(name):
            kind = type(value).__name__.removesuffix("Of")
            yield f"{name}: the name is Python's or pydantic's own; give the {kind} another"
        elif _hides_a_method(name, value):
            yield f"{name}={shown(value)} hides what every class has; drop it, or give a function"


def misnamed_fields(entity: type[BaseModel]) -> Iterator[str]:
    """The annotations of a class and its bases under such names."""
    for base in entity.__mro__:
        if issubclass(base, BaseModel) and base is not BaseModel:
            yield from misnamed_in(get_annotations(base, format=Format.FORWARDREF))


def misnamed_in(annotations: Mapping[str, Any]) -> Iterator[str]:
    """The same among the annotations of one class."""
    for name, annotation in annotations.items():
        # pydantic makes no field of a name with two underscores, and says nothing.
        if _is_taken(name) and "ClassVar" not in str(annotation):
            yield f"{name}: the name is Python's or pydantic's own; give the field another"


def _is_taken(name: str) -> bool:
    return name.startswith("__") or (name.startswith("model_") and hasattr(BaseModel, name))


def _hides_a_method(name: str, value: object) -> bool:
    # Python itself takes None: there is no such method. A configuration is a value.
    is_method = value is None or callable(value) or hasattr(type(value), "__get__")
    if is_method or name == "model_config" or not _is_taken(name):
        return False
    return name.startswith("model_") or callable(getattr(BaseModel, name, None))


KEYWORDS: Final = ("table", "pk", "sk", "name", "formerly", "unique", "versioned", "version_padding")
OPTIONS: Final = "__dynaorm_options__"
_KEYS: Final = ("pk", "sk", "versioned", "version_padding")
_WIDEST: Final = 20


@record
class ClassOptions:
    """The options of a class, its own and inherited ones.

    Attributes:
        name: what messages, versions and tools call the class.
        is_told: a field of the class is the type attribute.
        root: the class that declared the keys.
        problems: the problems of the keywords.
    """

    table: Table | None = None
    pk: str | None = None
    sk: str | None = None
    name: str = ""
    is_told: bool = False
    formerly: tuple[str, ...] = ()
    unique: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    versioned: bool | str = False
    version_padding: int = 0
    root: type | None = None
    problems: tuple[str, ...] = ()

    @property
    def own_type(self) -> str | None:
        """The type attribute, if it is a field of the class; None where dynaorm writes it."""
        if self.table is None or not self.is_told:
            return None
        return self.table.type_attribute


def declared_options(entity: type) -> ClassOptions:
    """The options of a class that has been declared."""
    found: ClassOptions = vars(entity).get(OPTIONS) or ClassOptions()
    return found


def options_of(entity: type, given: Mapping[str, Any]) -> ClassOptions:
    """The options of a class, from its own keywords and those of its bases."""
    own = {name: value for name, value in given.items() if name in KEYWORDS and value is not UNSET}
    problems = list(_keyword_problems(own, [name for name in given if name not in KEYWORDS]))
    own = {name: value for name, value in own.items() if name not in _KEYS or _is_key_option(name, value)}
    bases = [declared_options(base) for base in entity.__bases__]
    mapped = [base for base in bases if base.table is not None]
    inherited = mapped[0] if mapped else None
    if "table" not in own and inherited is not None:
        problems += _family_problems(inherited, mapped[1:])
    table = own.get("table", inherited.table if inherited else None)
    if table is None and (idle := [name for name in own if name != "table"]):
        problems.append(f"{_keywords(idle)} without a table; add table=...")
    if table is not None and not isinstance(table, Table):
        problems.append(f"table={shown(table)} is not a Table; write table=Table({str(table)!r})")
        table = None
    # With table=None, a class is a plain model: nothing of the mapping is inherited.
    base = inherited if inherited is not None and table is not None else ClassOptions()
    # A keyword that repeats the inherited one changes nothing.
    own_keys = [name for name in _KEYS if name in own and own[name] != getattr(base, name)]
    # With table= and keys of its own, a class begins a new family, also in the table of its base.
    inherits = base.table is not None and (base.table is table and not ("table" in own and own_keys))
    if inherits and own_keys:
        assert base.root is not None
        problems.append(
            f"{_keywords(own_keys)} would change the key that {base.root.__name__} declared and its subclasses share; "
            f"drop {'it' if len(own_keys) == 1 else 'them'}, or give the class a table= of its own"
        )
    families = mapped if table is not None else []
    shared = {name: fields for one in families for name, fields in one.unique.items()}
    return replace(
        base,
        table=table,
        root=base.root if inherits else entity,
        **_named(own, entity.__name__, is_told=base.is_told),
        formerly=_names(own.get("formerly", ())) or (),
        pk=own.get("pk", base.pk),
        sk=own.get("sk", base.sk),
        unique={**shared, **_unique(own.get("unique", {}))},
        versioned=own.get("versioned", base.versioned),
        version_padding=own.get("version_padding", base.version_padding),
        problems=tuple(problems),
    )


def _named(own: Mapping[str, Any], default: str, *, is_told: bool) -> dict[str, Any]:
    """What ``name=`` says. A class whose base has its type in a field has so, too."""
    name = own.get("name", None if is_told else default)
    if name is not None and not isinstance(name, str):
        name = default  # it is a problem of the class
    if name is None:
        return {"name": default, "is_told": True}
    return {"name": name, "is_told": False}


def _keywords(names: Sequence[str]) -> str:
    return ", ".join(f"{name}=" for name in names)


def _family_problems(first: ClassOptions, others: Sequence[ClassOptions]) -> Iterator[str]:
    for other in others:
        if other.root is not first.root:
            assert first.root is not None and other.root is not None
            yield (
                f"it derives from {first.root.__name__} and {other.root.__name__}, which have different keys; "
                f"derive from one of them, or give the class a table= and keys of its own"
            )


def _unique(given: Any) -> dict[str, tuple[str, ...]]:
    return (
        {name: found for name, fields in given.items() if (found := _names(fields))}
        if _is_mapping(given)
        else {}
    )


def _is_mapping(given: Any) -> bool:
    return isinstance(given, Mapping) and all(isinstance(name, str) for name in given)


def _names(fields: Any) -> tuple[str, ...] | None:
    """The fields of one constraint; None if they are not names."""
    if isinstance(fields, str):
        return (fields,)
    if isinstance(fields, Sequence) and all(isinstance(one, str) for one in fields):
        return tuple(fields)
    return None


def _keyword_problems(own: Mapping[str, Any], unknown: list[str]) -> Iterator[str]:
    known = [*KEYWORDS, *ConfigDict.__annotations__]
    for name in unknown:
        close = nearest(name, known)
        remedy = f"did you mean {close}=?" if close else f"the keywords are {', '.join(KEYWORDS)}"
        yield f"unknown keyword {name}=; {remedy}"
    for name in ("pk", "sk"):
        if name in own and not _is_key_option(name, own[name]):
            yield f'{name}={shown(own[name])} is not a key template; write {name}="..."'
    if own.get("name") is not None and not (isinstance(own["name"], str) and own["name"]):
        yield f'name={shown(own["name"])} is not the name of an entity; write name="..."'
    if "formerly" in own and not _names(own["formerly"]):
        yield f'formerly={shown(own["formerly"])} names no former class; write formerly=("OldName",)'
    yield from _unique_problems(own.get("unique", {}))
    yield from _version_problems(own)


def _unique_problems(unique: Any) -> Iterator[str]:
    if not _is_mapping(unique):
        yield f'unique={shown(unique)} is not a mapping; write unique={{"name": ("field", "field")}}'
        return
    for name, fields in unique.items():
        if not _names(fields):
            yield f'unique={{{name!r}: {fields!r}}} names no fields; write unique={{{name!r}: ("field", "field")}}'


def _version_problems(own: Mapping[str, Any]) -> Iterator[str]:
    versioned, padding = own.get("versioned", False), own.get("version_padding", 0)
    if not _is_key_option("versioned", versioned):
        yield f"versioned={shown(versioned)}; write True, or a sort key template with {{version}}"
    if not _is_key_option("version_padding", padding):
        yield f"version_padding={shown(padding)}; write a number of digits from 0 to {_WIDEST}"
    elif padding and not versioned:
        yield "version_padding= in a class without versions; add versioned=True"


def _is_key_option(name: str, value: object) -> bool:
    """Whether a keyword for the key has a value of the right type."""
    if name == "versioned":
        return isinstance(value, bool) or (isinstance(value, str) and value != "")
    if name == "version_padding":
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _WIDEST
    return value is None or is_template(value)
