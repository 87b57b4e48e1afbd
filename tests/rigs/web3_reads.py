"""Read a contract by web3.py 8, which follows ERC-3668; argv: node, address, ABI file, and reads in
JSON, each a function's name and arguments. Prints their values in JSON, or the errors' names.
"""

import json
import sys
from pathlib import Path

from web3 import HTTPProvider, Web3, __version__

node, address, abi, reads = sys.argv[1:]
client = Web3(HTTPProvider(node))
contract = client.eth.contract(
    Web3.to_checksum_address(address), abi=json.loads(Path(abi).read_text())["abi"]
)
results = []
for name, arguments in json.loads(reads):
    try:
        results.append(Web3.to_json(contract.functions[name](*arguments).call()))
    except Exception as error:  # noqa: BLE001 - whatever the library raises
        results.append(type(error).__name__)
sys.stdout.write(json.dumps([__version__, *results]))
