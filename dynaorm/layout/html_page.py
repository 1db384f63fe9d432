"""The page of a table: one closed HTML file with its items, its keys and what can be asked of it.

Rule 1. The page requests nothing. Its policy allows its own style and script by their hashes, and nothing else.
Rule 2. Text of the data stands in a JSON island, in which ``<`` is escaped, and in the title, which is escaped.
Rule 3. The same description, entries and source give the same bytes.
"""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Final

from dynaorm.argument import check_kind
from dynaorm.description.description import TableDescription, check_description
from dynaorm.description.entry import Entry, check_entries
from dynaorm.description.tables import describe
from dynaorm.entity.table import Table
from dynaorm.failure import counted
from dynaorm.layout.page_data import page_data
from dynaorm.record import FIELDS, record

# What ends the island, what JavaScript took for the end of a line, and half a surrogate pair, which no file can hold.
_UNSAFE: Final = re.compile("[<\u2028\u2029\ud800-\udfff]")
_INLINE: Final = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)
_PLACEHOLDER: Final = re.compile("%(TITLE|DATA)%")
_SAMPLES_AT: Final = datetime(2024, 1, 1, tzinfo=UTC)


@record
class ItemSource:
    """Where items of a real table are from.

    Attributes:
        table: its physical name.
        account: the AWS account; None if it is not known.
        region: the AWS Region; None if it is not known.
        at: when they were read, with a time zone.
        with_values: whether the items have their values; otherwise the values were replaced before.
        read: how many items were read to find them; None if that is not known.
        is_all: whether these are all items of the table.
        items: how many items the table has, approximately; None if that is not known.

    Examples:
        >>> ItemSource(table="app", account=None, region="eu-west-1", at=datetime(2024, 5, 1, tzinfo=UTC)).with_values
        False
    """

    table: str
    account: str | None
    region: str | None
    at: datetime
    with_values: bool = False
    read: int | None = None
    is_all: bool = False
    items: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The source as plain data, for ``json.dumps``.

        Examples:
            >>> source = ItemSource("app", None, "eu-west-1", datetime(2024, 5, 1, tzinfo=UTC), read=20, items=31)
            >>> source.to_json()["read"]
            20
        """
        return {name: getattr(self, name) for name in getattr(self, FIELDS)} | {"at": self.at.isoformat()}

    @property
    def text(self) -> str:
        """What a picture of the items says of it."""
        at = self.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        where = f"account {self.account or 'unknown'}, Region {self.region or 'unknown'}"
        said = [f"Items of the table {self.table} ({where}), read at {at}."]
        if self.read is not None:
            said.append(self._extent(self.read))
        said.append(
            "Their values are shown: pass this on with care."
            if self.with_values
            else "Their values are replaced by their types."
        )
        return " ".join(said)

    def _extent(self, read: int) -> str:
        if self.is_all:
            return f"The table has {counted(read, 'item')}, and all are read."
        if self.items is not None and self.items > read:
            return f"{read} of about {counted(self.items, 'item')} {'is' if read == 1 else 'are'} read."
        return f"It has more items than the {counted(read, 'item')} that {'is' if read == 1 else 'are'} read."


def render_html(
    table: Table | TableDescription, entries: Sequence[Entry], source: ItemSource | None = None
) -> str:
    """The page of a table as one HTML file, for a browser without a network.

    The first 100 entities have plans of their own; the others show those of another entity of their class. Items whose
    values were replaced show those of a sample, and ask no question. Secret fields are masked everywhere.

    Args:
        table: the table, or its description.
        entries: its items, as ``samples`` or ``classify`` give them.
        source: where real items are from, which the page says at its top; None for samples.

    Examples:
        >>> render_html(app, samples(app)).startswith("<!doctype html>")
        True
    """
    description = describe(table) if isinstance(table, Table) else table
    check_description(description)
    entries = check_entries(entries)
    if source is not None:
        check_kind("source={}", source, ItemSource, "an ItemSource")
    at = _SAMPLES_AT if source is None else source.at
    data = {
        "source": {
            "real": source is not None,
            "text": "Sample items, made from the declarations." if source is None else source.text,
        },
        **page_data(description, entries, at.timestamp(), has_values=source is None or source.with_values),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    parts = {
        "TITLE": escape(f"{description.name} - layout".encode(errors="replace").decode()),
        "DATA": _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text),
    }
    # In one pass, because the title may look like a placeholder, too.
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], _template())


@cache
def _template() -> str:
    """The file of the page, with its policy."""
    text = files("dynaorm.layout").joinpath("page.html").read_text(encoding="utf-8")
    allowed = {kind: f"'sha256-{_hash(content)}'" for kind, content in _INLINE.findall(text)}
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src {allowed['style']}",
            f"script-src {allowed['script']}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return text.replace("%POLICY%", policy, 1)


def _hash(content: str) -> str:
    return b64encode(sha256(content.encode()).digest()).decode()
