//! The wire ring: one file a method.
