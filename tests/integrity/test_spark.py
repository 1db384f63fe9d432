"""Spark finds in an export exactly what verify finds in the live table. ``make test-spark`` runs it."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynaorm import Table, tools
from dynaorm.integrity.run import verify
from dynaorm.integrity.tasks import segment_tasks
from tests.conftest import ROOT
from tests.integrity.damages import portions
from tests.integrity.divided import opener
from tests.integrity.shop import fill, now
from tests.integrity.test_engines import exported, lines
from tests.integrity.zoo import TABLES, Raw

pytest.importorskip("pyspark", reason='pip install "dynaorm[spark]"')
if shutil.which("java") is None:
    pytest.skip("Spark needs Java 17 on PATH", allow_module_level=True)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - it is an extra

    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        changed.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2,4]").config("spark.sql.shuffle.partitions", "2")
        session = builder.config("spark.ui.enabled", "false").getOrCreate()
        yield session
        session.stop()


def test_spark_finds_in_exports_what_verify_finds_in_the_tables(
    moto: Raw, spark: Any, tmp_path: Path
) -> None:
    from dynaorm.integrations.spark import verify_export  # noqa: PLC0415 - it is an extra

    for number, damages in enumerate(portions()):
        for table in TABLES:
            for item in moto.items(table)[table.name]:
                moto.delete(table, {name: item[name] for name in table.key_names})
        moto.fill()
        for damage in damages:
            damage.do(moto)
        found = verify_export(spark, exported(moto, tmp_path / str(number)), *TABLES)
        assert sorted(row["text"] for row in found.collect()) == lines(verify(moto.session, *TABLES))


def test_spark_completes_a_table_and_runs_a_task_again_that_was_killed(
    ministack: Raw, ministack_endpoint: str, spark: Any, tmp_path: Path
) -> None:
    from dynaorm.integrations.spark import run_tasks  # noqa: PLC0415 - it is an extra

    ministack.session.create_table(Table("shop"))
    try:
        fill(ministack.session)
        tools.apply(ministack.session, now, backfill=False)
        orders = tmp_path / "orders"
        orders.mkdir()
        (orders / "0-2").touch()
        tasks = segment_tasks(
            "backfill",
            now,
            session=opener(ministack_endpoint, ministack, orders),
            segments=4,
            checkpoint=tmp_path / "position",
        )
        found = run_tasks(spark, tasks)
        outcomes = [json.loads(row["text"])["outcome"] for row in found.collect()]
        assert outcomes.count("left") == 1
        assert list(orders.iterdir()) == []  # a worker was killed
        assert [one.kind.value for one in tools.verify(ministack.session, now)] == ["duplicate value"]
        assert list(tmp_path.iterdir()) == [orders]
    finally:
        ministack.client.delete_table(TableName=ministack.name("shop"))
