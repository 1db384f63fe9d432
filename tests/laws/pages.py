"""Pages of a read, in both directions."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st


def check_pages(query: Any, numbers: Sequence[int], data: st.DataObject, *, is_scan: bool) -> None:
    """Read a query page by page, and back again from any of the pages."""
    sizes, pages = st.integers(1, 5), [query.page(3)]
    while pages[-1].cursor is not None:
        pages.append(query.page(data.draw(sizes), after=pages[-1].cursor))
        assert len(pages) < 60
    assert [entity.row for page in pages for entity in page] == numbers
    turned = data.draw(st.integers(0, len(pages) - 1), label="page")
    page, left = pages[turned], [entity.row for one in pages[:turned] for entity in one]
    while page.previous is not None:
        page = query.page(data.draw(sizes), before=page.previous)
        place = len(left)
        if page.cursor is not None and data.draw(st.booleans()):
            following = query.page(3, after=page.cursor)
            assert [entity.row for entity in following] == numbers[place : place + 3]
        left = left[: place - len(page)]
        assert [entity.row for entity in page] == numbers[len(left) : place]
    assert not left or is_scan
