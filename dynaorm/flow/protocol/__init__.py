"""What every conversation with DynamoDB is made of: calls, replies, refusals, retries, pauses.

A conversation itself belongs in ``flow``.
"""
