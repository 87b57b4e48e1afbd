"""What the browser's tests promise: they fail where a page complains, and skip only if they may."""

import pytest

from tests.commands import RunTests

pytestmark = pytest.mark.no_database

SOURCE = """
import pytest

@pytest.mark.no_database
def test_it(page):
    page.set_content({content!r})
"""


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "1 skipped"),
        ({"REQUIRE_BROWSER": "0"}, "1 skipped"),
        ({"REQUIRE_BROWSER": "1"}, "1 error"),
        ({"REQUIRE_BROWSER": "true"}, "1 error"),
    ],
)
def test_without_a_browser(run_tests: RunTests, variables: dict[str, str], said: str) -> None:
    ended = run_tests(SOURCE.format(content=""), PATH="/nowhere", **variables)
    assert said in ended.stdout
    assert "no Chromium on this machine: apt-get install chromium" in ended.stdout


POLICY = """<meta http-equiv="Content-Security-Policy" content="script-src 'none'">"""


@pytest.mark.browser
@pytest.mark.usefixtures("browser")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<p>calm</p>", "1 passed"),
        ("<script>console.error('broken')</script>", "1 passed, 1 error"),
        ("<script>console.warn('odd')</script>", "1 passed, 1 error"),
        ("<script>throw new Error('broken')</script>", "1 passed, 1 error"),
        (f"{POLICY}<script>1</script>", "1 passed, 1 error"),
    ],
)
def test_a_page_that_complains_fails_its_test(run_tests: RunTests, content: str, said: str) -> None:
    assert f"= {said} in " in run_tests(SOURCE.format(content=content)).stdout
