//! The texts agentd puts before the model: one template in `prompts/` and one typed function here for each.
//!
//! This crate owns wording and nothing else. It depends on no other crate, reads no file at run time and decides nothing:
//! when a text is sent, and in which role, is the engine's business. The same arguments always give the same bytes,
//! because these texts are part of the cached prompt prefix.

mod context;
mod permissions;
mod tools;

pub use context::{Environment, environment_context, user_instructions};
pub use permissions::{Approval, Permissions, Sandbox, permissions};
pub use tools::{apply_patch, exec_command, update_plan};

/// Beginnings of the texts that agentd injects. An input text that starts with one of them (after white space) is no
/// message of the user's.
pub const INJECTED_TAGS: &[&str] = &[
    "<permissions instructions>",
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
];

/// Who the agent is and how it works: the instructions of every request, unless the user or the model's catalog entry
/// replaces them.
pub fn base_instructions() -> &'static str {
    include_str!("../prompts/base_instructions.md").trim_ascii_end()
}

/// Tells the model that the user stopped the turn before this one.
pub fn turn_aborted() -> &'static str {
    include_str!("../prompts/turn_aborted.md").trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_prefix_fits_its_budget() {
        let bytes: usize = [base_instructions(), exec_command(), apply_patch(), update_plan()]
            .iter()
            .map(|text| text.len())
            .sum();
        assert!(bytes / 4 <= 2_500, "{} tokens", bytes / 4);
    }

    #[test]
    fn fixed_texts_have_no_placeholder_and_no_loose_end() {
        for text in [
            base_instructions(),
            turn_aborted(),
            exec_command(),
            apply_patch(),
            update_plan(),
        ] {
            assert!(!text.contains(['{', '}', '\r', '\t']), "{text}");
            assert_eq!(text.trim(), text);
            assert!(text.is_ascii());
        }
    }

    #[test]
    fn injected_texts_are_recognised_by_their_tag() {
        let environment = Environment {
            cwd: "/w",
            shell: "bash",
            current_date: "2026-01-02",
            timezone: "UTC",
            network_access: "enabled",
        };
        let permission = Permissions {
            sandbox: Sandbox::ReadOnly,
            network_access: false,
            writable_roots: &[],
            approval: Approval::Never,
        };
        let injected = [
            permissions(&permission),
            environment_context(&environment, None),
            user_instructions("/w", "be kind"),
            turn_aborted().to_owned(),
        ];
        for (text, tag) in injected.iter().zip(INJECTED_TAGS) {
            assert!(text.starts_with(tag), "{text}");
            assert!(text.ends_with(&tag.replacen('<', "</", 1)), "{text}");
        }
        assert!(!INJECTED_TAGS.iter().any(|tag| base_instructions().starts_with(tag)));
    }
}
