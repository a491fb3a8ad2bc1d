# The manifests of bundles, as pumice-inspect prints them, against docs/bundle.schema.json; and a file that is no bundle is
# refused, as is an output without room.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
foreach(bundle IN LISTS BUNDLES)
    get_filename_component(name ${bundle} NAME_WE)
    execute_process(COMMAND ${INSPECT} ${bundle} OUTPUT_FILE ${FOLDER}/${name}.json COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${PYTHON} ${SOURCE}/tests/manifest/check_manifests.py ${SOURCE}/docs/bundle.schema.json ${FOLDER} argument axis
    COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${INSPECT} ${SOURCE}/README.md RESULT_VARIABLE status ERROR_VARIABLE message OUTPUT_QUIET)
if(NOT status EQUAL 1 OR NOT message MATCHES "does not begin like a bundle of Pumice")
    message(FATAL_ERROR "pumice-inspect says of README.md (${status}): ${message}")
endif()
list(GET BUNDLES 0 bundle)
execute_process(COMMAND ${INSPECT} ${bundle} OUTPUT_FILE /dev/full RESULT_VARIABLE status ERROR_VARIABLE message)
if(NOT status EQUAL 1 OR NOT message MATCHES "the output cannot be written")
    message(FATAL_ERROR "pumice-inspect says of an output without room (${status}): ${message}")
endif()
