//! What the model is told about the machine: working directory, shell, date, time zone, network.

use agentd_engine::rollout::EnvironmentFacts;
use agentd_protocol::settings::SandboxPolicy;

/// Environment facts for a turn that starts now.
pub fn facts(cwd: &str, policy: &SandboxPolicy, shell: &str) -> EnvironmentFacts {
    let (current_date, timezone) = local_date();
    let network = if policy.network_access() {
        "enabled"
    } else {
        "restricted"
    };
    EnvironmentFacts {
        cwd: cwd.to_owned(),
        shell: shell.rsplit('/').next().unwrap_or(shell).to_owned(),
        current_date,
        timezone,
        network_access: network.to_owned(),
    }
}

/// The shell that commands run under: the user's, if it is a POSIX-like one that exists, else bash, else sh.
pub fn shell() -> String {
    let known = ["bash", "zsh", "sh", "dash"];
    let configured = std::env::var("SHELL").ok().filter(|s| {
        let name = s.rsplit('/').next().unwrap_or("");
        s.starts_with('/') && known.contains(&name) && std::path::Path::new(s).exists()
    });
    let fallback = || {
        ["/bin/bash", "/usr/bin/bash", "/bin/sh"]
            .into_iter()
            .find(|p| std::path::Path::new(p).exists())
            .unwrap_or("/bin/sh")
            .to_owned()
    };
    configured.unwrap_or_else(fallback)
}

fn local_date() -> (String, String) {
    let now = jiff::ZonedDateTime::now();
    let zone = now.time_zone().iana_name().unwrap_or("Etc/UTC").to_owned();
    (now.date().to_string(), zone)
}
