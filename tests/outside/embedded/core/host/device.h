// The application's own header of a name that Pumice has, too.
#pragma once

constexpr int own_header = 7;
