"""What happens during a fit: progress, messages, Ctrl-C, and the caller's wish to stop."""
from __future__ import annotations

import math
import signal
import sys
import threading
import time
import warnings
from typing import Any, Callable, NamedTuple, Optional

from . import _library as c
from ._library import lib
from ._settings import in_python


class Progress(NamedTuple):
    """What a callback of `fit` is given; NaN where a number is not known."""

    stage: str  # "starting point" or "learning"
    iteration: int
    iterations: int  # at most
    restart: int
    restarts: int
    objective: float  # log evidence or bound, for standardised y
    seconds: float
    time_limit: float
    rmse: float  # leave-one-out or on held-out rows, in the units of the data
    mnlp: float
    coverage: float  # the share of these rows in their 95 % intervals


Callback = Callable[[Progress], Any]


class Watch:
    """The two callbacks of a fit, and Ctrl-C.

    No exception may leave a callback, so what happens in one is kept until the library has returned. The first Ctrl-C
    asks for the best model so far; a second one is raised as KeyboardInterrupt once that model is there.
    """

    def __init__(self, verbose: int, callback: Optional[Callback] = None):
        self.verbose = verbose
        self.callback = callback
        self.asked = False  # by the callback to stop
        self.interrupts = 0
        self.stopped_by = None  # an exception raised while reporting
        self.messages = []
        self.last = -math.inf
        self.former = None
        self.log = c.LogFunction(self._on_log)
        self.progress = c.ProgressFunction(self._on_progress)

    def __enter__(self):
        ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ours and threading.current_thread() is threading.main_thread():
            self.former = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *exception):
        if self.former is not None:
            signal.signal(signal.SIGINT, self.former)
        self.release()

    def release(self) -> None:
        """The callbacks hold this object; the library no longer calls them."""
        self.log = self.progress = None

    def _on_signal(self, number, frame):
        self.interrupts += 1

    def _on_log(self, ctx, level, text):
        self.messages.append((level, in_python(text.decode(errors="replace"))))

    def _on_progress(self, ctx, pointer):
        try:
            p = pointer.contents
            if self.verbose and (self.verbose > 1 or time.monotonic() - self.last > 1):
                self.last = time.monotonic()
                self._print(p)
            if self.callback is not None and not self.asked:
                now = Progress(p.stage.decode(), *(getattr(p, name) for name in Progress._fields[1:]))
                self.asked = bool(self.callback(now))
        except BaseException as why:
            self.stopped_by = why
        return bool(self.interrupts or self.asked or self.stopped_by)

    def _print(self, p):
        run = f" (run {p.restart} of {p.restarts + 1})" if p.restarts else ""
        rmse = "" if math.isnan(p.rmse) else f"  rmse {p.rmse:.4g}"
        objective = "" if math.isnan(p.objective) else f"  objective {p.objective:.6g}"
        print(f"{p.stage.decode()}{run}: {p.iteration}/{p.iterations}{objective}{rmse}  {p.seconds:.1f} s",
              file=sys.stderr, flush=True)

    def tell(self, status: int) -> None:
        """Warnings, once each; notes to those who want them; interruptions that were meant as such."""
        for level, text in dict.fromkeys(self.messages):
            if level == c.WARNING:
                warnings.warn(text, UserWarning, stacklevel=4)
            elif self.verbose:
                print(text, file=sys.stderr)
        if self.stopped_by is not None:
            raise self.stopped_by
        if self.interrupts > 1:
            raise KeyboardInterrupt
        if status == c.INTERRUPTED and not self.asked:
            warnings.warn(lib.anygp_status_text(status).decode(), UserWarning, stacklevel=4)
