//! Instruction files (AGENTS.md): which ones apply to a working directory, and their text within a budget.
//!
//! Order: the home's file first, then every folder from the git root down to the working directory (without a git root:
//! the working directory only). In one folder `AGENTS.override.md` wins over `AGENTS.md` over the configured fallback
//! names. When the budget does not suffice, the file farthest from the working directory is cut first.

use std::path::{Path, PathBuf};

use super::git;

/// Text between two files.
const SEPARATOR: &str = "\n\n--- project-doc ---\n\n";

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The files, absolute, in the order of the text.
    pub sources: Vec<PathBuf>,
    /// The text, if there is any.
    pub text: Option<String>,
    /// What had to be cut, for the user.
    pub warnings: Vec<String>,
}

/// Reads the instruction files for a working directory. Files that cannot be read are left out.
pub fn load(home: &Path, cwd: &Path, budget: usize, fallback_names: &[String]) -> Instructions {
    if budget == 0 {
        return Instructions::default();
    }
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    files.extend(pick(home, &[]));
    for dir in project_folders(cwd) {
        files.extend(pick(&dir, fallback_names));
    }
    let mut warnings = Vec::new();
    let mut left = budget;
    // Nearest first: the farthest file is the one that is cut.
    for (path, text) in files.iter_mut().rev() {
        if text.len() > left {
            warnings.push(format!(
                "Loaded only {left} of {} bytes from {}",
                text.len(),
                path.display()
            ));
            text.truncate(text.floor_char_boundary(left));
        }
        left -= text.len().min(left);
    }
    files.retain(|(_, text)| !text.trim().is_empty());
    let text = files
        .iter()
        .map(|(_, text)| text.as_str())
        .collect::<Vec<_>>()
        .join(SEPARATOR);
    Instructions {
        sources: files.into_iter().map(|(path, _)| path).collect(),
        text: (!text.is_empty()).then_some(text),
        warnings,
    }
}

fn project_folders(cwd: &Path) -> Vec<PathBuf> {
    let Some(root) = git::root(cwd) else {
        return vec![cwd.to_path_buf()];
    };
    let mut folders: Vec<PathBuf> = cwd
        .ancestors()
        .take_while(|dir| dir.starts_with(&root))
        .map(Path::to_path_buf)
        .collect();
    folders.reverse();
    folders
}

fn pick(dir: &Path, fallback_names: &[String]) -> Option<(PathBuf, String)> {
    let names = ["AGENTS.override.md", "AGENTS.md"]
        .into_iter()
        .chain(fallback_names.iter().map(String::as_str));
    names.filter(|name| !name.contains('/')).find_map(|name| {
        let path = dir.join(name);
        // A file larger than any sensible budget is read only as far as it could ever be shown.
        let bytes = read_up_to(&path, 1 << 20)?;
        Some((path, String::from_utf8_lossy(&bytes).into_owned()))
    })
}

fn read_up_to(path: &Path, limit: u64) -> Option<Vec<u8>> {
    use std::io::Read;
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .ok()?
        .take(limit)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let (home, repo) = (dir.path().join("home"), dir.path().join("repo"));
        std::fs::create_dir_all(repo.join("a/b")).unwrap();
        std::fs::create_dir_all(repo.join(".git")).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("AGENTS.md"), "HOME").unwrap();
        std::fs::write(repo.join("AGENTS.md"), "ROOT").unwrap();
        std::fs::write(repo.join("a/AGENTS.md"), "HIDDEN").unwrap();
        std::fs::write(repo.join("a/AGENTS.override.md"), "OVERRIDE").unwrap();
        std::fs::write(repo.join("a/b/NOTES.md"), "FALLBACK").unwrap();
        (dir, home, repo)
    }

    #[test]
    fn home_first_then_root_to_cwd_one_file_each() {
        let (_dir, home, repo) = tree();
        let found = load(&home, &repo.join("a/b"), 1000, &["NOTES.md".to_owned()]);
        let text = found.text.unwrap();
        let order: Vec<_> = ["HOME", "ROOT", "OVERRIDE", "FALLBACK"]
            .iter()
            .map(|m| text.find(m).unwrap())
            .collect();
        assert!(order.is_sorted(), "{text}");
        assert!(!text.contains("HIDDEN"));
        assert_eq!(found.sources.len(), 4);
    }

    #[test]
    fn the_farthest_file_is_cut_first_and_it_is_said() {
        let (_dir, home, repo) = tree();
        std::fs::write(repo.join("AGENTS.md"), "R".repeat(100)).unwrap();
        let found = load(&home, &repo, 102, &[]);
        assert!(found.text.unwrap().starts_with("HO\n"));
        assert_eq!(found.warnings.len(), 1);
        assert_eq!(load(&home, &repo, 0, &[]), Instructions::default());
    }

    #[test]
    fn without_git_only_the_working_directory_counts() {
        let (dir, home, repo) = tree();
        std::fs::remove_dir(repo.join(".git")).unwrap();
        std::fs::write(dir.path().join("AGENTS.md"), "ABOVE").unwrap();
        let text = load(&home, &repo.join("a"), 1000, &[]).text.unwrap();
        assert!(text.contains("OVERRIDE") && !text.contains("ROOT") && !text.contains("ABOVE"));
    }
}
