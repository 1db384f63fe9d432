"""What a query gives is a list that says what it cost."""

from dynaorm import Page, Results


def test_results_are_a_list() -> None:
    results = Results([1, 2], requests=3, read_units=1.5)
    assert results == [1, 2]
    assert (results.requests, results.read_units) == (3, 1.5)


def test_a_page_is_iterated_and_counted() -> None:
    page = Page([1, 2], "cursor", 1, 0.5)
    assert list(page) == [1, 2]
    assert len(page) == 2
