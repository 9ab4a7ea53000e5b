//! Patches on real folders: all or nothing, symlinks, moves, modes, and what clients are shown.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use agentd_protocol::item::PatchChangeKind;
use tempfile::TempDir;

use super::apply::commit;
use super::plan::plan;
use super::{Scope, apply, parse, prepare};

/// A workspace `ws` beside a folder `out` that may not be written.
struct Room {
    root: TempDir,
    scope: Scope,
}

impl Room {
    fn new(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().expect("tempdir");
        let base = root.path().canonicalize().expect("canonical");
        let ws = base.join("ws");
        fs::create_dir(&ws).expect("ws");
        fs::create_dir(base.join("out")).expect("out");
        let scope = Scope {
            cwd: ws.clone(),
            writable_roots: vec![ws],
            unrestricted: false,
        };
        let room = Self { root, scope };
        for (path, content) in files {
            let path = room.path(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, content).expect("file");
        }
        room
    }

    /// A path below the workspace; `../out/x` for one outside.
    fn path(&self, path: &str) -> PathBuf {
        self.scope.cwd.join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Everything below the workspace and the outside folder: files with content, links with target, folders.
    fn tree(&self) -> BTreeMap<PathBuf, String> {
        fn walk(dir: &Path, all: &mut BTreeMap<PathBuf, String>) {
            for entry in fs::read_dir(dir).expect("read_dir") {
                let path = entry.expect("entry").path();
                let kind = fs::symlink_metadata(&path).expect("metadata").file_type();
                let text = if kind.is_symlink() {
                    format!("-> {}", fs::read_link(&path).expect("link").display())
                } else if kind.is_dir() {
                    walk(&path, all);
                    "folder".to_owned()
                } else if kind.is_file() {
                    String::from_utf8_lossy(&fs::read(&path).expect("read")).into_owned()
                } else {
                    "special".to_owned()
                };
                all.insert(path, text);
            }
        }
        let mut all = BTreeMap::new();
        walk(self.root.path(), &mut all);
        all
    }

    /// Applies, expects an error with all parts, and that nothing changed.
    fn refuses(&self, body: &str, parts: &[&str]) {
        let before = self.tree();
        let why = apply(&patch(body), &self.scope).expect_err(body);
        for part in parts {
            assert!(why.contains(part), "{body}: {part:?} not in {why:?}");
        }
        assert_eq!(self.tree(), before, "{body}: {why}");
    }

    /// Applies; the result as `LETTER PATH` lines.
    fn applies(&self, body: &str) -> Vec<String> {
        let files = apply(&patch(body), &self.scope).unwrap_or_else(|why| panic!("{body}: {why}"));
        let litter: Vec<_> = self
            .tree()
            .into_keys()
            .filter(|path| path.to_string_lossy().contains(".agentd-patch"))
            .collect();
        assert!(litter.is_empty(), "{litter:?}");
        files
            .iter()
            .map(|file| format!("{} {}", file.letter, file.shown_path))
            .collect()
    }
}

/// The id of a process that is gone.
fn dead_pid() -> u32 {
    let mut child = std::process::Command::new("true").spawn().expect("spawn");
    child.wait().expect("wait");
    child.id()
}

#[test]
fn what_a_killed_patch_staged_is_removed_by_the_next_one_in_that_folder() {
    let room = Room::new(&[("a.txt", "one\n"), ("sub/b.txt", "one\n"), ("other/c.txt", "one\n")]);
    let (dead, own) = (dead_pid(), std::process::id());
    let stale = ["", "sub/"].map(|folder| format!("{folder}.agentd-patch-{dead}-7"));
    let kept = [
        format!("other/.agentd-patch-{dead}-7"),
        format!(".agentd-patch-original-{dead}-7"),
        format!(".agentd-patch-{own}-4000000000"),
        format!(".agentd-patch-{dead}-x"),
        format!(".agentd-patch-+{dead}-7"),
        ".agentd-patch-notes.md".to_owned(),
        format!("agentd-patch-{dead}-7"),
    ];
    for name in stale.iter().chain(&kept) {
        fs::write(room.path(name), "x").expect("file");
    }
    symlink("a.txt", room.path(&format!(".agentd-patch-{dead}-8"))).expect("link");
    fs::create_dir(room.path(&format!(".agentd-patch-{dead}-9"))).expect("folder");
    let body = "*** Update File: a.txt\n@@\n-one\n+two\n*** Update File: sub/b.txt\n@@\n-one\n+two";
    apply(&patch(body), &room.scope).expect("applied");
    let tree = room.tree();
    let there = |name: &str| tree.keys().any(|path| path.ends_with(name));
    for name in &stale {
        assert!(!room.path(name).exists(), "{name} is still there");
    }
    for name in &kept {
        assert!(room.path(name).exists(), "{name} was removed");
    }
    assert!(there(&format!(".agentd-patch-{dead}-8")) && there(&format!(".agentd-patch-{dead}-9")));
    assert_eq!(
        (room.read("a.txt").as_str(), room.read("sub/b.txt").as_str()),
        ("two\n", "two\n")
    );
}

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch")
}

