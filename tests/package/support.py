"""What the package tests share: where things are, and programs whose output counts when they fail."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("VIREO_BINARY_ROOT", ROOT / "build" / "release")).resolve()
WORK = BUILD / "test" / "packages"
MODELS = ROOT / "samples" / "models"
MEDIA = ROOT / "samples" / "media"


def run(*command, environment=None, cwd=None, check=True):
    """Runs a program; returns the finished process. A failure raises with what was printed. environment: variables in place of ours
    where they have one (None takes it away)."""
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, cwd=cwd,
                          env={k: v for k, v in variables.items() if v is not None})
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nexited with {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def room(name):
    """An empty folder for one test."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def project_version():
    """The one version: project(VERSION) of the root's CMakeLists.txt."""
    return re.search(r"project\(Vireo VERSION ([0-9]+\.[0-9]+\.[0-9]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def missing(*programs):
    """Why a test cannot run here; "" when it can."""
    absent = [p for p in programs if shutil.which(p) is None]
    return f"{' and '.join(absent)} not installed (toolchains/bootstrap --for tests)" if absent else ""


def cache_folder():
    """Where toolchains/bootstrap keeps what no package of the system has."""
    return pathlib.Path(os.environ.get("VIREO_CACHE_DIR") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "vireo")


def tool(name):
    """A program of the environment that toolchains/bootstrap --for tests keeps for packages, else one in the path; None where there is
    neither."""
    kept = cache_folder() / "packages" / "bin" / name
    return str(kept) if kept.exists() else shutil.which(name)


def say(text):
    """What a passing test has to tell: sizes, what it left out."""
    print(text, file=sys.stderr, flush=True)


def size(path):
    count = path.stat().st_size
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.0f} KiB"


def main():
    unittest.main(verbosity=2)
