"""Session: one running instance of a model."""
from __future__ import annotations

import ctypes
import dataclasses
import threading
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional

import numpy as np

from . import _abi as s
from ._errors import INVALID_ARGUMENT, UNSUPPORTED, Handle, Turn, VireoError, check, text
from ._library import LIBRARY as _lib
from ._model import Model, input_tensors
from ._options import Asked, Bounds, SessionOptions
from ._types import Array, from_tensor, to_tensor

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclasses.dataclass(frozen=True)
class Node:
    """Where a node runs. calls and total_ns are 0 unless the session profiles. operations: multiplications and additions of products and
    convolutions; bytes: of all that goes in and comes out. Both at the shapes of the last run. key: as Candidate.key, 0 in sessions without
    a preference."""
    name: str
    op: str
    device: str
    kernel: str
    reason: str
    depth: int
    calls: int
    total_ns: int
    operations: int = 0
    bytes: int = 0
    key: int = 0


class Bound:
    """A session with its inputs fixed, see Session.bind(): a run costs a microsecond besides the model's own time."""

    def __init__(self, session: "Session", inputs: Iterable[Optional[Array]], named: Mapping[str, Array]):
        self._session = session
        self._keep: List[Any] = []
        self._views: Optional[List[Array]] = None
        self._places: List[Any] = []
        self._tensors = input_tensors(session.model.inputs, inputs, named, self._keep, in_place=True)
        self._results = (s.Tensor * max(len(session.model.outputs), 1))()
        self._error = s.sized(s.Error)
        self._error_ref = ctypes.byref(self._error)

    def run(self) -> List[Array]:
        """Runs once. The outputs are views of the session's memory, valid until its next call."""
        model = self._session.model
        with self._session._turn:
            status = _lib.vireo_session_run(self._session._open(), self._tensors, len(model.inputs), self._results, len(model.outputs),
                                              self._error_ref)
            if status:
                check(status, self._error)
            results = self._results
            places = [(t.data, t.rank, t.dims[:t.rank]) for t in results]
            if self._views is None or places != self._places:
                self._places = places
                self._views = [from_tensor(t, False, self._session) for t in results[:len(self._session.model.outputs)]]
            return list(self._views)


