"""Verify an export with Spark, without a request to DynamoDB; repair and complete live tables from many machines.

Needs the extra ``dynaorm[spark]`` and Java. Python judges the items on the executors, and Spark groups the facts.
dynaorm and the modules of the classes have to be importable there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.functions import min as least

from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.integrity.keyed import FactKind, KeyedScope, ShuffleRecord, keyed
from dynaorm.integrity.tasks import SegmentTask, finish_tasks
from dynaorm.integrity.verify_export import ExportFile, mapped, reduced, sources_of

__all__ = ["run_tasks", "verify_export"]

_FACTS: Final = "kind string, key string, text string"


def verify_export(
    spark: SparkSession,
    path: str | Mapping[str, str],
    /,
    *targets: Table | type[Any] | str,
    now: float | None = None,
    foreign_attributes: Iterable[str] = (),
) -> DataFrame:
    """The findings in a full export, as ``dynaorm.tools.verify`` would have found them at its moment.

    Args:
        spark: the Spark session.
        path: the folder of the export, or the folders by the names of their tables, if several belong together. Every
            executor reads it, so it is a folder that all of them have, or a URL that fsspec opens.
        *targets: tables and classes, as objects or as ``module:Name``.
        now: what has expired by then is absent, in seconds since the Unix epoch; None for the time of the export.
        foreign_attributes: attributes that other programs write, as for ``RunOptions``.

    Returns:
        A row for each finding, with the columns ``key``, by which they can be sorted, and ``text``: a line as that of
        ``verify --json``, with the values of secret fields.

    Raises:
        UsageError: it is no full export; a table is missing; the executors cannot find a target.

    Examples:
        ```python
        def main() -> None:
            from pyspark.sql import SparkSession

            from dynaorm.integrations.spark import verify_export

            spark = SparkSession.builder.getOrCreate()
            found = verify_export(spark, "s3://bucket/AWSDynamoDB/01690000000000-a1b2c3d4", "shop.models:app")
            found.select("text").write.text("findings")
        ```
    """
    sources = sources_of(path, targets, now, foreign_attributes)
    context, scope = spark.sparkContext, sources.declared
    files = context.parallelize(sources.files, max(1, len(sources.files)))
    mapped = _kept(spark, files.mapPartitions(partial(_mapped, scope=scope)))
    stored = _of(mapped, FactKind.STORED).select(col("key").alias("address"), col("text").alias("item"))
    found = _answered(spark, mapped, stored, scope)
    doubts = _together(found, FactKind.DOUBT).groupBy("key").agg(least("text").alias("reason")).sort("key")
    scope = sources.with_doubts((row["key"], row["reason"]) for row in doubts.collect())
    concerns = _together(found, FactKind.CONCERNS).select("key", "text")
    left = _kept(spark, _grouped(concerns).mapPartitions(partial(_reduced, scope=scope)))
    found += _answered(spark, left, stored, scope)
    return _together(found, FactKind.FINDING).select("key", "text")


def run_tasks(spark: SparkSession, tasks: Sequence[SegmentTask], /) -> DataFrame:
    """Run the tasks of ``segment_tasks`` on the executors, to the end of the whole run.

    Spark runs a task again that was killed. It goes on if its checkpoint file is in a folder that all executors have,
    and otherwise starts again, which does no harm. What all tasks together tell is judged here, in the driver.

    Args:
        spark: the Spark session.
        tasks: all tasks of the run. Each executor needs the credentials of their sessions. As ``at_once``, give the
            number of tasks that Spark runs at a time: ``spark.sparkContext.defaultParallelism``.

    Returns:
        What was found, and what became of it, as ``verify_export`` returns it. What a task had repaired before it was
        killed is not among it.

    Raises:
        UsageError: there is no task.
        Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as the run in one process.

    Examples:
        ```python
        from dynaorm import Session


        def open_session() -> Session:
            return Session(region="eu-west-1")


        def main() -> None:
            from pyspark.sql import SparkSession

            from dynaorm.integrations.spark import run_tasks
            from dynaorm.integrity.tasks import segment_tasks

            spark = SparkSession.builder.getOrCreate()
            tasks = segment_tasks(
                "backfill",
                "shop.models:app",
                session=open_session,
                segments=256,
                at_once=spark.sparkContext.defaultParallelism,
                rate=4000,
                checkpoint="/shared/backfill",
            )
            run_tasks(spark, tasks).select("text").write.text("/shared/left")
        ```
    """
    if not tasks:
        raise UsageError(problem="there is no task to run", remedy="make them with segment_tasks()")
    divided = spark.sparkContext.parallelize(list(tasks), len(tasks))
    said = _kept(spark, divided.mapPartitions(_ran))
    said.count()  # once, whatever is done with the result
    others = said.where(col("kind") != str(FactKind.FINDING)).toLocalIterator()
    rest = [_row(keyed(one)) for one in finish_tasks(tasks, (ShuffleRecord(*row) for row in others))]
    return _together([said, spark.createDataFrame(rest, _FACTS)], FactKind.FINDING).select("key", "text")


def _answered(spark: SparkSession, facts: DataFrame, stored: DataFrame, scope: KeyedScope) -> list[DataFrame]:
    """Some facts, and those that follow when all that is asked in them is answered."""
    found = [facts]
    while not (asked := _of(found[-1], FactKind.ASKED)).isEmpty():
        answers = asked.join(stored, asked["text"] == stored["address"], "left").select(
            asked["key"], asked["text"], stored["item"]
        )
        found.append(_kept(spark, _grouped(answers).mapPartitions(partial(_reduced, scope=scope))))
    return found


def _kept(spark: SparkSession, facts: Any) -> DataFrame:
    """Facts on the disks of the executors: each judgement is made once."""
    return spark.createDataFrame(facts, _FACTS).persist(StorageLevel.DISK_ONLY)


def _of(facts: DataFrame, kind: FactKind) -> DataFrame:
    return facts.where(col("kind") == str(kind))


def _together(facts: list[DataFrame], kind: FactKind) -> DataFrame:
    first, *others = [_of(fact, kind) for fact in facts]
    for one in others:
        first = first.union(one)
    return first


def _grouped(rows: DataFrame) -> Any:
    """Rows with all rows of a key after each other, in one partition."""
    return rows.repartition("key").sortWithinPartitions("key").rdd


# -- on the executors --------------------------------------------------------------------------------------------------


def _ran(tasks: Iterable[SegmentTask]) -> Iterator[tuple[str, ...]]:
    for task in tasks:
        yield from map(_row, task.run())


def _mapped(files: Iterable[tuple[str, ExportFile]], scope: KeyedScope) -> Iterator[tuple[str, ...]]:
    for table, file in files:
        yield from map(_row, mapped(file, table, scope))


def _reduced(rows: Iterable[Row], scope: KeyedScope) -> Iterator[tuple[str, ...]]:
    return map(_row, reduced(rows, scope))


def _row(fact: ShuffleRecord) -> tuple[str, ...]:
    return str(fact.kind), fact.key, fact.text
