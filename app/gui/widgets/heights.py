"""Heights of many rows: sums and places in logarithmic time (a Fenwick tree).

Rows begin with estimated heights and get their real ones as they are seen, so that 100,000 rows
open without being laid out.
"""

from __future__ import annotations

from collections.abc import Sequence


class Heights:
    """`top(i)` is the sum of the heights before row `i`."""

    def __init__(self, heights: Sequence[int] = ()) -> None:
        self._each = list(heights)
        size = len(self._each)
        self._tree = [0, *self._each]
        for i in range(1, size + 1):
            parent = i + (i & -i)
            if parent <= size:
                self._tree[parent] += self._tree[i]
        self._step = 1 << max(size.bit_length() - 1, 0)

    def __len__(self) -> int:
        return len(self._each)

    def __getitem__(self, at: int) -> int:
        return self._each[at]

    def set(self, at: int, height: int) -> int:
        """Give a row its height; by how much it changed."""
        change = height - self._each[at]
        if change:
            self._each[at] = height
            i = at + 1
            while i < len(self._tree):
                self._tree[i] += change
                i += i & -i
        return change

    def top(self, at: int) -> int:
        total, i = 0, at
        while i > 0:
            total += self._tree[i]
            i -= i & -i
        return total

    def total(self) -> int:
        return self.top(len(self._each))

    def at(self, y: int) -> int:
        """The row that holds the height `y`; the last one below the end, -1 when there is none."""
        place, rest, step = 0, max(y, 0), self._step
        while step:
            ahead = place + step
            if ahead < len(self._tree) and self._tree[ahead] <= rest:
                place = ahead
                rest -= self._tree[ahead]
            step >>= 1
        return min(place, len(self._each) - 1)
