message(FATAL_ERROR "The driver this test runs on is missing; cmake/packages.apt names the package it is in.")
