"""The tables of the cast: one that most classes share, and some that differ from it in one thing each."""

from typing import Final

from dynaorm import BinaryKey, GlobalIndex, LocalIndex, NumberKey, NumberRevision, Table

app: Final = Table(
    "app",
    indexes=[
        GlobalIndex("GSI1"),
        GlobalIndex("GSI2", projection="KEYS_ONLY"),
        GlobalIndex("Some", projection=["kind"]),
        LocalIndex("LSI1", projection="KEYS_ONLY"),
    ],
)

locks: Final = Table("locks", pk="lock", sk=None)
away: Final = Table("away", guard_table=locks)
"""Its guards live elsewhere."""

fleeting: Final = Table("fleeting")
"""A place for what expires, so that only there TTL is on."""

leases: Final = Table("leases")
"""A place for what expires by milliseconds, which no TTL can read."""

log: Final = Table(
    "log", pk="source", sk=NumberKey("at"), indexes=[GlobalIndex("ByTime", pk="kind", sk="at_text")]
)
blobs: Final = Table(
    "blobs", pk="owner", sk=BinaryKey("digest"), indexes=[LocalIndex("BySize", sk=NumberKey("size"))]
)

bare: Final = Table("bare", revision_attribute=None)
untyped: Final = Table("untyped", type_attribute=None, revision_attribute=None, key_fields="in_key")
counted: Final = Table(
    "counted", type_attribute="kind", revision_attribute=NumberRevision("version", start=0), escape=False
)
"""As other libraries keep them: a revision that counts, keys without escapes, a type attribute of another name."""

native: Final = Table(
    "native",
    indexes=[GlobalIndex("Regions", pk=("tenant", "region"), sk=("city", NumberKey("number")))],
    stream="NEW_AND_OLD_IMAGES",
)