#[test]
fn adds_updates_deletes_and_says_so() {
    let room = Room::new(&[("a.txt", "one\n"), ("old.txt", "x\n")]);
    let body = "*** Delete File: old.txt\n*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: new/deep/b.txt\n+hello";
    let plan = prepare(&patch(body), &room.scope).expect("plan");
    let shown: Vec<_> = plan
        .changes
        .iter()
        .map(|change| (change.path.as_str(), change.diff.as_str()))
        .collect();
    let path = |name: &str| room.path(name).to_string_lossy().into_owned();
    let (a, b, old) = (path("a.txt"), path("new/deep/b.txt"), path("old.txt"));
    assert_eq!(
        shown,
        [
            (a.as_str(), "@@ -1 +1 @@\n-one\n+two\n"),
            (&b, "hello\n"),
            (&old, "x\n")
        ]
    );
    assert!(plan.outside.is_empty());
    assert_eq!(room.read("a.txt"), "one\n", "prepare changes nothing");
    assert_eq!(room.applies(body), ["A new/deep/b.txt", "M a.txt", "D old.txt"]);
    assert_eq!(
        (room.read("a.txt").as_str(), room.read("new/deep/b.txt").as_str()),
        ("two\n", "hello\n")
    );
    assert!(!room.path("old.txt").exists());
}

#[test]
fn add_never_overwrites() {
    let room = Room::new(&[("f.txt", "mine\n"), ("target", "secret\n"), ("../out/t", "o\n")]);
    symlink("target", room.path("live")).expect("link");
    symlink("nowhere", room.path("dangling")).expect("link");
    symlink("../out/t", room.path("escape")).expect("link");
    fs::create_dir(room.path("dir")).expect("dir");
    room.refuses(
        "*** Add File: f.txt\n+other",
        &["f.txt", "exists already", "*** Update File"],
    );
    for link in ["live", "dangling", "escape"] {
        room.refuses(&format!("*** Add File: {link}\n+secret"), &[link, "symlink"]);
    }
    room.refuses("*** Add File: dir\n+x", &["folder"]);
    room.refuses("*** Add File: f.txt/x\n+x", &["not a folder"]);
    assert_eq!(room.applies("*** Add File: f.txt\n+mine"), ["A f.txt"]);
    let before = room.tree();
    room.applies("*** Add File: ./f.txt\n+mine");
    assert_eq!(room.tree(), before);
}

