"""Downloads of songs per month, added up from the stream of the table, and the top songs of a month.

Run: python examples/downloads_per_month.py

In AWS, ``on`` is the handler of a Lambda function.
"""

from datetime import UTC, datetime, timedelta

import boto3
from raw import console, show, step, strict_moto

from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table, tools
from dynaorm.streams import Inserted, StreamHandler, handler

library = Table("MusicLibrary", indexes=[GlobalIndex("GSI1")], stream="NEW_AND_OLD_IMAGES")


class Song(Entity, table=library, pk="SONG#{song_id}", sk="DETAILS"):
    song_id: str
    title: str
    artist: str


class Download(Entity, table=library, pk="SONG#{song_id}", sk="DOWNLOAD#{download_id}"):
    song_id: str
    download_id: str
    at: datetime


# Only these items are in the index, with the most downloaded song of a month last.
class MonthlyDownloads(Entity, table=library, pk="SONG#{song_id}", sk="MONTH#{month}"):
    song_id: str
    month: str
    downloads: int = 0
    by_month = Index("GSI1", pk="MONTH#{month}", sk="{downloads:08d}")


def handler_of(session: Session) -> StreamHandler:
    on = handler(library)

    @on.inserted(Download)
    def count(change: Inserted[Download]) -> None:
        """Add one. A record can be delivered twice, so the block remembers which download it has counted."""
        download = change.new
        month = Key(MonthlyDownloads, song_id=download.song_id, month=f"{download.at:%Y-%m}")
        with session.transaction(token=download.download_id, remember=timedelta(days=2)) as tx:
            tx.upsert(month, F.downloads.add(1))

    return on


DOWNLOADS = {
    "d1": ("129", "2018-01-05"),
    "d2": ("129", "2018-01-19"),
    "d3": ("130", "2018-01-20"),
    "d4": ("129", "2018-02-02"),
    "d5": ("130", "2018-02-03"),
    "d6": ("130", "2018-02-14"),
}


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        session.create_table(library)
        session.save(Song(song_id="129", title="Wild Love", artist="Argyboots"))
        session.save(Song(song_id="130", title="Example Song", artist="Jane Doe"))
        for download_id, (song_id, day) in DOWNLOADS.items():
            at = datetime.fromisoformat(day).replace(tzinfo=UTC)
            session.save(Download(song_id=song_id, download_id=download_id, at=at))

        on = handler_of(session)
        for _ in range(2):
            # The second time, every change comes again, and nothing is counted twice.
            for change in tools.follow(session, library, idle=0):
                on.dispatch(change)
        show(boto3.client("dynamodb", region_name="eu-west-1"), library)

        for month in ("2018-01", "2018-02"):
            step(f"The top songs of {month}")
            top = session.query(MonthlyDownloads.by_month, month=month).descending()
            console.print([(entry.song_id, entry.downloads) for entry in top])


if __name__ == "__main__":
    main()
