//! JSON Schema (draft 2020-12): one self-contained schema for each type a peer writes or reads.
//!
//! Params are described as they are read (optional members may be missing), results, notifications and server requests
//! as they are written (nullable members are always there).

use std::collections::BTreeMap;

use agentd_protocol::approval::{ApprovalResponse, ServerRequest};
use agentd_protocol::methods::{Method, MethodVisitor, visit_methods};
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::rpc::ErrorObject;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Value, json};

/// All schemas as one object, file name to schema. The daemon embeds the text, so it is indented by a single space.
pub(crate) fn text() -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(b" ");
    schemas().serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

fn schemas() -> BTreeMap<String, Value> {
    let mut collector = Collector {
        files: BTreeMap::new(),
        requests: Vec::new(),
        reading: reading().into_generator(),
    };
    visit_methods(&mut collector);
    collector.add_written::<ServerNotification>();
    collector.add_written::<ServerRequest>();
    collector.add_written::<ErrorObject>();
    collector.add_read::<ApprovalResponse>();
    collector.add_client_request();
    collector.files
}

fn reading() -> SchemaSettings {
    SchemaSettings::draft2020_12().for_deserialize()
}

fn writing() -> SchemaSettings {
    SchemaSettings::draft2020_12().for_serialize()
}

struct Collector {
    files: BTreeMap<String, Value>,
    /// One schema for each method, `ClientRequest` is any of them.
    requests: Vec<Value>,
    reading: SchemaGenerator,
}

impl MethodVisitor for Collector {
    fn visit<M: Method>(&mut self) {
        self.add_read::<M::Params>();
        self.add_written::<M::Result>();
        let params = self.reading.subschema_for::<M::Params>();
        self.requests.push(json!({
            "type": "object",
            "properties": { "id": { "type": ["string", "integer"] }, "method": { "const": M::NAME }, "params": params },
            "required": ["id", "method", "params"],
        }));
    }
}

impl Collector {
    fn add_read<T: JsonSchema>(&mut self) {
        self.add::<T>(reading().into_generator().into_root_schema_for::<T>());
    }

    fn add_written<T: JsonSchema>(&mut self) {
        self.add::<T>(writing().into_generator().into_root_schema_for::<T>());
    }

    fn add<T: JsonSchema>(&mut self, schema: Schema) {
        self.files
            .insert(format!("{}.json", T::schema_name()), schema.to_value());
    }

    fn add_client_request(&mut self) {
        let definitions = self.reading.take_definitions(true);
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "ClientRequest",
            "description": "A request from a client to the server.",
            "oneOf": self.requests,
            "$defs": definitions,
        });
        self.files.insert("ClientRequest.json".to_owned(), schema);
    }
}
