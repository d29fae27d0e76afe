"""The small network whose second dense layer is the embedding. Imports torch: import it late."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from unswayed._typing import FloatArray

_BATCH = 64
_RATE = 0.01
_MOMENTUM = 0.5
# Mean and standard deviation of MNIST's pixels, in units of full brightness.
_MEAN, _DEVIATION = 0.1307, 0.3081


class Digits(nn.Module):
    """A convolutional network for eight digits; its second dense layer is the embedding.

    Layers: conv 10 5x5, pool, conv 20 5x5, dropout, pool, dense 50, dropout, dense 50, dense 8.
    """

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 10, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(10, 20, 5),
            nn.Dropout2d(),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(320, 50),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(50, 50),
        )
        self.head = nn.Linear(50, 8)

    def forward(self, images: Any) -> Any:
        """Return the scores of the eight digits."""
        return self.head(self.body(images))


def _pixels(images: NDArray[np.uint8]) -> Any:
    scaled = torch.from_numpy(images.astype(np.float32))[:, None] / 255
    return (scaled - _MEAN) / _DEVIATION


def embed(network: Digits, images: NDArray[np.uint8]) -> FloatArray:
    """Return the output of the second dense layer."""
    network.eval()
    with torch.no_grad():
        return np.asarray(network.body(_pixels(images)).numpy(), dtype=np.float64)


@dataclass(frozen=True)
class Training:
    """How to train, and where an interrupted training is kept."""

    seed: int
    epochs: int
    checkpoint: Path
    report: Callable[[int], None]  # told after every epoch

    def run(self, images: NDArray[np.uint8], classes: NDArray[np.int64]) -> Digits:
        """Train a network, from the checkpoint on if there is one."""
        threads = torch.get_num_threads()
        # One thread sums in one order: the same seed gives the same network.
        torch.set_num_threads(1)
        try:
            with torch.random.fork_rng(devices=[]):
                return self._run(_pixels(images), torch.from_numpy(classes))
        finally:
            torch.set_num_threads(threads)

    def _run(self, pixels: Any, targets: Any) -> Digits:
        torch.manual_seed(self.seed)
        network = Digits()
        optimiser = torch.optim.SGD(network.parameters(), lr=_RATE, momentum=_MOMENTUM)
        order = torch.Generator().manual_seed(self.seed)
        for epoch in range(self._resume(network, optimiser, order), self.epochs):
            network.train()
            for batch in torch.randperm(len(pixels), generator=order).split(_BATCH):
                optimiser.zero_grad()
                nn.functional.cross_entropy(network(pixels[batch]), targets[batch]).backward()
                optimiser.step()
            self._keep(epoch + 1, network, optimiser, order)
            self.report(epoch + 1)
        return network

    def _resume(self, network: Digits, optimiser: Any, order: Any) -> int:
        if not self.checkpoint.exists():
            return 0
        state = torch.load(self.checkpoint, weights_only=True)
        network.load_state_dict(state["network"])
        optimiser.load_state_dict(state["optimiser"])
        order.set_state(state["order"])
        torch.set_rng_state(state["dropout"])
        return int(state["epochs"])

    def _keep(self, epochs: int, network: Digits, optimiser: Any, order: Any) -> None:
        state = {
            "epochs": epochs,
            "network": network.state_dict(),
            "optimiser": optimiser.state_dict(),
            "order": order.get_state(),
            "dropout": torch.get_rng_state(),
        }
        part = self.checkpoint.with_suffix(".part")
        torch.save(state, part)
        part.replace(self.checkpoint)
