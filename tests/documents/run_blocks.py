#!/usr/bin/env python3
"""run_blocks.py PAGE.md: runs the code blocks of a page in order, as a reader would who has a fresh clone in ~/vireo and copies them.

The reader's machine is a home folder of its own. ~/vireo holds this checkout, with the build as build/release. The shell starts there, with
nothing set but HOME and the system's PATH, where python3 has numpy. What a block exports, and the folder that it goes to, hold for the next
blocks; nothing runs that the page does not show. So a page says itself where its files come from and what goes on the path.

  sh        runs in one bash after the other, with -e
  python    runs with python3 in the shell's folder
  c, cpp    is compiled against the headers and the library, and run
  text      below a block is what that block prints. "..." stands for anything, within a line or for lines

What a page needs beside that stands in a comment right above the block:

    <!-- test: skip REASON -->       not run; the reason is printed
    <!-- test: file NAME -->         written to NAME instead. The page names the file in the lines above
    <!-- test: main -->              (c) a fragment: runs inside main() behind declarations of the usual handles
    <!-- test: fails -->             ends with another status than 0, and the text block below it has its message
    <!-- test: device NAME -->       this block and all below run only where `vireo devices` lists NAME
    <!-- test: program NAME... -->   this block and all below run only where these programs are on the reader's path

From the environment: VIREO_BINARY_ROOT (the build), VIREO_LIBRARY, VIREO_CC and VIREO_CXX. The summary is unittest's."""
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
COMMENT = re.compile(r"^<!-- test: ([^\n]*) -->[ \t]*\n\Z", re.M)
RUN = ("sh", "c", "cpp", "python")
NEAR = 4  # lines above a block in which its file is named
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
        self.rule = self.what = ""
        before = page[:match.start()]
        if comment := COMMENT.search(before):
            self.rule, _, self.what = comment[1].partition(" ")
            before = before[:comment.start()]
        self.above = "\n".join(before.rstrip("\n").split("\n")[-NEAR:])

    def runs(self):
        return self.rule == "file" or self.language in RUN


def blocks_of(text):
    """Its blocks that do something, and what is wrong with how the page is written. A text block belongs to the block right above it."""
    every, wrong, last = [Block(text, m) for m in FENCE.finditer(text)], [], None
    for block in every:
        if block.rule not in ("", "skip", "file", "main", "fails", "device", "program"):
            wrong.append(f"line {block.line}: there is no rule {block.rule!r}")
        if block.rule == "file" and block.what not in block.above:
            wrong.append(f"line {block.line}: the reader cannot know that this is {block.what}: name it in the {NEAR} lines above")
        block.expects = block.language == "text" and last is not None and last.runs() and last.rule not in ("file", "skip")
        last = block
    for block, below in zip(every, [*every[1:], None]):
        if block.rule == "fails" and (below is None or not below.expects):
            wrong.append(f"line {block.line}: it fails, and no text block below says with what message")
    return [b for b in every if b.runs() or b.expects], wrong


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


