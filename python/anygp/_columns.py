"""The columns of X as pictures show them: texts and dates are numbers for the model, and themselves on an axis."""
from __future__ import annotations

import numpy as np

from . import _frame


class Columns:
    """Rows as a fitted model has them, [n, d], and what each column is."""

    def __init__(self, model, X):
        self.rows = model._inputs(X)
        self.levels = model._categories
        frame = _frame.is_frame(X)
        self.names = [str(name) for name in X.columns] if frame else [f"column {j}" for j in range(self.rows.shape[1])]
        self.dates = {j for j in range(len(self.names)) if frame and j not in self.levels and _frame.is_date(X.iloc[:, j])}

    def number(self, of):
        """The place of a column that is given by its name or number."""
        if of in self.names:
            return self.names.index(of)
        if not isinstance(of, (int, np.integer)) or not -len(self.names) <= of < len(self.names):
            raise ValueError(f"of: X has no column {of!r}; its columns are {', '.join(self.names)}")
        return int(of) % len(self.names)

    def is_text(self, j):
        return j in self.levels

    def shown(self, j, cells):
        """Cells of column j as an axis has them."""
        if j in self.levels:
            known = self.levels[j]
            return [known[int(k)] if np.isfinite(k) and k < len(known) else "(missing)" if np.isnan(k) else "(new)" for k in cells]
        return _frame.dates_of(cells) if j in self.dates else cells

    def stops(self, j, points, margin=0.0):
        """Where a curve along column j is computed: from its least to its largest cell, or at each category that occurs."""
        cells = self.rows[np.isfinite(self.rows[:, j]), j]
        if j in self.levels:
            return np.unique(cells)
        if not len(cells):
            raise ValueError(f"{self.names[j]} has no value in X")
        margin *= np.ptp(cells) or 1
        return np.linspace(cells.min() - margin, cells.max() + margin, points)

    def typical(self):
        """Medians of numbers and dates, the most frequent category of texts."""
        return np.array([self._most_frequent(j) if j in self.levels else np.nanmedian(self.rows[:, j])
                         for j in range(len(self.names))])

    def _most_frequent(self, j):
        found, count = np.unique(self.rows[:, j], return_counts=True)
        return found[count.argmax()]
