"""The parts of every flow: calls, replies, refusals, retries, pauses.

Flows themselves belong in ``flow``.
"""
