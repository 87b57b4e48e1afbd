import sys

from queries.client.python.command import main

if __name__ == "__main__":
    sys.exit(main())
