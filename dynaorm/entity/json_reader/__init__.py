"""A fast way to read: from the bytes of a reply to validated entities, inside pydantic-core.

It is optional. Whatever it cannot read, the codecs read with the same result.
"""
