//! Reads configuration files. A pipe or a device in their place is an error instead of a wait that nobody ends.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The text of a regular file.
///
/// # Errors
/// There is none, it cannot be read, it is something else, or it is not UTF-8.
pub(super) fn read(path: &Path) -> io::Result<String> {
    // Without the flag, opening a pipe waits for somebody to write to it.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().expect("tempdir");
        let (file, link, pipe) = (
            dir.path().join("file"),
            dir.path().join("link"),
            dir.path().join("pipe"),
        );
        std::fs::write(&file, "text").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).expect("made");
        for (path, expected) in [
            (file.as_path(), Ok("text")),
            (&link, Ok("text")),
            (&pipe, Err(io::ErrorKind::InvalidInput)),
            (dir.path(), Err(io::ErrorKind::InvalidInput)),
            (Path::new("/dev/zero"), Err(io::ErrorKind::InvalidInput)),
            (&dir.path().join("none"), Err(io::ErrorKind::NotFound)),
        ] {
            let read = read(path).map_err(|error| error.kind());
            assert_eq!(read.as_deref().map_err(|kind| *kind), expected, "{}", path.display());
        }
    }
}
