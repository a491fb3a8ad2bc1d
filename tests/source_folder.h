// Where the repository lies, for tests that read its files.
#pragma once
#include <filesystem>

std::filesystem::path source_folder();
