"""Exports as DynamoDB writes them to S3, made of items."""

import gzip
import json
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from dynaorm.item.json_body import encode_body
from tests.dynamodb_json import Item


def write_export(
    folder: Path, items: Iterable[Item], *, now: float, files: int = 2, **summary: object
) -> str:
    """Write a full export of a table; the path of its folder."""
    (folder / "data").mkdir(parents=True)
    counts = [0] * files
    names = [f"part{number}.json.gz" for number in range(files)]
    with ExitStack() as opened:
        written = [
            opened.enter_context(gzip.open(folder / "data" / name, "wb", compresslevel=1)) for name in names
        ]
        for number, item in enumerate(items):
            written[number % files].write(b'{"Item":' + encode_body(item) + b"}\n")
            counts[number % files] += 1
    moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    told = {
        "version": "2020-06-30",
        "tableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/zoo",
        "exportTime": moment,
        "itemCount": sum(counts),
        "outputFormat": "DYNAMODB_JSON",
        **summary,
    }
    (folder / "manifest-summary.json").write_text(json.dumps(told))
    lines = [
        json.dumps({"itemCount": count, "dataFileS3Key": f"AWSDynamoDB/01-a/data/{name}"})
        for name, count in zip(names, counts, strict=True)
    ]
    (folder / "manifest-files.json").write_text("\n".join(lines) + "\n")
    return str(folder)
