//! What this kernel can enforce. Asks, never changes anything; needs no fork.

use crate::sys;

/// Oldest landlock ABI that can carry a confinement. Below 2 every rename and link across folders is refused, which breaks
/// git and compilers.
pub(crate) const REQUIRED_LANDLOCK_ABI: i32 = 2;

/// How much is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Landlock and seccomp, no namespaces: see [`ProbeReport::degraded`] for what that leaves open.
    B,
}

impl Tier {
    /// The word for logs and for the command's environment.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::B => "B",
        }
    }
}

/// The answer of [`probe`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeReport {
    /// Landlock ABI of the kernel, 0 if there is none.
    pub landlock_abi: i32,
    /// Whether seccomp filters can be installed.
    pub seccomp: bool,
    /// What restricted commands run under; `None`: they cannot run here.
    pub tier: Option<Tier>,
    /// What is missing for any tier; empty if and only if `tier` is there.
    pub missing: Vec<String>,
    /// What restricted commands are not kept from.
    pub degraded: Vec<String>,
}

/// Asks the kernel what it can enforce. A few system calls.
pub fn probe() -> ProbeReport {
    report(sys::landlock_abi(), sys::seccomp_available())
}

/// The report for a kernel with these features.
pub(crate) fn report(landlock_abi: i32, seccomp: bool) -> ProbeReport {
    let mut missing = Vec::new();
    if landlock_abi < REQUIRED_LANDLOCK_ABI {
        missing.push(format!(
            "landlock ABI {REQUIRED_LANDLOCK_ABI} or newer (this kernel: {landlock_abi})"
        ));
    }
    if !seccomp {
        missing.push("seccomp filters".to_owned());
    }
    let tier = missing.is_empty().then_some(Tier::B);
    let degraded = if tier.is_some() { gaps(landlock_abi) } else { Vec::new() };
    ProbeReport {
        landlock_abi,
        seccomp,
        tier,
        missing,
        degraded,
    }
}

/// What tier B leaves open on a kernel with this landlock ABI.
fn gaps(landlock_abi: i32) -> Vec<String> {
    let always = [
        "protected names inside a writable root (such as .git/config) stay writable",
        "everything the user can read stays readable, devices excepted",
        "files that other programs share in /dev/shm can be changed from a workspace",
        "mode, owner, times and extended attributes of the user's own files outside the roots can be changed",
    ];
    let since = [
        (5, "device files that can be read also take control requests (ioctl)"),
        (6, "signals reach the user's processes outside the sandbox"),
        (9, "with the network on, unix sockets on disk can be connected to"),
    ];
    let older = since.iter().filter(|(abi, _)| landlock_abi < *abi).map(|(_, gap)| *gap);
    always.into_iter().chain(older).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::report;

    #[test]
    fn without_landlock_or_seccomp_there_is_no_tier() {
        for (abi, seccomp, missing) in [
            (0, true, 1),
            (1, true, 1),
            (7, false, 1),
            (0, false, 2),
            (2, true, 0),
            (7, true, 0),
        ] {
            let report = report(abi, seccomp);
            assert_eq!(report.missing.len(), missing, "ABI {abi}, seccomp {seccomp}");
            assert_eq!(report.tier.is_some(), missing == 0);
        }
    }
}
