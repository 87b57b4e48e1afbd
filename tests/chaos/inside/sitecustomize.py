"""What is different inside of the service's programs. Python imports this before all else, because
the folder of this file is on PYTHONPATH.
"""

import os

from tests.chaos.inside.refused_writes import FOLDER, count_refusals
from tests.chaos.inside.shifted_clock import shift

if ahead := float(os.environ.get("CLOCK_AHEAD", "0")):
    shift(ahead)
if FOLDER in os.environ:
    count_refusals()
