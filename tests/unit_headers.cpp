// Compiles the precompiled headers that the tests share; see CMakeLists.txt.
