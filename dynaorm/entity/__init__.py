"""What the user declared, compiled once per class: markers, codecs, templates, tables and mappings.

Nothing here does I/O, and nothing here knows what a save will send.
"""
