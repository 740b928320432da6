"""The ctest tests of a configured build, from the files that ctest itself reads."""
import os
import re

ADD = re.compile(r'^add_test\((\[=*\[.*?\]=*\]|"(?:[^"\\]|\\.)*"|\S+) (.*)\)$', re.M)
SET = re.compile(r'^set_tests_properties\((\[=*\[.*?\]=*\]|\S+) PROPERTIES((?:\s+\w+ "(?:[^"\\]|\\.)*")+)\)$', re.M)
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')


class Test:
    def __init__(self, name, folder, command):
        self.name, self.folder, self.command = name, folder, command
        self.labels, self.environment, self.timeout = set(), [], None


def read(build):
    """name -> Test, in the order of ctest."""
    found, todo = {}, [""]
    while todo:
        folder = todo.pop(0)
        path = os.path.join(build, folder, "CTestTestfile.cmake")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name, rest in ADD.findall(text):
            name = re.sub(r'^(\[=*\[|")|(\]=*\]|")$', "", name)
            found[name] = Test(name, folder, [re.sub(r"\\(.)", r"\1", w) for w in WORD.findall(rest)])
        for name, rest in SET.findall(text):
            test = found[re.sub(r"^\[=*\[|\]=*\]$", "", name)]
            values = dict(re.findall(r'(\w+) "((?:[^"\\]|\\.)*)"', rest))
            test.labels = set(filter(None, values.get("LABELS", "").split(";")))
            test.environment = values.get("ENVIRONMENT", "").split(";")
            test.timeout = values.get("TIMEOUT")
        todo = [os.path.join(folder, d) for d in re.findall(r'^subdirs\("([^"]+)"\)', text, re.M)] + todo
    return found
