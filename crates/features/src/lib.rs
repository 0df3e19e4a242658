//! Contains no code: its manifest names features of shared libraries, once for all selections of packages.
