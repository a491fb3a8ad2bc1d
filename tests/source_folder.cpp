#include "tests/source_folder.h"

std::filesystem::path source_folder() { return PUMICE_SOURCE_FOLDER; }
