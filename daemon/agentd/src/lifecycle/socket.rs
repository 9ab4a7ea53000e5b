//! Unix sockets at paths that may be too long for the kernel: bound in a short private folder then, with a symbolic link
//! at the path that people know.

use std::fs::{self, DirBuilder, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tokio::net::{UnixListener, UnixStream};

/// Longest path that fits the kernel's address, in bytes.
const MAX_PATH: usize = 107;
const FILE_NAME: &str = "agentd.sock";

/// A bound socket; its files are removed when it is dropped.
#[derive(Debug)]
pub struct BoundSocket {
    /// The listening socket.
    pub listener: UnixListener,
    /// The path people know.
    pub path: PathBuf,
    files: Vec<PathBuf>,
}

/// The socket of a home.
pub fn home_socket(home: &Path) -> PathBuf {
    home.join(FILE_NAME)
}

/// Connects to the socket at a path, or that the link there points to.
pub async fn connect(path: &Path) -> io::Result<UnixStream> {
    match fits(path) {
        true => UnixStream::connect(path).await,
        false => UnixStream::connect(fs::read_link(path)?).await,
    }
}

impl BoundSocket {
    /// Binds a socket, mode 0600. A socket that nobody listens on is replaced.
    ///
    /// # Errors
    /// Somebody listens there, something else lies there, or the folder does not let us.
    pub async fn bind(path: &Path) -> anyhow::Result<Self> {
        make_room(path).await?;
        let doing = || format!("listen on {}", path.display());
        if fits(path) {
            let listener = bind_private(path).with_context(doing)?;
            return Ok(Self {
                listener,
                path: path.to_owned(),
                files: vec![path.to_owned()],
            });
        }
        let short = short_path(path)?;
        make_room(&short).await?;
        let listener = bind_private(&short).with_context(doing)?;
        let files = vec![path.to_owned(), short.clone()];
        let bound = Self {
            listener,
            path: path.to_owned(),
            files,
        };
        std::os::unix::fs::symlink(&short, path).with_context(doing)?;
        Ok(bound)
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        for file in &self.files {
            // An error means that somebody removed it before us.
            let _ = fs::remove_file(file);
        }
    }
}

fn fits(path: &Path) -> bool {
    path.as_os_str().len() <= MAX_PATH
}

/// Removes what a dead server left at the path.
async fn make_room(path: &Path) -> anyhow::Result<()> {
    let Ok(there) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !there.file_type().is_socket() && !there.file_type().is_symlink() {
        bail!("{} exists and is no socket", path.display());
    }
    if connect(path).await.is_ok() {
        bail!("another server listens on {}", path.display());
    }
    fs::remove_file(path).with_context(|| format!("replace {}", path.display()))
}

/// Nobody else can connect, not even between the making of the file and the narrowing of its mode: the mode mask is set for
/// the moment of binding.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(path);
    rustix::process::umask(before);
    let listener = bound?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// A short path that belongs to the long one, in a folder that is ours alone.
fn short_path(path: &Path) -> anyhow::Result<PathBuf> {
    let uid = rustix::process::getuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|dir| dir.is_dir());
    let folder = runtime.map_or_else(|| PathBuf::from(format!("/tmp/agentd-{uid}")), |dir| dir.join("agentd"));
    let doing = || format!("use the folder {}", folder.display());
    if let Err(error) = DirBuilder::new().mode(0o700).create(&folder)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error).with_context(doing);
    }
    let there = fs::symlink_metadata(&folder).with_context(doing)?;
    if !there.is_dir() || there.uid() != uid || there.mode() & 0o077 != 0 {
        bail!("{} is not a folder of ours alone", folder.display());
    }
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    Ok(folder.join(format!("{:016x}.sock", hasher.finish())))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(dir: &Path) {
        let path = home_socket(dir);
        drop(std::os::unix::net::UnixListener::bind(dir.join("x")).map(drop));
        let bound = BoundSocket::bind(&path).await.expect("bound");
        connect(&path).await.expect("connected");
        let refused = BoundSocket::bind(&path).await.expect_err("taken").to_string();
        assert!(refused.contains("another server listens"), "{refused}");
        assert!(path.exists(), "a refused bind must not remove the living socket");
        drop(bound);
        assert!(fs::symlink_metadata(&path).is_err(), "removed with its server");
    }

    #[tokio::test]
    async fn short_and_long_paths_work_alike() {
        let dir = tempfile::tempdir().expect("tempdir");
        check(dir.path()).await;
        let long = dir.path().join("x".repeat(60)).join("y".repeat(60));
        fs::create_dir_all(&long).expect("made");
        check(&long).await;
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_file_is_not() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("s");
        drop(std::os::unix::net::UnixListener::bind(&path).expect("bound"));
        let bound = BoundSocket::bind(&path).await.expect("replaced");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        drop(bound);
        fs::write(&path, "precious").expect("written");
        assert!(BoundSocket::bind(&path).await.is_err());
        assert_eq!(fs::read_to_string(&path).expect("still there"), "precious");
    }
}
