//! The wire ring: what each method promises its clients. One file a method; the harness checks what always holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod account_read;
mod config_read;
mod initialize;
mod malformed;
mod model_list;
mod permission_profile_list;
mod thread_archive;
mod thread_fork;
mod thread_items_list;
mod thread_list;
mod thread_loaded_list;
mod thread_name_set;
mod thread_read;
mod thread_resume;
mod thread_start;
mod thread_turns_list;
mod thread_unarchive;
mod thread_unsubscribe;
mod turn_interrupt;
mod turn_start;
mod turn_start_approvals;
mod turn_start_commands;
mod turn_start_errors;
mod turn_start_patches;
mod turn_steer;
