"""What the end-to-end tests share: where things are, the command line, and tests made from a list of cases."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("VIREO_BINARY_ROOT", ROOT / "build" / "release"))
WORK = BUILD / "test" / "e2e"
WORK.mkdir(parents=True, exist_ok=True)
SHARED = pathlib.Path(os.environ.get("VIREO_SHARED", ROOT.parent / "shared"))
VIREO = os.environ.get("VIREO_PROGRAM", str(BUILD / "bin" / "vireo"))
os.environ.setdefault("VIREO_LIBRARY", str(BUILD / "lib" / "libvireo.so"))
sys.path.insert(0, str(ROOT / "bindings" / "python"))

# A library built with a sanitizer wants the sanitizer's own loaded before it: Python starts again with that. Leaks of Python
# itself are no matter; the programs that the tests start are asked for theirs.
PRELOAD = os.environ.get("VIREO_PRELOAD", "")
PROGRAM_ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "ASAN_OPTIONS")}
if PRELOAD and "LD_PRELOAD" not in os.environ:
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "LD_PRELOAD": PRELOAD, "ASAN_OPTIONS": "detect_leaks=0"})
# Every SAMPLE-th case of the large tables: the default run and sanitizers take some, VIREO_FULL=1 all.
SAMPLE = 1 if os.environ.get("VIREO_FULL") == "1" else int(os.environ.get("VIREO_SAMPLE", "1"))
# Every DATA_STEP-th of the examples behind a metric, whose tolerance is wider then, and of rows that take the same way through the
# code: only sanitizers take fewer.
DATA_STEP = SAMPLE if PRELOAD else 1


def room(name):
    """A folder of WORK for the files of one test program, there from the start: each of its tests runs alone too."""
    folder = WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def vireo(*arguments, check=True, environment=None, seconds=None):
    """Runs the command line; returns the finished process. check: a failure raises with what was printed. environment: variables more.
    seconds: raises where it takes longer."""
    done = subprocess.run([VIREO, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=seconds,
                          env={**PROGRAM_ENVIRONMENT, **(environment or {})})
    if check and done.returncode != 0:
        raise AssertionError(f"vireo {' '.join(map(str, arguments))} exited with {done.returncode}\n{done.stdout}{done.stderr}")
    return done


# Starts a program and prints its peak of resident memory. A small process does it: a child's peak counts what its parent holds.
PEAK = "import os,sys; p = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); _, s, r = os.wait4(p, 0); print(s, r.ru_maxrss)"


def peak_of(*arguments):
    """The exit status of vireo, the most bytes that were resident, and what was said."""
    done = subprocess.run([sys.executable, "-S", "-c", PEAK, VIREO, *map(str, arguments)], capture_output=True, text=True, check=True)
    *said, last = done.stdout.splitlines()
    status, kib = last.split()
    return os.waitstatus_to_exitcode(int(status)), 1024 * int(kib), "\n".join(said) + done.stderr


def convert(model, name=None, *arguments):
    """Converts into the work folder; returns the path of the .vireo file."""
    out = WORK / ((name or pathlib.Path(model).stem) + ".vireo")
    vireo("convert", model, "-o", out, *arguments)
    return out


def verify(model, reference, *arguments):
    """vireo verify as JSON; raises with every output that does not pass."""
    done = vireo("verify", model, reference, "--json", *arguments, check=False)
    result = json.loads(done.stdout or "{}")
    if "outputs" not in result:
        raise AssertionError(f"vireo verify {model} exited with {done.returncode}\n{done.stderr}")
    bad = [f"case {o['case']} {o['name']}: {o['reason']}" for o in result["outputs"] if not o["pass"]]
    if bad or done.returncode != 0 or not result["pass"]:
        raise AssertionError("\n".join(bad or [done.stderr]))
    return result


def missing(*modules, folder=None):
    """Why tests cannot run: a Python module or a folder that is not there; "" when they can."""
    for module in modules:
        try:
            __import__(module)
        except ImportError:
            return f"Python has no module {module} (toolchains/bootstrap --for tests installs it)"
    if folder is not None and not (SHARED / folder).is_dir():
        return f"{folder} is not there: set VIREO_SHARED to the folder that holds it"
    return ""


def cases(reason, table):
    """A TestCase with one method for each name -> function of `table`; one skipped method when there is a reason to skip."""
    class Cases(unittest.TestCase):
        maxDiff = None
    if reason:
        def skipped(self):
            self.skipTest(reason)
        Cases.test_skipped = skipped
        return Cases
    if SAMPLE > 1 and len(table) > 2:
        print(f"VIREO_SAMPLE: every {SAMPLE}th of {len(table)} cases")
        table = dict(list(table.items())[::SAMPLE])
    for name, function in table.items():
        setattr(Cases, "test_" + re.sub(r"\W", "_", name), lambda self, function=function: function(self))
    return Cases


def main():
    unittest.main(verbosity=2)
