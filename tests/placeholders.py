"""Whether a field's example can be read whole."""

from playwright.sync_api import Page

_WIDTHS = """selector => {
  const box = document.querySelector(selector), style = getComputedStyle(box)
  const words = document.createElement('span')
  words.textContent = box.placeholder
  words.style.cssText = `position: absolute; white-space: nowrap; font-size: ${style.fontSize};
    font-family: ${style.fontFamily}`
  document.body.append(words)
  const needed = words.getBoundingClientRect().width
  words.remove()
  return [needed, box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)]
}"""


def fits(page: Page, selector: str) -> bool:
    """The words of the field's placeholder, in the room that there is for them."""
    needed, room = page.evaluate(_WIDTHS, selector)
    return bool(0 < needed <= room)
