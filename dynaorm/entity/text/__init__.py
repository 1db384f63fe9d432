"""The text of one value, as it stands in keys and unique values, and KSUIDs.

Keys made of several values belong in ``template``; attribute values belong in ``codec``.
"""
