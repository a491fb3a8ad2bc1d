// The command line.
#pragma once
#include <filesystem>
#include <string>

struct Arguments {
    std::filesystem::path picture;  ///< the shipped one where none is given
    std::filesystem::path out = "out/photo";
    std::string device;  ///< what Device::open takes; "" for all devices
    bool whole = false;  ///< the interpreter takes large pictures whole, too
    bool help = false;
};

/// Throws pumice::Error for what it does not know.
Arguments parse_arguments(int count, char** words);
extern const char* const usage;
