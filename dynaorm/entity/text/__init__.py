"""Text that represents a single value, in keys, unique values and plain strings; KSUIDs.

Text made of several values does not belong here, but in ``template``; attribute values belong in ``codec``.
"""
