"""Entity tags (RFC 9110, sections 8.8.3 and 13.1): the revision of an entity in HTTP headers."""

import re
from typing import Final
from urllib.parse import quote

from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.errors import UsageError
from dynaorm.failure import with_article
from dynaorm.record import record

# One element of a list, which may be empty, and what ends it. A tag may contain commas.
_ELEMENT: Final = re.compile(r'[ \t]*(?:(W/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|\Z)')


def etag(entity: object) -> str:
    """The revision of a loaded entity as a strong entity tag, in quotes: for the header ``ETag``.

    Every write of the entity gives it another one. Fields that you changed and have not saved make no difference.

    Args:
        entity: the loaded entity.

    Raises:
        UsageError: the entity is new, or its table keeps no revisions.

    Examples:
        >>> etag(session.get_one(User, user_id="1"))
        '"..."'
    """
    name, state = with_article(type(entity).__name__), state_of(entity)
    if state is None:
        raise UsageError(
            problem=f"{name} that was not loaded or saved by a session has no ETag",
            remedy="save or load it first",
        )
    revision = mapping_of(type(entity)).revision_of(state.item)
    if revision is None:
        raise UsageError(
            problem=f"{name} that is stored without a revision has no ETag",
            remedy="give its table a revision_attribute, and save it once",
        )
    # A revision that another program wrote may be any text.
    return f'"{quote(revision, safe="")}"'


@record
class EntityTags:
    """The entity tags of a header.

    Attributes:
        strong: the strong ones, in quotes.
        weak: the weak ones, in quotes, without ``W/``.
        is_any: whether the header is ``*``.
    """

    strong: frozenset[str]
    weak: frozenset[str] = frozenset()
    is_any: bool = False

    def match_strongly(self, tag: str) -> bool:
        """Whether the tag is one of these, and strong: the comparison of ``If-Match``."""
        return self.is_any or tag in self.strong

    def match_weakly(self, tag: str) -> bool:
        """Whether the tag is one of these, weak or not: the comparison of ``If-None-Match``."""
        return self.is_any or tag in self.strong or tag in self.weak


def entity_tags(header: str) -> EntityTags | None:
    """The tags in the value of ``If-Match`` or ``If-None-Match``; None if it is neither ``*`` nor a list of tags."""
    if header.strip(" \t") == "*":
        return EntityTags(frozenset(), is_any=True)
    found: dict[bool, set[str]] = {True: set(), False: set()}
    position = 0
    while position < len(header):
        element = _ELEMENT.match(header, position)
        if element is None:
            return None
        if element[2] is not None:
            found[element[1] is not None].add(f'"{element[2]}"')
        position = element.end()
    if not any(found.values()):
        return None
    return EntityTags(frozenset(found[False]), frozenset(found[True]))
