//! A loader for our own small eBPF programs.
