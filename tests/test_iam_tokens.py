"""The policy that ``transaction(remember=...)`` needs."""

from datetime import timedelta

from dynaorm import Session
from dynaorm.iam import iam_policy
from dynaorm.testing import FakeClock, FaultyTransport, strict_moto
from dynaorm.transport.pynamodb import PynamoTransport
from tests.iam_requests import WHERE, allowed, asked
from tests.test_iam import Note, User, guarded, leading, matches, plain


def test_remembering_a_token_needs_the_token_item_in_the_table_of_the_guard_items(credentials: None) -> None:
    with strict_moto():
        wire = FaultyTransport(PynamoTransport(region="eu-west-1"))
        session = Session(transport=wire, clock=FakeClock())
        for table in (plain, guarded):
            session.create_table(table)
        for _ in range(2):
            with session.transaction(token="USER-U", remember=timedelta(days=1)) as tx:
                tx.save(User(name="u"))
            with session.transaction(token="NOTE-T", remember=timedelta(days=1)) as tx:
                tx.save(Note(topic="t", number=1))
    found = [(action, place, leading(body)) for call in wire.calls for action, place, body in asked(call)]
    tokens = {(action, place): key for action, place, key in found if str(key).startswith("#token#")}
    policy = iam_policy(User, Note, **WHERE, actions="remember", leading_keys=True)
    assert allowed(policy) == tokens.keys()
    for statement in policy["Statement"]:
        (pattern,) = {*statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]} - {
            "email#*",
            "NOTE#*",
        }
        assert all(matches(pattern, str(key)) for key in tokens.values())
