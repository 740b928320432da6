"""Which tests and parts a set of changed files reaches, and through which file."""
import json
import os
import re

from reach import ctests, graph, table


class Reach:
    """Every test, stage and part of a configured tree with the files that it depends on."""

    def __init__(self, root, build):
        self.root = root
        self.graph = graph.Graph(root, build)
        self.tests = ctests.read(build)
        self.matches = {}
        self.items = {}  # "test NAME", "stage NAME" or "part NAME" -> files
        for test in self.tests.values():
            if "whole" in test.labels:
                continue  # tests/run has a part for these
            self.items["test " + test.name] = self.files(self.graph.closure(self.roots(test)))
        self.items["stage build"] = self.built(self.graph.closure(self.graph.compiled))
        for kind, rows in (("stage ", table.STAGES), ("part ", table.FULL)):
            for name, part in rows.items():
                found = self.graph.closure(self.part_roots(part), self.skip(part))
                self.items[kind + name] = self.built(found) if part.reads == "sources" else self.files(found)

    def files(self, nodes):
        return {n.removeprefix("=") for n in nodes} & self.graph.files

    def built(self, nodes):
        """Without what programs read when they run."""
        return nodes & self.graph.files

    def match(self, pattern):
        """Nodes of the graph that match a pattern of the table."""
        if pattern not in self.matches:
            compiled = re.compile(pattern)
            of = self.graph.edges if pattern.startswith("@") else self.graph.files
            self.matches[pattern] = {n for n in of if compiled.fullmatch(n)}
        return self.matches[pattern]

    def named(self, patterns):
        return {n for p in patterns for n in self.match(p)}

    def roots(self, test):
        """What a test runs and reads: from its command line, its environment and the table."""
        found = self.graph.lists_above(test.folder)
        for word in [w for value in (*test.command, *test.environment) for w in re.split(r"[=;]", value)]:
            node = self.graph.node(word) if os.path.isabs(word) else None
            if node in self.graph.edges or node in self.graph.files:
                found.add(node)
            elif node and node != "@.":
                found |= {n for n in self.graph.edges if n.startswith(node + "/")} | self.graph.folders.get(node, set())
        for pattern, patterns in table.TESTS.items():
            if re.fullmatch(pattern, test.name):
                found |= self.graph.leaves(self.named(patterns))
        if test.name.startswith("document_"):
            found |= {n for page in found if page.endswith(".md") for n in self.graph.page(page)}
        return found

    def part_roots(self, part):
        found = self.named(part.nodes)
        if part.reads == "text":
            return self.graph.leaves(found)
        for test in self.tests.values():
            if self.runs(part, test):
                roots = self.roots(test)
                if any(n.startswith("@") for n in roots):
                    found |= roots
        return found

    def runs(self, part, test):
        return (re.fullmatch(part.tests, test.name) and re.fullmatch(part.folders, test.folder)
                and (not part.labels or part.labels & test.labels) and not part.never & test.labels)

    def skip(self, part):
        without = re.compile(part.without)
        kept = self.kept_folders(part.kernels) if part.kernels else None

        def skipped(node):
            if without.fullmatch(node) or (not part.made and node == table.TOOL):
                return True
            operator = re.fullmatch(r"sdk/ops/(\w+)/\w+\.cc", node) if kept else None
            return operator is not None and operator[1] not in kept
        return skipped

    def kept_folders(self, preset):
        """The folders of sdk/ops that a preset's VIREO_KERNELS keeps."""
        with open(os.path.join(self.root, "CMakePresets.json"), encoding="utf-8") as file:
            presets = {p["name"]: p for p in json.load(file)["configurePresets"]}
        names = set(presets.get(preset, {}).get("cacheVariables", {}).get("VIREO_KERNELS", "").split(";")) - {""}
        rows = re.findall(r"^VIREO_OP\(\d+, (\w+), (\w+)", self.graph.text("sdk/ops/ops.def"), re.M)
        return {f for n, f in rows if not names or n in names or f in names} | {"fused"}

    # --- what a file reaches ---
    def reached_by(self, path):
        """(items, reason); items is None for everything."""
        for pattern, why in table.EVERYTHING:
            if re.fullmatch(pattern, path):
                return None, why
        own = {item for item, files in self.items.items() if path in files}
        if self.knows(own) or re.fullmatch(table.WIDE_OWN, path):
            return own, ""
        if path.endswith("CMakeLists.txt"):
            return self.of_its_folder(path, "makes no target of its own: what is below {} reaches this")
        for pattern, like, but in table.LIKE:
            if re.fullmatch(pattern, path):
                found = {i for f in self.match(like) for i, files in self.items.items()
                         if f in files and not re.fullmatch(f"part ({but})", i)}
                if self.knows(found):
                    return own | found, f"not built here, as {like}".replace("\\", "")
        for pattern, why in table.UNSEEN:
            if re.fullmatch(pattern, path):
                return own | self.wide(path), ""
        if path not in self.graph.files:
            return self.of_its_folder(path, "gone: what else is in {} reaches this")
        return None, "no test is known to see it"

    def knows(self, items):
        return any(item.split(" ", 1)[1] not in table.WIDE for item in items)

    def wide(self, path):
        """The checks that read this kind of file, be it there or not."""
        rows = {"test " + name: patterns for row, patterns in table.TESTS.items() for name in row.split("|")
                if name in self.tests and name in table.WIDE}
        rows["stage format"] = table.STAGES["format"].nodes
        return {item for item, patterns in rows.items() if any(re.fullmatch(p, path) for p in patterns)}

    def of_its_folder(self, path, why):
        """All that files of the same kind in the same folder, else in the one above, reach."""
        name, folder = os.path.basename(path), os.path.dirname(path)
        kinds = [""] if name == "CMakeLists.txt" else [
            re.search(r"_(test|bench)\.\w+$|$", name)[0], os.path.splitext(name)[1], ""]
        while folder:
            for kind in kinds:
                near = [f for f in self.graph.folders.get(folder, ()) if f.endswith(kind or "")]
                found = {i for f in near for i, files in self.items.items() if f in files}
                if (kind or kinds[-1] == kind) and self.knows(found):
                    return found | self.wide(path), why.format(folder + "/")
            folder = os.path.dirname(folder)
        return None, "nothing like it is known"

    def choose(self, changed):
        """item -> [(file, reason)] for all that is reached; and the reason for choosing everything, or ""."""
        chosen, everything = {}, ""
        for path in sorted(changed):
            items, why = self.reached_by(path)
            if items is None:
                everything = everything or f"{path}: {why}"
                items = set(self.items)
            for item in items:
                chosen.setdefault(item, []).append((path, why))
        return {item: chosen[item] for item in self.items if item in chosen}, everything

    def tells(self, test):
        """Whether anything but its CMakeLists.txt is known of a test."""
        return bool(self.roots(test) - self.graph.lists_above(test.folder))

    def idle_rows(self):
        """Rows of the table that match nothing any more."""
        found = []
        for name, part in (*table.STAGES.items(), *table.FULL.items()):
            if part.tests != r"(?!)" and not any(self.runs(part, test) for test in self.tests.values()):
                found.append(f"tests/reach/table.py: {name} has no test in this build")
            found += [f"tests/reach/table.py: {name}: {p} matches nothing" for p in part.nodes if not self.match(p)]
        return found

    def unknown(self):
        """Files that nothing but the wide checks sees and no row names."""
        seen = set().union(*(files for item, files in self.items.items() if item.split(" ", 1)[1] not in table.WIDE))
        rows = [table.WIDE_OWN, *(p for p, *_ in (*table.EVERYTHING, *table.LIKE, *table.UNSEEN))]
        return sorted(f for f in self.graph.files - seen
                      if not any(re.fullmatch(p, f) for p in rows) and not self.knows(self.reached_by(f)[0] or ()))
