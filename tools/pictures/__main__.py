"""``python -m tools.pictures``: write ``docs/pictures``."""

from pathlib import Path
from typing import Final

from tools.pictures.queries import how_a_query_travels
from tools.pictures.saves import how_a_save_travels, how_a_save_works

FOLDER: Final = Path(__file__).parents[2] / "docs" / "pictures"


def pictures() -> dict[str, str]:
    """The pictures, by the names of their files."""
    return {
        "how-a-save-works.svg": how_a_save_works(),
        "how-a-save-travels.svg": how_a_save_travels(),
        "how-a-query-travels.svg": how_a_query_travels(),
    }


if __name__ == "__main__":
    for name, picture in pictures().items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
