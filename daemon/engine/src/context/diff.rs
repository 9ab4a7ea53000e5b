//! What differs between what the model was told and what is true now.

use super::fragments;
use crate::rollout::ContextSnapshot;

/// Text parts by role, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) developer: Vec<String>,
    pub(super) user: Vec<String>,
}

/// Everything if nothing was told yet. A text that went away is not taken back: nothing can be unsaid.
pub(super) fn parts(told: Option<&ContextSnapshot>, now: &ContextSnapshot) -> Parts {
    let mut parts = Parts::default();
    if told.is_none_or(|told| told.permissions != now.permissions) {
        parts.developer.push(now.permissions.clone());
    }
    if told.is_none_or(|told| told.developer_instructions != now.developer_instructions) {
        parts.developer.extend(now.developer_instructions.clone());
    }
    if told.is_none_or(|told| told.user_instructions != now.user_instructions) {
        let text = now.user_instructions.as_deref();
        parts
            .user
            .extend(text.map(|text| fragments::user_instructions(&now.environment.cwd, text)));
    }
    let environment = fragments::environment(&now.environment, told.map(|told| &told.environment));
    parts.user.extend(Some(environment).filter(|text| !text.is_empty()));
    parts
}

#[cfg(test)]
mod tests {
    use super::parts;
    use crate::rollout::{ContextSnapshot, EnvironmentFacts};

    fn snapshot() -> ContextSnapshot {
        ContextSnapshot {
            permissions: "P".to_owned(),
            developer_instructions: Some("D".to_owned()),
            user_instructions: Some("U".to_owned()),
            environment: EnvironmentFacts {
                cwd: "/w".to_owned(),
                ..EnvironmentFacts::default()
            },
        }
    }

    #[test]
    fn the_first_turn_tells_all_in_order() {
        let parts = parts(None, &snapshot());
        assert_eq!(parts.developer, ["P", "D"]);
        assert_eq!(parts.user.len(), 2);
        assert!(
            parts.user[0].contains('U') && parts.user[1].contains("<cwd>/w</cwd>"),
            "{parts:?}"
        );
    }

    #[test]
    fn later_turns_tell_changes_only() {
        let told = snapshot();
        assert_eq!(parts(Some(&told), &told), super::Parts::default());

        let mut now = snapshot();
        now.permissions = "P2".to_owned();
        now.developer_instructions = None;
        assert_eq!(parts(Some(&told), &now).developer, ["P2"]);
        assert!(parts(Some(&told), &now).user.is_empty());

        let mut now = snapshot();
        now.environment.current_date = "2026-01-02".to_owned();
        let changed = parts(Some(&told), &now);
        assert!(changed.developer.is_empty());
        assert_eq!(changed.user.len(), 1);
        assert!(!changed.user[0].contains("<cwd>"), "{changed:?}");
    }
}
