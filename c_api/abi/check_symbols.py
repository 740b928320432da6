"""check_symbols.py NM LIBRARY LIST: fails when the library exports other symbols than LIST has (one a line, sorted)."""
import subprocess
import sys

nm, library, list_path = sys.argv[1:4]
lines = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
exported = sorted({line.split()[-1].split("@")[0] for line in lines if line.split()[-2] in "TDBRVW"})
wanted = open(list_path).read().split()
for name in sorted(set(exported) - set(wanted)):
    print(f"exported but not listed: {name} (keep it out of the library, or add it to {list_path})")
for name in sorted(set(wanted) - set(exported)):
    print(f"listed but not exported: {name} (what is released stays)")
if wanted != sorted(wanted):
    print(f"{list_path} is not sorted")
    sys.exit(1)
sys.exit(exported != wanted)
