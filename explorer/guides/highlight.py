"""Syntax highlighting: strings, comments and keywords, as CSS classes."""

import re
from html import escape

from django.utils.safestring import SafeString, mark_safe

_STRING = r"'''.*?'''|\"\"\".*?\"\"\"|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
_HASH, _SLASHES = r"(?<!\S)#[^\n]*", r"//[^\n]*|/\*.*?\*/"
_NUMBER = r"(?<![\w./:-])(?:0x[0-9a-fA-F]+|\d[\d_.]*)\b"


def _tokens(comment: str, keywords: str = "", name: str = "") -> re.Pattern[str]:
    groups = {"comment": comment, "name": name, "string": _STRING, "number": _NUMBER}
    if keywords:
        groups["keyword"] = rf"(?<![\w./-])(?:{keywords})(?![\w./-])"
    parts = (f"(?P<{group}>{pattern})" for group, pattern in groups.items() if pattern)
    return re.compile("|".join(parts), re.DOTALL | re.MULTILINE)


LANGUAGES = {
    "sh": _tokens(_HASH, "cd|do|done|else|export|fi|for|if|in|then|while", r"\$\{?\w+\}?"),
    "js": _tokens(
        _SLASHES,
        "async|await|break|const|else|export|for|from|function|if|import|let|new|of|return|throw|"
        "true|false|null|while",
    ),
    "python": _tokens(
        _HASH,
        "and|as|assert|break|class|def|elif|else|except|False|for|from|if|import|in|is|None|not|or|"
        "raise|return|True|try|while|with",
    ),
    "solidity": _tokens(
        _SLASHES,
        "address|bool|bytes|bytes32|constructor|contract|else|emit|error|event|external|for|"
        "function|if|immutable|import|is|mapping|memory|new|pragma|private|public|require|return|"
        "returns|revert|string|struct|true|false|uint256|using|view",
    ),
    "json": _tokens("", "true|false|null", r'"[^"\n]*"(?=\s*:)'),
    "toml": _tokens(_HASH, "true|false", r"^\[.*?\]|^[\w.]+(?=\s*=)"),
    "ini": _tokens(_HASH, "", r"^\[.*?\]|^\w+(?==)"),
    "yaml": _tokens(_HASH, "true|false|null", r"^[ -]*[\w-]+(?=:)"),
}
LANGUAGES["tsx"] = LANGUAGES["js"]


def highlight(code: str, language: str) -> SafeString:
    """Return the code as HTML; an unknown language is only escaped."""
    end, parts = 0, list[str]()
    for match in LANGUAGES[language].finditer(code) if language in LANGUAGES else ():
        parts += _escape(code[end : match.start()]), _span(match)
        end = match.end()
    html = "".join((*parts, _escape(code[end:])))
    return mark_safe(html)  # noqa: S308  (each part is escaped)


def _span(token: re.Match[str]) -> str:
    if token.lastgroup in {"name", "number"}:  # without a colour
        return _escape(token[0])
    return f'<span class="{token.lastgroup}">{_escape(token[0])}</span>'


def _escape(text: str) -> str:
    """Escape an element's content. Quotes may stand there, and JSON has many."""
    return escape(text, quote=False)
