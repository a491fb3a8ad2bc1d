// A header of the application with the same name as one of Pumice's.
#pragma once

constexpr int own_header = 7;
