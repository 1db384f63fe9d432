"""Codecs: Python values to DynamoDB attribute values and back. A type's codec is resolved once.

The text of a value in keys belongs in ``text``; whole items belong in ``mapping``.
"""
