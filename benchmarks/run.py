"""Run every benchmark, print each figure beside its bar, keep them, fail if a bar is missed."""

import sys

from benchmarks import approximation, checker, cli, exact, history, neighbours, noise, rigour
from benchmarks.timing import Line


def main() -> int:
    print(f"{history.processor()}, kernel: {history.kernel_name()}")
    found: list[Line] = []
    for module in (exact, rigour, approximation, neighbours, noise, cli, checker):
        for line in module.lines():
            print(line, flush=True)
            found.append(line)
    print(f"kept in {history.keep(found)}")
    missed = sum(not line.ok for line in found)
    print(f"{missed} bars missed" if missed else "every bar is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
