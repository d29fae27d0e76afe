"""Run every benchmark, print each figure beside its bar, fail if one is missed."""

import sys

from benchmarks import approximation, checker, cli, exact, rigour
from unswayed._core.kernels import kernel_name


def main() -> int:
    print(f"kernel: {kernel_name()}")
    missed = 0
    for module in (exact, rigour, approximation, cli, checker):
        for line in module.lines():
            print(line, flush=True)
            missed += not line.ok
    print(f"{missed} bars missed" if missed else "every bar is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
