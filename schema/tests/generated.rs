//! The committed descriptions are current, complete and small enough to be embedded.

use std::path::Path;

use agentd_protocol::methods::METHODS;
use serde_json::Value;

#[test]
fn committed_files_are_current() {
    let files = agentd_schema::generate().unwrap();
    let differing = agentd_schema::differing(Path::new(env!("CARGO_MANIFEST_DIR")), &files).unwrap();
    assert!(differing.is_empty(), "run `cargo regenerate` and commit: {differing:?}");
}

#[test]
fn drift_is_found() {
    let folder = std::env::temp_dir().join(format!("agentd-schema-{}", std::process::id()));
    let files = agentd_schema::generate().unwrap();
    let all: Vec<_> = files.keys().cloned().collect();
    assert_eq!(
        agentd_schema::differing(&folder, &files).unwrap(),
        all,
        "nothing is there yet"
    );

    agentd_schema::write(&folder, &files).unwrap();
    assert!(agentd_schema::differing(&folder, &files).unwrap().is_empty());

    std::fs::write(folder.join(agentd_schema::TYPESCRIPT), "changed").unwrap();
    std::fs::write(folder.join("json/Old.json"), "{}").unwrap();
    let differing = agentd_schema::differing(&folder, &files).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(differing, ["json/Old.json", agentd_schema::TYPESCRIPT]);
}

#[test]
fn every_method_is_described_in_both_languages() {
    let files = agentd_schema::generate().unwrap();
    assert!(files.values().map(String::len).sum::<usize>() < 400 * 1024);
    let schemas: Value = serde_json::from_str(&files[agentd_schema::JSON]).unwrap();
    let requests = schemas["ClientRequest.json"]["oneOf"].as_array().unwrap();
    assert_eq!(requests.len(), METHODS.len());
    for (line, request) in METHODS.iter().zip(requests) {
        assert_eq!(request["properties"]["method"]["const"], line.name);
        let typescript = format!("  \"{}\": {{ params: ", line.name);
        assert!(files[agentd_schema::TYPESCRIPT].contains(&typescript), "{}", line.name);
    }
}

#[test]
fn every_reference_within_a_schema_leads_somewhere() {
    let files = agentd_schema::generate().unwrap();
    let schemas: Value = serde_json::from_str(&files[agentd_schema::JSON]).unwrap();
    for (name, schema) in schemas.as_object().unwrap() {
        check_references(name, schema, schema);
    }
}

fn check_references(name: &str, root: &Value, part: &Value) {
    if let Some(Value::String(target)) = part.get("$ref") {
        let pointer = target.trim_start_matches('#');
        assert!(root.pointer(pointer).is_some(), "{name}: {target}");
    }
    let children: Vec<&Value> = match part {
        Value::Object(members) => members.values().collect(),
        Value::Array(elements) => elements.iter().collect(),
        _ => Vec::new(),
    };
    for child in children {
        check_references(name, root, child);
    }
}

#[test]
fn what_is_written_has_every_nullable_member_and_what_is_read_needs_few() {
    let files = agentd_schema::generate().unwrap();
    let schemas: Value = serde_json::from_str(&files[agentd_schema::JSON]).unwrap();
    let required = |schema: &Value| -> Vec<String> { serde_json::from_value(schema["required"].clone()).unwrap() };
    let response = required(&schemas["ThreadListResponse.json"]);
    assert!(response.contains(&"nextCursor".to_owned()), "{response:?}");
    assert_eq!(required(&schemas["TurnStartParams.json"]), ["threadId", "input"]);
}

#[test]
fn numbers_are_numbers_in_typescript() {
    let files = agentd_schema::generate().unwrap();
    let typescript = &files[agentd_schema::TYPESCRIPT];
    assert!(!typescript.contains("bigint"));
    assert!(typescript.contains("startedAtMs: number | null"));
    assert!(typescript.contains("\"method\": \"turn/completed\""));
    assert!(typescript.contains("effort?: string | null"));
}
