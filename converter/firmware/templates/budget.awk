# Compares an image with its budgets: bytes of flash and RAM by `size -A`, and the deepest stack by the call graph that
# gcc writes (-fcallgraph-info=su). Exit status 1 where a budget is exceeded, or where a stack has no bound.
function deepest(f,    i, n, most, d, callees) {
  if (f in depth) return depth[f]
  if (f in open) { print "error: " f " calls itself: its stack has no bound"; failed = 1; return 0 }
  open[f] = 1
  most = 0
  n = split(calls[f], callees, "\t")
  for (i = 1; i <= n; ++i) {
    d = deepest(callees[i])
    if (d > most) { most = d; below[f] = callees[i] }
  }
  delete open[f]
  depth[f] = own[f] + most
  return depth[f]
}
$1 == ".text" || $1 == ".ARM.exidx" { sum_text += $2 }
$1 == ".data" { sum_text += $2 }
$1 == ".rodata" { sum_rodata += $2 }
$1 == ".data" || $1 == ".bss" || $1 == ".stack" { sum_ram += $2 }
/^node:/ && match($0, /title: "[^"]*"/) {
  f = substr($0, RSTART + 8, RLENGTH - 9)
  if (match($0, /[0-9]+ bytes \((static|dynamic)/)) {
    split(substr($0, RSTART, RLENGTH), words, " ")
    own[f] = words[1]
    if ($0 ~ /\(dynamic/ && $0 !~ /bounded/) { print "error: " f " takes memory of the stack as it runs"; failed = 1 }
    if (f ~ /(^|:)(run|units_of|needs_of)_/) calls["__indirect_call"] = calls["__indirect_call"] f "\t"
  }
}
/^edge:/ && match($0, /sourcename: "[^"]*"/) {
  from = substr($0, RSTART + 13, RLENGTH - 14)
  match($0, /targetname: "[^"]*"/)
  calls[from] = calls[from] substr($0, RSTART + 13, RLENGTH - 14) "\t"
}
function tell(what, used, budget) {
  printf "%-6s %7d of %7d bytes\n", what, used, budget
  if (used > budget + 0) { print "error: " what " exceeds its budget"; failed = 1 }
}
END {
  used = deepest("main")
  tell("text", sum_text, text)
  tell("rodata", sum_rodata, rodata)
  tell("ram", sum_ram, ram)
  tell("stack", used, stack)
  path = "main"
  for (f = "main"; f in below; f = below[f]) path = path " > " below[f]
  print "deepest: " path
  exit failed
}