class Reader:
    """A home folder with the clone in it, and a shell that goes from block to block."""

    def __init__(self, home):
        self.clone = home / "vireo"
        self.library = pathlib.Path(os.environ["VIREO_LIBRARY"]).parent
        self.make_clone()
        self.blocks = home / ".blocks"
        self.blocks.mkdir()
        tools = home / ".tools"  # a system's python3 that has numpy, and nothing of Vireo
        tools.mkdir()
        (tools / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" -B "$@"\n')
        (tools / "python3").chmod(0o755)
        self.environment = {"HOME": str(home), "LC_ALL": "C.UTF-8", "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin"}
        self.state = home / ".state"
        self.state.write_text(f"cd '{self.clone}'\n")
        self.printed = ""

    def make_clone(self):
        """Links to what lies in this checkout: a file that a block writes beside them stays here. The Python package is a copy, because
        it looks for the library in the clone that it lies in."""
        (self.clone / "build").mkdir(parents=True)
        for path in ROOT.iterdir():
            if path.name == "bindings":
                shutil.copytree(path, self.clone / path.name)
            elif path.name not in (".git", "build"):
                (self.clone / path.name).symlink_to(path)
        (self.clone / "build" / "release").symlink_to(os.environ["VIREO_BINARY_ROOT"])

    def shell(self, code):
        # The state is read again first and written last: variables that were exported, and the folder.
        script = f". '{self.state}'\n{code}\n" + "{ export -p; echo \"cd '$PWD'\"; }" + f" >'{self.state}'\n"
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600, check=False)
        self.printed = done.stdout
        return done.returncode

    def folder(self):
        return pathlib.Path(re.search(r"^cd '(.*)'$", self.state.read_text(), re.M)[1])

    def has_device(self, name):
        return self.shell("vireo devices") == 0 and any(row.split()[:1] == [name] for row in self.printed.splitlines())

    def lacks(self, names):
        """The first of these programs that the path does not have, or ""."""
        return next((name for name in names.split() if self.shell(f"command -v {name}") != 0), "")

    def run(self, block):
        """An error, or ""."""
        if block.rule == "file":
            path = self.folder() / block.what
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code)
            return ""
        if block.language == "text":
            wrong = matches(block.code, self.printed)
            return wrong and f"{wrong}\nin:\n{self.printed}"
        command = block.code
        if block.language == "python":
            (self.blocks / "block.py").write_text(block.code)
            command = f"python3 '{self.blocks}/block.py'"
        elif block.language in ("c", "cpp"):
            source, program = self.blocks / f"block.{block.language}", self.blocks / "block"
            source.write_text(MAIN % block.code if block.rule == "main" else block.code)
            compiler = os.environ.get("VIREO_CC", "cc") if block.language == "c" else os.environ.get("VIREO_CXX", "c++")
            command = (f"{compiler} -Wall -Wextra -Werror '{source}' -o '{program}' -I '{ROOT}/c_api/include' -L '{self.library}' "
                       f"-Wl,-rpath,'{self.library}' -lvireo -lm && '{program}'")
        status = self.shell(command)
        if (status == 0) == (block.rule == "fails"):
            return f"exit status {status}:\n{self.printed}"
        return ""


def run_page(path):
    """(passed, failed, skipped), each said when it is known."""
    name = path.relative_to(ROOT) if ROOT in path.parents else path.name
    blocks, wrong = blocks_of(path.read_text())
    for text in wrong:
        print(f"{name}: {text}")
    passed, failed, skipped = 0, len(wrong), 0
    home = pathlib.Path(tempfile.mkdtemp(prefix="vireo-reader-"))
    try:
        reader = Reader(home)
        for at, block in enumerate(blocks):
            if block.rule == "device" and not reader.has_device(block.what):
                print(f"{name}:{block.line} ... skipped 'this and what follows: there is no device {block.what} here'")
                skipped += len(blocks) - at
                break
            if block.rule == "program" and (program := reader.lacks(block.what)):
                print(f"{name}:{block.line} ... skipped 'this and what follows: {program} is not here'")
                skipped += len(blocks) - at
                break
            if block.rule == "skip":
                print(f"{name}:{block.line} ... skipped '{block.what}'")
                skipped += 1
                continue
            if error := reader.run(block):
                print(f"{name}:{block.line} ... FAIL\n{error}")
                failed += 1
                break  # what follows builds on it
            passed += 1
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return passed, failed, skipped


def main(path):
    if importlib.util.find_spec("numpy") is None:
        print(f"{path.relative_to(ROOT)} ... skipped 'numpy is missing (toolchains/bootstrap --for tests)'")
        print("Ran 1 tests in one page\n\nOK (failures=0, skipped=1)")
        return 0
    passed, failed, skipped = run_page(path)
    print(f"Ran {passed + failed + skipped} tests in one page\n\n{'FAILED' if failed else 'OK'} (failures={failed}, skipped={skipped})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
