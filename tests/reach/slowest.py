"""The slowest tests of the newest runs: build/logs/<preset>.xml, and the seconds of whole parts from the record."""
import glob
import os
import xml.etree.ElementTree


def tests(logs):
    """[(seconds, preset, name)], slowest first."""
    found = []
    for path in glob.glob(os.path.join(logs, "*.xml")):
        preset = os.path.splitext(os.path.basename(path))[0]
        try:
            cases = list(xml.etree.ElementTree.parse(path).getroot().iter("testcase"))
        except xml.etree.ElementTree.ParseError:
            continue  # of a run that goes on, or was ended
        found += [(float(case.get("time") or 0), preset, case.get("name")) for case in cases]
    return sorted(found, reverse=True)


def show(logs, rows, count):
    found = tests(logs)
    if not found:
        print(f"no run has left results in {logs}")
    for seconds, preset, name in found[:count]:
        print(f"{seconds:9.1f} s  {preset:<18} {name}")
    for preset in sorted({p for _, p, _ in found}):
        of = [s for s, p, _ in found if p == preset]
        print(f"{sum(of):9.1f} s  {preset:<18} {len(of)} tests together")
    newest = {row["part"]: row for row in rows}
    for part, row in newest.items():
        print(f"{row['seconds']:>9} s  {part:<18} the whole part, built and run, on {row['date'][:10]}" + \
              (f" ({row['scope']})" if row.base else ""))
