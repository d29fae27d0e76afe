"""Check that docstrings say what goes in and what comes out, as numpydoc has it.

All of numpydoc's rules hold for what users import (`unswayed.__all__`) and its public
methods and properties, but those that ask for more text where there may be nothing to say: a
longer summary, and a "See Also". A method needs an example that runs, its own or in that of a class
that has it; a property is shown by its class. Fields of results, which nobody makes by hand, are
listed as attributes.

Every other public function needs one plain sentence, and more only where there is something to say:
sections such as "Parameters" are for what users import. Commands are the exception, because their
help is made of their docstrings.
Public is what no part of its dotted name starts with an underscore. Run by `make lint`; with names
of modules or packages as arguments it checks only those.
"""

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import unswayed

WRITTEN = (FunctionType, classmethod, staticmethod, property, cached_property)
# What users import need not have: an extended summary, a section "See Also".
OPTIONAL = ("ES01", "SA01")
# Sections that only users need, and where they make the help of a command.
SECTION = re.compile(r"^ *(Parameters|Attributes|Returns|Yields|Raises)\n *-{3,}$", re.MULTILINE)
HELP = "unswayed.cli.commands."


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


def imported_names() -> Iterator[tuple[str, Any]]:
    """Yield what users import: dotted names and objects."""
    for name in unswayed.__all__:
        if not name.startswith("_"):
            yield f"unswayed.{name}", getattr(unswayed, name)


def members(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield public methods and properties of a class that this package wrote."""
    for base in owner.__mro__:
        if base.__module__.startswith("unswayed"):
            for name, value in vars(base).items():
                if not name.startswith("_") and isinstance(value, WRITTEN):
                    yield name, value


def examples_of(documented: Any) -> str:
    """Return the examples in a docstring."""
    doc = get_doc_object(documented)
    return "\n".join(line for line in doc["Examples"] if line.startswith((">>>", "...")))


def undocumented_fields(owner: type) -> list[str]:
    """Return fields of a dataclass that no class of its family lists as attributes."""
    listed = {
        name.strip()
        for base in owner.__mro__
        if base.__doc__ and base.__module__.startswith("unswayed")
        for section in ("Attributes", "Parameters")
        for entry in get_doc_object(base)[section]
        for name in entry.name.split(",")
    }
    return [field.name for field in fields(owner) if field.name not in listed]


def imported_complaints() -> Iterator[str]:
    """Yield what is missing in docstrings of what users import."""
    names = dict(imported_names())
    shown = "\n".join(examples_of(value) for value in names.values())
    for name, value in names.items():
        own = [text for text in validate(name)["errors"] if text[0] not in OPTIONAL]
        made = inspect.isclass(value) and (is_dataclass(value) or issubclass(value, Enum))
        yield from (f"{name}: {code} {text}" for code, text in own if code != "PR01" or not made)
        if is_dataclass(value):
            yield from (f"{name}: no attribute {field}" for field in undocumented_fields(value))
        if inspect.isclass(value):
            for member, _ in members(value):
                path = f"{name}.{member}"
                for code, text in validate(path)["errors"]:
                    by_class = f".{member}(" in shown or not callable(getattr(value, member))
                    if code not in OPTIONAL and not (code == "EX01" and by_class):
                        yield f"{path}: {code} {text}"


def inside_complaints(module: ModuleType, imported: set[Any]) -> Iterator[str]:
    """Yield functions of a module without a docstring, and those with sections for users."""
    for name, function in functions(module, module):
        if not function.__doc__:
            yield f"{name}: no docstring"
        elif function in imported or name.startswith(HELP):
            continue
        elif SECTION.search(function.__doc__):
            yield f"{name}: sections are for what users import; one sentence is enough here"


def documented_for_users() -> set[Any]:
    """Return every function and method that users call, those of `unswayed.datasets` included."""
    data_sets = importlib.import_module("unswayed.datasets")
    values = [value for _, value in imported_names()]
    values += [getattr(data_sets, name) for name in data_sets.__all__]
    methods = (value for owner in values if inspect.isclass(owner) for _, value in members(owner))
    return {inspect.unwrap(getattr(value, "__func__", value)) for value in (*values, *methods)}


def main(wanted: list[str]) -> int:
    """Print every complaint; return 1 if there are any."""
    count = 0
    for each in sorted(set(imported_complaints())) if not wanted else ():
        count += 1
        print(each)
    imported = documented_for_users()
    for module in modules(wanted):
        for each in inside_complaints(module, imported):
            count += 1
            print(each)
    print(f"docstrings: {count} complaints" if count else "docstrings: all public names")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
