//! The process ring: crashes, signals, floods, several processes and clients on one home.
//!
//! Everything here runs the real binary. What only needs one well-behaved client belongs to the wire ring.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod clients;
mod crash;
mod flood;
mod helpers;
mod idle;
mod lifecycle;
mod outage;
mod prefix;
mod pressure;
mod steering;
