//! A scene with a virtual clock for tests of the machines.
