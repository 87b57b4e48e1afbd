"""The chapters of the walk, in their order."""

from explorer.security import how_it_is_built, how_it_runs, what_is_sent, who_asks
from explorer.security.rows import Chapter

CHAPTERS: tuple[Chapter, ...] = (
    how_it_is_built.DESIGN,
    who_asks.SIGN_IN,
    who_asks.SESSIONS,
    who_asks.ACCESS,
    what_is_sent.INPUT,
    what_is_sent.CRYPTOGRAPHY,
    what_is_sent.LOGS,
    what_is_sent.DATA,
    how_it_runs.CODE,
    how_it_runs.LOGIC,
    how_it_runs.FILES,
    how_it_runs.API,
    how_it_runs.CONFIGURATION,
)
