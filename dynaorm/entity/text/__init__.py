"""Text that stands for one value: in keys, unique values, plain strings and KSUIDs.

Text made of several values belongs in ``template``; values of items belong in ``codec``.
"""
