//! One source of settings: a file, a profile, an option of the command line, a thread's map. Knows how each is read and
//! where in it a key stands; knows no meaning of keys.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::error::ConfigError;
use super::{Overrides, file, keys};

/// A layer.
#[derive(Clone, Debug)]
pub struct Layer {
    pub(super) source: Source,
    pub(super) table: Table,
}

/// Where a layer comes from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// The home's file, or a profile in it. The text tells lines.
    File {
        path: PathBuf,
        text: String,
        profile: Option<String>,
    },
    /// `-c`.
    Option(String),
    /// A thread's own map.
    Thread,
}

impl Layer {
    /// The file's layer; `None` if there is no file.
    pub(super) fn from_file(path: &Path) -> Result<Option<Self>, ConfigError> {
        let text = match file::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(ConfigError::Unreadable {
                    place: path.display().to_string(),
                    reason: error.to_string(),
                });
            }
        };
        let table = text.parse::<Table>().map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(&text, span.start));
            ConfigError::Syntax {
                place: format!("{}:{line}", path.display()),
                reason: error.message().to_owned(),
            }
        })?;
        Ok(Some(Self {
            source: Source::File {
                path: path.to_owned(),
                text,
                profile: None,
            },
            table,
        }))
    }

    /// `key=value`: the value is TOML, or else a string as it stands.
    pub(super) fn from_pair(pair: &str) -> Result<Self, ConfigError> {
        let place = format!("-c {pair}");
        let syntax = |reason: String| ConfigError::Syntax {
            place: place.clone(),
            reason,
        };
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| syntax("expected key=value".to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        let as_toml = format!("{key} = {value}").parse::<Table>();
        let table = match as_toml {
            Ok(table) => table,
            Err(_) => nested(key, Value::String(value.to_owned())).map_err(syntax)?,
        };
        Ok(Self {
            source: Source::Option(place),
            table,
        })
    }

    /// A thread's map. Null leaves a key alone.
    pub(super) fn from_json(overrides: &Map<String, Json>) -> Result<Self, ConfigError> {
        let mut table = Table::new();
        for (key, value) in overrides {
            let Some(value) = to_toml(value) else { continue };
            let one = nested(key, value).map_err(|reason| ConfigError::Syntax {
                place: format!("config `{key}`"),
                reason,
            })?;
            merge(&mut table, one);
        }
        Ok(Self {
            source: Source::Thread,
            table,
        })
    }

    /// Where the key stands, for people.
    pub(super) fn place_of(&self, key: &[String]) -> String {
        match &self.source {
            Source::File { path, text, profile } => {
                let within: Vec<String> = match profile {
                    Some(profile) => ["profiles", profile]
                        .map(str::to_owned)
                        .into_iter()
                        .chain(key.to_vec())
                        .collect(),
                    None => key.to_vec(),
                };
                format!("{}:{}", path.display(), find_line(text, &within))
            }
            Source::Option(option) => option.clone(),
            Source::Thread => "config".to_owned(),
        }
    }

    /// Checks the layer; the first misfit is the error, what is not understood becomes warnings.
    pub(super) fn check(&self, warnings: &mut Vec<String>) -> Result<(), ConfigError> {
        let findings = keys::check(&self.table);
        if let Some((key, expected, found)) = findings.misfits.into_iter().next() {
            return Err(ConfigError::Value {
                place: self.place_of(&key),
                key: key.join("."),
                expected,
                found,
            });
        }
        for key in &findings.unknown {
            warnings.push(format!(
                "{}: unknown key `{}` is ignored",
                self.place_of(key),
                key.join(".")
            ));
        }
        if !findings.without_effect.is_empty() {
            let place = match &self.source {
                Source::File { path, .. } => path.display().to_string(),
                _ => self.place_of(&[]),
            };
            warnings.push(format!(
                "{place}: these keys have no effect in agentd: {}",
                findings.without_effect.join(", ")
            ));
        }
        Ok(())
    }
}

/// The layer of the profile that the command line or else the file names.
pub(super) fn chosen_profile(list: &[Layer], overrides: &Overrides) -> Result<Option<Layer>, ConfigError> {
    let file = list.first();
    let in_file = file.and_then(|layer| layer.table.get("profile")?.as_str().map(str::to_owned));
    let Some(name) = overrides.profile.clone().or(in_file) else {
        return Ok(None);
    };
    let table = file.and_then(|layer| layer.table.get("profiles")?.get(&name)?.as_table().cloned());
    let (
        Some(table),
        Some(Layer {
            source: Source::File { path, text, .. },
            ..
        }),
    ) = (table, file)
    else {
        return Err(ConfigError::Value {
            place: "--profile".to_owned(),
            key: "profile".to_owned(),
            expected: "the name of a table below `profiles`".to_owned(),
            found: format!("the string {name:?}"),
        });
    };
    let source = Source::File {
        path: path.clone(),
        text: text.clone(),
        profile: Some(name),
    };
    Ok(Some(Layer { source, table }))
}

/// Puts `over` on top of `base`: tables are merged, everything else is replaced.
pub(super) fn merge(base: &mut Table, over: Table) {
    for (name, value) in over {
        match (base.get_mut(&name), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            (_, value) => {
                base.insert(name, value);
            }
        }
    }
}

/// A table that holds the value at a dotted key.
fn nested(key: &str, value: Value) -> Result<Table, String> {
    // TOML's own rules for dots and quotes in keys.
    let mut table = format!("{key} = 0")
        .parse::<Table>()
        .map_err(|error| error.message().to_owned())?;
    match innermost(&mut table) {
        Some(place) => *place = value,
        None => return Err(format!("`{key}` is no key")),
    }
    Ok(table)
}

fn innermost(table: &mut Table) -> Option<&mut Value> {
    match table.iter_mut().next()?.1 {
        Value::Table(inner) => innermost(inner),
        value => Some(value),
    }
}

fn to_toml(value: &Json) -> Option<Value> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(truth) => Value::Boolean(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Integer(whole),
            None => Value::Float(number.as_f64()?),
        },
        Json::String(text) => Value::String(text.clone()),
        Json::Array(list) => Value::Array(list.iter().filter_map(to_toml).collect()),
        Json::Object(members) => Value::Table(
            members
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), to_toml(value)?)))
                .collect(),
        ),
    })
}

/// The line of a key in a file; of the nearest table that holds it if the key itself is not there.
fn find_line(text: &str, key: &[String]) -> usize {
    let Ok(document) = DeTable::parse(text) else { return 1 };
    let mut line = 1;
    let mut table = document.get_ref();
    for name in key {
        let found: Option<(&Spanned<_>, &Spanned<DeValue<'_>>)> = table.get_key_value(name.as_str());
        let Some((name, value)) = found else { break };
        line = line_of(text, name.span().start);
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    line
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()
        .iter()
        .take(offset)
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}
