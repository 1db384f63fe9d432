"""The optional fast path of reads: pydantic-core validates entities directly from the JSON of a reply.

Nothing outside ``entity/reader.py`` imports it; a rule about stored values belongs in ``codec`` or ``mapping`` first.
"""
