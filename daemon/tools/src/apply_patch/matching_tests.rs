//! Hunks on contents: what the file is afterwards, and what the model is told if a hunk does not fit.

use proptest::prelude::*;

use super::matching::apply_hunks;
use super::parse::{Hunk, SectionKind, parse};

fn hunks(text: &str) -> Vec<Hunk> {
    let patch = format!("*** Begin Patch\n*** Update File: f\n{text}\n*** End Patch");
    match parse(&patch)
        .unwrap_or_else(|error| panic!("{patch}: {error}"))
        .sections
        .remove(0)
        .kind
    {
        SectionKind::Update { hunks, .. } => hunks,
        other => panic!("{other:?}"),
    }
}

#[test]
fn fits() {
    // (before, hunks, after)
    let cases: &[(&[u8], &str, &[u8])] = &[
        // The final newline stays as it was.
        (b"a\nb\nc", "@@\n a\n-b\n+B\n c", b"a\nB\nc"),
        (b"a\nb\nc", "@@\n-b\n+B", b"a\nB\nc"),
        (b"a\nb\nc", "@@\n-c\n+C", b"a\nb\nC"),
        (b"a\nb\nc", "@@\n c\n+d\n+e", b"a\nb\nc\nd\ne"),
        (b"a\nb\nc\n", "@@\n-c\n+C", b"a\nb\nC\n"),
        (b"a\nb\nc", "@@\n b\n-c", b"a\nb\n"),
        (b"a", "@@\n-a\n+b", b"b"),
        (b"a", "@@\n-a", b""),
        // CRLF, mixed ends, a lone CR, a BOM.
        (b"a\r\nb\r\nc\r\n", "@@\n a\n-b\n+B\n+B2\n c", b"a\r\nB\r\nB2\r\nc\r\n"),
        (b"a\r\nb\r\nc", "@@\n-c\n+C\n+d", b"a\r\nb\r\nC\r\nd"),
        (b"a\r\nb\r\nc", "@@\n c\n+d", b"a\r\nb\r\nc\r\nd"),
        (b"a\nb\r\nc\n", "@@\n-c\n+C", b"a\nb\r\nC\n"),
        (b"a\nx\r\nb\n", "@@\n a\n+n\n x", b"a\nn\nx\r\nb\n"),
        (b"a\rb\nc\n", "@@\n-c\n+C", b"a\rb\nC\n"),
        (b"\xEF\xBB\xBFa\nb\n", "@@\n-a\n+A", b"\xEF\xBB\xBFA\nb\n"),
        (b"\xEF\xBB\xBF", "@@\n+a", b"\xEF\xBB\xBFa\n"),
        // Bytes that are not UTF-8.
        (b"caf\xE9\nb\n\xFF\n", "@@\n-b\n+B", b"caf\xE9\nB\n\xFF\n"),
        // Empty files, insertions.
        (b"", "@@\n+a\n+b", b"a\nb\n"),
        (b"a\nb\n", "@@\n+c", b"a\nb\nc\n"),
        (b"a\nb\n", "@@ a\n+n", b"a\nn\nb\n"),
        (b"a\nb", "@@\n+c", b"a\nb\nc"),
        (b"\n", "@@\n+c", b"\nc\n"),
        // End of file.
        (b"x\ny\nx\n", "@@\n-x\n+z\n*** End of File", b"x\ny\nz\n"),
        // Whitespace and punctuation differ: kept lines keep the file's bytes.
        (b"a  \n\tb\nc\n", "@@\n a\n b\n-c\n+C", b"a  \n\tb\nC\n"),
        (
            "x\n“q” – r\u{a0}s\n".as_bytes(),
            "@@\n \"q\" - r s\n+n",
            "x\n“q” – r\u{a0}s\nn\n".as_bytes(),
        ),
        (b"  a\na\n", "@@\n-a\n+A", b"  a\nA\n"),
        // Headers.
        (
            b"fn a() {\n  x\n}\nfn b() {\n  x\n}\n",
            "@@ fn a()\n-  x\n+  y",
            b"fn a() {\n  y\n}\nfn b() {\n  x\n}\n",
        ),
        (
            b"fn a() {\n  x\n}\nfn b() {\n  x\n}\n",
            "@@ fn b() {\n-  x\n+  y",
            b"fn a() {\n  x\n}\nfn b() {\n  y\n}\n",
        ),
        (
            b"class A:\n  def f():\n    x\nclass B:\n  def f():\n    x\n",
            "@@ class B:\n@@ def f():\n-    x\n+    y",
            b"class A:\n  def f():\n    x\nclass B:\n  def f():\n    y\n",
        ),
        (
            b"def f():\n  x\n",
            "@@ def f():\n def f():\n-  x\n+  y",
            b"def f():\n  y\n",
        ),
        // Several hunks.
        (b"x\na\nx\nb\n", "@@\n a\n-x\n+1\n@@\n-b\n+2", b"x\na\n1\n2\n"),
        (b"a\nx\nx\n", "@@\n a\n-x\n+1\n@@\n-x\n+2", b"a\n1\n2\n"),
        // Unusual line ends within text.
        ("a\u{2028}b\nc\n".as_bytes(), "@@\n-c\n+d", "a\u{2028}b\nd\n".as_bytes()),
    ];
    for (before, text, after) in cases {
        let got = apply_hunks(before, &hunks(text)).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(after), "{text}");
        assert_eq!(&got, after, "{text}");
    }
}

