"""What dynaorm tells the log named ``dynaorm``, for which logging is loaded when there is something to tell."""


def warn(message: str, *values: object) -> None:
    """Tell of something that an operator should look into."""
    # Imported here because it takes as long as ten modules of dynaorm, and few processes have anything to tell.
    from logging import getLogger  # noqa: PLC0415

    getLogger("dynaorm").warning(message, *values, stacklevel=2)


def inform(message: str) -> None:
    """Tell of something that turned out well."""
    from logging import getLogger  # noqa: PLC0415 - see above

    getLogger("dynaorm").info(message, stacklevel=2)
