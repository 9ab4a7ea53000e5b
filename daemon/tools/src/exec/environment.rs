//! What a command sees of the daemon's environment: an allow-list. Secrets reach a command only when the user names them.

/// Names that are passed on, besides `LC_*`.
const PASSED: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR",
];

/// Words that make a name a secret, whatever list it is on.
const SECRET_WORDS: &[&str] = &["KEY", "SECRET", "TOKEN", "PASSW", "CREDENTIAL"];

/// Used when the daemon has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment for a command, from the daemon's own (`parent`). `tier` is the word for `AGENTD_SANDBOX` (such as `B`, or
/// `none` without confinement); `network` tells `AGENTD_SANDBOX_NETWORK`. With these two a project's tests can skip what
/// the sandbox does not allow.
pub fn base_environment(
    parent: impl Iterator<Item = (String, String)>,
    tier: &str,
    network: bool,
) -> Vec<(String, String)> {
    let mut environment: Vec<(String, String)> = parent.filter(|(name, _)| is_passed(name)).collect();
    if !environment.iter().any(|(name, _)| name == "PATH") {
        environment.push(("PATH".to_owned(), DEFAULT_PATH.to_owned()));
    }
    environment.push(("AGENTD_SANDBOX".to_owned(), tier.to_owned()));
    let network = if network { "on" } else { "off" };
    environment.push(("AGENTD_SANDBOX_NETWORK".to_owned(), network.to_owned()));
    environment
}

fn is_passed(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let secret = SECRET_WORDS.iter().any(|word| upper.contains(word));
    !secret && (PASSED.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::base_environment;

    #[test]
    fn only_listed_names_pass_and_never_secrets() {
        let parent = [
            ("HOME", "/home/a"),
            ("LC_ALL", "C"),
            ("OPENAI_API_KEY", "x"),
            ("LC_SECRET", "x"),
            ("LC_my_token", "x"),
            ("LD_PRELOAD", "x"),
            ("AGENTD_SANDBOX", "forged"),
            ("GITHUB_TOKEN", "x"),
        ];
        let parent = parent
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = base_environment(parent, "B", false);
        let expected = [
            ("HOME", "/home/a"),
            ("LC_ALL", "C"),
            ("PATH", super::DEFAULT_PATH),
            ("AGENTD_SANDBOX", "B"),
            ("AGENTD_SANDBOX_NETWORK", "off"),
        ];
        assert_eq!(
            environment,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
