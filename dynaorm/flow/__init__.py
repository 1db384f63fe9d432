"""Conversations with DynamoDB, as generators.

A flow yields a ``Call``, a ``Pause`` or a ``Parallel`` and is sent the reply; what went wrong is thrown into it.
Nothing here opens a connection, waits, reads a clock or draws a random number.
"""