#[test]
fn one_bad_file_leaves_all_untouched() {
    let room = Room::new(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n")]);
    let good = "*** Update File: a\n@@\n-1\n+one\n*** Add File: new/x\n+x\n*** Delete File: c\n";
    room.refuses(
        &format!("{good}*** Update File: b\n@@\n-9\n+nine"),
        &["b: hunk 1", "`9`"],
    );
    room.refuses(&format!("{good}*** Delete File: gone"), &["gone", "no such file"]);
    room.refuses(
        &format!("{good}*** Update File: gone\n@@\n-x\n+y"),
        &["gone", "no such file"],
    );
    // Fails only while files are being exchanged: `new` is a folder by then.
    room.refuses(
        &format!("{good}*** Add File: new\n+y"),
        &["cannot create new", "Nothing was changed"],
    );
    room.refuses(
        &format!("{good}*** Update File: b\n*** Move to: n2/b\n*** Add File: n2\n+y"),
        &["cannot create n2", "Nothing was changed"],
    );
}

#[test]
fn moves() {
    let room = Room::new(&[("a.txt", "three\n"), ("b.txt", "b\n")]);
    fs::set_permissions(room.path("a.txt"), fs::Permissions::from_mode(0o755)).expect("chmod");
    room.refuses(
        "*** Update File: a.txt\n*** Move to: b.txt\n@@\n-three\n+four",
        &["b.txt", "taken"],
    );
    symlink("nowhere", room.path("link")).expect("link");
    room.refuses("*** Update File: a.txt\n*** Move to: link", &["link", "taken"]);
    let body = "*** Update File: a.txt\n*** Move to: new/c.txt\n@@\n-three\n+four";
    let change = prepare(&patch(body), &room.scope).expect("plan").changes.remove(0);
    let to = room.path("new/c.txt").to_string_lossy().into_owned();
    assert_eq!(change.diff, format!("@@ -1 +1 @@\n-three\n+four\n\n\nMoved to: {to}"));
    assert_eq!(change.kind, PatchChangeKind::Update { move_path: Some(to) });
    assert_eq!(room.applies(body), ["M new/c.txt", "D a.txt"]);
    assert_eq!(room.read("new/c.txt"), "four\n");
    assert!(!room.path("a.txt").exists());
    assert_eq!(
        fs::metadata(room.path("new/c.txt")).expect("stat").permissions().mode() & 0o7777,
        0o755
    );
    assert_eq!(
        room.applies("*** Update File: new/c.txt\n*** Move to: d.txt"),
        ["M d.txt", "D new/c.txt"]
    );
    room.refuses(
        "*** Update File: d.txt\n*** Move to: ../out/d.txt",
        &["outside the writable folders"],
    );
}

#[test]
fn symlinks_do_not_lead_outside() {
    let room = Room::new(&[("in.txt", "x\n"), ("sub/f", "x\n"), ("../out/o.txt", "x\n")]);
    let out = room.path("../out").canonicalize().expect("out");
    symlink("../out", room.path("outdir")).expect("link");
    symlink(out.join("o.txt"), room.path("outfile")).expect("link");
    symlink("in.txt", room.path("infile")).expect("link");
    symlink("sub", room.path("indir")).expect("link");
    symlink("loop", room.path("loop")).expect("link");
    let edit = "@@\n-x\n+y";
    for path in ["outdir/o.txt", "outfile", "../out/o.txt", "sub/../outdir/../out/o.txt"] {
        let body = format!("*** Update File: {path}\n{edit}");
        room.refuses(&body, &["outside the writable folders"]);
        let plan = prepare(&patch(&body), &room.scope).expect("plan");
        assert_eq!(
            plan.outside,
            [out.join("o.txt").to_string_lossy().into_owned()],
            "{path}"
        );
    }
    room.refuses("*** Add File: outdir/new/n\n+n", &["outside the writable folders"]);
    room.refuses("*** Delete File: outdir/o.txt", &["outside the writable folders"]);
    room.refuses(&format!("*** Update File: loop\n{edit}"), &["too many symlinks"]);
    room.refuses(
        &format!("*** Update File: infile\n*** Move to: z\n{edit}"),
        &["symlink"],
    );
    // Inside: the target is edited, the link stays; a deleted link leaves its target.
    room.applies(&format!(
        "*** Update File: infile\n{edit}\n*** Update File: indir/f\n{edit}"
    ));
    assert_eq!(
        (room.read("in.txt"), room.read("sub/f")),
        ("y\n".to_owned(), "y\n".to_owned())
    );
    assert!(fs::symlink_metadata(room.path("infile")).expect("stat").is_symlink());
    room.applies("*** Delete File: infile\n*** Delete File: outfile");
    assert!(room.path("in.txt").exists() && out.join("o.txt").exists() && !room.path("infile").exists());
    let free = Scope {
        unrestricted: true,
        ..room.scope.clone()
    };
    apply(&patch(&format!("*** Update File: outdir/o.txt\n{edit}")), &free).expect("unrestricted");
    assert_eq!(room.read("../out/o.txt"), "y\n");
}

#[test]
fn repository_internals_and_special_files_are_refused() {
    let room = Room::new(&[(".git/config", "x\n"), ("sub/.git/hooks/a", "x\n"), ("f", "x\n")]);
    symlink(".git", room.path("g")).expect("link");
    for path in [".git/config", "sub/.git/hooks/a", "g/config"] {
        room.refuses(&format!("*** Update File: {path}\n@@\n-x\n+y"), &[path, "`.git`"]);
    }
    room.refuses("*** Add File: .git/hooks/pre-commit\n+x", &["`.git`"]);
    room.refuses("*** Update File: f\n*** Move to: .git/f", &["`.git`"]);
    room.refuses("*** Delete File: sub", &["folder"]);
    room.refuses("*** Add File: new/\n+x", &["folder"]);
    let fifo = room.path("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("fifo");
    room.refuses("*** Update File: fifo\n@@\n+x", &["FIFO"]);
    room.refuses("*** Delete File: fifo", &["FIFO"]);
}

#[test]
fn mode_stays_and_read_only_files_are_refused() {
    let room = Room::new(&[("run.sh", "a\n"), ("private", "a\n"), ("fixed", "a\n")]);
    for (name, mode) in [("run.sh", 0o755), ("private", 0o600), ("fixed", 0o444)] {
        fs::set_permissions(room.path(name), fs::Permissions::from_mode(mode)).expect("chmod");
    }
    room.applies("*** Update File: run.sh\n@@\n-a\n+b\n*** Update File: private\n@@\n-a\n+b");
    for (name, mode) in [("run.sh", 0o755), ("private", 0o600)] {
        assert_eq!(
            fs::metadata(room.path(name)).expect("stat").permissions().mode() & 0o7777,
            mode,
            "{name}"
        );
    }
    room.refuses(
        "*** Update File: run.sh\n@@\n-b\n+c\n*** Update File: fixed\n@@\n-a\n+b",
        &["fixed", "read-only"],
    );
}

#[test]
fn several_sections_for_one_file() {
    let room = Room::new(&[("a", "1\n2\n")]);
    room.applies("*** Update File: a\n@@\n-2\n+two\n*** Update File: ./a\n@@\n-1\n+one\n@@\n two\n+three");
    assert_eq!(room.read("a"), "one\ntwo\nthree\n");
    for body in [
        "*** Update File: a\n@@\n-one\n+1\n*** Delete File: a",
        "*** Delete File: a\n*** Add File: a\n+x",
        "*** Add File: b\n+x\n*** Update File: b\n@@\n-x\n+y",
        "*** Update File: a\n*** Move to: b\n*** Update File: b\n@@\n-one\n+1",
        "*** Add File: b\n+x\n*** Add File: b\n+x",
    ] {
        room.refuses(body, &["earlier section"]);
    }
    room.refuses("*** Add File: b\n+x\n*** Update File: a\n*** Move to: b", &["taken"]);
}

#[test]
fn bytes_that_are_no_text_survive() {
    let room = Room::new(&[]);
    fs::write(room.path("l1"), b"caf\xE9\r\nb\r\n\xFF\0").expect("write");
    let plan = prepare(&patch("*** Update File: l1\n@@\n-b\n+B"), &room.scope).expect("plan");
    assert!(plan.changes[0].diff.contains("-b") && plan.changes[0].diff.contains('\u{FFFD}'));
    room.applies("*** Update File: l1\n@@\n-b\n+B");
    assert_eq!(fs::read(room.path("l1")).expect("read"), b"caf\xE9\r\nB\r\n\xFF\0");
}

#[test]
fn a_read_only_scope_allows_nothing_but_shows_everything() {
    let mut room = Room::new(&[("a", "1\n")]);
    room.scope.writable_roots.clear();
    let body = "*** Update File: a\n@@\n-1\n+2\n*** Add File: n/b\n+x";
    let outside = prepare(&patch(body), &room.scope).expect("plan").outside;
    let expected: Vec<_> = ["a", "n/b"]
        .iter()
        .map(|name| room.path(name).to_string_lossy().into_owned())
        .collect();
    assert_eq!(outside, expected);
    room.refuses(body, &["read-only"]);
}

#[test]
fn what_changes_after_the_check_is_noticed_or_harmless() {
    let room = Room::new(&[("a", "1\n"), ("b", "1\n"), ("sub/f", "1\n"), ("../out/f", "1\n")]);
    let check = |body: &str| plan(&parse(&patch(body)).expect("patch"), &room.scope).expect(body);
    let edit = "@@\n-1\n+2";

    // Another writer between check and write: nothing is lost, also not in the file that was already exchanged.
    let steps = check(&format!("*** Update File: a\n{edit}\n*** Update File: b\n{edit}"));
    fs::write(room.path("b"), "theirs\n").expect("write");
    let before = room.tree();
    let why = commit(&steps).expect_err("b changed");
    assert!(why.contains("b was changed by somebody else"), "{why}");
    assert_eq!(room.tree(), before);

    // A file that appears where one is to be added.
    let steps = check("*** Add File: n\n+mine");
    fs::write(room.path("n"), "theirs\n").expect("write");
    commit(&steps).expect_err("n exists");
    assert_eq!(room.read("n"), "theirs\n");

    // A folder that turns into a symlink leads nowhere else.
    let update = check(&format!("*** Update File: sub/f\n{edit}"));
    let add = check("*** Add File: new/f2\n+x");
    fs::rename(room.path("sub"), room.path("was-sub")).expect("rename");
    symlink("../out", room.path("sub")).expect("link");
    symlink("../out", room.path("new")).expect("link");
    commit(&update).expect("the folder that was checked");
    commit(&add).expect_err("new is a symlink");
    assert_eq!(
        (room.read("was-sub/f"), room.read("../out/f")),
        ("2\n".to_owned(), "1\n".to_owned())
    );
    assert!(!room.path("../out/f2").exists());
    let why = apply(&patch(&format!("*** Update File: sub/f\n{edit}")), &room.scope).expect_err("outside");
    assert!(why.contains("outside the writable folders"), "{why}");
}

#[test]
fn names_of_one_file_are_updated_each() {
    let room = Room::new(&[("a", "1\n")]);
    fs::hard_link(room.path("a"), room.path("b")).expect("link");
    let edit = "@@\n-1\n+2";
    room.applies(&format!("*** Update File: a\n{edit}\n*** Update File: b\n{edit}"));
    assert_eq!((room.read("a"), room.read("b")), ("2\n".to_owned(), "2\n".to_owned()));
}
