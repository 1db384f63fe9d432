"""The page of a table in a real browser: what a click and a key do, and whom it leaves out."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import SIZES, Pages, skip_unless_wanted

skip_unless_wanted()

Html = Callable[[str], str]

STATES = {
    "desk": ["", "#item=2&write=1", "#item=13", "#index=GSI1&item=6&ask=q9.0", "#index=GSI2", "#all=1", "#q=nothing",
             "#view=keys", "#view=questions", "#hide=User,guard"],
    "vault": ["#item=0", "#view=keys", "#view=questions"],
    "town": ["#item=0", "#view=keys", "#view=questions"],
    "evil": ["", "#item=0", "#item=2", "#view=keys", "#view=questions", "#index=toString"],
    "empty": ["", "#view=keys", "#view=questions"],
}  # fmt: skip
EVERY_STATE = [(name, state) for name, states in STATES.items() for state in states]


def rows(tab: Any) -> Any:
    return tab.locator("tr.row")


def names(tab: Any, selector: str = "tr.row") -> list[str]:
    """The class and sort key of rows."""
    return [text.replace("\n", " ") for text in tab.locator(f"{selector} td.sk > button").all_inner_texts()]


def focused(tab: Any) -> Any:
    return tab.evaluate("document.activeElement.dataset.row ?? document.activeElement.id")


# -- looking at items --------------------------------------------------------------------------------------------------


def test_every_item_is_a_row_under_its_partition(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    assert rows(tab).count() == 23
    assert tab.locator("tbody.part").first.locator("th").inner_text().split() == ["ORG#acme", "7", "items"]
    assert tab.locator("tbody.heading").inner_text().startswith("Guard items")
    assert tab.get_by_text("reserves email for").count() == 4


def test_a_class_is_hidden_and_shown_by_its_chip(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    chip = tab.locator("[data-chip=Ticket]")
    chip.click()
    assert rows(tab).count() == 19
    assert chip.get_attribute("aria-pressed") == "false"
    assert "hide=Ticket" in tab.url
    chip.click()
    assert rows(tab).count() == 23
    chip.click(modifiers=["Shift"])
    assert rows(tab).count() == 4
    chip.click(modifiers=["Shift"])
    assert rows(tab).count() == 23


def test_every_attribute_includes_keys_type_and_revision(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    first = rows(tab).first
    assert "_type" not in first.inner_text()
    tab.get_by_role("button", name="every attribute").click()
    assert {"_type", "_rev", "org"} <= set(first.inner_text().split())


def test_the_filter_searches_every_word_in_every_attribute(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    tab.keyboard.press("/")
    tab.keyboard.type("LIZ example")
    assert rows(tab).count() == 2
    assert "q=LIZ" in tab.url
    tab.keyboard.press("Escape")
    assert rows(tab).count() == 23
    tab.locator("#filter").fill("no such thing")
    assert tab.get_by_text("No item matches").is_visible()
    tab.get_by_role("button", name="Clear the filter").click()
    assert rows(tab).count() == 23


def test_an_index_shows_what_is_in_it_and_why_the_rest_is_not(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    tab.locator(".pivot button", has_text="GSI1").click()
    assert rows(tab).count() == 7
    hint = tab.locator(".hint").inner_text()
    assert "7 of 14 entities are not in GSI1" in hint
    assert "1 User: by_name has it only when active == True" in hint
    assert tab.locator("thead th").first.inner_text() == "GSI1PK partition key"


def test_an_index_shows_only_what_it_projects(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"), "#index=GSI2")
    assert rows(tab).count() == 3
    assert "keys only" in tab.locator("thead").inner_text()
    assert "Install fails" not in tab.locator("table.items").inner_text()


def test_a_chip_of_a_row_leads_to_its_place_in_the_index(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    rows(tab).filter(has_text="TICKET#000004").get_by_role("button", name="in GSI1").click()
    assert "index=GSI1" in tab.url
    chosen = tab.locator("tr.row[aria-selected=true]")
    assert "slow" in chosen.inner_text()
    assert focused(tab) == chosen.get_attribute("data-id")


# -- an item -----------------------------------------------------------------------------------------------------------


def test_enter_in_the_filter_leads_to_the_first_item_that_is_found(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    tab.locator("#filter").fill("slow")
    tab.keyboard.press("Enter")
    assert names(tab, "tr.row:focus-within") == names(tab)[:1]
    tab.keyboard.press("Enter")
    assert "item=" in tab.url


def test_the_keyboard_alone_opens_an_item_and_closes_it(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    tab.locator("#filter").press("ArrowDown")
    assert names(tab, "tr.row:focus-within") == ["Org ORG"]
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    panel = tab.locator("aside")
    assert panel.locator("h2").inner_text() == "Ticket(org='acme', number=1)"
    assert "item=" in tab.url
    row = focused(tab)
    assert row is not None
    tab.keyboard.press("ArrowDown")
    assert panel.locator("h2").inner_text() == "Ticket(org='acme', number=2)"
    tab.keyboard.press("End")
    assert names(tab, "tr.row:focus-within") == names(tab)[-1:]
    tab.keyboard.press("Home")
    assert panel.locator("h2").inner_text() == "Org(org='acme')"
    tab.keyboard.press("Escape")
    assert not panel.is_visible()
    assert names(tab, "tr.row:focus-within") == ["Org ORG"]


def test_tab_leads_from_a_row_to_its_panel(pages: Pages, html: Html) -> None:
    """One row can be reached by Tab: otherwise the panel would come after every button of every row."""
    tab = pages.open(html("desk"), "#item=2")
    tab.locator("tr.row[aria-selected=true] [data-row]").focus()
    for _ in range(4):
        tab.keyboard.press("Tab")
        if tab.evaluate("!!document.activeElement.closest('aside')"):
            return
    pytest.fail("the panel was not reached")


def test_a_click_beside_the_key_chooses_the_row_too(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    tab.get_by_text("Liz Lemon").first.click()
    assert tab.locator("aside h2").inner_text() == "User(org='acme', user_id='u1')"


def test_a_write_shows_its_price_its_actions_and_the_rows_that_it_touches(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    tab.get_by_text("Install fails").first.click()
    panel = tab.locator("aside")
    titles = panel.locator(".choices button").all_inner_texts()
    assert titles == ["insert", "change slug", "change title", "change status", "change assignee", "delete"]
    assert "TransactWriteItems" in panel.locator(".price").inner_text()
    assert panel.locator("ol.acts li").count() == 3
    assert "claim slug = ('acme', 'install')" in panel.locator("ol.acts").inner_text()
    marked = {row.get_attribute("data-id"): row.locator(".badge").inner_text() for row in rows(tab).all()
              if row.locator(".badge").count()}  # fmt: skip
    assert sorted(text.split()[-1] for text in marked.values()) == ["1", "2", "3"]
    panel.get_by_role("button", name="change title").click()
    assert "UpdateItem" in panel.locator(".price").inner_text()
    assert tab.locator(".badge").count() == 1
    assert "write=2" in tab.url
    assert tab.evaluate("document.activeElement.textContent") == "change title"


def test_the_touched_item_is_one_click_away(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"), "#item=2")
    guard = tab.locator("tr.side", has=tab.locator(".badge"))
    before = guard.bounding_box()["y"]
    tab.locator("ol.acts .go").first.click()
    assert 0 < guard.bounding_box()["y"] < SIZES[1280] < before


def test_a_question_is_answered_among_the_items(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    tab.get_by_text("Install fails").first.click()
    tab.locator(".ask", has_text="Ticket.by_status").click()
    assert "index=GSI1" in tab.url
    assert "ask=" in tab.url
    assert tab.locator("tr.hit").count() == 3
    assert tab.locator("tr.dim").count() == 4
    note = tab.locator(".note").inner_text()
    assert "session.query(Ticket.by_status, status='open')" in note
    assert "3 items in 4 requests, one for each shard, merged" in note
    assert tab.locator("#live").inner_text() == "3 items in 4 requests, one for each shard, merged"
    tab.keyboard.press("Escape")
    assert tab.locator("tr.hit").count() == 0
    assert tab.locator("aside").is_visible()


def test_the_panel_says_why_an_item_is_not_in_an_index(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    tab.get_by_text("Slow query").first.click()
    assert "Not in GSI2: assigned needs assignee." in tab.locator("aside").inner_text()


def test_the_panel_has_the_stored_item_as_dynamodb_json(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"), "#item=0")
    tab.get_by_text("DynamoDB JSON").click()
    assert '"PK": {\n    "S": "ORG#acme"\n  }' in tab.locator("aside pre").inner_text()


def test_a_guard_leads_to_its_owner(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"), "#hide=User")
    tab.locator("tr.side .jump", has_text="u1").click()
    assert tab.locator("aside h2").inner_text() == "User(org='acme', user_id='u1')"
    assert "USER#u1" in names(tab, "tr.row:focus-within")[0]


# -- the other views ---------------------------------------------------------------------------------------------------


def test_tabs_are_walked_with_the_arrows(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    tab.locator("#tab-items").focus()
    tab.keyboard.press("ArrowRight")
    assert focused(tab) == "tab-keys"
    assert "view=keys" in tab.url
    assert tab.locator(".sheet tbody tr").count() == 6
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#tab-questions").get_attribute("aria-selected") == "true"
    tab.keyboard.press("ArrowRight")
    assert focused(tab) == "tab-items"


def test_keys_show_what_each_class_declares(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"), "#view=keys")
    ticket = tab.locator(".sheet tbody tr").nth(2).inner_text()
    for text in ("TICKET#number:06d", "by_status", "if assignee is set", "org + slug", "counted in Org"):
        assert text in ticket
    assert tab.locator(".together dt").count() == 2


def test_a_question_in_the_list_leads_to_its_answer(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"), "#view=questions")
    assert tab.locator(".asks li").count() == 18
    tab.locator(".asks button", has_text="Ticket.by_status").click()
    assert tab.locator("tr.hit").count() == 3
    tab.go_back()
    assert tab.locator(".asks li").count() == 18


def test_the_questions_are_filtered(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"), "#view=questions&q=GSI2")
    assert tab.locator(".asks li").count() == 3


def test_a_question_without_an_answer_is_no_button(pages: Pages, html: Html) -> None:
    tab = pages.open(html("empty"), "#view=questions")
    assert tab.locator(".asks li").count() == 18
    assert tab.locator(".asks button").count() == 0


def test_the_address_restores_every_state(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"))
    tab.get_by_text("Install fails").first.click()
    tab.locator(".ask", has_text="Ticket.by_status").click()
    again = pages.open(html("desk"), "#" + tab.url.partition("#")[2])
    assert names(again, "tr.hit") == names(tab, "tr.hit")
    assert again.locator("aside").inner_text() == tab.locator("aside").inner_text()


def test_an_address_of_another_page_shows_the_items(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"), "#view=x&index=GSI9&item=999&ask=q99.7&write=44&hide=,,")
    assert rows(tab).count() == 23
    assert not tab.locator("aside").is_visible()


def test_real_items_are_announced_at_the_top(pages: Pages, html: Html) -> None:
    tab = pages.open(html("town"))
    said = tab.locator("main > .source")
    assert said.is_visible()
    assert "town-prod (account 123456789012, Region eu-west-1)" in said.inner_text()
    assert not pages.open(html("desk")).locator("main > .source").is_visible()


# -- everybody, everywhere ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("name", "state"), EVERY_STATE, ids=lambda one: one or "start")
def test_axe_finds_nothing(pages: Pages, html: Html, name: str, state: str, scheme: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason='pip install "dynaorm[browser]"'
    )
    for width in (390, 1280):
        tab = pages.open(html(name), state, scheme=scheme, width=width)
        found = axe.Axe().run(tab).response["violations"]
        assert [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found] == []


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize(("name", "state"), EVERY_STATE, ids=lambda one: one or "start")
def test_nothing_scrolls_sideways(pages: Pages, html: Html, name: str, state: str, width: int) -> None:
    tab = pages.open(html(name), state, width=width)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_no_text_of_the_data_becomes_more_than_text(pages: Pages, html: Html) -> None:
    """Whatever ran, failed or was requested fails the test when the pages are closed."""
    for at in range(4):
        tab = pages.open(html("evil"), f"#item={at}")
        assert rows(tab).count() == 4
        for write in tab.locator("aside .choices button").all():
            write.click()
        for question in tab.locator("aside .ask").all():
            question.click()
    for view in ("keys", "questions", "items"):
        tab.locator(f"#tab-{view}").click()
        assert tab.locator("img, main script, main [onmouseover], a[href]").count() == 0
    tab.locator(".pivot button", has_text="toString").click()
    assert rows(tab).count() == 2
    assert tab.title().startswith("</script><img src=x onerror=alert(1)>")


def test_a_phone_has_cards_and_the_item_from_below(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"), "#item=2", width=390)
    box = tab.locator("aside").bounding_box()
    assert box["x"] == 0
    assert box["y"] + box["height"] == SIZES[390]
    row = tab.locator("tr.row[aria-selected=true]").bounding_box()
    assert 0 <= row["y"] < box["y"], "the chosen row is above the panel"


def test_the_theme_can_be_changed(pages: Pages, html: Html) -> None:
    tab = pages.open(html("desk"), scheme="dark")
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.get_by_role("button", name="Light or dark").click()
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_print_has_whole_values_and_no_controls(pages: Pages, html: Html) -> None:
    tab = pages.open(html("town"), "#item=0")
    tab.emulate_media(media="print")
    assert not tab.locator("aside").is_visible()
    assert not tab.locator("#filter").is_visible()
    value = tab.locator(".pair .value").first
    assert value.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_a_browser_without_scripts_is_told_what_to_do(browser: Any, html: Html, pages: Pages) -> None:
    tab = browser.new_context(java_script_enabled=False).new_page()
    tab.set_content(html("desk"))
    assert "--format md" in tab.locator("noscript").inner_text()


# -- a thousand items --------------------------------------------------------------------------------------------------

ROWS_AT_ONCE = 150
NODES_PER_ROW = 60


def test_a_thousand_items_are_drawn_in_slices(pages: Pages, html: Html) -> None:
    """What has to be bounded is how much is made before the page can answer again, not a time."""
    tab = pages.open(html("many"))
    most = tab.evaluate(
        """() => {
             const count = () => document.querySelectorAll("tr.row").length, slices = [];
             S.all = true;
             draw();
             for (let before = 0; ; before = count(), pending()) {
               slices.push(count() - before);
               if (!pending) break;
             }
             return [Math.max(...slices), count(), document.querySelectorAll("#view *").length];
           }"""
    )
    largest, count, nodes = most
    assert largest == ROWS_AT_ONCE
    assert count == 1023
    assert nodes <= count * NODES_PER_ROW


def test_a_choice_makes_no_row_anew(pages: Pages, html: Html) -> None:
    tab = pages.open(html("many"))
    tab.locator("[data-row]").first.press("End")
    assert rows(tab).count() == 1023
    tab.evaluate("for (const row of document.querySelectorAll('tr.row')) row.isOld = true")
    tab.locator("[data-row]").nth(5).click()
    tab.locator("aside .ask").first.click()
    assert tab.evaluate("[...document.querySelectorAll('tr.row')].every(row => row.isOld)")


def test_the_last_of_a_thousand_items_can_be_reached_at_once(pages: Pages, html: Html) -> None:
    tab = pages.open(html("many"), "#item=700")
    assert tab.locator("tr.row[aria-selected=true]").count() == 1
    tab.locator("[data-row]").first.press("End")
    assert names(tab, "tr.row:focus-within") == names(tab)[-1:]


def test_items_beyond_the_first_hundred_show_the_writes_of_their_class(pages: Pages, html: Html) -> None:
    tab = pages.open(html("many"))
    tab.locator("#filter").fill("No. 499")
    rows(tab).first.locator("[data-row]").click()
    assert "As for Comment(" in tab.locator("aside").inner_text()
    assert tab.locator(".badge").count() == 0
