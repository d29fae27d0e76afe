"""`python -m unswayed.experiments`: reproduce the paper."""

import argparse
import sys

from unswayed.experiments.catalogue import EXPERIMENTS
from unswayed.experiments.markdown import verdict
from unswayed.experiments.reproduce import reproduce


def main(arguments: list[str] | None = None) -> int:
    """Run the experiments that are named and print what they found, a line each."""
    parser = argparse.ArgumentParser(prog="python -m unswayed.experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(EXPERIMENTS)}")
    parser.add_argument("--data", metavar="DIR", help="folder with the data sets")
    parser.add_argument("--out", metavar="DIR", default="reproduction", help="where results go")
    parser.add_argument("--page", metavar="FILE", help="write the whole page here as well")
    options = parser.parse_args(arguments)
    found = reproduce(options.names or None, options.data, options.out, page=options.page)
    for record in found.records:
        held = sum(claim.holds for claim in record.claims)
        print(f"{record.title}: {held} of {len(record.claims)} claims hold")
        for item in record.comparisons:
            largest = f"{item.largest:.{item.decimals}f}"
            print(f"  {item.title}: largest difference {largest}: {verdict(item)}")
    for name, reason in found.failures.items():
        print(f"{name} could not run: {reason}", file=sys.stderr)
    return 1 if found.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
