"""Codecs: Python values to attribute values and back, chosen once per annotation.

Text inside keys does not belong here, but in ``text``; whole items belong in ``mapping``.
"""
