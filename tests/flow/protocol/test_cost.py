"""What reading costs is what DynamoDB says it consumed."""

import sys
from concurrent.futures import ThreadPoolExecutor

from dynaorm.flow.call import ReadCost


def test_a_query_names_one_table_and_a_batch_each_of_its() -> None:
    cost = ReadCost()
    cost.add({"ConsumedCapacity": {"TableName": "a", "CapacityUnits": 1.5}})
    cost.add({"ConsumedCapacity": [{"CapacityUnits": 2.0}, {"CapacityUnits": 0.5}]})
    cost.add({})
    assert cost == ReadCost(requests=3, read_units=4.0)


def test_no_cost_is_lost_if_several_threads_count() -> None:
    interval = sys.getswitchinterval()
    cost, reply = ReadCost(), {"ConsumedCapacity": {"CapacityUnits": 0.5}}

    def count(_: int) -> None:
        for _ in range(2000):
            cost.add(reply)

    try:
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(count, range(4)))
    finally:
        sys.setswitchinterval(interval)
    assert cost == ReadCost(8000, 4000.0)
