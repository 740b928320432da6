#!/usr/bin/env python3
"""run_blocks.py PAGE.md: runs the code blocks of a page in order, as a reader would who copies them, in one empty folder.

sh blocks run in bash -e, python blocks in the Python that runs this, c and cpp blocks are compiled against the build's library and run.
What a page needs beside that stands in a comment right above the block, which readers do not see:

    <!-- test: skip REASON -->       not run; the reason is printed
    <!-- test: file NAME -->         written to NAME instead
    <!-- test: main -->              (c) a fragment: runs inside main() behind declarations of the usual handles
    <!-- test: fails -->             must end with another status than 0
    <!-- test: output -->            (text) what the block before printed; "..." stands for anything, in a line or of lines
    <!-- setup: COMMAND -->          runs first

From the environment: VIREO_PROGRAM, VIREO_LIBRARY, VIREO_BINARY_ROOT (the build), VIREO_CC and VIREO_CXX. In blocks: VIREO_SOURCE (this
checkout), VIREO_PREFIX (an installation of the build, made when a block names it). The summary is unittest's."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$", re.M | re.S)
COMMENT = re.compile(r"^<!-- (test|setup): ([^\n]*) -->[ \t]*\n\Z", re.M)
MAIN = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vireo/vireo.h>
int main(void) {
  vireo_runtime* runtime = NULL;
  vireo_model* model = NULL;
  vireo_session* session = NULL;
  vireo_tensor input = {0};
  vireo_tensor outputs[8] = {{0}};
  vireo_error error = VIREO_ERROR_INIT;
  (void)input; (void)outputs; (void)error;
  {
%s
  }
  if (error.status != VIREO_OK) fprintf(stderr, "%%s\\n", error.message);
  if (session == NULL || outputs[0].data == NULL) {
    fprintf(stderr, "nothing ran\\n");
    return 1;
  }
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return error.status != VIREO_OK;
}
"""


class Block:
    def __init__(self, page, match):
        self.language, self.code = match["language"], "".join(line.removeprefix(match["indent"]) for line in match["code"].splitlines(True))
        self.line = page.count("\n", 0, match.start()) + 1
        self.setup, self.rule, self.what = [], "", ""
        before = page[:match.start()]
        while comment := COMMENT.search(before):
            if comment[1] == "setup":
                self.setup.insert(0, comment[2])
            else:
                self.rule, _, self.what = comment[2].partition(" ")
            before = before[:comment.start()]


def matches(wanted, got):
    """Lines of `wanted` in order in `got`; a line "..." skips some."""
    rows, at, free = got.splitlines(), 0, True
    for line in wanted.splitlines():
        if line.strip() == "...":
            free = True
            continue
        pattern = re.compile(".*".join(re.escape(part.rstrip() if i else part) for i, part in enumerate(line.rstrip().split("..."))) + r"\s*$")
        while at < len(rows) and free and not pattern.match(rows[at]):
            at += 1
        if at >= len(rows) or not pattern.match(rows[at]):
            return f"no line like {line!r}"
        at, free = at + 1, False
    return ""


class Page:
    def __init__(self, path, folder):
        self.folder = folder
        self.environment = dict(os.environ, VIREO_SOURCE=str(ROOT), HOME=str(folder), LC_ALL="C.UTF-8")
        build = pathlib.Path(os.environ["VIREO_BINARY_ROOT"])
        self.library = pathlib.Path(os.environ["VIREO_LIBRARY"]).parent
        self.build = build
        self.environment["PATH"] = f"{pathlib.Path(os.environ['VIREO_PROGRAM']).parent}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment["PYTHONPATH"] = str(ROOT / "bindings" / "python")
        self.environment["LD_LIBRARY_PATH"] = str(self.library)
        self.environment["VIREO_BUILD"] = str(build)
        self.environment["VIREO_PREFIX"] = str(folder / "prefix")
        self.printed = ""

    def shell(self, code):
        if "VIREO_PREFIX" in code and not (self.folder / "prefix").exists():
            subprocess.run(["cmake", "--install", self.build, "--prefix", self.folder / "prefix"], check=True, capture_output=True)
        return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", code], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=600, check=False)

    def run(self, block):
        """An error, or ""; raises Skip's reason as a tuple."""
        for command in block.setup:
            done = self.shell(command)
            if done.returncode != 0:
                return f"setup {command!r}: {done.stdout}"
        if block.rule == "file":
            path = self.folder / block.what
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code)
            return ""
        if block.language == "text":
            return matches(block.code, self.printed) + (f"\nin:\n{self.printed}" if matches(block.code, self.printed) else "")
        if block.language == "python":
            (self.folder / "block.py").write_text(block.code)
            command = f"'{sys.executable}' -B block.py"
        elif block.language in ("c", "cpp"):
            name = f"block.{block.language}"
            (self.folder / name).write_text(MAIN % block.code if block.rule == "main" else block.code)
            compiler = os.environ.get("VIREO_CC", "cc") if block.language == "c" else os.environ.get("VIREO_CXX", "c++")
            command = f"{compiler} -Wall -Wextra -Werror {name} -o block -I '{ROOT}/c_api/include' -L '{self.library}' -lvireo -lm && ./block"
        else:
            command = block.code
        done = self.shell(command)
        self.printed = done.stdout
        if (done.returncode == 0) == (block.rule == "fails"):
            return f"exit status {done.returncode}:\n{done.stdout}"
        return ""


def main(path):
    if importlib.util.find_spec("numpy") is None:
        print(f"{path.relative_to(ROOT)} ... skipped 'numpy is missing (toolchains/bootstrap --for tests)'")
        print("Ran 1 tests in one page\n\nOK (failures=0, skipped=1)")
        return 0
    text = path.read_text()
    passed = failed = skipped = 0
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vireo-page-"))
    try:
        page = Page(path, folder)
        for block in (Block(text, m) for m in FENCE.finditer(text)):
            where = f"{path.relative_to(ROOT)}:{block.line}"
            if block.language not in ("sh", "c", "cpp", "python", "text") and block.rule != "file":
                continue
            if block.language == "text" and block.rule != "output":
                continue
            if block.rule == "skip":
                print(f"{where} ... skipped '{block.what}'")
                skipped += 1
                continue
            error = page.run(block)
            if error:
                print(f"{where} ... FAIL\n{error}")
                failed += 1
                break  # what follows builds on it
            passed += 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"Ran {passed + failed + skipped} tests in one page\n\n{'FAILED' if failed else 'OK'} (failures={failed}, skipped={skipped})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
