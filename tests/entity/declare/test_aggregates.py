"""Totals that cannot be maintained, and the errors for them."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from dynaorm import Aggregate, Attribute, Entity, ExpiresAt, GlobalIndex, Index, NumberKey, Table, Unique
from dynaorm.entity.declare.catalog import catalog_of
from tests.entity.declare.refusals import Refusal, Refusals

refused: Refusals[[Table]] = Refusals("Part")


def part(table: Table, **aggregates: Aggregate) -> type[Entity]:
    """A class that is counted."""

    class Part(Entity, table=table, pk="PART#{part_id}", sk="PART"):
        part_id: str
        group_id: str = "g"
        hours: int = 0
        price: Decimal = Decimal(0)
        title: str = ""
        took: timedelta = timedelta(0)
        locals().update(aggregates)

    return Part


def group(table: Table) -> type[Entity]:
    class Group(Entity, table=table, pk="GROUP#{group_id}", sk="INFO"):
        group_id: str
        members: int = 0
        hours: int = 0

    return Group


@refused("kept: Plain is not mapped to a table; name an entity class that has table= and pk=")
def a_target_without_a_table(app: Table) -> None:
    class Plain(Entity):
        members: int = 0

    part(app, kept=Aggregate(Plain, count="members"))


@refused("kept: 'Group' is not mapped to a table; name an entity class that has table= and pk=")
def a_target_that_is_a_name(app: Table) -> None:
    name: Any = "Group"
    part(app, kept=Aggregate(name, count="members"))


@refused('kept: it declares neither a count nor a sum; write count="field" or sum={"field": "field"}')
def nothing_to_keep(app: Table) -> None:
    part(app, kept=Aggregate(group(app)))


@refused(
    'kept: key=\'group_id\' is not a mapping of names; write key={"field": "field"}',
    'kept: sum=\'hours\' is not a mapping of names; write sum={"field": "field"}',
)
def names_instead_of_mappings(app: Table) -> None:
    name: Any = "hours"
    key: Any = "group_id"
    part(app, kept=Aggregate(group(app), sum=name, key=key))


@refused('kept: count=5 is not the name of a field; write count="field"')
def a_count_in_no_field(app: Table) -> None:
    number: Any = 5
    part(app, kept=Aggregate(group(app), count=number))


@refused("kept: restrict='no' is neither True nor False; give one of them")
def a_restriction_that_is_a_text(app: Table) -> None:
    text: Any = "no"
    part(app, kept=Aggregate(group(app), count="members", restrict=text))


@refused(
    "kept: Group has no field 'membrs'; did you mean 'members'?",
    "kept: Group has no field 'total'; name one of group_id, members, hours",
    "kept: 'hour' is not a field; did you mean 'hours'?",
)
def fields_that_do_not_exist(app: Table) -> None:
    part(app, kept=Aggregate(group(app), count="membrs", sum={"hour": "hours", "price": "total"}))


@refused("kept: Group.hours would hold two totals; give each a field of its own")
def one_field_for_two_totals(app: Table) -> None:
    part(app, kept=Aggregate(group(app), count="hours", sum={"hours": "hours"}))


@refused(
    "kept: title is not a number; sum an int, Decimal or float",
    "kept: took is not a number; sum an int, Decimal or float",
)
def sums_of_what_is_no_number(app: Table) -> None:
    part(app, kept=Aggregate(group(app), sum={"title": "hours", "took": "members"}))


@refused("kept: price is a Decimal, and Group.hours an int; make that a Decimal")
def a_sum_that_its_field_could_not_hold(app: Table) -> None:
    part(app, kept=Aggregate(group(app), sum={"price": "hours"}))


@refused(
    "kept: key=: 'members' is not in the primary key of Group, which is made of group_id; name these",
    "kept: 'part' is not a field; did you mean 'part_id'?",
)
def a_key_of_other_fields(app: Table) -> None:
    key = {"members": "hours", "group_id": "part"}
    part(app, kept=Aggregate(group(app), count="members", key=key))


@refused("kept: Team has team_id in its key, which is not a field here; write key={'team_id': ...} with one")
def a_key_without_a_field(app: Table) -> None:
    class Team(Entity, table=app, pk="TEAM#{team_id}", sk="INFO"):
        team_id: str
        members: int = 0

    part(app, kept=Aggregate(Team, count="members"))


@refused("kept: hours is int, and Group.group_id is str; give both one type")
def a_key_of_another_type(app: Table) -> None:
    part(app, kept=Aggregate(group(app), count="members", key={"group_id": "hours"}))


@refused(
    "kept: Team keeps versions, and an increment would write none; use a target class without versioned=",
)
def a_versioned_target(app: Table) -> None:
    class Team(Entity, table=app, pk="TEAM#{group_id}", sk="INFO", versioned=True):
        group_id: str
        members: int = 0

    part(app, kept=Aggregate(Team, count="members"))


@refused("kept: Team expires, and its totals would begin again at 0; use a target class that does not expire")
def a_target_that_expires(app: Table) -> None:
    class Team(Entity, table=app, pk="TEAM#{group_id}", sk="INFO"):
        group_id: str
        members: int = 0
        until: Annotated[datetime | None, ExpiresAt()] = None

    part(app, kept=Aggregate(Team, count="members"))


@refused(
    "kept: DynamoDB deletes expired items without updating totals; drop ExpiresAt(), "
    "and delete expired entities through a session"
)
def a_source_that_expires(app: Table) -> None:
    target = group(app)

    class Part(Entity, table=app, pk="PART#{part_id}", sk="PART"):
        part_id: str
        group_id: str
        until: Annotated[datetime | None, ExpiresAt()] = None
        kept = Aggregate(target, count="members")


@refused(
    "kept: Team.text is not a plain number; make it an int, Decimal or float",
    "kept_2: Team.maybe is not a plain number; make it an int, Decimal or float",
    "kept_3: Team.flag is not a plain number; make it an int, Decimal or float",
    "kept_4: Team.own is not a plain number; make it an int, Decimal or float",
    "kept_5: Team.ten does not begin at 0; write = 0",
    "kept_6: Team.given does not begin at 0; write = 0",
    "kept_7: Team.made does not begin at 0; write = 0",
)
def totals_that_are_no_plain_number(app: Table) -> None:
    class Team(Entity, table=app, pk="TEAM#{group_id}", sk="INFO"):
        group_id: str
        given: int
        text: str = ""
        maybe: int | None = None
        flag: bool = False
        own: Annotated[
            int, Attribute(encode=lambda n: {"N": str(n)}, decode=lambda stored: int(stored["N"]))
        ] = 0
        ten: int = 10
        made: int = Field(default_factory=int)

    part(
        app,
        kept=Aggregate(Team, count="text"),
        kept_2=Aggregate(Team, count="maybe"),
        kept_3=Aggregate(Team, count="flag"),
        kept_4=Aggregate(Team, count="own"),
        kept_5=Aggregate(Team, count="ten"),
        kept_6=Aggregate(Team, count="given"),
        kept_7=Aggregate(Team, count="made"),
    )


@refused(
    "kept: Team.at is part of the primary key, which never changes; keep the total in another field",
    "kept_2: Team.number is part of the unique constraint 'number'; keep the total in another field",
    "kept_3: Team.old may be stored under a former name, which an increment would ignore; drop formerly=",
    "kept_4: Team.rank is in the template of 'TopSK', which an increment cannot render; "
    "store it as the index's own NumberKey attribute: Attribute('TopSK')",
)
def totals_that_something_is_made_of(app: Table) -> None:
    own = GlobalIndex("Own", pk="group_id", sk=NumberKey("fine"))

    class Team(
        Entity,
        table=Table("teams", indexes=[GlobalIndex("Top"), own]),
        pk="TEAM#{group_id}",
        sk="{at:06d}",
    ):
        group_id: str
        at: int = 0
        number: Annotated[int, Unique()] = 0
        old: Annotated[int, Attribute(formerly="older")] = 0
        rank: int = 0
        fine: int = 0
        top = Index("Top", pk="TEAM", sk="{rank:06d}")
        own = Index("Own", pk="{group_id}", sk="{fine}")

    kept = ("at", "number", "old", "rank", "fine")
    given = [Aggregate(Team, count=name, key={"at": "hours"}) for name in kept]
    part(app, kept=given[0], kept_2=given[1], kept_3=given[2], kept_4=given[3], kept_5=given[4])


def small(value: Any, info: ValidationInfo) -> Any:
    if info.data.get("members", 0) > 9:
        raise ValueError("there are too many members")
    return value


@refused(
    "kept: Team.members is shown to the validators or the default factory of size, title, which an increment would "
    "not run; declare members after size, title"
)
def a_total_that_fields_look_at(app: Table) -> None:
    class Team(Entity, table=app, pk="TEAM#{group_id}", sk="INFO"):
        group_id: str
        before: Annotated[str, AfterValidator(small)] = ""
        members: int = 0
        size: int = Field(default_factory=lambda data: data["members"])
        title: Annotated[str, AfterValidator(small)] = ""
        hours: int = 0

    part(app, kept=Aggregate(Team, count="members", sum={"hours": "hours"}))


@refused(
    "kept: Checked.members is shown to the rules of its class (a model validator, __init__ or model_post_init), "
    "which an increment would not ask; keep the total in a class without them",
)
def a_total_that_a_rule_of_a_subclass_looks_at(app: Table) -> None:
    target: Any = group(app)

    class Checked(target):  # type: ignore[misc]
        @model_validator(mode="after")
        def _check(self) -> Any:
            return self

    part(app, kept=Aggregate(target, count="members"))


@refused("kept: Group.members is maintained by Other.counted already; give each a field of its own")
def a_field_that_another_class_keeps(app: Table) -> None:
    target = group(app)

    class Other(Entity, table=app, pk="OTHER#{group_id}", sk="PART"):
        group_id: str
        counted = Aggregate(target, count="members")

    part(app, kept=Aggregate(target, count="members"))


@refused(
    "kept: Group.members is maintained by Part.again already; give each a field of its own",
    "again: Group.members is maintained by Part.kept already; give each a field of its own",
)
def a_field_that_two_declarations_keep(app: Table) -> None:
    target = group(app)
    part(app, kept=Aggregate(target, count="members"), again=Aggregate(target, count="members"))


@refused(
    "kept: Group.in_all depends on members, and an increment of it would not change the totals in All; "
    "sum a field that is not a total"
)
def a_total_of_totals(app: Table) -> None:
    class All(Entity, table=app, pk="ALL#{group_id}", sk="ALL"):
        group_id: str
        members: int = 0

    class Group(Entity, table=app, pk="GROUP#{group_id}", sk="INFO"):
        group_id: str
        members: int = 0
        in_all = Aggregate(All, sum={"members": "members"})

    part(app, kept=Aggregate(Group, count="members"))


@refused(
    "Counter.in_base: Part expires, and its totals would begin again at 0; use a target class that does not expire",
    "Counter.in_base: Part.members is part of the unique constraint 'members'; keep the total in another field",
)
def a_class_that_derives_from_a_target(app: Table) -> None:
    class Base(Entity, table=app, pk="BASE#{group_id}", sk="INFO"):
        group_id: str
        members: int = 0

    class Counter(Entity, table=app, pk="COUNTER#{group_id}", sk="INFO"):
        group_id: str
        in_base = Aggregate(Base, count="members")

    class Part(Base):
        members: Annotated[int, Unique()] = 0
        until: Annotated[datetime | None, ExpiresAt()] = None


@refused(
    "upward: Part.members is maintained by Counter.in_base, and an increment of it "
    "would not change the totals in Group; sum a field that is not a total"
)
def a_class_that_derives_from_a_target_and_sums_its_totals(app: Table) -> None:
    target = group(app)

    class Base(Entity, table=app, pk="BASE#{group_id}", sk="INFO"):
        group_id: str
        members: int = 0

    class Counter(Entity, table=app, pk="COUNTER#{group_id}", sk="INFO"):
        group_id: str
        in_base = Aggregate(Base, count="members")

    class Part(Base):
        upward = Aggregate(target, sum={"members": "hours"})


@refused("kept: an Aggregate is not a field; write kept: ClassVar = Aggregate(...)")
def an_aggregate_annotated_as_a_field(app: Table) -> None:
    target = group(app)

    class Part(Entity, table=app, pk="PART#{group_id}", sk="PART"):
        group_id: str
        kept: Aggregate = Aggregate(target, count="members")
        fine: ClassVar = Aggregate(target, count="members")


@refused.each
def test_a_total_that_cannot_be_maintained_is_refused_with_every_problem_and_its_remedy(
    case: Refusal[[Table]],
) -> None:
    app = Table("app")
    case.check(app)
    assert "Part" not in catalog_of(app).mappings
