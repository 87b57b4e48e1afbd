"""The requirements of OWASP's ASVS 4.0.3 at level 2, by their numbers.

As it was released. Its repository changed 2.4 afterwards under the same edition's name.
"""

import re
from collections.abc import Iterator

# By section, without those that were deleted and those of level 3.
_SECTIONS = """
1.1: 1-7     1.2: 1-4     1.4: 1 4 5   1.5: 1-4     1.6: 1-4     1.7: 1-2     1.8: 1-2
1.9: 1-2     1.10: 1      1.11: 1-2    1.12: 2      1.14: 1-6
2.1: 1-12    2.2: 1-3     2.3: 1-3     2.4: 1-5     2.5: 1-7     2.6: 1-3     2.7: 1-6
2.8: 1-7     2.9: 1-3     2.10: 1-4
3.1: 1       3.2: 1-4     3.3: 1-4     3.4: 1-5     3.5: 1-3     3.7: 1
4.1: 1-3 5   4.2: 1-2     4.3: 1-3
5.1: 1-5     5.2: 1-8     5.3: 1-10    5.4: 1-3     5.5: 1-4
6.1: 1-3     6.2: 1-6     6.3: 1-2     6.4: 1-2
7.1: 1-4     7.2: 1-2     7.3: 1 3 4   7.4: 1-3
8.1: 1-4     8.2: 1-3     8.3: 1-8
9.1: 1-3     9.2: 1-4
10.2: 1-2    10.3: 1-3
11.1: 1-8
12.1: 1-3    12.2: 1      12.3: 1-6    12.4: 1-2    12.5: 1-2    12.6: 1
13.1: 1 3-5  13.2: 1-3 5-6             13.3: 1-2    13.4: 1-2
14.1: 1-4    14.2: 1-6    14.3: 2-3    14.4: 1-7    14.5: 1-4
"""


def level_2() -> Iterator[str]:
    _, *parts = re.split(r"(\d+\.\d+):", _SECTIONS)
    for section, told in zip(parts[::2], parts[1::2], strict=True):
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", told):
            for number in range(int(first), int(last or first) + 1):
                yield f"{section}.{number}"


def named(numbers: str) -> Iterator[str]:
    """Each requirement or section that a row names."""
    for part in numbers.split(", "):
        first, _, last = part.partition(" to ")
        front, _, begin = first.rpartition(".")
        for number in range(int(begin), int(last.rpartition(".")[2] or begin) + 1):
            yield f"{front}.{number}"
