//! Which folders commands and patches may write in, as absolute real paths.

use std::path::{Path, PathBuf};

use agentd_protocol::settings::SandboxPolicy;

/// The writable folders of a policy for a working directory; empty for read-only and for full access (which needs none).
pub fn writable_roots(policy: &SandboxPolicy, cwd: &Path) -> Vec<PathBuf> {
    let SandboxPolicy::WorkspaceWrite {
        writable_roots,
        exclude_tmpdir_env_var,
        exclude_slash_tmp,
        ..
    } = policy
    else {
        return Vec::new();
    };
    // These are real paths since they were set. If one leads through a symlink now, a command has replaced it, and what it
    // leads to was never allowed.
    let set = std::iter::once(cwd.to_path_buf()).chain(writable_roots.iter().map(|root| cwd.join(root)));
    let mut wanted: Vec<PathBuf> = set
        .filter(|path| path.canonicalize().is_ok_and(|real| real == *path))
        .collect();
    if !exclude_slash_tmp {
        wanted.push(PathBuf::from("/tmp"));
    }
    if !exclude_tmpdir_env_var {
        wanted.extend(
            std::env::var_os("TMPDIR")
                .map(PathBuf::from)
                .filter(|p| p.is_absolute()),
        );
    }
    let mut roots: Vec<PathBuf> = Vec::new();
    for path in wanted {
        // A root that does not exist (yet) grants nothing: landlock binds to what is there.
        let Ok(real) = path.canonicalize() else { continue };
        if real.is_dir() && !roots.contains(&real) {
            roots.push(real);
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_workspace_write_has_roots() {
        let cwd = std::env::temp_dir();
        assert!(writable_roots(&SandboxPolicy::ReadOnly { network_access: false }, &cwd).is_empty());
        assert!(writable_roots(&SandboxPolicy::DangerFullAccess, &cwd).is_empty());
    }

    #[test]
    fn missing_roots_are_left_out_and_exclusions_hold() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: vec!["/definitely/not/there".into(), "sub".into()],
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        };
        std::fs::create_dir(real.join("sub")).unwrap();
        assert_eq!(writable_roots(&policy, &real), vec![real.clone(), real.join("sub")]);
    }
}
