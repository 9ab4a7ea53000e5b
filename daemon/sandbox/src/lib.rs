//! Confines commands and owns every process they start: a [`Confinement`] becomes landlock, seccomp and a supervised
//! process tree. The only crate with `unsafe` code, and all of that is in `sys.rs`.
//!
//! The daemon never confines itself and never forks in place, because it has many threads. It starts its own binary again
//! with [`HELPER_ARG`]; that *helper* process reads a [`Launch`] from its standard input (one end of a socket pair), forks
//! the command, confines it, and reports each [`Status`] on the same socket. The socket is also the lifetime link: when
//! the daemon's end closes, however the daemon died, the helper kills everything below it. When the helper is the one that
//! dies, the daemon adopts what it owned and kills that ([`Helpers`]).
//!
//! Read [`wire`] for what crosses the socket, `command.rs` for the order of steps between fork and exec, `supervise.rs`
//! for the helper's life, `helpers.rs` for what outlives it, `filesystem.rs` and `syscalls.rs` for what is
//! allowed. This crate decides no policy: which confinement a command gets is the caller's business, and what cannot be
//! enforced here is an error.

#[cfg(not(target_os = "linux"))]
compile_error!("agentd-sandbox confines commands with landlock and seccomp and therefore builds for Linux only");
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("agentd-sandbox knows the system calls of x86_64 and aarch64 only");

mod command;
mod filesystem;
mod helpers;
mod probe;
mod supervise;
mod sys;
mod syscalls;
mod tree;
pub mod wire;

pub use helpers::{Helpers, adopt_orphans};
pub use probe::{ProbeReport, Tier, probe};
pub use supervise::helper_main;
pub use wire::{Confinement, Exit, Launch, Order, SetupFailure, SetupKind, Status};

/// First argument that turns the binary into the helper; `main` checks for it before anything else.
pub const HELPER_ARG: &str = "sandbox-helper";
