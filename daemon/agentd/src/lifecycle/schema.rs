//! Writes the protocol's schema that this binary was built with. Clients check their own types against it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::value::RawValue;

/// An object: file name to schema.
const JSON: &str = include_str!("../../../../schema/json/agentd.schemas.json");
const JSON_NAME: &str = "agentd.schemas.json";
const TYPESCRIPT: &str = include_str!("../../../../schema/typescript/index.ts");
const TYPESCRIPT_NAME: &str = "index.ts";

/// Writes one file per schema, and the bundle.
///
/// # Errors
/// The folder cannot be written to.
pub fn write_json(dir: &Path) -> anyhow::Result<()> {
    let schemas: BTreeMap<String, Box<RawValue>> = serde_json::from_str(JSON).context("read the built-in schema")?;
    for (name, schema) in &schemas {
        let name = if name.ends_with(".json") {
            name.clone()
        } else {
            format!("{name}.json")
        };
        write(dir, &name, schema.get())?;
    }
    write(dir, JSON_NAME, JSON)
}

/// Writes the TypeScript types.
///
/// # Errors
/// The folder cannot be written to.
pub fn write_typescript(dir: &Path) -> anyhow::Result<()> {
    write(dir, TYPESCRIPT_NAME, TYPESCRIPT)
}

fn write(dir: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = dir.join(name);
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&path, text));
    written.with_context(|| format!("write {}", path.display()))
}
