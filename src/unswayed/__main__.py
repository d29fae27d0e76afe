"""``python -m unswayed``: the same program as the `unswayed` script."""

from unswayed.cli import program

if __name__ == "__main__":
    program()
