"""Check that public functions say what goes in and what comes out, as numpydoc has it.

Public is what no part of its dotted name starts with an underscore. A method that overrides a
documented one may be shorter: its base class has said it all. Run by `make lint`; with names of
modules or packages as arguments it checks only those.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import unswayed

# numpydoc's: parameters missing, unknown or in another order; no Returns, no Yields.
RULES = ("PR01", "PR02", "PR03", "RT01", "YD01")


def modules(wanted: list[str]) -> Iterator[ModuleType]:
    """Yield the public modules of the package, all or those below the names in `wanted`."""
    for found in pkgutil.walk_packages(unswayed.__path__, "unswayed."):
        private = any(part.startswith("_") for part in found.name.split("."))
        inside = not wanted or any(f"{found.name}.".startswith(f"{name}.") for name in wanted)
        if not private and inside:
            yield importlib.import_module(found.name)


def functions(owner: Any, module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield public functions of a module or class, and those of its public classes."""
    for name, value in vars(owner).items():
        found = inspect.unwrap(getattr(value, "__func__", value)) if callable(value) else value
        found = getattr(found, "__func__", found)
        if name.startswith("_") or getattr(found, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(found) and found.__qualname__.split(".")[-1] == name:
            yield from functions(found, module)
        elif _is_written(found) and not overrides(owner, name):
            yield f"{module.__name__}.{found.__qualname__}", found


def _is_written(value: Any) -> bool:
    return isinstance(value, FunctionType) and value.__name__ != "<lambda>"


def overrides(owner: Any, name: str) -> bool:
    """Return whether a base class of the package declares the method too."""
    bases = owner.__mro__[1:] if inspect.isclass(owner) else ()
    return any(name in vars(base) and "unswayed" in base.__module__ for base in bases)


def complaints(function: Any) -> list[str]:
    """Return what numpydoc misses in a function's docstring."""
    if not function.__doc__:
        return ["no docstring"]
    found = validate(get_doc_object(function))
    return [f"{code} {text}" for code, text in found["errors"] if code in RULES]


def main(wanted: list[str]) -> int:
    """Print every complaint; return 1 if there are any."""
    count = 0
    for module in modules(wanted):
        for name, function in functions(module, module):
            for each in complaints(function):
                count += 1
                print(f"{name}: {each}")
    print(f"docstrings: {count} complaints" if count else "docstrings: every public function")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
