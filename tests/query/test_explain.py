"""Queries in words: the golden texts of ``query.explain()``."""

from pydantic import SecretStr

from dynaorm import Entity, F, GlobalIndex, Index, NumberKey, Session, Table, any_of
from dynaorm.testing.faults import FaultyTransport

app = Table("explained", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection=("email",))])

scores = Table("scores", sk=NumberKey("points"))


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:03d}"):
    project: str
    number: int
    status: str = "open"
    owner: str | None = None
    email: str = ""
    by_status = Index("GSI1", pk="STATUS#{status}#{number:shard2}", sk="{number:03d}")
    by_owner = Index("GSI2", pk="OWNER#{owner}", sk="{number:03d}")


class Project(Entity, table=app, pk="PROJECT#{project}", sk="PROJECT"):
    project: str


class Score(Entity, table=scores, pk="GAME#{game}", sk="{points}"):
    game: str
    points: int


class Login(Entity, table=app, pk="LOGIN#{token}", sk="L"):
    token: SecretStr


class Invite(Entity, table=app, pk="PROJECT#{project}", sk="INVITE#{name}"):
    project: str
    name: str
    code: SecretStr
    uses: int = 0
    by_code = Index("GSI1", pk="CODE#{code}", sk="{name}")


def test_a_range_of_a_table(session: Session, wire: FaultyTransport) -> None:
    within = "SK BETWEEN 'TICKET#007' AND 'TICKET$'"
    query = session.query(Ticket, project="p").ge(number=7).filter(F.owner == "liz").descending().limit(5)
    assert query.explain().splitlines() == [
        "1 request, and more for each further page",
        f"1. Query explained: PK = 'PROJECT#p' AND {within}, filter owner = 'liz', descending",
        "A key in which another program wrote number without its zeros may be left out.",
        "It ends with the first 5.",
    ]
    assert wire.calls == []


def test_a_range_says_which_keys_of_other_programs_it_may_leave_out(session: Session) -> None:
    left_out = "A key in which another program wrote number without its zeros may be left out."
    by_owner = session.query(Ticket.by_owner, owner="liz")
    assert by_owner.ge(number=7).explain().splitlines()[-1] == left_out
    # Without a bound, the partition has such a key, too. Other fields and number keys have no zeros.
    by_name, by_points = session.query(Invite, project="p"), session.query(Score, game="g")
    for query in (by_owner, by_name.ge(name="a"), by_points.ge(points=7)):
        assert "left out" not in query.explain()


def test_several_partitions_are_merged(session: Session) -> None:
    assert session.query(Ticket.by_status, status="open").keys().explain().splitlines() == [
        "2 requests, sent together, merged in the order of GSI1SK, and more for each further page",
        "1. Query explained index GSI1: GSI1PK = 'STATUS#open#1', only PK SK GSI1PK GSI1SK _type",
        "2. Query explained index GSI1: GSI1PK = 'STATUS#open#2', only PK SK GSI1PK GSI1SK _type",
    ]


def test_whole_items_are_fetched_unless_the_index_has_what_is_asked_for(session: Session) -> None:
    query = session.query(Ticket.by_owner, owner="liz")
    assert query.explain().splitlines() == [
        "1 request, and more for each further page",
        "1. Query explained index GSI2: GSI2PK = 'OWNER#liz'",
        "The whole items are fetched by key: BatchGetItem explained, 100 in a request.",
    ]
    assert query.values("email").explain().splitlines()[2:] == []
    requested = query.filter(F.status == "open", F.email > "l").explain().splitlines()[1]
    assert requested == "1. Query explained index GSI2: GSI2PK = 'OWNER#liz', filter email > 'l'"
    assert query.filter(F.status == "open").explain().splitlines()[-1] == (
        "The filter is evaluated on the items that were read."
    )


def test_nothing_is_sent_for_no_value(session: Session) -> None:
    assert session.query(Ticket, project=any_of()).explain() == "Nothing to send: nothing can be found."


def test_no_secret_is_shown(session: Session) -> None:
    text = session.query(Login, token=SecretStr("hush")).explain()
    assert "hush" not in text
    assert "PK = **********" in text


def test_what_has_no_secret_in_it_is_shown_beside_what_has(session: Session) -> None:
    query = session.query(Invite, project="p").filter((F.uses > 3) & (F.code == SecretStr("hush")))
    assert query.explain().splitlines()[1] == (
        "1. Query explained: PK = 'PROJECT#p' AND begins_with(SK, 'INVITE#'), filter uses > '3' AND code = **********"
    )
    mixed = session.query(Invite, project="p").filter((F.uses > 3) | (F.code == SecretStr("hush")))
    assert mixed.explain().splitlines()[1].endswith("filter uses > ********** OR code = **********")
    either = session.query(Invite, project="p").filter((F.uses > 3) | (F.uses > 7), F.name.exists()).explain()
    assert either.splitlines()[1].endswith("filter (uses > '3' OR uses > '7') AND attribute_exists(name)")


def test_a_key_is_masked_if_any_class_of_the_query_has_a_secret_in_it(session: Session) -> None:
    lines = session.query(Invite.by_code, code=SecretStr("hush")).ge(name="n").explain().splitlines()
    assert lines[1] == "1. Query explained index GSI1: GSI1PK = ********** AND GSI1SK >= 'n'"
    both = session.collection(Project, Invite, project="p").explain().splitlines()
    assert both[1] == "1. Query explained: PK = 'PROJECT#p' AND SK BETWEEN 'INVITE#' AND 'PROJECT'"
