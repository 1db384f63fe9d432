"""A search index that is kept from the stream of a table: every word of a song leads to its key.

Run: python examples/search_index.py

In AWS, ``on`` is the handler of a Lambda function, and ``Search`` stands for a search service.
"""

from collections import defaultdict

import boto3
from raw import console, show, step, strict_moto

from dynaorm import Entity, Key, Session, Table, tools
from dynaorm.streams import Changed, Deleted, Inserted, handler

library = Table("MusicLibrary", stream="NEW_AND_OLD_IMAGES")


class Song(Entity, table=library, pk="SONG#{song_id}", sk="DETAILS", versioned=True):
    song_id: str
    title: str
    artist: str


class Search:
    """Stands for a search service: words to the keys of songs."""

    def __init__(self) -> None:
        self.keys: dict[str, set[Key[Song]]] = defaultdict(set)

    def put(self, key: Key[Song], song: Song) -> None:
        self.drop(key)
        for word in f"{song.title} {song.artist}".casefold().split():
            self.keys[word].add(key)

    def drop(self, key: Key[Song]) -> None:
        for found in self.keys.values():
            found.discard(key)

    def find(self, word: str) -> list[str]:
        return sorted(str(key.fields["song_id"]) for key in self.keys[word.casefold()])


search = Search()
on = handler(library)


# A change can come twice, so each function puts the index into the state that the change says.
@on.inserted(Song)
def add(change: Inserted[Song]) -> None:
    search.put(change.key, change.new)


@on.changed(Song)
def replace(change: Changed[Song]) -> None:
    if change.fields & {"title", "artist"}:
        search.put(change.key, change.new)


@on.deleted(Song)
def remove(change: Deleted[Song]) -> None:
    search.drop(change.key)


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        session.create_table(library)
        session.save(Song(song_id="1", title="Wild Love", artist="Argyboots"))
        other = session.save(Song(song_id="2", title="Example Song", artist="Jane Doe"))
        session.update(other, {"title": "Wild Song"})
        third = session.save(Song(song_id="3", title="Wild", artist="Jane Doe"))
        session.delete(third)
        show(boto3.client("dynamodb", region_name="eu-west-1"), library)

        step("The changes of the stream, without the records of version items")
        console.print(
            len(list(tools.follow(session, library, idle=0, internal=True))), "records, and these changes:"
        )
        for change in tools.follow(session, library, idle=0):
            console.print(f"  {type(change).__name__} {change.key}", markup=False)
            on.dispatch(change)
        console.print("wild:", search.find("wild"))
        console.print("example:", search.find("example"))
        console.print("jane:", search.find("Jane"))

        step("The same changes again make no difference")
        for change in tools.follow(session, library, idle=0):
            on.dispatch(change)
        console.print("wild:", search.find("wild"))


if __name__ == "__main__":
    main()
