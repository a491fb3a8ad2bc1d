# cmake -DINPUT=file -DOUTPUT=source -DNAME=variable -P embed_text.cmake: a file as a C++ string.
file(READ "${INPUT}" contents)
string(FIND "${contents}" ")pumice_text\"" terminator)
if(NOT terminator EQUAL -1)
    message(FATAL_ERROR "${INPUT} contains )pumice_text\", which ends the string it is embedded in.")
endif()
file(WRITE "${OUTPUT}" "// Made from ${INPUT} by cmake/embed_text.cmake.
namespace pumice::codegen {
extern const char* const ${NAME};
const char* const ${NAME} = R\"pumice_text(${contents})pumice_text\";
}  // namespace pumice::codegen
")
