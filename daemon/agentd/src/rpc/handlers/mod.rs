//! One file per method: check the params, ask who knows, shape the answer. This list binds names to handlers.

mod account_read;
mod config_read;
mod initialize;
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
mod thread_session;
mod thread_start;
mod thread_turns_list;
mod thread_unarchive;
mod thread_unsubscribe;
mod turn_interrupt;
mod turn_start;
mod turn_steer;

use super::table::Table;

/// Adds every method that is served.
pub fn register(table: &mut Table) {
    table.method("initialize", initialize::handle);
    table.method("account/read", account_read::handle);
    table.method("config/read", config_read::handle);
    table.method("model/list", model_list::handle);
    table.method("permissionProfile/list", permission_profile_list::handle);
    table.method("thread/archive", thread_archive::handle);
    table.method("thread/fork", thread_fork::handle);
    table.method("thread/items/list", thread_items_list::handle);
    table.method("thread/list", thread_list::handle);
    table.method("thread/loaded/list", thread_loaded_list::handle);
    table.method("thread/name/set", thread_name_set::handle);
    table.method("thread/read", thread_read::handle);
    table.method("thread/resume", thread_resume::handle);
    table.method("thread/start", thread_start::handle);
    table.method("thread/turns/list", thread_turns_list::handle);
    table.method("thread/unarchive", thread_unarchive::handle);
    table.method("thread/unsubscribe", thread_unsubscribe::handle);
    table.method("turn/interrupt", turn_interrupt::handle);
    table.method("turn/start", turn_start::handle);
    table.method("turn/steer", turn_steer::handle);
}
