"""The page of a table as a file: closed, without secrets, the same every time."""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.description.access_patterns import describe
from dynaorm.description.answer import answer_of, call_of
from dynaorm.description.description import TableDescription
from dynaorm.description.entry import Entry
from dynaorm.layout import ItemSource, render_html
from dynaorm.layout.html_page import PLANNED
from dynaorm.record import replace
from tests.layout import page_tables as tables

ISLAND = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
DESK = describe(tables.desk)
NIGHT = datetime(2026, 11, 23, 18, tzinfo=UTC)


def data_of(text: str) -> dict[str, Any]:
    """What the script of the page will read."""
    (island,) = ISLAND.findall(text)
    found: dict[str, Any] = json.loads(island)
    return found


class Parsed(HTMLParser):
    """The tags of a page, the attributes that they have, and the texts of its title and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.tags[-1][0] if self.tags else "", []).append(data)


# -- a closed file -----------------------------------------------------------------------------------------------------


def test_the_policy_allows_the_own_script_and_style_and_nothing_else() -> None:
    text = render_html(DESK, tables.desk_entries())
    policy = next(one["content"] for tag, one in Parsed(text).tags if one.get("http-equiv"))
    assert policy is not None
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    hashes = [f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in (*styles, *scripts)]
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src {hashes[0]}",
        f"script-src {hashes[1]}",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_the_page_names_nothing_that_a_browser_would_fetch() -> None:
    for tag, attributes in Parsed(render_html(DESK, tables.desk_entries())).tags:
        assert tag not in {"link", "img", "iframe", "object", "base", "form"}
        assert not attributes.keys() & {"src", "href", "srcset", "action"}
        assert not any(name.startswith("on") or name == "style" for name in attributes)


@given(st.text(st.characters(codec=None)))
def test_any_text_stays_text(text: str) -> None:
    made = render_html(replace(DESK, name=text), [])
    made.encode("utf-8")
    assert data_of(made)["table"]["name"] == text
    assert [tag for tag, _ in Parsed(made).tags] == [tag for tag, _ in Parsed(render_html(DESK, [])).tags]


def test_an_attack_in_every_text_changes_no_tag() -> None:
    made = render_html(tables.evil_description(), tables.evil_entries())
    assert [tag for tag, _ in Parsed(made).tags] == [tag for tag, _ in Parsed(render_html(DESK, [])).tags]
    assert not set("\u2028\u2029") & set(ISLAND.findall(made)[0])
    assert data_of(made)["table"]["name"] == tables.evil_description().name
    assert "".join(Parsed(made).texts["title"]).startswith("</script><img src=x")


def test_the_same_declarations_give_the_same_bytes() -> None:
    assert render_html(tables.desk, tables.desk_entries()) == render_html(tables.desk, tables.desk_entries())


def test_the_page_of_a_table_is_that_of_its_description() -> None:
    entries = tables.desk_entries()
    assert render_html(tables.desk, entries) == render_html(DESK, entries)


def test_the_example_of_the_documentation_writes_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = (Path(__file__).parents[2] / "docs" / "see-your-table.md").read_text(encoding="utf-8")
    example, *_ = re.findall(r"^```python\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(example, {"__name__": "docs.see_your_table"})
    assert len(data_of((tmp_path / "app.html").read_text(encoding="utf-8"))["items"]) == 2


# -- secrets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", tables.SECRETS)
def test_no_secret_is_in_the_page(secret: str) -> None:
    entries = tables.vault_entries()
    assert secret in repr([dict(one.item) for one in entries])
    assert secret not in render_html(tables.vault, entries)


def test_secrets_are_masked_where_they_would_be() -> None:
    (login,) = [
        one
        for one in items(tables.vault_entries(), describe(tables.vault))
        if one["cls"] == "Login" and one["kind"] == "entity"
    ]
    assert login["name"] == "Login(door=**********)"
    assert login["item"]["PK"] == {"S": "**********"}
    assert login["says"]["door"] == "**********"
    assert "release password = " in str(login["writes"])


# -- what it says ------------------------------------------------------------------------------------------------------


def items(entries: Sequence[Entry], description: TableDescription = DESK) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = data_of(render_html(description, entries))["items"]
    return found


def test_every_question_has_the_answers_and_calls_of_the_description() -> None:
    entries = tables.desk_entries()
    data = data_of(render_html(DESK, entries))
    asked = 0
    for question in DESK.questions:
        for at, entry in enumerate(entries):
            found = answer_of(question, entry, entries)
            told = data["items"][at].get("asks", {}).get(question.id)
            assert (told is not None) is (call_of(question, entry) is not None)
            if told is not None:
                asked += 1
                answer, call = told
                assert data["answers"][question.id][answer] == [entries.index(one) for one in found]
                parts = data["calls"][question.id][call]
                says = data["items"][at]["says"]
                text = "".join(says[part] if n % 2 else part for n, part in enumerate(parts))
                assert text == str(call_of(question, entry)).replace("datetime.timezone.utc", "UTC").replace(
                    "datetime.datetime", "datetime"
                )
    assert asked > len(DESK.questions)


def test_changes_with_the_same_consequences_are_one_write() -> None:
    guide = next(
        one for one in items(tables.desk_entries()) if one["cls"] == "Guide" and one["kind"] == "entity"
    )
    assert [(one["title"], one["also"]) for one in guide["writes"]] == [
        ("insert", []),
        ("change title", ["body"]),
        ("delete", []),
    ]


def test_the_actions_of_a_write_name_the_rows_that_they_touch() -> None:
    found = items(tables.desk_entries())
    user = next(one for one in found if one["cls"] == "User" and one["kind"] == "entity")
    change = next(one for one in user["writes"] if one["title"] == "change email")
    assert change["operation"] == "TransactWriteItems"
    assert [(one["verb"], one["key"]) for one in change["actions"]] == [
        ("Update", "ORG#acme · USER#u1"),
        ("Delete", "email#liz@example.com"),
        ("Put", "email#new.liz@example.com"),
    ]
    own, guard, new = (one["item"] for one in change["actions"])
    assert found[own] is user
    assert found[guard]["kind"] == "guard"
    assert new is None


def test_the_first_hundred_entities_and_one_of_each_class_have_plans() -> None:
    data = data_of(render_html(DESK, tables.many_desk_entries()))
    planned = [at for at, one in enumerate(data["items"]) if "writes" in one]
    assert PLANNED <= len(planned) <= PLANNED + len(DESK.classes)
    assert (
        {data["items"][at]["cls"] for at in planned}
        == {one.name for one in DESK.classes}
        == set(data["like"])
    )
    assert all(data["items"][at]["cls"] == cls for cls, at in data["like"].items())


def test_an_item_that_cannot_be_read_says_why_and_has_no_plan() -> None:
    (spoiled,) = [one for one in items(tables.evil_entries(), tables.evil_description()) if "problem" in one]
    assert "writes" not in spoiled


def test_items_without_values_ask_nothing_and_show_the_writes_of_a_sample() -> None:
    source = ItemSource("desk-prod", None, None, tables.NOW)
    data = data_of(render_html(DESK, tables.desk_entries(), source))
    assert not any({"asks", "writes", "problem", "absent"} & one.keys() for one in data["items"])
    assert not any(data["answers"].values())
    assert data["like"].keys() == {one.name for one in DESK.classes}
    assert data["like"]["Org"]["name"] == "Org(org='org-1')"
    assert [one["title"] for one in data["like"]["Org"]["writes"]] == ["insert", "change name", "delete"]
    whole = data_of(render_html(DESK, tables.desk_entries(), replace(source, with_values=True)))
    assert sum("asks" in one for one in whole["items"]) == len(tables.DESK)


def test_what_has_no_key_of_the_table_is_not_in_the_page() -> None:
    strange = Entry({"name": {"S": "no key"}}, "unknown")
    entries = tables.desk_entries()
    assert render_html(DESK, [strange, *entries]) == render_html(DESK, entries)


def test_an_entity_says_why_it_is_not_in_an_index() -> None:
    found = items(tables.desk_entries())
    absent = {one["name"]: one["absent"] for one in found if one.get("absent")}
    assert absent["User(org='acme', user_id='u3')"] == {"GSI1": "by_name has it only when F.active == True"}
    assert absent["Ticket(org='acme', number=4)"] == {"GSI2": "assigned needs assignee"}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param(None, "Sample items, made from the declarations.", id="samples"),
        pytest.param(
            ItemSource("app-prod", "123456789012", "eu-west-1", NIGHT),
            "Items of the table app-prod (account 123456789012, Region eu-west-1), read at 2026-11-23 18:00:00 UTC. "
            "Their values are replaced by their types.",
            id="types",
        ),
        pytest.param(
            ItemSource("app", None, None, NIGHT, with_values=True),
            "Items of the table app (account unknown, Region unknown), read at 2026-11-23 18:00:00 UTC. "
            "Their values are shown: pass this on with care.",
            id="values",
        ),
        pytest.param(
            ItemSource("app", None, None, NIGHT, read=3, is_all=True, items=9),
            "Items of the table app (account unknown, Region unknown), read at 2026-11-23 18:00:00 UTC. "
            "The table has 3 items, and all are read. Their values are replaced by their types.",
            id="all",
        ),
        pytest.param(
            ItemSource("app", None, None, NIGHT, read=3, items=9),
            "Items of the table app (account unknown, Region unknown), read at 2026-11-23 18:00:00 UTC. "
            "3 of about 9 items are read. Their values are replaced by their types.",
            id="some",
        ),
        pytest.param(
            ItemSource("app", None, None, NIGHT, read=1, items=0),
            "Items of the table app (account unknown, Region unknown), read at 2026-11-23 18:00:00 UTC. "
            "It has more items than the 1 item that is read. Their values are replaced by their types.",
            id="more",
        ),
    ],
)
def test_the_page_says_where_its_items_are_from(source: ItemSource | None, text: str) -> None:
    data = data_of(render_html(DESK, [], source))
    assert data["source"] == {"real": source is not None, "text": text}
