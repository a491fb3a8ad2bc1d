// The folder of the repository, for tests that read its files.
#pragma once
#include <filesystem>

std::filesystem::path source_folder();
