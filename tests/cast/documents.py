"""Documents with versions, and what was renamed since it was stored."""

from datetime import datetime
from typing import Annotated

from pydantic import SecretStr

from dynaorm import Attribute, CreatedAt, Entity, Unique, UpdatedAt, Versioned
from tests.cast.tables import app


class Page(Entity, table=app, pk="TEXT#{name}", sk="TEXT", versioned=True):
    """A version of every change, a unique value, and times that the session keeps."""

    name: str
    text: str = ""
    slug: Annotated[str | None, Unique("page_slug")] = None
    created: Annotated[datetime | None, CreatedAt()] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None


class Letter(Entity, table=app, pk="LETTER#{name}", sk="L", versioned="r_{version}_{sk}", version_padding=3):
    """A version of changes of its text alone, which had another name; the sort keys of versions have one of its own."""

    name: str
    text: Annotated[str, Attribute("text", formerly=("Text",)), Versioned()]
    note: str = ""


class Safe(Entity, table=app, pk="SAFE#{number}", sk="S", name="safe"):
    """Keeps a secret."""

    number: int
    code: Annotated[SecretStr, Attribute("Code")]
