"""The `vireo` program from Python: conversion happens in a process of its own."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any, List, Mapping, NoReturn, Sequence, Union

from ._errors import INVALID_ARGUMENT, VireoError

Path = Union[str, "os.PathLike[str]"]


class ConvertError(VireoError):
    """What the converter refused: its own message, with node, reason and way out. exit_status: of the program."""

    def __init__(self, message: str, exit_status: int):
        super().__init__(INVALID_ARGUMENT, message)
        self.exit_status = exit_status


def program() -> pathlib.Path:
    """The `vireo` program: VIREO_PROGRAM, the wheel's own, the build tree's, or one in the path."""
    name = "vireo.exe" if sys.platform == "win32" else "vireo"
    if "VIREO_PROGRAM" in os.environ:
        return pathlib.Path(os.environ["VIREO_PROGRAM"])
    here = pathlib.Path(__file__).resolve().parent
    root = here.parents[2]
    for folder in [here, root, *sorted(root.glob("build/*")), here.parents[3]]:  # the last: <prefix>/share/vireo/python/vireo
        if (folder / "bin" / name).is_file():
            return folder / "bin" / name
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError("the program `vireo` was not found; set VIREO_PROGRAM to its path, or install a package that holds it")
    return pathlib.Path(found)


def _dims(value: Any) -> str:
    """(1, 3, (1, 224), 224) -> "1,3,1..224,224"."""
    if isinstance(value, (list, tuple)):
        return ",".join("..".join(map(str, d)) if isinstance(d, tuple) else str(d) for d in value)
    return str(value)


def arguments_of(options: Mapping[str, Any]) -> List[str]:
    """Options as the program spells them: embed_tests="a.npz" is --embed-tests=a.npz, True a flag alone, a list the option once for each,
    a dict NAME=VALUE each."""
    out: List[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
        elif isinstance(value, Mapping):
            out += [f"{flag}={key}={_dims(v)}" for key, v in value.items()]
        elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            out += [f"{flag}={v}" for v in value]
        else:
            out.append(f"{flag}={value}")
    return out


def convert(model: Path, out: Path, **options: Any) -> pathlib.Path:
    """Turns the ONNX file `model` into the .vireo file `out`, which is returned.

        vireo.convert("net.onnx", "net.vireo", shape={"image": (1, 3, 224, 224)}, quantize="bf16", embed_tests="net.npz")

    Options are those of `vireo convert --help`. ConvertError has the program's message; nothing is written then.
    """
    command = [str(program()), "convert", os.fspath(model), "-o", os.fspath(out), *arguments_of(options)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as failure:
        raise ConvertError(f"{command[0]} does not start: {failure}", -1) from failure
    if done.returncode != 0:
        told = done.stderr.strip() or done.stdout.strip()
        raise ConvertError(told or f"{command[0]} ended with {done.returncode} and said nothing", done.returncode)
    return pathlib.Path(out)


def main() -> NoReturn:
    """The command `vireo` of an installed wheel: this process becomes the program."""
    path = str(program())
    if sys.platform == "win32":
        sys.exit(subprocess.run([path, *sys.argv[1:]], check=False).returncode)
    os.execv(path, [path, *sys.argv[1:]])
