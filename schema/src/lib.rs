//! Describes the protocol crate as JSON Schema and TypeScript, and tells whether the committed descriptions are current.
//!
//! What is described follows from the method table: every served method with its params and result, every notification
//! and every server request. This crate is a tool of the build; the daemon embeds the committed files and does not link
//! it. `schema/sql` is none of its business.

mod files;
mod json;
mod typescript;

pub use files::{differing, generate, write};

/// Path of the JSON Schemas within a schema folder: one object, file name to schema.
pub const JSON: &str = "json/agentd.schemas.json";

/// Path of the TypeScript declarations within a schema folder: one module.
pub const TYPESCRIPT: &str = "typescript/index.ts";
