"""Results that can be written to a certificate file."""

from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from unswayed.exceptions import InputError


class Saved:
    """What can be written to a certificate file by the model that made it.

    That model (`source`) is kept as long as the certificate is. It is not pickled.
    """

    source: Any
    _WITHOUT_MODEL: ClassVar[str] = (
        "this certificate carries no model to write a file about: save what certify_"
        "together() or certify_metric() returned, before it was pickled, and not its "
        "by_group (of one group, ask about the rows of that group)"
    )

    def save(self, path: str | PathLike[str], *, data: str | PathLike[str] | None = None) -> None:
        """Write a certificate file, which `unswayed verify` checks without trusting the engine.

        It holds the question, hashes of the data and the claims, with the labels that prove what
        can be reached, but not the data: a checker needs these too. A second file, named
        ``.proof.npz`` instead of ``.json``, holds what proves the claims. The checker reads it from
        beside the first.

        Parameters
        ----------
        path : path
            The file, usually named ``.json``.
        data : path, optional
            Another file, named ``.npz``, for the training and test rows as the final estimator
            sees them: behind a pipeline or a kernel, nobody could compute them again.
        """
        beside = Path(path).with_name(f"{Path(path).stem}.proof.npz")
        if data is not None and Path(data).resolve() in (Path(path).resolve(), beside.resolve()):
            raise InputError(f"{data} cannot hold both; name another file for the data, a .npz")
        self._write(Path(path), None if data is None else Path(data))

    def _write(self, path: Path, data: Path | None) -> None:
        self._model().save(path, data)

    def _model(self) -> Any:
        if self.source is None:
            raise InputError(self._WITHOUT_MODEL)
        return self.source

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"source": None}
