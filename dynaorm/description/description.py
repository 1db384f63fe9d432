"""What a table and its classes are, as plain values: the one public description of the declarations.

Rule 1. A description holds names, texts and numbers, and no object of the declarations, so it can be compared, stored
        and read by other programs.
Rule 2. Everything is in the order of declaration.
Rule 3. It holds no value of an item. The literal texts of key templates and conditions are part of the declarations;
        a condition on a secret field shows a mask in place of its operand.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, Literal, TypeAlias

from dynaorm.argument import check_kind
from dynaorm.entity.table import Distance, IndexKind, KeyKind, Projection
from dynaorm.failure import shown, texts_of
from dynaorm.flow.table_definition import IndexShape, Keys, VectorShape, definition_of
from dynaorm.record import FIELDS, record

FORMAT: Final = "dynaorm.description/1"
"""The format of ``TableDescription.to_json()``. Later versions of format 1 may add members, and remove none."""

QuestionKind: TypeAlias = Literal["get", "get_by", "query", "collection", "history"]
Consistency: TypeAlias = Literal["always", "optional", "never"]


@record
class KeyAttributeDescription:
    """A key attribute of a table or an index.

    Attributes:
        name: its name.
        type: its DynamoDB type: ``S``, ``N`` or ``B``.

    Examples:
        >>> description = describe(app)
        >>> description.partition[0].name, description.partition[0].type
        ('PK', 'S')
    """

    name: str
    type: KeyKind


@record
class VectorDescription:
    """The vectors of a vector index.

    Attributes:
        attribute: the attribute that holds them.
        dimensions: how many numbers each has.
        distance: ``"cosine"``, ``"euclidean"`` or ``"dot_product"``.
        filters: the attributes that a search can filter by.

    Examples:
        >>> papers = Table("papers", indexes=[VectorIndex("semantic", dimensions=3)])
        >>> describe(papers).indexes[0].vector
        VectorDescription(attribute='semanticVector', dimensions=3, distance='cosine', filters=())
    """

    attribute: str
    dimensions: int
    distance: Distance
    filters: tuple[KeyAttributeDescription, ...] = ()

    @property
    def shape(self) -> VectorShape:
        """The same as CreateTable takes it."""
        return VectorShape(self.attribute, self.dimensions, self.distance, _keys(self.filters))


@record
class IndexDescription:
    """A secondary index.

    Attributes:
        name: its name.
        kind: ``"global"``, ``"local"`` or ``"vector"``.
        partition: its partition key attributes; a local index has the table's.
        sort: its sort key attributes, possibly none.
        projection: ``"ALL"``, ``"KEYS_ONLY"``, or the attributes that it has besides the keys.
        vector: what its vectors are, if it is a vector index.

    Examples:
        >>> description = describe(app)
        >>> [(index.name, index.projection) for index in description.indexes]
        [('GSI1', 'ALL')]
    """

    name: str
    kind: IndexKind
    partition: tuple[KeyAttributeDescription, ...]
    sort: tuple[KeyAttributeDescription, ...]
    projection: Projection
    vector: VectorDescription | None = None


@record
class LiteralPart:
    """A literal text in a key template.

    Examples:
        >>> describe(app).classes[0].partition.pieces[0]
        LiteralPart(literal='USER#')
    """

    literal: str


@record
class FieldPart:
    """A field in a key template.

    Attributes:
        field: its name; that of a nested field has dots.
        spec: how its value is written: ``05d``, ``upper``, ``shard8``; empty for the value itself.
        shards: among how many shards it chooses; 0 for a field that chooses none.

    Examples:
        >>> description = describe(app)
        >>> user = next(cls for cls in description.classes if cls.name == "User")
        >>> [piece.field for piece in user.partition.pieces if isinstance(piece, FieldPart)]
        ['user_id']
    """

    field: str
    spec: str = ""
    shards: int = 0


Piece: TypeAlias = LiteralPart | FieldPart


@record
class TemplateDescription:
    """The template of one key attribute of a class.

    Attributes:
        attribute: the key attribute.
        text: the template as declared; of a versioned class, that of its own sort key.
        pieces: its literal texts and fields, in order.
        version_text: the template that a versioned class puts around it: ``v{version}_{sk}``; None for others.

    Examples:
        >>> description = describe(app)
        >>> user = next(cls for cls in description.classes if cls.name == "User")
        >>> user.partition.attribute, user.partition.text
        ('PK', 'USER#{user_id}')
    """

    attribute: str
    text: str
    pieces: tuple[Piece, ...]
    version_text: str | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields in it, each once."""
        return tuple(dict.fromkeys(piece.field for piece in self.pieces if isinstance(piece, FieldPart)))

    @property
    def whole_text(self) -> str:
        """The template of the stored key: with ``version_text`` around it, if there is one."""
        return self.text if self.version_text is None else self.version_text.replace("{sk}", self.text)


