"""One attempt at a time over somebody's library or connections of our own, and the real clock.

A transport carries a ``Call`` to DynamoDB and brings back the reply, a ``Refusal`` or ``NoAnswer``.
Nothing here repeats, waits, or knows what an entity is.
"""
