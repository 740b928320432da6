"""Runtime: threads, devices and plug-ins; whom to believe."""
from __future__ import annotations

import ctypes
import dataclasses
import os
from typing import Callable, List, Optional, Sequence, Union

from . import _abi as s
from ._errors import DEVICE_LOST, UNSUPPORTED, Handle, check, text
from ._library import LIBRARY as _lib
from ._trust import Trust

Path = Union[str, "os.PathLike[str]"]
_EMULATED, _UNIFIED, _MATRIX, _MEASURED = 1, 2, 4, 8
_POWER = ("", "off", "idle", "busy", "throttled")
_LEVELS = ("error", "warning", "info")


@dataclasses.dataclass(frozen=True)
class Device:
    """Texts are "" and numbers 0 where nothing is known. rates: multiplications and additions a second; bandwidth and transfer: bytes a
    second, between the device and its memory, and between that and the host's."""
    name: str
    delegate: str
    detail: str
    vendor: str = ""
    family: str = ""
    driver: str = ""
    emulated: bool = False  # software stands in for it: never chosen by "auto"
    unified: bool = False   # works on the host's memory
    matrix: bool = False    # has units for products of matrices
    measured: bool = False  # its rates were measured here
    memory_bytes: int = 0
    f32_rate: float = 0.0
    f16_rate: float = 0.0
    i8_rate: float = 0.0
    bandwidth: float = 0.0
    transfer: float = 0.0
    launch_ns: float = 0.0
    transfer_ns: float = 0.0
    max_buffer_bytes: int = 0


@dataclasses.dataclass(frozen=True)
class Telemetry:
    """How a device is now. power: "off", "idle", "busy", "throttled", "" not known; counts since the runtime began; numbers are 0 where
    the driver does not know."""
    answers: bool
    power: str = ""
    temperature_c: float = 0.0
    clock_mhz: float = 0.0
    memory_used: int = 0
    submits: int = 0
    busy_ns: int = 0
    energy_nj: int = 0
    resets: int = 0


@dataclasses.dataclass(frozen=True)
class Plugin:
    """A shared library that was asked for; reason: why it is not used, "" where it is."""
    path: str
    devices: int
    reason: str


class Runtime(Handle):
    """Threads and devices, shared by models.

    threads      0: one per core
    plugins      delegates in shared libraries, files and folders. None: what VIREO_PLUGINS says. Their code runs in this process
    plugin_cache the folder for what probes of plug-ins found. None: the user's; "": probe anew
    probe        False: open plug-ins that no vireo-probe has tried
    log          called with a level ("error", "warning", "info") and a text, from any thread
    trust        whose signatures to believe, and keys of encrypted models. False: nobody need be trusted; a library that cannot check
                 signatures then takes signed models unchecked, and refuses them else
    """
    _release = _lib.vireo_runtime_release

    def __init__(self, threads: int = 0, *, plugins: Optional[Sequence[Path]] = None, plugin_cache: Optional[Path] = None, probe: bool = True,
                 log: Optional[Callable[[str, str], None]] = None, trust: Union[Trust, bool, None] = None):
        super().__init__()
        options, error = s.sized(s.RuntimeOptions), s.sized(s.Error)
        options.threads, options.probe = threads, int(not probe)
        options.plugins = None if plugins is None else b":".join(os.fsencode(p) for p in plugins)
        options.plugin_cache = None if plugin_cache is None else os.fsencode(plugin_cache)
        self._log = None
        if log is not None:
            sink = log
            self._log = s.RuntimeOptions_log(lambda _, level, line: sink(_LEVELS[level] if 0 <= level < len(_LEVELS) else str(level), text(line)))
            options.log = self._log
        check(_lib.vireo_runtime_create(ctypes.byref(options), ctypes.byref(self._handle), ctypes.byref(error)), error)
        self.trust = trust
        if trust is True:
            raise TypeError("trust is a Trust, False or None")
        if trust is not None:
            wanted = ctypes.byref(trust._struct) if trust else None
            check(_lib.vireo_runtime_set_trust(self._handle, wanted, ctypes.byref(error)), error)

    @property
    def devices(self) -> List[Device]:
        found: List[Device] = []
        error = s.sized(s.Error)
        for i in range(_lib.vireo_runtime_device_count(self._open())):
            d = s.sized(s.DeviceInfo)
            check(_lib.vireo_runtime_device(self._handle, i, ctypes.byref(d), ctypes.byref(error)), error)
            found.append(Device(text(d.name), text(d.delegate), text(d.detail), text(d.vendor), text(d.family), text(d.driver),
                                bool(d.flags & _EMULATED), bool(d.flags & _UNIFIED), bool(d.flags & _MATRIX), bool(d.flags & _MEASURED), d.memory_bytes, d.f32_rate, d.f16_rate, d.i8_rate, d.bandwidth,
                                d.transfer, d.launch_ns, d.transfer_ns, d.max_buffer_bytes))
        return found

    @property
    def plugins(self) -> List[Plugin]:
        found: List[Plugin] = []
        error = s.sized(s.Error)
        for i in range(_lib.vireo_runtime_plugin_count(self._open())):
            p = s.sized(s.PluginInfo)
            check(_lib.vireo_runtime_plugin(self._handle, i, ctypes.byref(p), ctypes.byref(error)), error)
            found.append(Plugin(text(p.path), p.device_count, text(p.reason)))
        return found

    def telemetry(self, device: int) -> Telemetry:
        """How devices[device] is; from any thread, while it works too."""
        t, error = s.sized(s.Telemetry), s.sized(s.Error)
        status = _lib.vireo_runtime_telemetry(self._open(), device, ctypes.byref(t), ctypes.byref(error))
        if status not in (UNSUPPORTED, DEVICE_LOST):
            check(status, error)
        return Telemetry(status != DEVICE_LOST, _POWER[t.power] if t.power < len(_POWER) else "", t.temperature_c, t.clock_mhz,
                         t.memory_used, t.submits, t.busy_ns, t.energy_nj, t.resets)

    def set_rates(self, device: int, *, f32_rate: float = 0.0, f16_rate: float = 0.0, i8_rate: float = 0.0, bandwidth: float = 0.0,
                  transfer: float = 0.0, launch_ns: Optional[float] = None, transfer_ns: Optional[float] = None) -> None:
        """What devices[device] was measured to do; what is left out stays as declared. Before models are loaded."""
        rates, error = s.sized(s.Rates), s.sized(s.Error)
        rates.f32_rate, rates.f16_rate, rates.i8_rate = f32_rate, f16_rate, i8_rate
        rates.bandwidth, rates.transfer = bandwidth, transfer
        rates.launch_ns = 0.0 if launch_ns is None else launch_ns or -1.0  # negative: a launch costs nothing
        rates.transfer_ns = 0.0 if transfer_ns is None else transfer_ns or -1.0
        check(_lib.vireo_runtime_set_rates(self._open(), device, ctypes.byref(rates), ctypes.byref(error)), error)
