#!/usr/bin/env python3
"""Which tests and parts of tests/run a change can reach. Nothing is built: ninja's graph of a configured tree says what
is linked and made of what, the sources say what they include (reach/graph.py), reach/table.py the rest.

    changed.py [BASE] [--plan FILE]     what differs from BASE, what that reaches and why; FILE is for tests/run
    changed.py --owed                   part by part: green where, or owed and why; exit status 1 when something is owed
    changed.py --slowest [N]            the slowest tests of the newest runs
    changed.py --check BUILD            exit status 1 when a test or a tracked file is unknown
    changed.py --state                  "<commit> clean" or "<commit> dirty"
    changed.py --record PART STATE SCOPE PASSED FAILED SKIPPED SECONDS

Without BASE: the newest commit at which all that would be chosen is recorded green, else where this branch left
origin/main, else HEAD~1."""
import argparse
import os
import subprocess
import sys

from reach import choose, record, repository, slowest, table

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
CONFIGURE_SECONDS = 300


def configured(root):
    """A build folder of our own, configured as tests/run does it: another one may be building right now."""
    build, log = os.path.join(root, "build", "changed"), os.path.join(root, "build", "logs", "changed.configure")
    os.makedirs(os.path.dirname(log), exist_ok=True)
    with open(log, "w", encoding="utf-8") as file:
        try:
            done = subprocess.run(["cmake", "--preset", table.PRESET, "-B", build], cwd=root, stdout=file, stderr=file,
                                  check=False, timeout=CONFIGURE_SECONDS)
            return build if done.returncode == 0 else None
        except (OSError, subprocess.TimeoutExpired):
            return None


def state(repo):
    commit = repo.commit("HEAD")
    return commit or "none", "clean" if commit and not repo.dirty() else "dirty"


def choose_base(repo, reach, rows):
    """(commit, why it)"""
    known = record.Record(rows, reach, repo)
    for commit in sorted({r["commit"] for r in known.rows}, key=known.order.get):
        chosen, everything = reach.choose(repo.changed(commit))
        if not everything and all(known.is_green(part, commit) for part in record.parts_of(chosen)):
            return commit, "the newest commit at which all that is chosen is recorded green"
    return repo.default_base()


def because(found):
    path, why = found[0]
    return path + (f" ({why})" if why else "") + (f" and {len(found) - 1} more" if len(found) > 1 else "")


def list_changed(root, base, plan, build=None):
    repo = repository.Repository(root)
    build = build or configured(root)
    reach = choose.Reach(root, build) if build else None
    rows = record.read(os.path.join(root, "build", "logs", "record.tsv"))
    if base:
        commit, why = repo.commit(base), "as asked for"
        if not commit:
            sys.exit(f"changed: '{base}' is no commit here")
    else:
        commit, why = choose_base(repo, reach, rows) if reach else repo.default_base()
    if not commit:
        sys.exit("changed: there is no commit to compare with")
    changed = repo.changed(commit)
    print(f"base {commit[:10]}: {why}; {len(changed)} files differ")
    if not reach:
        print("everything is chosen: cmake cannot configure this tree (build/logs/changed.configure)")
        items = ["everything"]
    else:
        chosen, everything = reach.choose(changed)
        if everything:
            print(f"everything is chosen: {everything}")
        items = ["everything"] if everything else list(chosen)
        for item, found in chosen.items():
            if not everything or item.startswith("part "):
                print(f"  {item:<40} {because(found)}")
        tests, parts = (sum(i.startswith(kind) for i in chosen) for kind in ("test ", "part "))
        print(f"chosen: {tests} of {len(reach.tests)} tests, {parts} of {len(table.FULL)} parts")
    if plan:
        with open(plan, "w", encoding="utf-8") as file:
            file.write("\n".join([f"base {commit}", *items]) + "\n")
    return 0


def owed(root):
    repo = repository.Repository(root)
    rows = record.read(os.path.join(root, "build", "logs", "record.tsv"))
    build = configured(root)
    if not build:
        print("everything is owed: cmake cannot configure this tree (build/logs/changed.configure)")
        return 1
    head = repo.commit("HEAD")
    known = record.Record(rows, choose.Reach(root, build), repo)
    print(f"HEAD is {head[:10]}" + ("; what is not committed is not looked at" if repo.dirty() else ""))
    count = 0
    for part in record.PARTS:
        where, since = known.green(part, head)
        if where and not since:
            told = f"green at {where[:10]}" + ("" if where == head else ", nothing in it changed since")
        else:
            count += 1
            told = (f"owed: green at {where[:10]}, since then {because(since)}" if where
                    else "owed: never recorded green")
        print(f"  {part:<24} {told}")
    print(f"{count} of {len(record.PARTS)} owed")
    return 1 if count else 0


def check(root, build):
    if not repository.Repository(root).commit("HEAD"):
        print("changed: not a git checkout, nothing to check")
        return 77
    reach = choose.Reach(root, build)
    faults = [f"{p}: no test is known to see it: a row of tests/reach/table.py must tell" for p in reach.unknown()]
    faults += [f"the test {t.name}: nothing is known of what it reads: give it a row in TESTS of tests/reach/table.py"
               for t in reach.tests.values() if not reach.tells(t)]
    faults += [f"the test {t.name} has no TIMEOUT" for t in reach.tests.values() if not t.timeout]
    faults += reach.idle_rows()
    print("\n".join([*faults, f"{len(reach.graph.files)} files, {len(reach.tests)} tests, {len(faults)} faults"]))
    return 1 if faults else 0


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?")
    parser.add_argument("--plan")
    parser.add_argument("--root", default=ROOT, help="another checkout than this one")
    parser.add_argument("--build", help="a configured build of it, where one need not be made")
    parser.add_argument("--owed", action="store_true")
    parser.add_argument("--slowest", nargs="?", const=20, type=int, metavar="N")
    parser.add_argument("--check", metavar="BUILD")
    parser.add_argument("--state", action="store_true")
    parser.add_argument("--record", nargs=7, metavar=("PART", "STATE",
                        "SCOPE", "PASSED", "FAILED", "SKIPPED", "SECONDS"))
    given = parser.parse_args(arguments)
    root, repo = os.path.realpath(given.root), repository.Repository(given.root)
    logs = os.path.join(root, "build", "logs")
    if given.state:
        print(*state(repo))
    elif given.record:
        part, then, scope, *counts, seconds = given.record
        commit, tree = then.split()
        # What was changed while it ran was tested in parts at best.
        tree = tree if state(repo) == (commit, tree) else "dirty"
        record.append(os.path.join(logs, "record.tsv"), part, commit, tree, scope, counts, seconds)
    elif given.check:
        return check(root, given.check)
    elif given.owed:
        return owed(root)
    elif given.slowest is not None:
        slowest.show(logs, record.read(os.path.join(logs, "record.tsv")), given.slowest)
    else:
        return list_changed(root, given.base, given.plan, given.build)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
