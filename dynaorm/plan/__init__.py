"""What a save means: intents become a plan, and a refused plan becomes the error that names its cause.

Everything here is pure. A plan is a value: it can be looked at, explained and compared without any request being made.
"""
