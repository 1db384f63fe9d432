"""The header ``Idempotency-Key``: what a request is called, however often it is sent.

The header is that of draft-ietf-httpapi-idempotency-key-header: a text in quotes. Many clients send it without.
"""

import json
import re
from datetime import timedelta
from hashlib import sha256
from typing import Final

from dynaorm.record import record

_KEY: Final = re.compile(r'"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x7e]{1,255})')
# A token has up to 36 characters.
_DIGITS: Final = 32


@record
class IdempotencyKey:
    """The ``Idempotency-Key`` of a request: ``session.transaction(token=key.token, remember=key.remember)``.

    Attributes:
        token: follows from the method, the path, the caller and the key of the request.
        remember: for how long a repetition of the request is recognised.

    Examples:
        >>> IdempotencyKey(token="t", remember=timedelta(days=1)).token
        't'
    """

    token: str
    remember: timedelta

    def id_for(self, name: str) -> str:
        """An id for what the request creates: 32 digits, the same whenever the request is repeated.

        Ids for different names differ.

        Args:
            name: what it is for.

        Examples:
            >>> key = IdempotencyKey(token="t", remember=timedelta(days=1))
            >>> key.id_for("order") == key.id_for("order"), len(key.id_for("order"))
            (True, 32)
        """
        return digits_of("id", self.token, name)


def key_in(header: str) -> str | None:
    """The key in the value of the header; None if it is not valid."""
    found = _KEY.fullmatch(header)
    return None if found is None else found[1] or found[2]


def digits_of(*parts: str) -> str:
    """32 hexadecimal digits that follow from these texts, and differ for different ones."""
    # JSON keeps the parts apart: "a" and "bc" are not "ab" and "c".
    return sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]
