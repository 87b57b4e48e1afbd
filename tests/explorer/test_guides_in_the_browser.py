"""Guides in a browser: tabs, copying and navigation."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.queries.api.served_api import HERE

pytestmark = [
    pytest.mark.browser,
    pytest.mark.either_database,
    pytest.mark.urls(HERE),
    pytest.mark.django_db(transaction=True),
]


def test_the_chosen_language_is_kept_and_its_code_can_be_copied(
    page: Page, live_server: LiveServer
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{live_server}/docs/first-fact")
    page.locator("label", has_text="JavaScript").last.click()
    page.reload()
    panes = page.locator(".pane:visible")
    expect(panes.first).to_contain_text("first-fact.mjs")
    expect(panes.last).to_contain_text("read-fact.mjs")
    panes.first.get_by_role("button", name="Copy the JavaScript code").click()
    clipboard = page.evaluate("navigator.clipboard.readText()")
    assert clipboard == panes.first.locator("code").text_content()
    page.goto(f"{live_server}/docs/contracts")
    expect(page.locator(".pane:visible").first).to_contain_text("await fetch")
    page.goto(f"{live_server}/docs/api#post-estimate")
    expect(page).to_have_url(f"{live_server}/docs/api/batches#post-estimate")


def test_tabs_and_anchors_work_without_scripts(plain_page: Page, live_server: LiveServer) -> None:
    plain_page.goto(f"{live_server}/docs/first-fact")
    plain_page.locator("label", has_text="Python").first.click()
    expect(plain_page.locator(".pane:visible").first).to_contain_text("first_fact.py")
    plain_page.goto(f"{live_server}/docs/status#fee_too_low")
    expect(plain_page.locator("#fee_too_low")).to_be_in_viewport()
    plain_page.goto(f"{live_server}/docs/api#post-estimate")
    plain_page.locator("#post-estimate").click()
    expect(plain_page).to_have_url(f"{live_server}/docs/api/batches#post-estimate")
    expect(plain_page.locator("#post-estimate")).to_be_in_viewport()


def test_navigation_is_at_the_side_and_folded_on_a_phone(
    page: Page, live_server: LiveServer
) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{live_server}/docs/api")
    page.locator("#errors").scroll_into_view_if_needed()
    other = page.get_by_label("Documentation").get_by_role("link", name="Contracts")
    expect(other).to_be_in_viewport()
    page.set_viewport_size({"width": 360, "height": 900})
    expect(other).not_to_be_visible()
    disclosure = page.locator("summary", has_text="All guides")
    expect(disclosure).to_contain_text("API")
    box = disclosure.bounding_box()
    assert box is not None
    assert box["height"] < 2 * 16 * 1.55  # one line
    disclosure.click()
    other.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Contracts")


def test_the_keyboard_reaches_the_guides_or_skips_them(page: Page, live_server: LiveServer) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{live_server}/docs/contracts")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips to the content
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip the list of guides")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(page.locator(".guides")).to_be_focused()  # so that arrow keys scroll the list
    page.keyboard.press("Tab")
    expect(page.get_by_label("Words in the guides")).to_be_focused()
    for name in ("Your first fact", "Integrate", "Contracts", "Files"):
        page.keyboard.press("Tab")
        link = page.get_by_label("Documentation").get_by_role("link", name=name, exact=True)
        expect(link).to_be_focused()
        expect(link).to_have_css("outline-style", "solid")
    skip.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="IFactsRegistry.sol").first).to_be_focused()


# The words, and lines of code, that a reader cannot see whole.
DAMAGE = """() => {
  const rectangles = (node, start, end) => {
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, end);
    return [...range.getClientRects()].filter(({ width }) => width);
  };
  const texts = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) found.push(walker.currentNode);
    return found;
  };
  const damage = [];
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const node of [...document.querySelectorAll(".guide :is(td, th)")].flatMap(texts)) {
    for (const { 0: word, index } of node.textContent.matchAll(/[a-z]{2,28}/gi)) {
      if (rectangles(node, index, index + word.length).length > 1) damage.push(`broken: ${word}`);
    }
  }
  for (const box of document.querySelectorAll(".code-box:has(pre)")) {
    const button = box.querySelector(".copy").getBoundingClientRect();
    for (const node of texts(box.querySelector("code"))) {
      for (const { left, right, top, bottom } of rectangles(node, 0, node.length)) {
        const middle = (top + bottom) / 2, isBeside = right <= button.left || left >= button.right;
        if (!isBeside && middle > button.top && middle < button.bottom) {
          damage.push(`covered: ${node.textContent}`);
        }
      }
    }
    if (box.scrollWidth > box.clientWidth) damage.push(`cut off: ${box.textContent}`);
  }
  return damage;
}"""


@pytest.mark.parametrize("width", [1280, 768, 320])
def test_words_in_tables_stay_whole_and_no_button_covers_code(
    page: Page, live_server: LiveServer, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for name in ("contracts", "api", "api/batches", "status", "configuration"):
        page.goto(f"{live_server}/docs/{name}")
        assert page.evaluate(DAMAGE) == []
