"""A computed field as users write it, for ``user_code``. mypy does not allow the decorator, and pyright does.

So the comment is needed by one checker alone, and pyright would report it in ``user_code``.
"""

from datetime import datetime
from typing import Annotated

from pydantic import computed_field

from dynaorm import Attribute, Entity, Unique, codecs


class Dated(Entity):
    at: Annotated[datetime, Attribute(codec=codecs.EPOCH_SECONDS)]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def month(self) -> Annotated[str, Unique("month")]:
        return f"{self.at:%Y-%m}"
