"""Text that is safe to print: stored values may hold control characters, and terminals obey those."""


def printable(text: str) -> str:
    r"""The text with every control, format and separator character escaped, as ``\n``, ``\x1b`` or ``\u202e``."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
