//! The diff of a turn: what patches changed since the turn began, as one git-style text.
//!
//! Files changed by commands do not appear; the engine never reads files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha1::{Digest, Sha1};
use similar::TextDiff;

use crate::input::PatchedFile;

/// Above this product of line counts the two texts are shown whole: a line diff could take too long, and a limit in time
/// would make the result depend on the machine.
const MAX_LINE_PRODUCT: usize = 25_000_000;

const NO_BLOB: &str = "0000000000000000000000000000000000000000";

#[derive(Debug)]
struct FileState {
    baseline: Option<String>,
    current: Option<String>,
}

/// What the patches of a turn changed so far.
#[derive(Debug, Default)]
pub(crate) struct TurnDiff {
    /// By absolute path.
    files: BTreeMap<String, FileState>,
    shown: String,
}

impl TurnDiff {
    /// Takes over an applied patch. `Some`: the diff that clients have to be told.
    pub(crate) fn apply(&mut self, files: Vec<PatchedFile>, cwd: &str) -> Option<String> {
        for PatchedFile {
            path, before, after, ..
        } in files
        {
            match self.files.get_mut(&path) {
                Some(state) => state.current = after,
                None => {
                    self.files.insert(
                        path,
                        FileState {
                            baseline: before,
                            current: after,
                        },
                    );
                }
            }
        }
        let text = self.render(cwd);
        if text == self.shown {
            return None;
        }
        self.shown.clone_from(&text);
        Some(text)
    }

    fn render(&self, cwd: &str) -> String {
        let mut text = String::new();
        for (path, state) in &self.files {
            if state.baseline != state.current {
                render_file(&mut text, shown_path(path, cwd), state);
            }
        }
        text
    }
}

fn shown_path<'p>(path: &'p str, cwd: &str) -> &'p str {
    path.strip_prefix(cwd.trim_end_matches('/'))
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(path)
}

fn render_file(text: &mut String, path: &str, state: &FileState) {
    let (old, new) = (state.baseline.as_deref(), state.current.as_deref());
    let _ = writeln!(text, "diff --git a/{path} b/{path}");
    if old.is_none() {
        text.push_str("new file mode 100644\n");
    }
    if new.is_none() {
        text.push_str("deleted file mode 100644\n");
    }
    let _ = writeln!(text, "index {}..{}", blob_id(old), blob_id(new));
    let old_name = old.map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{path}"));
    let new_name = new.map_or_else(|| "/dev/null".to_owned(), |_| format!("b/{path}"));
    text.push_str(&unified(old.unwrap_or(""), new.unwrap_or(""), &old_name, &new_name));
}

fn unified(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    let (old_lines, new_lines) = (old.lines().count(), new.lines().count());
    if old_lines.saturating_mul(new_lines) <= MAX_LINE_PRODUCT {
        return TextDiff::from_lines(old, new)
            .unified_diff()
            .header(old_name, new_name)
            .to_string();
    }
    let mut text = format!("--- {old_name}\n+++ {new_name}\n@@ -1,{old_lines} +1,{new_lines} @@\n");
    for (sign, side) in [('-', old), ('+', new)] {
        for line in side.lines() {
            let _ = writeln!(text, "{sign}{line}");
        }
        if !side.ends_with('\n') {
            text.push_str("\\ No newline at end of file\n");
        }
    }
    text
}

/// The id git would give the content.
fn blob_id(content: Option<&str>) -> String {
    let Some(content) = content else {
        return NO_BLOB.to_owned();
    };
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", content.len()));
    hasher.update(content);
    hasher
        .finalize()
        .iter()
        .fold(String::with_capacity(40), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

#[cfg(test)]
mod tests {
    use super::TurnDiff;
    use crate::input::PatchedFile;

    fn file(path: &str, before: Option<&str>, after: Option<&str>) -> PatchedFile {
        PatchedFile {
            path: path.to_owned(),
            letter: 'M',
            shown_path: path.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        }
    }

    #[test]
    fn update_and_add_look_like_git() {
        let mut diff = TurnDiff::default();
        let files = vec![
            file("/w/new/b.txt", None, Some("hello\nworld\n")),
            file("/w/a.txt", Some("one\n"), Some("two\n")),
        ];
        let expected = "diff --git a/a.txt b/a.txt\n\
            index 5626abf0f72e58d7a153368ba57db4c673c0e171..f719efd430d52bcfc8566a43b2eb655688d38871\n\
            --- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n\
            diff --git a/new/b.txt b/new/b.txt\nnew file mode 100644\n\
            index 0000000000000000000000000000000000000000..94954abda49de8615a048f8d2e64b5de848e27a1\n\
            --- /dev/null\n+++ b/new/b.txt\n@@ -0,0 +1,2 @@\n+hello\n+world\n";
        assert_eq!(diff.apply(files, "/w").as_deref(), Some(expected));
    }

    #[test]
    fn the_baseline_is_the_first_content_of_the_turn() {
        let mut diff = TurnDiff::default();
        diff.apply(vec![file("/x/a", Some("1\n"), Some("2\n"))], "/w");
        let text = diff.apply(vec![file("/x/a", Some("2\n"), None)], "/w").unwrap();
        assert!(
            text.starts_with("diff --git a//x/a b//x/a\ndeleted file mode 100644\n"),
            "{text}"
        );
        assert!(text.contains("-1\n"), "{text}");
        assert_eq!(
            diff.apply(vec![file("/x/a", None, Some("1\n"))], "/w").as_deref(),
            Some("")
        );
        assert_eq!(diff.apply(vec![], "/w"), None);
    }
}
