//! Runs things for the model: commands ([`exec`]) and patches ([`apply_patch`]).
//!
//! This crate decides nothing: what may run and whether the user was asked is the engine's business, how a command is
//! confined is the sandbox crate's. It reports what happened.

pub mod apply_patch;
pub mod exec;
