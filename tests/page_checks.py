"""What each page promises besides its content: zoom, keyboard, print, no motion and no scripts."""

from collections.abc import Iterator

from playwright.sync_api import Page

from tests.accessibility import serious_problems

PAPER = 718  # pixels of CSS: A4 between margins of 1 cm
WIDTHS = (1920, 1200, 640, 320)  # 640: a window of 1280 pixels at 200 %
# The controls that Tab leaves out, or whose focus cannot be seen. Controls that are styled alike
# are checked once.
UNSEEN_CONTROLS = """() => {
  const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary";
  const style = (control) => {
    const { outlineStyle, outlineWidth, outlineColor, boxShadow } = getComputedStyle(control);
    return outlineStyle === "none" ? boxShadow : [outlineStyle, outlineWidth, outlineColor].join();
  };
  const checked = new Set(), faults = [];
  for (const control of document.querySelectorAll(controls)) {
    const nodes = [control, control.parentElement];
    const kind = nodes.map((node) => node.tagName + node.className).join();
    if (checked.has(kind) || control.matches("[disabled], [aria-hidden]")) continue;
    if (!control.checkVisibility()) continue;
    checked.add(kind);
    const start = control.outerHTML.slice(0, 120);
    if (control.tabIndex !== 0) faults.push(`no tab stop: ${start}`);
    document.activeElement.blur();
    const [label] = control.labels ?? []; // tabs are labels of radio buttons that cannot be seen
    const before = [style(control), label && style(label)].join();
    control.focus();
    if (!control.matches(":focus-visible")) faults.push(`no focus: ${start}`);
    else if ([style(control), label && style(label)].join() === before) {
      faults.push(`focus not seen: ${start}`);
    }
  }
  document.activeElement.blur();
  return faults;
}"""
MOTION = """() => [
  ...document.getAnimations().filter(({ playState }) => playState === "running")
    .map(({ effect }) => effect.target.outerHTML.slice(0, 120)),
  ...(getComputedStyle(document.documentElement).scrollBehavior === "auto" ? [] : ["scrolling"]),
]"""
# The words that the page has with scripts alone: buttons and times may differ.
ONLY_WITH_SCRIPTS = """(html) => {
  const plain = new DOMParser().parseFromString(html, "text/html");
  const words = (root) => {
    const main = root.querySelector("main").cloneNode(true);
    const others = main.querySelectorAll("time, button, noscript, [role=status]");
    for (const node of others) node.remove();
    return main.textContent.split(/\\s+/).filter(Boolean);
  };
  const known = new Set(words(plain));
  const scriptless = plain.querySelector("main noscript"); // says what needs scripts
  const hidden = scriptless ? [] : [...plain.querySelectorAll("main [hidden]:not(button, #live)")];
  return [
    ...words(document).filter((word) => !known.has(word)),
    ...hidden.map((node) => node.outerHTML.slice(0, 120)),
  ];
}"""
# A word wider than the window would be cut off.
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"


def page_faults(page: Page, html: str) -> Iterator[str]:
    """What is wrong with the open page, of which the server sent this; all in one visit."""
    for words in page.evaluate(ONLY_WITH_SCRIPTS, html):
        yield f"not without scripts: {words}"
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if (excess := page.evaluate(OVERFLOW)) > 0:
            yield f"{excess} pixels too wide at {width}"
    page.keyboard.press("Tab")  # from here on, focus is that of a keyboard
    yield from page.evaluate(UNSEEN_CONTROLS)
    page.emulate_media(reduced_motion="reduce")
    for element in page.evaluate(MOTION):
        yield f"moves: {element}"
    page.emulate_media(media="print", reduced_motion="no-preference")
    page.set_viewport_size({"width": PAPER, "height": 1_000})
    if (excess := page.evaluate(OVERFLOW)) > 0:
        yield f"{excess} pixels too wide on paper"
    if not page.get_by_role("heading", level=1).is_visible():
        yield "no heading on paper"
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 320, "height": 900})
    yield from serious_problems(page)
