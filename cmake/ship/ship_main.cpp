// The main function of the tool that pumice_add_library builds.
#include <pumice/ship.h>

int main(int argc, char** argv) { return pumice::ship::run(argc, argv); }
