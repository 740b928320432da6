"""What is made of what: ninja's graph of a configured build, joined with the includes, imports and paths that files
name.

Nodes are strings: "converter/convert.cc" is a file of the repository, "@bin/vireo" one that the build makes, "=x" the
file x read as text. Ninja knows targets, links, and commands with their inputs exactly, before anything is built, those
too that CMake's file API leaves out (what a model or an embedded file is made of). What a source includes it only
learns by compiling, so that is read here."""
import os
import re
import subprocess

from reach import table

TOKEN = re.compile(r"(?:[^\s$]|\$.)+")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<(vireo/[^>]+)>)', re.M)
SCHEMA_INCLUDE = re.compile(r'^include "([^"]+)";', re.M)
IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) import ([\w, ]+)|import ([\w., ]+))", re.M)
QUOTED = re.compile(r"""["']/?([\w./+-]*\w)/?["']""")
CHAIN = re.compile(r"""["']/?[\w./+-]+["'](?:\s*/\s*["'][\w./+-]+["'])*""")
JOINED = re.compile(r"""join\([^()"']*((?:["'][\w./+-]+["'](?:,\s*)?)+)\)""")
FENCE = re.compile(r"^ *```\w*[^\n]*\n.*?^ *```$|^<!-- (?:test|setup): [^\n]*-->", re.M | re.S)
WORD = re.compile(r"[\w./+-]*\w")
ABSOLUTE = re.compile(r"(?<![\w.])/[\w./+-]*\w")
SKIPPED = re.compile(r"^<!-- test: skip[^\n]*-->\n(?:<!--[^\n]*\n)*^ *```\w*[^\n]*\n.*?^ *```$", re.M | re.S)
C_SUFFIXES = (".h", ".cc", ".c", ".inc", ".def")
GENERATED = [(re.compile(pattern), of) for pattern, of in table.GENERATED]


def git(root, *arguments):
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, check=True, timeout=60)
    return [p for p in done.stdout.decode().split("\0") if p]


