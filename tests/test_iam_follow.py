"""The policy of a program that follows the stream of a table."""

from dynaorm import Entity, Table
from dynaorm.iam import iam_policy


def test_a_follower_describes_the_table_and_reads_its_streams() -> None:
    table = Table("streamed", stream="KEYS_ONLY")

    class Streamed(Entity, table=table, pk="S#{name}", sk="S"):
        name: str

    arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/streamed"
    policy = iam_policy(Streamed, account="123456789012", region="eu-west-1", actions="tools")
    found = {action: one["Resource"] for one in policy["Statement"] for action in one["Action"]}
    assert found["dynamodb:DescribeTable"] == [arn]
    for name in ("DescribeStream", "GetRecords", "GetShardIterator"):
        assert found[f"dynamodb:{name}"] == [f"{arn}/stream/*"]
