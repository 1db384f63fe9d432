"""Read what DynamoDB exports to S3: a full export of a table as of one moment, in DynamoDB JSON.

Rule 1. An export is read whole or not at all: a file with another number of items than its manifest says is refused.
"""

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.item.json_body import decode_body
from dynaorm.item.value import Item
from dynaorm.record import record

_SUMMARY: Final = "manifest-summary.json"
_FILES: Final = "manifest-files.json"


@record
class ExportFile:
    """One data file of an export.

    Attributes:
        path: its path.
        items: how many items it has.
    """

    path: str
    items: int


@record
class Export:
    """A full export of a table.

    Attributes:
        path: the folder of the export.
        table_arn: the ARN of the table.
        time: the moment that it shows, in seconds since the Unix epoch.
        files: its data files.
    """

    path: str
    table_arn: str
    time: float
    files: tuple[ExportFile, ...]

    @property
    def items(self) -> int:
        """How many items it has."""
        return sum(file.items for file in self.files)


def open_export(path: str) -> Export:
    """The export in a folder: the one with ``manifest-summary.json``.

    Args:
        path: a local folder, or a URL that fsspec opens, such as ``s3://bucket/prefix/AWSDynamoDB/0123-abc``.

    Raises:
        UsageError: it is no full export in DynamoDB JSON, or it has not ended.
    """
    folder = path.rstrip("/")
    try:
        with _opened(f"{folder}/{_SUMMARY}") as file:
            summary: dict[str, Any] = json.load(file)
        with _opened(f"{folder}/{_FILES}") as file:
            lines = [json.loads(line) for line in file if line.strip()]
    except NotADirectoryError as problem:
        raise UsageError(
            problem=f"{folder} is a file, and an export is a folder",
            remedy="export the table to S3 and name the folder. A dump is not of one moment: verify its table instead",
        ) from problem
    except FileNotFoundError as problem:
        raise UsageError(
            problem=f"{folder} is no export: it lacks {_SUMMARY} or {_FILES}",
            remedy="name the folder that has both: AWSDynamoDB/ and the name of the export",
        ) from problem
    except (OSError, ValueError) as problem:
        raise UsageError(
            problem=f"{folder} is no export ({type(problem).__name__}: {problem})",
            remedy=f"name the folder with {_SUMMARY} and {_FILES}: AWSDynamoDB/ and the name of the export",
        ) from problem
    try:
        _check(folder, summary)
        time = datetime.fromisoformat(summary["exportTime"]).timestamp()
        files = tuple(
            ExportFile(f"{folder}/data/{one['dataFileS3Key'].rpartition('/')[2]}", one["itemCount"])
            for one in lines
        )
        return Export(folder, summary["tableArn"], time, files)
    except (KeyError, TypeError, ValueError) as problem:
        raise UsageError(
            problem=f"the manifests of {folder} lack {problem}",
            remedy="copy the export again, with its manifests",
        ) from problem


def _check(folder: str, summary: dict[str, Any]) -> None:
    if "exportFromTime" in summary or summary.get("exportType", "FULL_EXPORT") != "FULL_EXPORT":
        raise UsageError(
            problem=f"{folder} is an incremental export, which has only the items that changed in some time",
            remedy="export the table with ExportType FULL_EXPORT",
        )
    if (form := summary.get("outputFormat")) != "DYNAMODB_JSON":
        raise UsageError(
            problem=f"{folder} is in the format {form}",
            remedy="export the table with ExportFormat DYNAMODB_JSON",
        )


def items_in(file: ExportFile) -> Iterator[Item]:
    """The items of a data file, one at a time. Raises UsageError if it is not as its manifest says."""
    count = 0
    try:
        with _opened(file.path) as packed, gzip.open(packed) as lines:
            for line in lines:
                yield decode_body(line)["Item"]
                count += 1
    except (OSError, EOFError, ValueError, KeyError, TypeError) as problem:
        raise UsageError(
            problem=f"{file.path} is no data file of an export ({type(problem).__name__}: {problem})",
            remedy="copy it again",
        ) from problem
    if count != file.items:
        raise UsageError(
            problem=f"{file.path} has {counted(count, 'item')}, and its manifest says {file.items}",
            remedy="copy it again",
        )


def _opened(path: str) -> IO[Any]:
    if "://" not in path:
        return Path(path).open("rb")
    try:
        import fsspec  # noqa: PLC0415 - only for URLs
    except ImportError as missing:
        raise UsageError(
            problem=f"{path} is a URL, and fsspec is not installed", remedy="install fsspec, and s3fs for S3"
        ) from missing
    found: IO[Any] = fsspec.open(path, "rb").open()
    return found
