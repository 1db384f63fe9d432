"""Makes the long description of the package from README.md, when the package is built.

A package page has no files beside it, so relative links would be dead. If ``[tool.dynaorm] repository`` is set in
pyproject.toml, they lead there; until it is, they are plain text, and pictures are left out.
The addresses of the package and its maintainers come from the same settings.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"!\[[^\]]*\]\((?![a-z]+:|#)([^)\s]+)\)\n*")
_RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:|#)([^)\s]+)\)")


def settings(root: Path) -> dict[str, Any]:
    """``[tool.dynaorm]``: the project's home; what is not known is empty."""
    return dict(tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["dynaorm"])


def description(readme: str, repository: str | None) -> str:
    """The text of the readme, with relative links made absolute, or plain text without a repository."""
    if repository is None:
        return _RELATIVE_LINK.sub(r"\1", _PICTURE.sub("", readme))
    # A page of the repository about a picture is none.
    readme = _PICTURE.sub(
        lambda found: found[0].replace(found[1], f"{repository.rstrip('/')}/raw/main/{found[1]}"), readme
    )
    return _RELATIVE_LINK.sub(rf"[\1]({repository.rstrip('/')}/blob/main/\2)", readme)


class PackagePage(MetadataHookInterface):
    """Hatchling's hook: adds the readme to the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        given = settings(Path(self.root))
        text = description(readme, given["repository"] or None)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        addresses = {"Repository": given["repository"], "Documentation": given["documentation"]}
        metadata["urls"] = {name: address for name, address in addresses.items() if address}
        metadata["maintainers"] = [{"name": name} for name in given["maintainers"]]
