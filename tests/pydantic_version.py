"""What only a newer pydantic than the lowest one can do, for tests of that."""

from typing import Final

import pydantic
import pytest

_VERSION: Final = tuple(int(part) for part in pydantic.VERSION.split(".")[:2])

needs_pydantic_2_13: Final = pytest.mark.skipif(
    _VERSION < (2, 13),
    reason="pydantic-core can neither read items nor validate nested instances again before 2.13",
)