def tracked(root):
    """What git knows or would add, as far as it is there."""
    listed = set(git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"))
    return {p for p in listed if os.path.isfile(os.path.join(root, p))}


class Graph:
    def __init__(self, root, build, files=None):
        self.root, self.build = os.path.realpath(root), os.path.realpath(build)
        self.files = tracked(root) if files is None else set(files)
        self.folders = {}
        for path in self.files:
            folder = os.path.dirname(path)
            while folder:
                self.folders.setdefault(folder, set()).add(path)
                folder = os.path.dirname(folder)
        self.edges = {}     # made file -> what it is made of
        self.compiled = {}  # source -> the objects made of it
        self.named = {}     # file -> what its text names, filled when asked for
        self.read_ninja()
        for node, patterns in table.MADE.items():
            nodes = {n for p in patterns for n in (*self.files, *self.edges) if re.fullmatch(p, n)}
            if node == table.INSTALLED or node in self.edges:
                self.edges.setdefault(node, set()).update(nodes)
        self.headers = {}  # what commands of the build write, by name
        for node in self.edges:
            if node.endswith(".h"):
                self.headers.setdefault(os.path.basename(node), set()).add(node)
        self.programs = {os.path.basename(n): n for n in self.edges if re.match(
            r"@(bin|test|plugins)/\w+[-_.][^/]+$", n)}

    # --- ninja ---
    def node(self, path):
        """The node of a path as the build or a test's command spells it; None for what lies outside."""
        path = os.path.normpath(path if os.path.isabs(path) else os.path.join(self.build, path))
        if path.startswith(self.build + os.sep):
            return "@" + path[len(self.build) + 1:]
        return path[len(self.root) + 1:] if path.startswith(self.root + os.sep) else None

    def read_ninja(self):
        with open(os.path.join(self.build, "build.ninja"), encoding="utf-8") as file:
            lines = file.read().split("\n")
        for number, line in enumerate(lines):
            if not line.startswith("build "):
                continue
            words = [re.sub(r"\$(.)", r"\1", w)
                            for w in TOKEN.findall(line[6:].replace("${cmake_ninja_workdir}", "\0"))]
            at = next(i for i, w in enumerate(words) if w.endswith(":"))
            made = [w for w in [*words[:at], words[at][:-1]] if w != "|" and "\0" not in w]
            rule, parts, inputs = words[at + 1], [[]], words[at + 2:]
            for word in inputs:
                if word in ("|", "||"):
                    parts.append([word])
                else:
                    parts[-1].append(word)
            needed = [w for part in parts if part[:1] != ["||"] for w in part if w != "|"]
            if "_LINKER__" in rule and not rule.startswith(("CXX_STATIC", "C_STATIC")):
                # What must lie beside a program when it runs. Archives are in the link itself or not needed.
                needed += [w for part in parts if part[:1] == ["||"] for w in part[1:] if not w.endswith(".a")]
            nodes = {self.node(w) for w in needed} - {None}
            if rule == "CUSTOM_COMMAND":  # files that its command names, said to be needed or not
                nodes |= {n for n in map(self.node, ABSOLUTE.findall(lines[number + 1])) if n in self.files}
            if "_COMPILER__" in rule:
                for source in nodes:
                    self.compiled.setdefault(source, []).extend(self.node(w) for w in made)
                nodes |= self.lists_above("@" + made[0].split("/CMakeFiles/")[0])
            for out in made:
                if self.node(out):
                    self.edges.setdefault(self.node(out), set()).update(nodes)

    def lists_above(self, folder):
        """The CMakeLists.txt that make a folder's targets, but the root's: that one reaches everything."""
        found, folder = set(), folder.lstrip("@")
        while folder:
            found.add(folder + "/CMakeLists.txt")
            folder = os.path.dirname(folder)
        return found & self.files

    # --- what files name ---
    def text(self, node):
        path = os.path.join(self.build, node[1:]) if node.startswith("@") else os.path.join(self.root, node)
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def inputs(self, node):
        """All that a change of which may change `node` or what it does."""
        if node not in self.named:
            self.named[node] = self.edges.get(node, set()) | self.mentions(node)
        return self.named[node]

    def mentions(self, node):
        found = set()
        if node.startswith("@"):
            found |= {f for pattern, of in GENERATED if pattern.fullmatch(node) for f in self.glob(of)}
        if node.endswith(".fbs"):
            return found | {p for p in SCHEMA_INCLUDE.findall(self.text(node)) if p in self.files}
        if node.endswith(C_SUFFIXES):
            return found | self.includes(node)
        return found | self.python(node) if node.endswith(".py") else found

    def page(self, node):
        """What a document's blocks use that run."""
        blocks = "\n".join(m.group(0) for m in FENCE.finditer(SKIPPED.sub("", self.text(node))))
        words = {w for w in WORD.findall(blocks.replace("$VIREO_SOURCE/", " ")) if "/" in w}
        found = self.leaves({f for w in words for f in self.at(w)}) | self.words(blocks)
        return found | ({table.INSTALLED} if "VIREO_PREFIX" in blocks else set())

    def leaves(self, paths):
        """Files that are read as text: what they include themselves is no matter. "=x" is x without its inputs."""
        return {p if p.endswith(".py") or p.startswith("@") else "=" + p for p in paths}

    def includes(self, node):
        text, folder, found = self.text(node), os.path.dirname(node), set()
        for quoted, angled in INCLUDE.findall(text):
            name = quoted or angled
            for path in (os.path.normpath(os.path.join(folder, name)), name, "c_api/include/" + name):
                if path in self.files:
                    found.add(path)
                    break
            else:
                if name.endswith("_generated.h") and name[:-12] + ".fbs" in self.files:
                    found.add(name[:-12] + ".fbs")
                else:
                    found |= self.headers.get(os.path.basename(name), set())
                found |= {f for pattern, of in GENERATED if pattern.fullmatch(
                    "@generated/" + name) for f in self.glob(of)}
        if "source_path(" in text:
            found |= self.leaves(self.paths(text, folder))
        return found

    def python(self, node):
        """Modules of the repository that a script imports, files and folders that it names, programs that it starts."""
        text, folder = self.text(node), os.path.dirname(node)
        lines = text.splitlines()
        on_path = "\n".join(line for line in lines if "sys.path" in line)
        search = [folder, *(d for d in self.chains(on_path) if d in self.folders), *table.PYTHON_FOLDERS]
        found = set()
        for origin, names, plain in IMPORT.findall(text):
            wanted = [origin] if origin else [n.split(" as ")[0].strip() for n in plain.split(",")]
            wanted += [f"{origin}.{n.strip()}" for n in names.split(",")] if origin else []
            for name in wanted:
                found |= self.module(name.replace(".", "/"), search)
        if not re.fullmatch(table.WORDS_ARE_DATA, node):
            named = self.paths("\n".join(line for line in lines if "sys.path" not in line), folder)
            found |= self.leaves(named) | self.words(text)
        return found - {node}

    def module(self, name, search):
        for folder in search:
            path = os.path.join(folder, name).lstrip("/")
            if path + ".py" in self.files:
                return {path + ".py"}
            if path + "/__init__.py" in self.files:
                return set(self.folders[path])
        return set()

    def chains(self, text):
        """Paths spelled as "a/b" or "a" / "b" or join(.., "a", "b")."""
        return {"/".join(QUOTED.findall(chain)) for chain in (*CHAIN.findall(text), *JOINED.findall(text))}

    def paths(self, text, folder):
        """Files and folders of the repository that quoted words spell, from the root or from beside the script."""
        found = set()
        for path in self.chains(text) | set(QUOTED.findall(text)):
            beside = os.path.normpath(os.path.join(folder, path))
            if beside in self.files:
                found.add(beside)
            elif "/" in path:
                found |= self.at(path) or self.at(beside)
        return found

    def words(self, text):
        """Programs of the build that are named, and what a word of the table stands for."""
        found = {self.programs[q] for q in set(QUOTED.findall(text)) & set(self.programs)}
        return found | {node for word, node in table.WORDS if re.search(rf"\b{word}\b", text) and node in self.edges}

    def at(self, path):
        path = os.path.normpath(path)
        return {path} if path in self.files else self.folders.get(path, set())

    def glob(self, patterns):
        """Files that match a regular expression of the table in full."""
        return {f for p in map(re.compile, patterns) for f in self.files if p.fullmatch(f)}

    # --- reach ---
    def closure(self, roots, skip=lambda node: False):
        """Everything below the roots; what `skip` says is neither counted nor followed."""
        seen, todo = set(), [r for r in roots if not skip(r)]
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            todo += [n for n in self.inputs(node) if n not in seen and not skip(n)]
        return seen
