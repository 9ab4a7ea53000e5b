//! The generated files as a whole: make, write, compare.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use crate::{JSON, TYPESCRIPT, json, typescript};

/// All generated files, by path within a schema folder. Always the same text for the same protocol.
///
/// # Errors
/// Only if a schema cannot be written as JSON.
pub fn generate() -> Result<BTreeMap<String, String>, serde_json::Error> {
    let files = [
        (JSON.to_owned(), json::text()?),
        (TYPESCRIPT.to_owned(), typescript::module()),
    ];
    Ok(BTreeMap::from(files))
}

/// Writes the files into a folder, over what is there.
///
/// # Errors
/// What the file system says, with the path.
pub fn write(folder: &Path, files: &BTreeMap<String, String>) -> io::Result<()> {
    for (name, text) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| name_path("create", parent, &error))?;
        std::fs::write(&path, text).map_err(|error| name_path("write", &path, &error))?;
    }
    Ok(())
}

/// Paths within the folder that are missing, differ from these files, or lie beside them without being one of them.
///
/// # Errors
/// What the file system says, with the path; a missing file is no error.
pub fn differing(folder: &Path, files: &BTreeMap<String, String>) -> io::Result<Vec<String>> {
    let mut names = BTreeSet::new();
    for (name, text) in files {
        let path = folder.join(name);
        match std::fs::read(&path) {
            Ok(bytes) if bytes == text.as_bytes() => {}
            Ok(_) => {
                names.insert(name.clone());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                names.insert(name.clone());
            }
            Err(error) => return Err(name_path("read", &path, &error)),
        }
    }
    let parents: BTreeSet<_> = files.keys().filter_map(|name| Some(name.split_once('/')?.0)).collect();
    for parent in parents {
        strangers(folder, parent, files, &mut names)?;
    }
    Ok(names.into_iter().collect())
}

fn strangers(
    folder: &Path,
    parent: &str,
    files: &BTreeMap<String, String>,
    names: &mut BTreeSet<String>,
) -> io::Result<()> {
    let path = folder.join(parent);
    let entries = match std::fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(name_path("list", &path, &error)),
    };
    for entry in entries {
        let name = format!("{parent}/{}", entry?.file_name().to_string_lossy());
        if !files.contains_key(&name) {
            names.insert(name);
        }
    }
    Ok(())
}

fn name_path(operation: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("could not {operation} {}: {error}", path.display()),
    )
}
