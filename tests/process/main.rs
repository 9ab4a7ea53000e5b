//! The process ring: crashes, signals, several processes.
