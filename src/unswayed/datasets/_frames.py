"""pandas, imported where a loader makes a frame."""

from typing import Any


def pandas() -> Any:
    """Return the pandas module, or say which extra brings it."""
    try:
        import pandas  # noqa: PLC0415
    except ImportError:
        raise ImportError(
            "data sets come as pandas frames: pip install 'unswayed[datasets]'"
        ) from None
    return pandas
