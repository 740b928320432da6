#!/usr/bin/env python3
"""Makes the wheel: a PEP 517 back end of this folder's own, of Python's standard library alone, so that nothing is fetched.

    pip wheel --no-deps --wheel-dir DIR bindings/python          from build/release, or -C build=DIR, or VIREO_BINARY_ROOT
    python3 bindings/python/backend.py BUILD DIR                 the same without pip

The wheel holds the package, libvireo.so and the programs vireo and vireo-probe of a build, stripped. They were linked with libraries of
this system (libprotobuf, libsodium, libsndfile, libzip), which are not put in: the platform's tag is linux_<machine>, not manylinux, and
the metadata names each of them and the C library's version (Requires-External).
"""
import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TIME = (1980, 1, 1, 0, 0, 0)  # the same bytes each time


def version():
    return re.search(r"project\(Vireo VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def tag():
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def needed(files):
    """Libraries that `files` want of the system, and the newest version of glibc's symbols in them."""
    libraries, newest = set(), (0,)
    for file in files:
        told = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", str(file)], capture_output=True, text=True, check=True).stdout
        libraries |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", told))
        newest = max([newest, *(tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_([0-9.]+)", told))])
    own = {"libvireo.so", *(f"libc.so.6 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 libm.so.6 libdl.so.2 libpthread.so.0".split())}
    return sorted(libraries - own), ".".join(map(str, newest))


def metadata(binaries):
    libraries, glibc = needed(binaries)
    lines = ["Metadata-Version: 2.1", "Name: vireo", f"Version: {version()}", "Summary: Runs .vireo models, and converts ONNX models to them",
             "License: Apache-2.0", "Requires-Python: >=3.8", "Requires-Dist: numpy", "Description-Content-Type: text/markdown",
             f"Requires-External: glibc (>={glibc})", *(f"Requires-External: {l}" for l in libraries)]
    return "\n".join(lines) + "\n\n" + (HERE / "README.md").read_text(encoding="utf-8")


def strip(file, work):
    """A stripped copy; as it is where there is no strip."""
    copy = work / file.name
    shutil.copyfile(file, copy)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", str(copy)], check=True)
    return copy


def make_wheel(build, folder):
    """Writes the wheel of a build into a folder; returns its name."""
    build = pathlib.Path(build)
    binaries = {"vireo/lib/libvireo.so": build / "lib" / "libvireo.so", "vireo/bin/vireo": build / "bin" / "vireo",
                "vireo/bin/vireo-probe": build / "bin" / "vireo-probe"}
    absent = [str(p) for p in binaries.values() if not p.exists()]
    if absent:
        raise SystemExit(f"{', '.join(absent)}: not built; run cmake --workflow --preset release, or name another build")
    name, info = f"vireo-{version()}-{tag()}.whl", f"vireo-{version()}.dist-info"
    with tempfile.TemporaryDirectory() as work:
        stripped = {place: strip(file.resolve(), pathlib.Path(work)) for place, file in binaries.items()}
        content = {f"vireo/{p.name}": p.read_bytes() for p in sorted((HERE / "vireo").iterdir()) if p.suffix == ".py" or p.name == "py.typed"}
        content.update({place: file.read_bytes() for place, file in stripped.items()})
        content[f"{info}/METADATA"] = metadata(stripped.values()).encode()
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: vireo\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode()
    content[f"{info}/entry_points.txt"] = b"[console_scripts]\nvireo = vireo._convert:main\n"
    content[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for place, data in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow([place, f"sha256={digest}", len(data)])
    rows.writerow([f"{info}/RECORD", "", ""])
    content[f"{info}/RECORD"] = record.getvalue().encode()
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    temporary = pathlib.Path(folder) / f".{name}.part"
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for place, data in content.items():
            entry = zipfile.ZipInfo(place, TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if place.startswith(("vireo/bin/", "vireo/lib/")) else 0o644)) << 16
            wheel.writestr(entry, data)
    temporary.replace(pathlib.Path(folder) / name)
    return name


# ---- PEP 517 ----

def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = (config_settings or {}).get("build") or os.environ.get("VIREO_BINARY_ROOT") or ROOT / "build" / "release"
    return make_wheel(build, wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("there is no source distribution of the Python package alone: clone Vireo")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print(make_wheel(sys.argv[1], sys.argv[2]))