@record
class FieldDescription:
    """A field of a class.

    Attributes:
        name: its name.
        attribute: the attribute that stores it; ``p.*`` for a dict whose members are attributes.
        type: its Python type, as text.
        dynamodb_types: the DynamoDB types that its values are stored as: ``("S",)``.
        required: whether a new entity must be given a value.
        default: its static default, as Python text; None without one, and for a secret field.
        stored_in_key: whether it is stored in a key alone.
        marks: what else is declared of it: ``"unique"``, ``"versioned"``, ``"expires"``, ``"expires in ms"``,
            ``"created at"``, ``"updated at"``, ``"total"``, ``"one of"``; ``"computed"`` of a stored computed
            field.
        secret: whether its values are masked.
        formerly: its earlier attribute names.
        doc: its description, as given to pydantic; empty without one.

    Examples:
        >>> description = describe(app)
        >>> user = next(cls for cls in description.classes if cls.name == "User")
        >>> [(field.name, field.marks) for field in user.fields][:2]
        [('user_id', ()), ('email', ('unique',))]
    """

    name: str
    attribute: str
    type: str
    dynamodb_types: tuple[str, ...]
    required: bool
    default: str | None = None
    stored_in_key: bool = False
    marks: tuple[str, ...] = ()
    secret: bool = False
    formerly: tuple[str, ...] = ()
    doc: str = ""


@record
class IndexKeyDescription:
    """A place of a class in an index.

    Attributes:
        name: the attribute name of the declaration: ``by_status``.
        index: the index.
        partition: the templates of its partition key attributes.
        sort: the templates of its sort key attributes.
        when: the condition under which an entity is in the index; ``"a function"`` if that is Python code; None
            without one.
        absent_if: the fields whose value None keeps an entity out of the index.

    Examples:
        >>> description = describe(app)
        >>> [place.name for cls in description.classes for place in cls.places]
        ['by_status']
    """

    name: str
    index: str
    partition: tuple[TemplateDescription, ...]
    sort: tuple[TemplateDescription, ...]
    when: str | None = None
    absent_if: tuple[str, ...] = ()


@record
class UniqueDescription:
    """A unique constraint.

    Attributes:
        name: its name, the beginning of the guard's key.
        fields: its fields; those of the scope come first.
        normalize: the name of the function that is applied to the last field; None without one.
        when: the condition under which an entity claims its value, as in ``IndexKeyDescription``.
        shared: whether other classes claim values of the same constraint.
        guard_key: the key of its guard items, by key attribute: ``{"PK": "email#{email}", "SK": "email#{email}"}``.

    Examples:
        >>> description = describe(app)
        >>> [one.guard_key for cls in description.classes for one in cls.unique]
        [{'PK': 'email#{email}', 'SK': 'email#{email}'}]
    """

    name: str
    fields: tuple[str, ...]
    normalize: str | None
    when: str | None
    shared: bool
    guard_key: Mapping[str, str]


@record
class TotalDescription:
    """Totals over a class, kept in fields of another.

    Attributes:
        name: the attribute name of the declaration.
        target: the class that has the totals.
        key: the target's key fields, each with the field of this class that holds its value.
        count: the target's field with the count; None without one.
        sums: fields of this class, each with the target's field that holds its sum.
        when: the condition under which an entity is counted, as in ``IndexKeyDescription``.
        restrict: whether a target that is counted cannot be deleted.

    Examples:
        >>> description = describe(app)
        >>> [total.name for cls in description.classes for total in cls.totals]
        []
    """

    name: str
    target: str
    key: Mapping[str, str]
    count: str | None
    sums: Mapping[str, str]
    when: str | None
    restrict: bool


