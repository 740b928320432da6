"""What git says: which files differ, which commits there are."""
import subprocess

from reach import graph


class Repository:
    def __init__(self, root):
        self.root = root

    def run(self, *arguments):
        done = subprocess.run(["git", "-C", self.root, *arguments],
                              capture_output=True, text=True, check=False, timeout=60)
        return done.stdout.strip() if done.returncode == 0 else ""

    def commit(self, name):
        return self.run("rev-parse", "--verify", "--quiet", name + "^{commit}")

    def ancestors(self, commit):
        """Newest first, the commit itself too."""
        return self.run("rev-list", commit).split()

    def dirty(self):
        return self.run("status", "--porcelain")

    def changed(self, since, until=""):
        """Files that differ between two commits, or between one and the working tree: new, changed, deleted, both names
        of a renamed one."""
        between = [since, until] if until else [since]
        found = set(graph.git(self.root, "diff", "--name-only", "--no-renames", "-z", *between))
        if not until:
            found |= set(graph.git(self.root, "ls-files", "-z", "--others", "--exclude-standard"))
        return found

    def default_base(self):
        """(commit, how it is called) where no record helps."""
        head, base = self.commit("HEAD"), self.run("merge-base", "HEAD", "origin/main")
        if base and (base != head or self.dirty()):
            return base, "where this branch left origin/main"
        return (self.commit("HEAD~1"), "HEAD~1") if self.commit("HEAD~1") else (head, "HEAD")
