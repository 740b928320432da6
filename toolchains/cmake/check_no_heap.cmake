# cmake -DELF=image -DNM=nm -P: fails when the image holds a heap function; prints its sizes.
execute_process(COMMAND "${NM}" "${ELF}" OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
if(failed OR NOT symbols MATCHES " main\n")
  message(FATAL_ERROR "cannot read the symbols of ${ELF}")
endif()
string(REGEX MATCHALL "[^\n ]*(malloc|calloc|realloc|memalign|sbrk)[^\n ]*\n| _?free(_r)?\n| _Zn[wa][jm][^\n]*\n| _Zd[la]Pv[^\n]*\n"
       heap "${symbols}")
string(REGEX REPLACE "/nm$|-nm$" "" prefix "${NM}")
execute_process(COMMAND "${prefix}-size" "${ELF}")
if(heap)
  list(JOIN heap " " heap)
  message(FATAL_ERROR "heap functions are linked (the .map file beside the image tells who asks for them): ${heap}")
endif()
message(STATUS "no heap function is linked")
