//! The patch format: what is tolerated, and which line an error names.

use super::parse::{LineKind, SectionKind, parse};

#[test]
fn errors_name_the_line_and_what_was_expected() {
    // (text, line, part of "expected", part of "found")
    let cases = [
        ("", 1, "*** Begin Patch", "end of the text"),
        ("hello", 1, "*** Begin Patch", "`hello`"),
        ("\n\n*** Begin Pach\n*** End Patch", 3, "*** Begin Patch", "Begin Pach"),
        (
            "*** Begin Patch\n*** End Patch",
            2,
            "at least one file section",
            "*** End Patch",
        ),
        (
            "*** Begin Patch\n*** Add File: a\n+x",
            4,
            "*** End Patch",
            "end of the text",
        ),
        (
            "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
            3,
            "starts with `+`",
            "`x`",
        ),
        (
            "*** Begin Patch\n*** Add File:\n+x\n*** End Patch",
            2,
            "a path",
            "*** Add File:",
        ),
        (
            "*** Begin Patch\n*** Add File: a\0b\n+x\n*** End Patch",
            2,
            "NUL",
            "a\0b",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n*** End Patch",
            3,
            "a hunk",
            "*** End Patch",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n*** End Patch",
            4,
            "a hunk line",
            "*** End Patch",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n-x\nfoo\n*** End Patch",
            5,
            "starts with ` `",
            "`foo`",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n-x\n*** End of File\n+y\n*** End Patch",
            6,
            "`@@`",
            "`+y`",
        ),
        (
            "*** Begin Patch\n*** Rename File: a\n*** End Patch",
            2,
            "*** Add File",
            "*** Rename File: a",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n*** End Patch\nmore",
            4,
            "nothing after",
            "`more`",
        ),
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\nx\n*** End Patch\nEOF",
            4,
            "starts with `+`",
            "`x`",
        ),
    ];
    for (text, line, expected, found) in cases {
        let error = parse(text).expect_err(text);
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.expected.contains(expected), "{text:?}: {error}");
        assert!(error.found.contains(found), "{text:?}: {error}");
    }
}

#[test]
fn wrappings_make_no_difference() {
    let plain = "*** Begin Patch\n*** Update File: a\n@@ fn b\n-x\n+y\n*** Add File: c\n+d\n*** End Patch";
    let mut expected = parse(plain).expect("plain");
    let wrapped = [
        format!("\n  \n{plain}\n\n"),
        plain.replace('\n', "\r\n"),
        format!("<<'EOF'\n{plain}\nEOF"),
        format!("apply_patch <<\"PATCH\"\n{plain}\nPATCH\n"),
        format!("<<-EOF\n{plain}\nEOF"),
        format!("```diff\n{plain}\n```"),
    ];
    for text in wrapped {
        let mut patch = parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        for section in patch.sections.iter_mut().chain(&mut expected.sections) {
            section.line = 0;
            if let SectionKind::Update { hunks, .. } = &mut section.kind {
                for hunk in hunks {
                    hunk.line = 0;
                    hunk.lines.iter_mut().for_each(|line| line.line = 0);
                }
            }
        }
        assert_eq!(patch, expected, "{text}");
    }
}

#[test]
fn a_carriage_return_in_an_added_line_is_kept_unless_the_whole_text_has_them() {
    let content = |text: &str| match &parse(text).expect(text).sections[0].kind {
        SectionKind::Add { content } => content.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        content("*** Begin Patch\n*** Add File: a\n+x\r\n*** End Patch"),
        "x\r\n"
    );
    assert_eq!(
        content("*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n"),
        "x\n"
    );
}

#[test]
fn reads_headers_hunks_and_end_of_file() {
    let text = "*** Begin Patch\n*** Update File: a b.txt\n*** Move to: c\n@@ class A\n@@ def b\n x\n\n-y\n+z\n\n\
                @@ -1,2 +1,3 @@ fn d\n+w\n*** End of File\n*** End Patch";
    let patch = parse(text).expect("patch");
    assert_eq!(patch.sections[0].path, "a b.txt");
    let SectionKind::Update { move_to, hunks } = &patch.sections[0].kind else {
        panic!("{patch:?}")
    };
    assert_eq!(move_to.as_deref(), Some("c"));
    assert_eq!(hunks[0].headers, ["class A", "def b"]);
    let kinds: Vec<_> = hunks[0]
        .lines
        .iter()
        .map(|line| (line.kind, line.text.as_str(), line.line))
        .collect();
    let expected = [
        (LineKind::Context, "x", 6),
        (LineKind::Context, "", 7),
        (LineKind::Remove, "y", 8),
        (LineKind::Add, "z", 9),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        (hunks[1].headers.as_slice(), hunks[1].at_end),
        (["fn d".to_owned()].as_slice(), true)
    );
    assert!(!hunks[0].at_end);
}
