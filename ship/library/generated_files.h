// The text files of a shipped library: the headers for C and C++, and the C source of its tables.
#pragma once
#include <string>
#include <vector>

#include "ship/bundle/bundle_writer.h"
#include "ship/library/c_names.h"

namespace pumice::ship {

/// A library whose files are written.
struct LibraryFiles {
    std::string name;         ///< an identifier of C
    std::string bundle_path;  ///< absolute; the C source takes the bundle's bytes from there
    const BundleWriter* bundle = nullptr;
    std::string bytes;                     ///< of the bundle
    std::vector<std::string> code;         ///< symbols of native functions, by NativeRecord::entry
    std::vector<std::string> vector_math;  ///< names of SLEEF's functions
};

/// NAME.h: a function of C for each kernel.
std::string c_header(const LibraryFiles& library);
/// NAME.hpp: a function of C++17 for each kernel, with typed arrays.
std::string cpp_header(const LibraryFiles& library);
/// NAME_library.c: the bundle, and the table of native functions.
std::string table_source(const LibraryFiles& library);

}  // namespace pumice::ship
