//! TypeScript: one module with every type of the protocol, in alphabetical order, after the types that tie methods to
//! their params and results.

use std::collections::BTreeMap;
use std::fmt::Write;

use agentd_protocol::approval::{ApprovalResponse, ServerRequest};
use agentd_protocol::methods::{INITIALIZED, Method, MethodVisitor, visit_methods};
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::rpc::ErrorObject;
use ts_rs::{Config, TS, TypeVisitor};

const HEADER: &str = "\
// Generated from the protocol crate by `cargo regenerate`. Not to be edited.
//
// One message is one JSON object. A response is `{ id, result }` or `{ error, id }`. Every notification of the server
// has a third member beside `method` and `params`: `emittedAtMs`, unix milliseconds.

/** Id of a request; echoed in its response. */
export type RequestId = string | number;
";

/// The module.
pub(crate) fn module() -> String {
    // Times and counts are JSON numbers; a bigint would not survive JSON.parse.
    let config = Config::new().with_large_int("number");
    let mut methods = Methods {
        config: &config,
        lines: Vec::new(),
        types: Types::new(&config),
    };
    visit_methods(&mut methods);
    methods.types.visit::<ServerNotification>();
    methods.types.visit::<ServerRequest>();
    methods.types.visit::<ApprovalResponse>();
    methods.types.visit::<ErrorObject>();
    let mut text = HEADER.to_owned();
    push_methods(&mut text, &methods.lines);
    for declaration in methods.types.declarations.values() {
        text.push('\n');
        for line in declaration.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

fn push_methods(text: &mut String, lines: &[MethodTypes]) {
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n/** Params and result of each method. */\nexport type Methods = {{\n"
    );
    for line in lines {
        let _ = writeln!(
            text,
            "  \"{}\": {{ params: {}, result: {} }},",
            line.name, line.params, line.result
        );
    }
    text.push_str("};\n\n/** A request from a client to the server. */\nexport type ClientRequest = {\n");
    text.push_str("  [M in keyof Methods]: { id: RequestId, method: M, params: Methods[M][\"params\"] }\n");
    text.push_str("}[keyof Methods];\n\n/** A notification from a client to the server. */\n");
    let _ = writeln!(
        text,
        "export type ClientNotification = {{ method: \"{INITIALIZED}\" }};"
    );
}

struct MethodTypes {
    name: &'static str,
    params: String,
    result: String,
}

struct Methods<'a> {
    config: &'a Config,
    lines: Vec<MethodTypes>,
    types: Types<'a>,
}

impl MethodVisitor for Methods<'_> {
    fn visit<M: Method>(&mut self) {
        self.types.visit::<M::Params>();
        self.types.visit::<M::Result>();
        self.lines.push(MethodTypes {
            name: M::NAME,
            params: M::Params::name(self.config),
            result: M::Result::name(self.config),
        });
    }
}

struct Types<'a> {
    config: &'a Config,
    declarations: BTreeMap<String, String>,
}

impl<'a> Types<'a> {
    fn new(config: &'a Config) -> Self {
        Self {
            config,
            declarations: BTreeMap::new(),
        }
    }
}

impl TypeVisitor for Types<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // Only types with a declaration of their own have a path; numbers, lists and the like have none.
        if T::output_path().is_none() {
            return;
        }
        let name = T::ident(self.config);
        if self.declarations.contains_key(&name) {
            return;
        }
        let docs = T::docs().unwrap_or_default();
        self.declarations
            .insert(name, format!("{docs}export {}", T::decl(self.config)));
        T::visit_dependencies(self);
    }
}
