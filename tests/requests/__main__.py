"""``python -m tests.requests [NAME...]`` writes what the golden files record; read it as a difference."""

import sys
import traceback

from tests.requests.golden import File, files, names_of, recorded


def written(file: File) -> str:
    """The text of a file as it comes out now. A case that cannot be run stays as it is."""
    names, cases = names_of(file), []
    for case in file.cases:
        try:
            cases.append(recorded(case, names))
        except Exception:  # noqa: BLE001 - a mistake in one case is told, and the others are written
            traceback.print_exc(limit=-2)
            sys.stderr.write(f"^ {file.path.name}: {case.claim}\n\n")
            cases.append(case.text)
    return file.head.rstrip() + "\n\n" + "\n".join(cases)


def main(names: list[str]) -> None:
    for file in files():
        if not names or file.path.stem in names:
            file.path.write_text(written(file))


if __name__ == "__main__":
    main(sys.argv[1:])
