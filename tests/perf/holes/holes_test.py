"""The search for slow corners in small: cases are the same for the same seed, valid, of many kinds, and measured with agreeing answers."""
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
try:
    import onnxruntime  # noqa: F401
    import cases
except ImportError as e:
    print(f"skipped: {e.name} is not installed")
    sys.exit(77)

MEASURED = ("11", "12", "14", "15", "16")  # short ones


def main():
    faults = []
    made = [cases.case(seed) for seed in range(1, 101)]
    if len({case.kind for case in made}) < 40:
        faults.append("100 seeds give less than 40 kinds")
    if not any(case.bounds for case in made):
        faults.append("no case has open extents")
    for case in made[:10]:
        if cases.case(case.seed).model.SerializeToString() != case.model.SerializeToString():
            faults.append(f"seed {case.seed} gives two models")
        fixed = cases.case(case.seed, opened=False)
        if fixed.bounds:
            faults.append(f"seed {case.seed}, fixed, has open extents")
    done = subprocess.run([sys.executable, "-B", str(FOLDER / "holes.py"), "--case", *MEASURED], capture_output=True, text=True)
    if done.returncode != 0:
        faults.append(f"holes.py ends with {done.returncode}: {done.stdout}{done.stderr}")
    for seed in MEASURED:
        if f"seed {seed} " not in done.stdout:
            faults.append(f"seed {seed} is not in the table: {done.stdout}")
    print("\n".join(faults) or f"100 cases, {len({case.kind for case in made})} kinds, {len(MEASURED)} measured")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
