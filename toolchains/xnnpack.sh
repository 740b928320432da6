# Read by toolchains/bootstrap (--for xnnpack, xnnpack-cross): fetches XNNPACK and what it is made of, and builds static libraries into
# $cache/lib/xnnpack-20241108/<target>, where CMake finds them. They are kept until the compiler or this recipe changes.
# pthreadpool is fetched for its header alone: delegates/xnnpack has functions of its own behind it.
XNNPACK_SHA256=90bde2caef0f880f627bab0dc805a86c4b8070cd98e3243db3046ab3f3be1a99      # 0.0~git20241108, trixie and later
PTHREADPOOL_SHA256=4cc3cbd933b28131d2a34edc54f76af9fb41bc490af5eae1a5bd3cd07ea90708  # 0.0~git20240616, trixie
FXDIV_SHA256=7953482badaf4cb34026c3487c257b8e4ab2df061c019bd6fabbbc12ad52c44b        # 0.0~git20200417, trixie
CPUINFO_MINIMUM=20250905  # from sid, whose version moves: that archive's signed index has checked it
XNNPACK_RECIPE=1

xnnpack_unpack() {  # NAME TARBALL [SHA256]: some tarballs have a top folder, others none
  local strip=0
  [ -e "$2" ] || return 1
  [ -z "${3-}" ] || check_sha256 "$2" "$3"
  [ "$(tar -tf "$2" | cut -d/ -f1 | sort -u | wc -l)" != 1 ] || strip=1
  mkdir -p "$work/xnnpack/$1" && tar -xf "$2" -C "$work/xnnpack/$1" --strip-components=$strip
}

xnnpack_fetch() {
  local cpuinfo
  fetch_source trixie xnnpack pthreadpool fxdiv && fetch_source sid cpuinfo || return 1
  cpuinfo=$(ls "$work"/cpuinfo_*.orig.tar.* | head -n 1)
  [[ $cpuinfo =~ git([0-9]{8}) ]] && [ "${BASH_REMATCH[1]}" -ge $CPUINFO_MINIMUM ] || return 1
  xnnpack_unpack xnnpack "$(ls "$work"/xnnpack_*.orig.tar.*)" $XNNPACK_SHA256 &&
    xnnpack_unpack pthreadpool "$(ls "$work"/pthreadpool_*.orig.tar.*)" $PTHREADPOOL_SHA256 &&
    xnnpack_unpack fxdiv "$(ls "$work"/fxdiv_*.orig.tar.*)" $FXDIV_SHA256 && xnnpack_unpack cpuinfo "$cpuinfo" || return 1
  # gcc 12 compiles the AMX and AVX512-FP16 kernels, which its CMakeLists.txt keeps for gcc 13.
  local list=$work/xnnpack/xnnpack/CMakeLists.txt
  [ "$(grep -c 'VERSION_LESS "13"' "$list")" = 2 ] || { echo "XNNPACK's CMakeLists.txt is not the one that was patched"; return 1; }
  sed -i 's/VERSION_LESS "13"/VERSION_LESS "12"/' "$list"
  echo "$XNNPACK_SHA256 $XNNPACK_RECIPE" >"$work/xnnpack/.sha256"
  rm -rf "$cache/src/xnnpack" && mv "$work/xnnpack" "$cache/src/xnnpack"
}

xnnpack_build() {  # TARGET COMPILER [cmake arguments]: quick where it has been built before
  local target=$1 compiler=$2 to=$cache/lib/xnnpack-20241108/$1 src=$cache/src/xnnpack built
  shift 2
  built="recipe $XNNPACK_RECIPE, $("$compiler" --version | head -n 1)"
  [ "$(cat "$to/built-by" 2>/dev/null)" != "$built" ] || return 0
  if [ "$(cat "$src/.sha256" 2>/dev/null)" != "$XNNPACK_SHA256 $XNNPACK_RECIPE" ]; then
    say "fetching the source of XNNPACK 20241108 into $src"
    quiet xnnpack_fetch || return 1
  fi
  say "building XNNPACK for $target into $to (minutes, once)"
  local flags="-ffunction-sections -fdata-sections ${XNNPACK_FLAGS-}" cached=()
  if command -v ccache >/dev/null; then cached=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  quiet limited 20 "configuring XNNPACK for $target" cmake -G Ninja -S "$src/xnnpack" -B "$work/xnnpack-$target" -DCMAKE_BUILD_TYPE=Release -DXNNPACK_LIBRARY_TYPE=static \
    -DXNNPACK_BUILD_TESTS=OFF -DXNNPACK_BUILD_BENCHMARKS=OFF -DXNNPACK_BUILD_ALL_MICROKERNELS=OFF \
    -DXNNPACK_ENABLE_KLEIDIAI=OFF -DCPUINFO_SOURCE_DIR="$src/cpuinfo" -DPTHREADPOOL_SOURCE_DIR="$src/pthreadpool" \
    -DFXDIV_SOURCE_DIR="$src/fxdiv" -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_C_FLAGS="$flags" \
    -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_ASM_FLAGS="${XNNPACK_FLAGS-}" "${cached[@]}" "$@" &&
    quiet limited 240 "building XNNPACK for $target" nice ninja -C "$work/xnnpack-$target" -j "$(nproc)" || return 1
  rm -rf "$to"
  mkdir -p "$to/include" "$to/lib"
  cp "$src/xnnpack/include/xnnpack.h" "$src/pthreadpool/include/pthreadpool.h" "$to/include/"
  cp "$work/xnnpack-$target"/{libXNNPACK.a,libmicrokernels-prod.a,cpuinfo/libcpuinfo.a} "$to/lib/"
  cp "$src/xnnpack/LICENSE" "$to/LICENSE"
  echo "$built" >"$to/built-by"
}

# Clones share the cache folder: one of them builds, the others find it done.
if command -v flock >/dev/null; then
  exec 9>"$cache/xnnpack.lock"
  flock -w 14400 9 || die "another bootstrap has held $cache/xnnpack.lock for four hours"
fi
case $(uname -m) in
  x86_64 | aarch64) xnnpack_build "$(uname -m)-linux-gnu" "${CC:-cc}" || say "XNNPACK cannot be had here: builds go on without its delegate" ;;
  *) say "XNNPACK is not built for $(uname -m): builds go on without its delegate" ;;
esac
if has_set xnnpack-cross; then
  for target in aarch64-linux-gnu arm-linux-gnueabihf riscv64-linux-gnu; do
    [ "$target" != "$(uname -m)-linux-gnu" ] && command -v $target-gcc >/dev/null || continue
    processor=${target%%-*} options=()
    case $target in
      arm-*) processor=armv7l XNNPACK_FLAGS="-march=armv7-a -mfpu=neon -mfloat-abi=hard" ;;
      riscv64-*) options=(-DXNNPACK_ENABLE_RISCV_VECTOR=OFF) ;;  # gcc before 14 has no vector intrinsics
    esac
    XNNPACK_FLAGS=${XNNPACK_FLAGS-} xnnpack_build $target $target-gcc -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$processor \
      -DCMAKE_C_COMPILER=$target-gcc -DCMAKE_CXX_COMPILER=$target-g++ "${options[@]}" ||
      say "XNNPACK for $target cannot be had here: that target's build goes on without its delegate"
    unset XNNPACK_FLAGS
  done
fi