@record
class ClassDescription:
    """An entity class.

    Attributes:
        name: its Python name. Of two classes with one name, it is followed by the stored name in parentheses.
        module: its module.
        stored_name: the value of the type attribute; the name of the class if a field of its own says that.
        formerly: its earlier stored names.
        root: the class that declared the keys; its subclasses share them.
        subclasses: the classes that derive from it. Reads of this class find their entities, too.
        doc: the first line of its docstring; empty without one.
        fields: its fields.
        key_fields: the fields of its primary key.
        partition: the template of its partition key.
        sort: the template of its sort key; None if the table has none.
        places: its places in the indexes.
        unique: its unique constraints.
        versions: the template of its versions' sort keys, ``v{version}_{sk}``; None if it keeps no versions.
        expires: the field with its expiry time; None without one.
        totals: the totals over this class.
        totals_kept: its fields that hold totals, each with the declaration that maintains it: ``Ticket.in_project``.

    Examples:
        >>> description = describe(app)
        >>> next(cls.key_fields for cls in description.classes if cls.name == "Ticket")
        ('project', 'number')
    """

    name: str
    module: str
    stored_name: str
    formerly: tuple[str, ...]
    root: str
    subclasses: tuple[str, ...]
    doc: str
    fields: tuple[FieldDescription, ...]
    key_fields: tuple[str, ...]
    partition: TemplateDescription
    sort: TemplateDescription | None
    places: tuple[IndexKeyDescription, ...] = ()
    unique: tuple[UniqueDescription, ...] = ()
    versions: str | None = None
    expires: str | None = None
    totals: tuple[TotalDescription, ...] = ()
    totals_kept: Mapping[str, str] = field(default_factory=dict)


