// The sources that pages name, for tests of the names.
#pragma once
#include <string>

namespace docs {

/// The text of a file, named by its path from the root, without its comments (of `//`); of a page, the whole text. Throws
/// pumice::Error if there is no such file.
std::string code_of(const std::string& path);

/// True if the text has the name, and not only as a part of a longer one.
bool has_name(const std::string& code, const std::string& name);

}  // namespace docs
