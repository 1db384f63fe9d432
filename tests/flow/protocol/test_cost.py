"""What reading costs is what DynamoDB says it consumed."""

from dynaorm.flow.protocol.cost import ReadCost


def test_a_query_names_one_table_and_a_batch_each_of_its() -> None:
    cost = ReadCost()
    cost.add({"ConsumedCapacity": {"TableName": "a", "CapacityUnits": 1.5}})
    cost.add({"ConsumedCapacity": [{"CapacityUnits": 2.0}, {"CapacityUnits": 0.5}]})
    cost.add({})
    assert cost == ReadCost(requests=3, read_units=4.0)


def test_costs_add_up() -> None:
    assert ReadCost.of([ReadCost(1, 0.5), ReadCost(2, 1.0)]) == ReadCost(3, 1.5)
