//! Git facts of a working directory, read from the files of `.git` without running git (a repository's configuration
//! could make git run something).

use std::path::{Path, PathBuf};

use agentd_protocol::thread::GitInfo;

/// The nearest folder at or above `cwd` that holds a `.git`.
pub fn root(cwd: &Path) -> Option<PathBuf> {
    cwd.ancestors()
        .find(|dir| dir.join(".git").exists())
        .map(Path::to_path_buf)
}

/// Commit, branch and origin of the repository that `cwd` is in, as far as plain files tell.
pub fn info(cwd: &Path) -> Option<GitInfo> {
    let dot_git = root(cwd)?.join(".git");
    let git_dir = resolve_git_dir(&dot_git)?;
    let common = std::fs::read_to_string(git_dir.join("commondir"))
        .map(|rel| git_dir.join(rel.trim()))
        .unwrap_or_else(|_| git_dir.clone());
    let head = read_small(&git_dir.join("HEAD"))?;
    let head = head.trim();
    let (branch, sha) = match head.strip_prefix("ref: ") {
        Some(reference) => {
            let branch = reference.strip_prefix("refs/heads/").map(str::to_owned);
            let sha = read_small(&git_dir.join(reference))
                .or_else(|| read_small(&common.join(reference)))
                .map(|s| s.trim().to_owned())
                .or_else(|| packed_ref(&common, reference));
            (branch, sha)
        }
        None => (None, Some(head.to_owned())),
    };
    Some(GitInfo {
        sha,
        branch,
        origin_url: origin_url(&common),
    })
}

fn resolve_git_dir(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return Some(dot_git.to_path_buf());
    }
    let text = read_small(dot_git)?;
    let target = text.trim().strip_prefix("gitdir:")?.trim();
    Some(dot_git.parent()?.join(target))
}

fn packed_ref(common: &Path, reference: &str) -> Option<String> {
    let text = std::fs::read_to_string(common.join("packed-refs")).ok()?;
    text.lines()
        .find_map(|line| line.strip_suffix(reference)?.strip_suffix(' ').map(str::to_owned))
}

/// `url` of `[remote "origin"]`, without credentials.
fn origin_url(common: &Path) -> Option<String> {
    let text = read_small(&common.join("config"))?;
    let mut in_origin = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_origin = line == "[remote \"origin\"]";
        } else if in_origin
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "url"
        {
            return Some(without_credentials(value.trim()));
        }
    }
    None
}

fn without_credentials(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let host_end = rest.find('/').unwrap_or(rest.len());
            let host = rest[..host_end].rsplit('@').next().unwrap_or("");
            format!("{scheme}://{host}{}", &rest[host_end..])
        }
        None => url.to_owned(),
    }
}

fn read_small(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= 1 << 20)
        .then(|| std::fs::read_to_string(path).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_branch_commit_and_origin_without_credentials() {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path().join(".git");
        std::fs::create_dir_all(git.join("refs/heads")).unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(git.join("packed-refs"), "# pack-refs\nabc123 refs/heads/main\n").unwrap();
        std::fs::write(
            git.join("config"),
            "[core]\n[remote \"origin\"]\n\turl = https://u:secret@example.org/a/b.git\n",
        )
        .unwrap();
        let info = info(&dir.path().join("sub")).unwrap();
        assert_eq!(info.branch.as_deref(), Some("main"));
        assert_eq!(info.sha.as_deref(), Some("abc123"));
        assert_eq!(info.origin_url.as_deref(), Some("https://example.org/a/b.git"));
    }
}