@record
class AccessPattern:
    """A question that the declarations can answer without a scan.

    Attributes:
        id: its name in this description: ``q7``. It changes when declarations change.
        kind: the method of a session that answers it.
        text: the question in words: ``The open Tickets of one org``.
        classes: the classes that are asked for. The answer has entities of their subclasses, too.
        index: the index that answers; None for the table.
        places: the places of each class in that index: ``{"Ticket": ("by_status",)}``; empty for the table.
        constraint: the unique constraint of a ``get_by``; None for other kinds.
        fields_by_class: the fields to be given, under the names of each class from which all others follow. The fields
            of any one of them will do.
        order: the fields whose texts the answer is sorted by, ascending, or descending after a minus: ``-version``. For
            a collection, the sort key attributes. Empty where there is no order.
        requests: how many requests the answer takes, if it fits into one page of 1 MB (100 versions): one for each
            shard, and 2 where DynamoDB is asked twice.
        operations: the DynamoDB operations, in order: ``("Query",)``. BatchGetItem follows where an index does not
            have all attributes, and is not counted in ``requests``.
        consistent: whether a strongly consistent read is ``"always"`` made, ``"optional"`` or ``"never"`` possible.
        beside: other classes whose keys lie between those of the answer: their items are read and paid for, too.

    Examples:
        >>> description = describe(app)
        >>> description.questions[0].operations
        ('GetItem',)
    """

    id: str
    kind: QuestionKind
    text: str
    classes: tuple[str, ...]
    index: str | None
    places: Mapping[str, tuple[str, ...]]
    constraint: str | None
    fields_by_class: Mapping[str, tuple[str, ...]]
    order: tuple[str, ...]
    requests: int
    operations: tuple[str, ...]
    consistent: Consistency
    beside: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields to be given, under the names of the first class that has them all."""
        return next(iter(self.fields_by_class.values()))

    @property
    def sources(self) -> tuple[tuple[str, str | None], ...]:
        """What is read, in order: each class with each of its places, or with None for the table."""
        return tuple((name, place) for name in self.classes for place in self.places.get(name, (None,)))

    def call(self, **values: object) -> str:
        """The Python call that asks it. A field that is not given shows as ``...``.

        Args:
            **values: values of the fields, under the names of any one class. They are shown as they are, secrets too;
                ``call_of`` masks those.

        Examples:
            >>> from dynaorm import Entity, Table
            >>> from dynaorm.description import describe
            >>> app = Table("app")
            >>> class Song(Entity, table=app, pk="SONG#{song_id}", sk="SONG"):
            ...     song_id: str
            >>> describe(app).questions[0].call(song_id="s1")
            "session.get(Song, song_id='s1')"
        """
        return self.call_with(values)

    def call_with(self, values: Mapping[str, object]) -> str:
        """As ``call``. The names of nested fields have dots.

        Args:
            values: values of the fields, by name.

        Examples:
            >>> describe(app).questions[0].call_with({})
            'session.get(User, user_id=...)'
        """
        check_kind("values={}", values, Mapping, "a mapping", remedy="give values by the names of fields")
        texts = texts_of(values, shown)
        names = next((one for one in self.fields_by_class.values() if texts.keys() <= set(one)), self.fields)
        plain = [f"{name}={texts.get(name, '...')}" for name in names if name.isidentifier()]
        nested = [f"{name!r}: {texts.get(name, '...')}" for name in names if not name.isidentifier()]
        given = ", ".join(["", *plain, *([f"**{{{', '.join(nested)}}}"] if nested else [])])
        sources = ", ".join(one if place is None else f"{one}.{place}" for one, place in self.sources)
        if self.kind == "history":
            return f"session.history(Key({sources}{given}))"
        return f"session.{self.kind}({sources}{given})"


@record
class TableDescription:
    """A table and all classes that are declared in it.

    Attributes:
        name: its declared name.
        partition: its partition key attribute, as a tuple of one.
        sort: its sort key attribute, as a tuple of one, or empty.
        indexes: its indexes.
        type_attribute: the attribute that names an item's class; None without one.
        revision_attribute: the attribute that is an item's revision, or the map that has it; None without one.
        revision_type: the type of that attribute: ``S``, ``N`` or ``M``.
        ttl_attribute: the attribute by which DynamoDB expires items; None where no class has an expiry time.
        stream: the view of its stream; None without one.
        guard_table: the table of its guard items; None for the table itself.
        classes: its classes.
        questions: what can be asked of it.

    Examples:
        >>> description = describe(app)
        >>> description.type_attribute, description.revision_attribute
        ('_type', '_rev')
    """

    format: ClassVar[str] = FORMAT

    name: str
    partition: tuple[KeyAttributeDescription, ...]
    sort: tuple[KeyAttributeDescription, ...]
    indexes: tuple[IndexDescription, ...]
    type_attribute: str | None
    revision_attribute: str | None
    revision_type: str | None
    ttl_attribute: str | None
    stream: str | None
    guard_table: str | None
    classes: tuple[ClassDescription, ...]
    questions: tuple[AccessPattern, ...]

    def to_json(self) -> dict[str, Any]:
        """The description as plain data for ``json.dumps``: the attributes by name, and ``format``.

        Examples:
            >>> describe(app).to_json()["format"]
            'dynaorm.description/1'
        """
        return {"format": FORMAT, **_plain(self)}

    def create_table(self) -> dict[str, Any]:
        """The arguments of CreateTable, as ``session.create_table`` sends them, for the declared name.

        Examples:
            >>> describe(app).create_table()["TableName"]
            'app'
        """
        indexes = [
            IndexShape(
                index.name,
                index.kind,
                _keys(index.partition),
                _keys(index.sort),
                index.projection,
                None if index.vector is None else index.vector.shape,
            )
            for index in self.indexes
        ]
        return definition_of(self.name, _keys(self.partition), _keys(self.sort), indexes, stream=self.stream)


def check_description(description: object) -> None:
    """Raise UsageError for anything but the description of a table."""
    check_kind("{}", description, TableDescription, "a description of a table", remedy="give describe(table)")


def _keys(keys: tuple[KeyAttributeDescription, ...]) -> Keys:
    return tuple((key.name, key.type) for key in keys)


def _plain(value: Any) -> Any:
    """A value of a description without records, tuples and mappings of our own."""
    if hasattr(value, FIELDS):
        return {name: _plain(getattr(value, name)) for name in getattr(value, FIELDS)}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value
