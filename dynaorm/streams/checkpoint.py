"""How far the shards of a stream have been read, also as a text that a caller can keep.

Rule 1. A shard is read to its end before its children are begun, so that the writes of one item stay in order.
Rule 2. A shard that was known and not read to its end must still be there, and so must the parent of a new shard.
        Otherwise records may be gone that were never read.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dynaorm.errors import InvalidCursor
from dynaorm.record import record

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
    """

    stream: str
    read: Mapping[str, str]
    ended: frozenset[str]

    def after(self, shard: str, sequence: str) -> "StreamCheckpoint":
        """The checkpoint after one more record of a shard."""
        return StreamCheckpoint(self.stream, {**self.read, shard: sequence}, self.ended)

    def at_end_of(self, shard: str) -> "StreamCheckpoint":
        """The checkpoint after the last record of a shard."""
        read = {one: sequence for one, sequence in self.read.items() if one != shard}
        return StreamCheckpoint(self.stream, read, self.ended | {shard})

    def with_shards(self, parents: Parents) -> "StreamCheckpoint":
        """The checkpoint for the shards that the stream has now."""
        read = {one: self.read.get(one, "") for one in parents if one not in self.ended}
        listed: Iterable[str | None] = (*parents, *parents.values())
        return StreamCheckpoint(
            self.stream, read, self.ended.intersection(one for one in listed if one is not None)
        )

    def lost(self, parents: Parents) -> str | None:
        """A shard that is gone and was not read to its end; None if the stream has all of them."""
        known = self.read.keys() | self.ended
        gone = [one for one in self.read if one not in parents]
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
        content = {"stream": self.stream, "read": dict(self.read), "ended": sorted(self.ended)}
        return json.dumps(content, separators=(",", ":"))


def checkpoint_in(text: str) -> StreamCheckpoint:
    """The checkpoint in its text. Raises InvalidCursor for any other text."""
    try:
        content = json.loads(text)
        found = StreamCheckpoint(content["stream"], content["read"], frozenset(content["ended"]))
        texts = [found.stream, *found.read, *found.read.values(), *found.ended]
        if all(isinstance(one, str) for one in texts) and isinstance(content["ended"], list):
            return found
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise InvalidCursor(
        problem="this is not the checkpoint of a stream",
        remedy="give the checkpoint of a change from session.follow, or none to begin with the oldest record",
    )
