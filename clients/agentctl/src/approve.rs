//! Who answers approvals: the person at the terminal, `--yes`, the demo, or nobody (then it is no). It owns the decision and
//! the words around it; `turn.rs` sends the answer.

use agentd_protocol::approval::{ApprovalDecision, ServerRequest};

use crate::render::Renderer;
use crate::tty::{Tty, Typed};

const KEYS: &str = "  allow? [y]es · [a]lways in this thread · [n]o · [c]ancel the turn > ";
/// Said once to a person whose answer was not understood.
const MEANINGS: &str = "  y = yes, once · a = always in this session · n = no · c = stop the turn";

/// What came of an approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Send this.
    Decided(ApprovalDecision),
    /// Somebody else answered, the turn ended, or the user pressed Ctrl-C: send nothing.
    Moot,
}

/// Answers approvals.
pub(crate) enum Approver {
    /// Always yes, because the user said so before.
    Yes {
        /// What to say beside each answer.
        words: &'static str,
    },
    /// Asks the person.
    Ask(Tty),
    /// Nobody is there: no.
    Nobody,
}

impl Approver {
    /// The approver for a turn that was started here.
    pub(crate) fn choose(yes: bool) -> Self {
        if yes {
            return Self::Yes { words: "y (--yes)" };
        }
        Tty::open().map_or(Self::Nobody, Self::Ask)
    }

    /// Decides. `stands` says whether the question is still open; it is asked while a person thinks.
    pub(crate) fn decide(
        &mut self,
        request: &ServerRequest,
        renderer: &mut Renderer,
        mut stands: impl FnMut() -> bool,
    ) -> anyhow::Result<Verdict> {
        renderer.question(request);
        match self {
            Self::Yes { words } => {
                renderer.note(&format!("  allow? {words}"));
                Ok(Verdict::Decided(ApprovalDecision::Accept))
            }
            Self::Nobody => {
                renderer.note("  declined: nobody is there to ask (use --yes or --approval never)");
                Ok(Verdict::Decided(ApprovalDecision::Decline))
            }
            Self::Ask(tty) => ask(tty, renderer, &mut stands),
        }
    }

    /// Decides where nobody is asked (`--json`): yes if the user said so before, else no.
    pub(crate) fn decide_unasked(&self, method: &str) -> ApprovalDecision {
        match self {
            Self::Yes { .. } => ApprovalDecision::Accept,
            Self::Ask(_) | Self::Nobody => {
                eprintln!("agentctl: {method} declined: nobody is asked with --json (use --yes or --approval never)");
                ApprovalDecision::Decline
            }
        }
    }
}

/// Asks until the answer is clear. The end of input is a no.
fn ask(tty: &mut Tty, renderer: &mut Renderer, stands: &mut impl FnMut() -> bool) -> anyhow::Result<Verdict> {
    let mut explained = false;
    loop {
        match tty.ask(KEYS, &mut *stands)? {
            Typed::Withdrawn => return Ok(Verdict::Moot),
            Typed::End => return Ok(Verdict::Decided(ApprovalDecision::Decline)),
            Typed::Line(line) => {
                if let Some(decision) = read_decision(&line) {
                    return Ok(Verdict::Decided(decision));
                }
                if !std::mem::replace(&mut explained, true) {
                    renderer.note(MEANINGS);
                }
            }
        }
    }
}

fn read_decision(line: &str) -> Option<ApprovalDecision> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(ApprovalDecision::Accept),
        "a" | "always" => Some(ApprovalDecision::AcceptForSession),
        "n" | "no" => Some(ApprovalDecision::Decline),
        "c" | "cancel" => Some(ApprovalDecision::Cancel),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clear_words_decide() {
        assert_eq!(read_decision(" Y "), Some(ApprovalDecision::Accept));
        assert_eq!(read_decision("always"), Some(ApprovalDecision::AcceptForSession));
        assert_eq!(read_decision("n"), Some(ApprovalDecision::Decline));
        assert_eq!(read_decision("cancel"), Some(ApprovalDecision::Cancel));
        for unclear in ["", "yn", "ok", "yes please"] {
            assert_eq!(read_decision(unclear), None, "{unclear:?}");
        }
    }
}
