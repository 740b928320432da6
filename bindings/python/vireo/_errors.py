"""Errors of the library as exceptions, and handles that are released once."""
from __future__ import annotations

import ctypes
import threading
from types import TracebackType
from typing import Any, List, Optional, Type, TypeVar

from . import _abi as s

_STATUS = ("ok", "invalid argument", "invalid model", "unsupported", "out of arena", "device lost", "io", "busy", "cancelled")
INVALID_ARGUMENT, UNSUPPORTED, DEVICE_LOST, BUSY = 1, 3, 5, 7


class VireoError(RuntimeError):
    """What the library refused. status is its name ("invalid argument"); node and tensor are "" when none is to blame."""

    def __init__(self, status: int, message: str, node: str = "", tensor: str = ""):
        self.status = _STATUS[status] if status < len(_STATUS) else str(status)
        self.message, self.node, self.tensor = message, node, tensor
        place = "".join(f" ({kind} {name!r})" for kind, name in (("node", node), ("tensor", tensor)) if name)
        super().__init__(f"{message or self.status}{place}")


def check(status: int, error: s.Error) -> None:
    if status:
        raise VireoError(status, text(error.message), text(error.node), text(error.tensor))


def text(value: Optional[bytes]) -> str:
    return (value or b"").decode(errors="replace")


class Callbacks:
    """What Python functions that the library calls raise, to be raised again when the call is over: ctypes would print it and go on."""

    def __init__(self) -> None:
        self.raised: List[BaseException] = []

    def __call__(self, function: Any, failed: Any) -> Any:
        """`function` with its exceptions kept; `failed` is what the library gets then."""
        def guarded(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except BaseException as exception:  # pylint: disable=broad-except
                self.raised.append(exception)
                return failed
        return guarded

    def done(self) -> None:
        if self.raised:
            first = self.raised[0]
            self.raised.clear()
            raise first


class Turn:
    """A handle for one call at a time. A second thread that comes meanwhile gets status "busy", as from the C API: a call here is more than the
    library's own, since it also sets up what that reads and copies what it wrote."""

    def __init__(self, what: str) -> None:
        self._what, self._lock = what, threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise VireoError(BUSY, f"another thread is using this {self._what}: wait for it, or give each thread a {self._what} of its own")

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self._lock.release()


_Self = TypeVar("_Self", bound="Handle")


class Handle:
    """Owns one handle of the C API; close() and the end of a with block release it at once."""
    _release: Any = None

    def __init__(self) -> None:
        self._handle = ctypes.c_void_p()

    def close(self) -> None:
        """Releases it; a second call does nothing."""
        if self._handle:
            type(self)._release(self._handle)
            self._handle = ctypes.c_void_p()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def __reduce__(self) -> Any:
        name = type(self).__name__
        raise TypeError(f"a {name} belongs to its process, and is neither pickled nor copied: make one from the model's file in each process")

    def __repr__(self) -> str:
        return f"<vireo.{type(self).__name__}{self._about() if self._handle else ', closed'}>"

    def _about(self) -> str:
        """What repr() shows behind the name."""
        return ""

    def _open(self) -> ctypes.c_void_p:
        if not self._handle:
            raise VireoError(INVALID_ARGUMENT, f"this {type(self).__name__} is closed")
        return self._handle
