//! `kill -9` right after a steer was answered: what was accepted is in the history.

use std::time::Duration;

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Step};
use serde_json::json;

#[test]
fn accepted_input_survives_a_kill() {
    // While a command runs, and while a message streams.
    for streaming in [false, true] {
        let model = MockModel::start(move |n, _| match (n, streaming) {
            (0, false) => model::exec("c1", "sleep 120"),
            (0, true) => {
                let mut steps = model::message_steps("msg_1", &["shown ", "text"], Duration::ZERO);
                steps.insert(2, Step::Gate("end"));
                model::unframed(steps)
            }
            (1, true) => model::unframed(vec![Step::Gate("end")]),
            _ => model::message("msg_end", "ok"),
        });
        let home = Home::new(&model);
        let mut client = home.session();
        let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
        let turn = client.start_turn(&thread, "go");
        match streaming {
            true => client.until("item/agentMessage/delta", |_| true),
            false => client.until("item/started", |p| p["item"]["type"] == "commandExecution"),
        };
        for text in ["STEERED ONE", "STEERED TWO"] {
            let input = json!([{"type": "text", "text": text}]);
            let params = json!({"threadId": thread, "expectedTurnId": turn, "input": input});
            client.request("turn/steer", params);
        }
        client.kill9();
        model.open("end");

        let mut client = home.session();
        let resumed = client.resume(&thread);
        let items = resumed["thread"]["turns"][0]["items"].to_string();
        for text in ["STEERED ONE", "STEERED TWO"] {
            assert_eq!(items.matches(text).count(), 1, "streaming {streaming}: {items}");
        }
        assert_eq!(items.contains("shown "), streaming);
        client.run_turn(&thread, "next");
        let last = model.requests().pop().unwrap();
        let said = serde_json::to_string(&last.input()).unwrap();
        for text in ["STEERED ONE", "STEERED TWO"] {
            assert_eq!(said.matches(text).count(), 1, "streaming {streaming}: {said}");
        }
        model.assert_prefix();
        client.finish();
    }
}
