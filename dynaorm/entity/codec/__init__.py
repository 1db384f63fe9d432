"""Codecs: Python values to DynamoDB attribute values and back, resolved once per annotation.

Text inside keys belongs in ``text``; whole items belong in ``mapping``.
"""
