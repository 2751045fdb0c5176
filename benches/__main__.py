"""Runs benches and writes BENCHMARKS.md.

python -m benches [NAME ..]     those benches, or all
python -m benches --document    BENCHMARKS.md again from the results there are
"""

from __future__ import annotations

import argparse
import importlib

from benches import document

BENCHES = (
    "start_up",
    "whole_commands",
    "reading",
    "two_million_nodes",
    "report",
    "many_ranks",
    "floor",
    "profile",
    "tensor_pairs",
    "matching",
    "browser",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHES], metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--document", action="store_true")
    given = parser.parse_args()
    for name in () if given.document else given.names or BENCHES:
        print(f"== {name}", flush=True)
        result = importlib.import_module(f"benches.{name}").run()
        if result is not None:
            result.save()
        document.write()
    document.write()


if __name__ == "__main__":
    main()
