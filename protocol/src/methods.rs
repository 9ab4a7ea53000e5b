//! The method table: one line for each method a client can call.
//!
//! A line binds the wire name to its params, its result and its stability; handlers, clients, the schema and the list of
//! methods in error texts all follow from it. The types live in the file of their area below.

pub mod account;
pub mod config;
pub mod handshake;
pub mod models;
pub mod thread_list;
pub mod thread_start;
pub mod threads;
pub mod turns;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What the schema crate needs of a params or result type; every type has it unless the feature `schema` is on.
#[cfg(feature = "schema")]
pub trait Described: schemars::JsonSchema + ts_rs::TS + 'static {}
#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema + ts_rs::TS + 'static> Described for T {}

/// What the schema crate needs of a params or result type; every type has it unless the feature `schema` is on.
#[cfg(not(feature = "schema"))]
pub trait Described {}
#[cfg(not(feature = "schema"))]
impl<T> Described for T {}

/// A method that clients call.
pub trait Method {
    /// Name on the wire.
    const NAME: &'static str;
    /// Whether only clients that asked for the experimental API may call it.
    const EXPERIMENTAL: bool;
    /// Its params. Always an object; unknown members are ignored, optional ones may be missing or null.
    type Params: Serialize + DeserializeOwned + Described + Send + 'static;
    /// Its result. Always an object; nullable members are written as null.
    type Result: Serialize + DeserializeOwned + Described + Send + 'static;
}

/// A line of the table without its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodLine {
    /// Name on the wire.
    pub name: &'static str,
    /// Whether only clients that asked for the experimental API may call it.
    pub experimental: bool,
}

/// Is shown every method of a table, with its types.
pub trait MethodVisitor {
    /// One method.
    fn visit<M: Method>(&mut self);
}

macro_rules! method_table {
    (
        $(#[$table_doc:meta])* $table:ident;
        $(#[$visit_doc:meta])* $visit:ident;
        $($marker:ident = $name:literal: $params:ty => $result:ty, $stability:ident;)+
    ) => {
        $(
            #[doc = concat!("`", $name, "`")]
            #[derive(Clone, Copy, Debug)]
            pub struct $marker;

            impl Method for $marker {
                const NAME: &'static str = $name;
                const EXPERIMENTAL: bool = method_table!(@experimental $stability);
                type Params = $params;
                type Result = $result;
            }
        )+

        $(#[$table_doc])*
        pub const $table: &[MethodLine] =
            &[$(MethodLine { name: $marker::NAME, experimental: $marker::EXPERIMENTAL }),+];

        $(#[$visit_doc])*
        pub fn $visit(visitor: &mut impl MethodVisitor) {
            $(visitor.visit::<$marker>();)+
        }
    };
    (@experimental stable) => { false };
    (@experimental experimental) => { true };
}

method_table! {
    /// The methods agentd serves.
    METHODS;
    /// Shows every served method to the visitor, in the order of the table.
    visit_methods;
    Initialize = "initialize": handshake::InitializeParams => handshake::InitializeResponse, stable;
    ThreadStart = "thread/start": thread_start::ThreadStartParams => thread_start::ThreadStartResponse, stable;
    ThreadResume = "thread/resume": thread_start::ThreadResumeParams => thread_start::ThreadResumeResponse, stable;
    ThreadRead = "thread/read": threads::ThreadReadParams => threads::ThreadReadResponse, stable;
    ThreadList = "thread/list": thread_list::ThreadListParams => thread_list::ThreadListResponse, stable;
    ThreadLoadedList = "thread/loaded/list": thread_list::ThreadLoadedListParams
        => thread_list::ThreadLoadedListResponse, stable;
    ThreadNameSet = "thread/name/set": threads::ThreadNameSetParams => Empty, stable;
    ThreadArchive = "thread/archive": threads::ThreadIdParams => Empty, stable;
    ThreadUnarchive = "thread/unarchive": threads::ThreadIdParams => threads::ThreadResponse, stable;
    ThreadUnsubscribe = "thread/unsubscribe": threads::ThreadIdParams => threads::ThreadUnsubscribeResponse, stable;
    ThreadFork = "thread/fork": thread_start::ThreadForkParams => thread_start::ThreadStartResponse, stable;
    ThreadTurnsList = "thread/turns/list": thread_list::ThreadTurnsListParams
        => thread_list::ThreadTurnsListResponse, stable;
    ThreadItemsList = "thread/items/list": thread_list::ThreadItemsListParams
        => thread_list::ThreadItemsListResponse, stable;
    TurnStart = "turn/start": turns::TurnStartParams => turns::TurnStartResponse, stable;
    TurnSteer = "turn/steer": turns::TurnSteerParams => turns::TurnSteerResponse, stable;
    TurnInterrupt = "turn/interrupt": turns::TurnInterruptParams => Empty, stable;
    ModelList = "model/list": models::ModelListParams => models::ModelListResponse, stable;
    ConfigRead = "config/read": config::ConfigReadParams => config::ConfigReadResponse, stable;
    AccountRead = "account/read": account::AccountReadParams => account::AccountReadResponse, stable;
    PermissionProfileList = "permissionProfile/list": config::PermissionProfileListParams
        => config::PermissionProfileListResponse, stable;
}

/// The only notification that clients send: the handshake is done. It changes nothing; requests are served before it too.
pub const INITIALIZED: &str = "initialized";

/// The line of a served method.
pub fn find(name: &str) -> Option<&'static MethodLine> {
    METHODS.iter().find(|line| line.name == name)
}

/// A result that says nothing but "done": `{}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Empty {}

#[cfg(test)]
#[path = "methods/tests.rs"]
mod tests;
