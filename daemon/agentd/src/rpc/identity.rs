//! How the daemon names itself to clients and to model services. Reads the operating system's name once.

use std::sync::OnceLock;

/// Version of the app-server protocol that is spoken; clients gate features on it.
pub const PROTOCOL_VERSION: &str = "0.171.0";

/// `<client>/<protocol version> (<os>; <arch>) agentd/<version>`.
pub fn user_agent(client: &str) -> String {
    let client = if client.trim().is_empty() { "agentd" } else { client };
    format!(
        "{client}/{PROTOCOL_VERSION} ({}; {}) agentd/{}",
        os(),
        std::env::consts::ARCH,
        env!("CARGO_PKG_VERSION")
    )
}

fn os() -> &'static str {
    static OS: OnceLock<String> = OnceLock::new();
    OS.get_or_init(|| parse_os_release(&std::fs::read_to_string("/etc/os-release").unwrap_or_default()))
}

/// Name and a three-part version, e.g. `Debian 12.0.0`, as the peer prints them.
fn parse_os_release(text: &str) -> String {
    let field = |key: &str| {
        text.lines().find_map(|line| {
            line.strip_prefix(key)?
                .strip_prefix('=')
                .map(|v| v.trim_matches('"').to_owned())
        })
    };
    let name = field("NAME").and_then(|name| name.split_whitespace().next().map(str::to_owned));
    let Some(name) = name else { return "Linux".to_owned() };
    let Some(version) = field("VERSION_ID") else {
        return name;
    };
    let missing = 2usize.saturating_sub(version.matches('.').count());
    format!("{name} {version}{}", ".0".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn os_release_becomes_name_and_three_part_version() {
        for (text, expected) in [
            ("NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n", "Debian 12.0.0"),
            ("NAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\n", "Ubuntu 24.04.0"),
            ("NAME=\"Arch Linux\"\n", "Arch"),
            ("", "Linux"),
        ] {
            assert_eq!(parse_os_release(text), expected);
        }
    }

    #[test]
    fn the_first_version_number_is_the_protocols() {
        let agent = user_agent("probe");
        assert!(agent.starts_with("probe/0.171.0 ("), "{agent}");
        assert!(agent.contains("agentd/"), "{agent}");
        assert!(user_agent(" ").starts_with("agentd/0.171.0"));
    }
}
