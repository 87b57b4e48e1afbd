"""A program that prints how much memory it takes to refuse the most expensive file."""

import resource
import sys
from hashlib import sha256
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))

from queries.proving.bundle_checks import VALUES_PER_MIB, check_bundle
from queries.proving.bundles import FORMAT, VERSION
from queries.proving.errors import BundleRefusedError

MIB = 16


def largest_bundle() -> bytes:
    """A file with the maximum size and number of values, and a correct digest."""
    objects = MIB * VALUES_PER_MIB // 2 - 20
    text = "b" * (MIB * 2**20 // objects - 12)
    batch = ",".join([f'{{"a":"{text}"}}'] * objects)
    end = f'"format":"{FORMAT}","version":{VERSION}}}'
    begin = f'{{"batch":[{batch}],"blocks":[],"destinationChainId":"1",'
    digest = sha256((begin + end).encode()).hexdigest()
    return f'{begin}"digest":"0x{digest}",{end}'.encode()


if __name__ == "__main__":
    content = largest_bundle()
    try:
        check_bundle(content, MIB)
    except BundleRefusedError as error:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        sys.stdout.write(f"{peak * 1024} {error}\n")
