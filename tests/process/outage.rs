//! A full disk under a running turn: the turn ends visibly, what was acknowledged stays, and the thread goes on when there is room.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Step};
use serde_json::json;

/// A small file system over the home; unmounted at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn over(home: &Home) -> Option<Self> {
        let config = std::fs::read(home.path().join("config.toml")).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs"])
            .arg(home.path())
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: a file system of its own cannot be mounted here (needs root)");
            return None;
        }
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        Some(Self(home.path()))
    }

    fn fill(&self) {
        let mut ballast = std::fs::File::create(self.0.join("ballast")).unwrap();
        while ballast.write_all(&[0; 4096]).is_ok() {}
        while ballast.write_all(&[0; 1]).is_ok() {}
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

fn unmount(path: &Path) {
    let _ = Command::new("umount").arg("-l").arg(path).status();
}

#[test]
fn a_full_disk_ends_the_turn_and_not_the_thread() {
    let model = MockModel::start(|n, _| match n {
        0 => model::message("m0", "kept"),
        1 => {
            let mut steps = model::message_steps("m1", &["shown before ", &"x".repeat(300_000)], Duration::ZERO);
            steps.insert(2, Step::Gate("full"));
            model::stream(steps)
        }
        _ => model::message("m2", "goes on"),
    });
    let home = Home::new(&model);
    let Some(disk) = SmallDisk::over(&home) else { return };
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "one");
    let turn = client.start_turn(&thread, "two");
    client.until("item/agentMessage/delta", |_| true);
    disk.fill();
    model.open("full");
    let run = client.finish_turn(&turn);
    assert_eq!(run.status(), "failed");
    assert!(
        run.turn["error"]["message"]
            .as_str()
            .unwrap()
            .contains("cannot be written"),
        "{}",
        run.turn
    );
    let refused = client.refused(
        "turn/start",
        json!({"threadId": thread, "input": [{"type": "text", "text": "three"}]}),
    );
    assert_eq!(refused["data"]["kind"], "diskFull", "{refused}");
    disk.free();
    let run = client.run_turn(&thread, "four");
    assert_eq!(run.answer(), "goes on", "the same connection, without resuming");
    let read = client.read(&thread);
    let turns: Vec<&str> = read["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["status"].as_str().unwrap())
        .collect();
    assert_eq!(turns, ["completed", "failed", "completed"]);
    assert_eq!(read["turns"][0]["items"][1]["text"], "kept");
    // The text that was shown and could not be stored is gone, so the folded view may differ: no final comparison.
    client.abandon();
}
