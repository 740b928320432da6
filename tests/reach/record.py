"""What has been run, with which result: build/logs/record.tsv, one row for each finished part."""
import datetime
import os

from reach import table

COLUMNS = ["date", "commit", "tree", "part", "scope", "passed", "failed", "skipped", "seconds"]
SMOKED = ("aarch64-linux", "armv7-linux", "riscv64-linux", "wasm", "cortex-m4", "cortex-m4-integer")
# Stages of the default run beside dev, as Reach.items calls them: where that is a part of --full, it does as well.
STAGES = {"format": "stage format", "release": "stage release", "size": "part minsize",
          **{f"smoke-{target}": f"part {target}" for target in SMOKED}}
PARTS = ["dev", *STAGES, *table.FULL]


class Row(dict):
    @property
    def green(self):
        """A part of which nothing ran, because this machine lacks what it needs, is not green."""
        return self["tree"] == "clean" and self["failed"] == "0" and int(self["passed"]) > 0

    @property
    def base(self):
        """The commit since whose changes were tested, "" where the whole part was."""
        return self["scope"].removeprefix("since ") if self["scope"].startswith("since ") else ""


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [Row(zip(COLUMNS, row)) for row in rows if len(row) == len(COLUMNS) and row != COLUMNS]


def append(path, part, commit, tree, scope, counts, seconds):
    new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8") as file:
        if new:
            file.write("\t".join(COLUMNS) + "\n")
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        file.write("\t".join([now, commit, tree, part, scope, *map(str, counts), str(seconds)]) + "\n")


def item_names(part, reach):
    """A part's names in Reach.items."""
    if part == "dev":
        return [i for i in reach.items if i.startswith("test ") or i == "stage build"]
    return [STAGES.get(part, "part " + part)]


def parts_of(chosen):
    """The parts that items belong to, in the order of PARTS; a stage that a chosen part covers is left out."""
    names = {"dev" if i.startswith("test ") or i == "stage build" else i.split(" ", 1)[1] for i in chosen}
    return [p for p in PARTS if p in names]


class Record:
    """Which parts are green at a commit: recorded there, or recorded before and reached by nothing since."""

    def __init__(self, rows, reach, repository):
        self.reach, self.repository = reach, repository
        self.order = {c: i for i, c in enumerate(repository.ancestors("HEAD"))}  # 0 is HEAD
        self.rows = sorted((r for r in rows if r["commit"] in self.order and r.green),
                           key=lambda r: self.order[r["commit"]])
        self.known, self.chosen = {}, {}

    def reached(self, part, since, until):
        """[(file, reason)] of what reaches a part between two commits."""
        key = since, until
        if key not in self.chosen:
            self.chosen[key] = self.reach.choose(self.repository.changed(since, until))[0]
        found = []
        for item in item_names(part, self.reach):
            found += self.chosen[key].get(item, [])
        return found

    def green(self, part, commit):
        """(the commit where the part was green, []), or (the newest one or "", what reached it since)."""
        if (part, commit) in self.known:
            return self.known[part, commit]
        self.known[part, commit] = "", []  # ends a circle of rows
        newest = None
        for row in self.rows:
            later = self.order[row["commit"]] < self.order[commit]
            if later or row["part"] not in (part, STAGES.get(part, "").removeprefix("part ")):
                continue
            if row.base and (row.base not in self.order or not self.is_green(part, row.base)):
                continue
            since = [] if row["commit"] == commit else self.reached(part, row["commit"], commit)
            newest = newest or (row["commit"], since)
            if not since:
                newest = row["commit"], []
                break
        self.known[part, commit] = newest or ("", [])
        return self.known[part, commit]

    def is_green(self, part, commit):
        where, since = self.green(part, commit)
        return bool(where) and not since