class Session(Handle):
    """One running instance, for one thread at a time: while a call is under way, any other but cancel() raises VireoError of status "busy".
    Memory is allocated here and never again until close()."""
    _release = _lib.vireo_session_release

    def __init__(self, model: Model, bounds: Optional[Bounds] = None, **options: "Unpack[SessionOptions]"):
        super().__init__()
        self._turn = Turn("session")
        self._lasting = threading.RLock()  # held where the handle goes away, and where another thread may use it
        self.model = model
        model._know(bounds)
        self._asked = Asked(bounds, options)  # a preference is asked again when the session is planned anew
        error = s.sized(s.Error)
        status = _lib.vireo_session_create(model._open(), ctypes.byref(self._asked.struct), ctypes.byref(self._handle), ctypes.byref(error))
        self._asked.done()
        check(status, error)

    def _about(self) -> str:
        return f" of {self.model!r}"

    def run(self, *inputs: Array, copy: bool = True, feed: Optional[Mapping[str, Array]] = None, **named: Array) -> List[Array]:
        """Runs once. Inputs by position, by name, or (names that are no identifiers) in feed; a carried state may be left out.

        An output that stays on its device (the option state_stays) is an empty array of rank 1; state() has its values.
        Arrays are read in place when they are contiguous. copy=False returns views of the session's memory, valid until its
        next call.
        """
        error = s.sized(s.Error)
        keep: List[Any] = []
        tensors = input_tensors(self.model.inputs, inputs, {**(feed or {}), **named}, keep)
        results = (s.Tensor * max(len(self.model.outputs), 1))()
        with self._turn:  # until the outputs are copied: the next run writes where they lie
            check(_lib.vireo_session_run(self._open(), tensors, len(self.model.inputs), results, len(self.model.outputs), ctypes.byref(error)), error)
            return [from_tensor(t, copy, self) for t in results[:len(self.model.outputs)]]

    def bind(self, *inputs: Array, feed: Optional[Mapping[str, Array]] = None, **named: Array) -> Bound:
        """Inputs as run() takes them, for many runs: each reads the arrays where they lie, with what was written there since."""
        return Bound(self, inputs, {**(feed or {}), **named})

    def state(self) -> Dict[str, Array]:
        """Carried state by the name of its input: copies of what the next run will read, also where that lies on a device."""
        with self._turn:
            return {v.name: from_tensor(self._input(i), True) for i, v in enumerate(self.model.inputs) if v.state_of >= 0}

    def set_state(self, state: Mapping[str, Array]) -> None:
        """What the next run reads in place of what the last one left: as state() gave it, all of it or a part."""
        names = [v.name for v in self.model.inputs]
        with self._turn:
            for name, given in state.items():
                at = names.index(name) if name in names else -1
                if at < 0 or self.model.inputs[at].state_of < 0:
                    raise VireoError(INVALID_ARGUMENT, f"{name!r} is no carried state of {self.model!r}")
                room = self._input(at)
                array, shape = np.asarray(given), tuple(room.dims[:room.rank])
                if array.shape != shape or array.dtype != self.model.inputs[at].dtype:
                    raise VireoError(INVALID_ARGUMENT, f"state {name!r} takes {self.model.inputs[at].dtype} {list(shape)}, got "
                                     f"{array.dtype} {list(array.shape)}", tensor=name)
                keep: List[Any] = []
                from_ = to_tensor(array, room.dtype, keep)
                if array.size:
                    ctypes.memmove(room.data, from_.data, min(room.capacity, from_.capacity))

    def _input(self, index: int) -> Any:
        tensor, error = s.Tensor(), s.sized(s.Error)
        check(_lib.vireo_session_input(self._open(), index, ctypes.byref(tensor), ctypes.byref(error)), error)
        return tensor

    def reset(self) -> None:
        """Carried state back to zeros."""
        error = s.sized(s.Error)
        with self._turn:
            check(_lib.vireo_session_reset(self._open(), ctypes.byref(error)), error)

    def reserve(self, bounds: Bounds) -> None:
        """Replans for other bounds, as Model.session() takes them; carried state is kept."""
        self.model._know(bounds)
        asked, error = Asked(bounds, {}), s.sized(s.Error)
        with self._turn, self._lasting:
            self._open()
            status = _lib.vireo_session_reserve(ctypes.byref(self._handle), asked.bounds, asked.struct.bound_count, ctypes.byref(error))
            self._asked.done()
            check(status, error)

    def cancel(self) -> None:
        """From another thread: a run under way ends with a VireoError of status "cancelled"."""
        with self._lasting:
            _lib.vireo_session_cancel(self._open())

    def close(self) -> None:
        """Releases it; a second call does nothing. While another thread runs it: VireoError of status "busy"."""
        with self._turn, self._lasting:
            super().close()

    def selftest(self) -> None:
        """Runs the file's own tests; raises VireoError naming the worst output when one fails, or when there are none."""
        if self.model.test_count == 0:
            raise VireoError(UNSUPPORTED, "the file carries no tests; convert it with --embed-tests")
        error = s.sized(s.Error)
        with self._turn:
            for i in range(self.model.test_count):
                check(_lib.vireo_session_selftest(self._open(), i, ctypes.byref(error)), error)

    @property
    def failovers(self) -> int:
        """How many parts run on another device than they were placed on, since theirs was lost."""
        with self._turn:
            return int(_lib.vireo_session_failover_count(self._open()))

    @property
    def nodes(self) -> List[Node]:
        found: List[Node] = []
        error = s.sized(s.Error)
        with self._turn:
            for i in range(_lib.vireo_session_node_count(self._open())):
                n = s.sized(s.NodeInfo)
                check(_lib.vireo_session_node(self._handle, i, ctypes.byref(n), ctypes.byref(error)), error)
                found.append(Node(text(n.name), text(n.op), text(n.device), text(n.kernel), text(n.reason), n.depth, n.calls, n.total_ns,
                                  n.operations, n.bytes, n.key))
        return found
