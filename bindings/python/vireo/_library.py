"""The C library: where it is, its functions with their types, and its structs."""
from __future__ import annotations

import ctypes
import os
import pathlib
import sys
from typing import Any, Iterator, Union

from . import _abi as s

HEADER_VERSION = (s.VERSION_MAJOR, s.VERSION_MINOR)


def _candidates() -> Iterator[Union[str, pathlib.Path]]:
    """Where the library may be: VIREO_LIBRARY, in this package (a wheel) or beside it, the build tree, the system's own search."""
    name = {"darwin": "libvireo.dylib", "win32": "vireo.dll"}.get(sys.platform, "libvireo.so")
    if "VIREO_LIBRARY" in os.environ:
        yield os.environ["VIREO_LIBRARY"]
        return
    here = pathlib.Path(__file__).resolve().parent
    yield here / "lib" / name  # a wheel
    yield here / name
    root = here.parents[2]
    for build in [root, *sorted(root.glob("build/*"))]:  # <build>/python/vireo, or the source tree
        yield build / "lib" / name
    prefix = here.parents[3]  # <prefix>/share/vireo/python/vireo, as cmake --install puts it
    for folder in ["lib", "lib64", *sorted(str(p.relative_to(prefix)) for p in prefix.glob("lib/*-linux-*"))]:
        yield prefix / folder / name
    yield name if sys.platform != "linux" else name + ".0"


def load() -> Any:
    tried = []
    here = pathlib.Path(__file__).resolve().parent
    for candidate in _candidates():
        if isinstance(candidate, pathlib.Path) and not candidate.exists():
            continue
        try:
            library = ctypes.CDLL(str(candidate))
            break
        except OSError as failure:
            tried.append(f"{candidate}: {failure}")
            if isinstance(candidate, pathlib.Path) and candidate.parent == here / "lib":  # not another library under this package
                raise ImportError(f"{failure}: a library of the system that libvireo needs is missing; install it (the wheel's metadata names "
                                  "all of them: Requires-External)") from failure
    else:
        raise ImportError("libvireo was not found; build it (cmake --workflow --preset release) or set VIREO_LIBRARY to its path. "
                          + "; ".join(tried))
    for function, (result, arguments) in s.FUNCTIONS.items():
        entry = getattr(library, function)
        entry.restype, entry.argtypes = result, arguments
    version = library.vireo_version()
    if (version >> 16, version >> 8 & 255) != HEADER_VERSION:
        raise ImportError(f"libvireo is version {version >> 16}.{version >> 8 & 255}, this package wants {HEADER_VERSION[0]}.{HEADER_VERSION[1]}")
    return library


LIBRARY = load()
