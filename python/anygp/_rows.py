"""Arrays as the library reads them: doubles, row by row; and the columns of a fit side by side."""
from __future__ import annotations

import ctypes
from typing import NamedTuple, Optional

import numpy as np

from ._library import call


def readable(X: np.ndarray) -> np.ndarray:
    """The same array if the library can read it in place, otherwise a copy: doubles, row by row, any stride."""
    d = X.shape[1]
    inside = X.strides[1] == 8 or d <= 1
    between = X.strides[0] % 8 == 0 and X.strides[0] >= 8 * d or X.shape[0] == 1
    return X if X.dtype == np.float64 and X.flags.aligned and inside and between else packed(X)


def packed(array) -> np.ndarray:
    """The array as doubles without gaps, at an address the library can use; itself where it is so already."""
    return np.require(array, np.float64, ["C_CONTIGUOUS", "ALIGNED"])


def stride(X: np.ndarray) -> int:
    return X.strides[0] // 8 if X.shape[0] > 1 else max(1, X.shape[1])


def address(array: Optional[np.ndarray]):
    return None if array is None else array.__array_interface__["data"][0]


class Training(NamedTuple):
    """Checked rows of a fit. categories: {column: names}, the column's cells being their indices; those of the target, which is
    the column behind the inputs, are its classes. names: of inputs and targets, or None where the inputs have none."""

    X: np.ndarray
    y: np.ndarray  # [n] or [n, targets]
    weights: Optional[np.ndarray] = None
    exposure: Optional[np.ndarray] = None
    names: Optional[list] = None
    categories: dict = {}

    @property
    def targets(self) -> int:
        return 1 if self.y.ndim == 1 else self.y.shape[1]

    def table(self):
        """X, y and names with the exposure and all targets but the last among the inputs, and the settings that name their
        columns: the form that the library has for them."""
        Y = self.y.reshape(len(self.X), -1)
        d, targets = self.X.shape[1], self.targets
        if targets == 1 and self.exposure is None:
            return self.X, packed(Y[:, 0]), self.names, []
        exposure = [] if self.exposure is None else [self.exposure[:, None]]
        names = self._all_names()
        places = names[d:] if names else [str(j) for j in range(d, d + len(exposure) + targets)]
        kinds = ["exposure"] * len(exposure) + ["target"] * targets
        return np.hstack([self.X, *exposure, Y[:, :-1]]), packed(Y[:, -1]), names, list(zip(kinds, places))

    def _all_names(self):
        """Every column has one, since a number would be looked up among the names first."""
        if not self.names:
            return None
        inputs, rest = self.names[:-self.targets], self.names[-self.targets:]
        found = list(inputs)
        for given, default in [("exposure", "exposure")] * (self.exposure is not None) + [(name, "y") for name in rest]:
            found.append(_fresh((given or default).replace("\n", " "), found))
        return found


def _fresh(name, taken):
    """The name, or with a number where it is taken."""
    return next(text for text in (name, *(f"{name}_{k}" for k in range(2, len(taken) + 3))) if text not in taken)


def describe(data, names, categories) -> None:
    """Column names (of the inputs, and last of the target) and categories."""
    for j, name in enumerate(names or []):
        if name is not None:
            call("data_name", data, j, name.encode())
    for j, levels in categories.items():
        texts = (ctypes.c_char_p * max(1, len(levels)))(*(level.encode() for level in levels))
        call("data_categories", data, j, len(levels), texts)