#[test]
fn does_not_fit() {
    // (before, hunks, parts of the message)
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "x\na\nx\n",
            "@@\n-x\n+y",
            &[
                "hunk 1 (line 3 of the patch)",
                "several places, at lines 1, 3",
                "context",
            ],
        ),
        (" x\n\tx\n", "@@\n-x\n+y", &["several places, at lines 1, 2"]),
        (
            "a\nb\nc\n",
            "@@\n a\n-B\n+x",
            &["line 5 of the patch expects `B`", "line 2 of the file is `b`"],
        ),
        (
            "a\nb\n",
            "@@\n b\n c\n+x",
            &["expects `c`", "the file ends after line 2"],
        ),
        (
            "a\n",
            "@@\n-zzz\n+x",
            &["none of its lines is there", "`zzz`", "Read the file again"],
        ),
        ("", "@@\n-a\n+x", &["empty"]),
        (
            "a\nb\n",
            "@@\n-b\n+B\n@@\n-a\n+A",
            &["hunk 2", "after line 2", "stand at line 1", "order"],
        ),
        ("a\nb\n", "@@ nope\n-b\n+B", &["`nope`", "not in the file"]),
        (
            "a\nb\n",
            "@@\n-a\n+A\n*** End of File",
            &["end", "line 1", "*** End of File"],
        ),
        ("f\nx\nf\nx\n", "@@ f\n-x\n+y", &["several places, at lines 2, 4"]),
        ("f\nf\n", "@@ f\n+y", &["only adds lines", "lines 1, 2"]),
        ("b\na\n", "@@ a\n-b\n+y", &["below its `@@` line"]),
    ];
    for (before, text, parts) in cases {
        let why = apply_hunks(before.as_bytes(), &hunks(text)).expect_err(text);
        for part in *parts {
            assert!(why.contains(part), "{text:?}: {part:?} not in {why:?}");
        }
    }
}

proptest! {
    /// Lines around a changed one keep their bytes, whatever they and their ends are.
    #[test]
    fn bytes_outside_the_hunk_never_change(
        above in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..12), any::<bool>()), 0..8),
        below in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..12), any::<bool>()), 0..8),
        bom in any::<bool>(),
        crlf in any::<bool>(),
        final_newline in any::<bool>(),
        new in prop::collection::vec("[ -~]{0,12}", 0..4),
    ) {
        let bytes = |lines: &[(Vec<u8>, bool)]| {
            let mut all = Vec::new();
            for (text, crlf) in lines {
                all.extend(text.iter().filter(|&&byte| byte != b'\n'));
                all.extend_from_slice(if *crlf { b"\r\n" } else { b"\n" });
            }
            all
        };
        let mut before = if bom { b"\xEF\xBB\xBF".to_vec() } else { Vec::new() };
        before.extend(bytes(&above));
        let head = before.clone();
        before.extend_from_slice(b"the only needle");
        let mut tail = Vec::new();
        if final_newline || !below.is_empty() {
            before.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
            tail = bytes(&below);
            if !final_newline && tail.ends_with(b"\n") {
                tail.pop();
            }
            before.extend_from_slice(&tail);
        }
        let mut text = "@@\n-the only needle".to_owned();
        for line in &new {
            text.push_str("\n+");
            text.push_str(line);
        }
        let after = apply_hunks(&before, &hunks(&text)).unwrap();
        prop_assert!(after.starts_with(&head));
        prop_assert!(after.ends_with(&tail));
        let middle = &after[head.len()..after.len() - tail.len()];
        // The new lines end as the replaced one did; if that was an unfinished last line, as the one above it.
        let unfinished = !final_newline && below.is_empty();
        let ends_crlf = if unfinished { head.ends_with(b"\r\n") } else { crlf };
        let end = if ends_crlf { "\r\n" } else { "\n" };
        let mut expected = new.join(end);
        if !unfinished && !new.is_empty() {
            expected.push_str(end);
        }
        prop_assert_eq!(middle, expected.as_bytes());
    }

    /// Replacing a line by itself is no change at all.
    #[test]
    fn a_hunk_that_changes_nothing_changes_nothing(
        head in prop::collection::vec(any::<u8>(), 0..64),
        tail in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let before = [head.as_slice(), b"\nthe only needle\n", tail.as_slice()].concat();
        prop_assert_eq!(apply_hunks(&before, &hunks("@@\n the only needle")).unwrap(), before);
    }
}
