"""How far the shards of a stream have been read, also as a text that a caller can keep.

Rule 1. The checkpoint of a change says: everything up to and including this change is done, and nothing else. One
        record may make several changes. Before the last of them, the checkpoint names the record and counts those
        that are done.
Rule 2. A shard is read to its end before its children are begun, so that the writes of one item stay in order.
Rule 3. A shard that was known and not read to its end must still be there, and so must the parent of a new shard.
        Otherwise records may be gone that were never read.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TypeAlias, TypeVar

from dynaorm.errors import InvalidCursor
from dynaorm.record import record

V = TypeVar("V")

Parents: TypeAlias = Mapping[str, str | None]
"""The shards of a stream: shard id to the id of its parent, if it has one."""


@record
class StreamCheckpoint:
    """How far the shards of a stream have been read.

    Attributes:
        stream: the ARN of the stream.
        read: the shards that are not read to their end: shard id to the sequence number of the last record read, or
            nothing if there is none.
        ended: the shards that were read to their end, as long as they or their children are listed.
        inside: of which shards the last record read is done in part: shard id to the number of its changes that are.
    """

    stream: str
    read: Mapping[str, str]
    ended: frozenset[str]
    inside: Mapping[str, int] = field(default_factory=dict)

    def after(self, shard: str, sequence: str, changes: int = 0) -> "StreamCheckpoint":
        """The checkpoint after one more record of a shard, or after the first ``changes`` of several that it makes.

        A record without a sequence number cannot be named: the checkpoint stays before it.
        """
        if not sequence:
            return self
        inside = _without(shard, self.inside) | ({shard: changes} if changes else {})
        return StreamCheckpoint(self.stream, {**self.read, shard: sequence}, self.ended, inside)

    def at_end_of(self, shard: str) -> "StreamCheckpoint":
        """The checkpoint after the last record of a shard."""
        ended = self.ended | {shard}
        return StreamCheckpoint(self.stream, _without(shard, self.read), ended, _without(shard, self.inside))

    def done_of(self, shard: str, sequence: str) -> int:
        """How many changes of a record are done, if it is one that was left in part."""
        return self.inside.get(shard, 0) if sequence and self.read.get(shard) == sequence else 0

    def with_shards(self, parents: Parents) -> "StreamCheckpoint":
        """The checkpoint for the shards that the stream has now."""
        read = {parent: self.read.get(parent, "") for parent in parents if parent not in self.ended}
        listed: Iterable[str | None] = (*parents, *parents.values())
        # An ended shard is kept until its children are gone, too: a child of an unknown parent looks like lost records
        # (Rule 3).
        ended = self.ended.intersection(one for one in listed if one is not None)
        inside = {one: changes for one, changes in self.inside.items() if one in read}
        return StreamCheckpoint(self.stream, read, ended, inside)

    def lost(self, parents: Parents) -> str | None:
        """A shard that is gone and was not read to its end; None if the stream has all of them."""
        known = self.read.keys() | self.ended
        gone = [one for one in self.read if one not in parents]
        # A first reading has nothing to compare with: whatever is gone by then was never promised.
        if known:
            gone += [
                parent
                for one, parent in parents.items()
                if one not in known and parent is not None and parent not in parents.keys() | known
            ]
        return next(iter(gone), None)

    def readable(self, parents: Parents) -> list[str]:
        """The shards to read now: those that are not read to their end, and whose parents are or are gone."""
        return [one for one in self.read if parents.get(one) not in self.read]

    def text(self) -> str:
        """The checkpoint as JSON, in printable ASCII."""
        content: dict[str, object] = {
            "stream": self.stream,
            "read": dict(self.read),
            "ended": sorted(self.ended),
        }
        if self.inside:
            content["inside"] = dict(self.inside)
        return json.dumps(content, separators=(",", ":"))


def checkpoint_in(text: str) -> StreamCheckpoint:
    """The checkpoint in its text. Raises InvalidCursor for any other text."""
    try:
        content = json.loads(text)
        found = StreamCheckpoint(
            content["stream"], content["read"], frozenset(content["ended"]), content.get("inside", {})
        )
        texts = [found.stream, *found.read, *found.read.values(), *found.ended]
        # Of a text, ``frozenset`` would make a set of its characters.
        are_texts = all(isinstance(one, str) for one in texts) and isinstance(content["ended"], list)
        if are_texts and all(found.read[one] and _is_count(number) for one, number in found.inside.items()):
            return found
    # The text comes from outside: whatever is in it, the error is InvalidCursor.
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise InvalidCursor(
        problem="this is not the checkpoint of a stream",
        remedy="give the checkpoint of a change from follow(session, ...), or none to begin with the oldest record",
    )


def _without(shard: str, values: Mapping[str, V]) -> dict[str, V]:
    return {one: value for one, value in values.items() if one != shard}


def _is_count(number: object) -> bool:
    return type(number) is int and number > 0
