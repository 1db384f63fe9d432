"""Conversations with DynamoDB, as generators.

A flow yields a ``Call`` or a ``Pause`` and is sent the reply; a refusal or a missing answer is thrown into it.
Nothing here opens a connection, waits, reads a clock or draws a random number.
"""
