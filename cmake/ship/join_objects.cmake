# Joins the objects that LIST names, a line each, into the relocatable object OUTPUT. Without any, OUTPUT has nothing in it.
file(STRINGS ${LIST} objects ENCODING UTF-8)
if(objects)
    execute_process(COMMAND ${LINKER} -r -o ${OUTPUT} ${objects} COMMAND_ERROR_IS_FATAL ANY)
else()
    file(WRITE ${OUTPUT}.c "extern int pumice_no_native_code;\n")
    execute_process(COMMAND ${COMPILER} -c -o ${OUTPUT} ${OUTPUT}.c COMMAND_ERROR_IS_FATAL ANY)
endif()
