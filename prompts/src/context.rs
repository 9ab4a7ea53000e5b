//! What the model is told of its surroundings: `<environment_context>` and `<user_instructions>`.

/// Facts of the machine and of the thread's working directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Environment<'a> {
    /// Absolute working directory.
    pub cwd: &'a str,
    /// The user's shell, e.g. `bash`.
    pub shell: &'a str,
    /// Local date, `YYYY-MM-DD`.
    pub current_date: &'a str,
    /// IANA name of the time zone, e.g. `Europe/Berlin`.
    pub timezone: &'a str,
    /// Whether commands reach the network: `enabled` or `restricted`.
    pub network_access: &'a str,
}

impl<'a> Environment<'a> {
    fn tags(&self) -> [(&'static str, &'a str); 5] {
        [
            ("cwd", self.cwd),
            ("shell", self.shell),
            ("current_date", self.current_date),
            ("timezone", self.timezone),
            ("network_access", self.network_access),
        ]
    }
}

/// The surroundings, or, if `changed_from` is given, what differs from there. Empty if nothing does.
pub fn environment_context(environment: &Environment<'_>, changed_from: Option<&Environment<'_>>) -> String {
    let before = changed_from.map(Environment::tags);
    let mut body = String::new();
    for (index, (tag, value)) in environment.tags().into_iter().enumerate() {
        let unchanged = before.is_some_and(|tags| tags[index].1 == value);
        if !unchanged {
            body.push_str("  <");
            body.push_str(tag);
            body.push('>');
            push_escaped(&mut body, value);
            body.push_str("</");
            body.push_str(tag);
            body.push_str(">\n");
        }
    }
    if body.is_empty() {
        return body;
    }
    format!("<environment_context>\n{body}</environment_context>")
}

/// The rules from the AGENTS.md files that apply in `cwd`. The text is the user's and goes in as it is.
pub fn user_instructions(cwd: &str, text: &str) -> String {
    let text = text.trim_end_matches('\n');
    format!("<user_instructions>\nAGENTS.md instructions for {cwd}\n\n{text}\n</user_instructions>")
}

fn push_escaped(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Environment<'static> = Environment {
        cwd: "/srv/a",
        shell: "bash",
        current_date: "2026-01-02",
        timezone: "Europe/Berlin",
        network_access: "restricted",
    };

    #[test]
    fn the_first_context_holds_everything() {
        assert_eq!(
            environment_context(&BEFORE, None),
            "<environment_context>\n  <cwd>/srv/a</cwd>\n  <shell>bash</shell>\n  <current_date>2026-01-02</current_date>\n  \
             <timezone>Europe/Berlin</timezone>\n  <network_access>restricted</network_access>\n</environment_context>"
        );
    }

    #[test]
    fn later_contexts_hold_what_changed() {
        assert_eq!(environment_context(&BEFORE, Some(&BEFORE)), "");
        let changes: [(Environment<'_>, &str); 5] = [
            (Environment { cwd: "/b", ..BEFORE }, "  <cwd>/b</cwd>\n"),
            (Environment { shell: "zsh", ..BEFORE }, "  <shell>zsh</shell>\n"),
            (
                Environment {
                    current_date: "2026-01-03",
                    ..BEFORE
                },
                "  <current_date>2026-01-03</current_date>\n",
            ),
            (
                Environment {
                    timezone: "UTC",
                    ..BEFORE
                },
                "  <timezone>UTC</timezone>\n",
            ),
            (
                Environment {
                    network_access: "enabled",
                    ..BEFORE
                },
                "  <network_access>enabled</network_access>\n",
            ),
        ];
        for (now, body) in changes {
            assert_eq!(
                environment_context(&now, Some(&BEFORE)),
                format!("<environment_context>\n{body}</environment_context>")
            );
        }
    }

    #[test]
    fn values_cannot_close_their_tag() {
        let odd = Environment {
            cwd: "/a&b<c>\n</cwd>",
            ..BEFORE
        };
        assert!(environment_context(&odd, None).contains("<cwd>/a&amp;b&lt;c&gt;&#10;&lt;/cwd&gt;</cwd>"));
    }

    #[test]
    fn user_instructions_name_the_folder_and_keep_the_text() {
        assert_eq!(
            user_instructions("/w", "Use tabs.\n  {x}\n\n"),
            "<user_instructions>\nAGENTS.md instructions for /w\n\nUse tabs.\n  {x}\n</user_instructions>"
        );
    }
}
