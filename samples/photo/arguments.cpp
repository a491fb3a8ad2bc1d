#include "samples/photo/arguments.h"

#include <pumice/pumice.h>

const char* const usage =
    "photo [PICTURE] [--out FOLDER] [--device SPEC] [--whole]\n"
    "Equalises and blurs a picture and finds its edges, on every device of this machine, and checks that the devices agree.\n"
    "\n"
    "  PICTURE        a PNG or JPEG; without it the photograph that lies beside this sample\n"
    "  --out FOLDER   where the pictures go, and in kernels/ the IR, GLSL and SPIR-V of each kernel (default: out/photo)\n"
    "  --device SPEC  only this device: interp, vulkan, vulkan:0, or vulkan: and a part of its name\n"
    "  --whole        the interpreter takes pictures above 1 megapixel whole, not only the centre: a second or more a megapixel\n"
    "  --help         this text\n";

Arguments parse_arguments(int count, char** words) {
    Arguments arguments;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const auto value = [&]() -> std::string {
            if (i + 1 == count || !*words[i + 1])
                pumice::fail("the option ", word, " has no value after it; --help lists the options");
            return words[++i];
        };
        if (word == "--help" || word == "-h")
            arguments.help = true;
        else if (word == "--out")
            arguments.out = value();
        else if (word == "--device")
            arguments.device = value();
        else if (word == "--whole")
            arguments.whole = true;
        else if (word.starts_with("-"))
            pumice::fail("there is no option ", word, "; --help lists them");
        else if (arguments.picture.empty() && !word.empty())
            arguments.picture = word;
        else if (word.empty())
            pumice::fail("the name of the picture is empty");
        else
            pumice::fail("two pictures are given, ", arguments.picture, " and ", std::filesystem::path(word),
                         ", and one is taken at a time");
    }
    if (arguments.picture.empty()) arguments.picture = PUMICE_SAMPLES_FOLDER "/photo/chelsea.png";
    return arguments;
}
