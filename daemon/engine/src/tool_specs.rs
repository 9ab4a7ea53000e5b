//! The tools offered to the model: constant text, sorted by name.
//!
//! Must not depend on time, folder or settings: these bytes are part of every request's prefix.

use std::sync::LazyLock;

use agentd_prompts as prompts;

use crate::history::json_string;

/// Names of the offered tools, for texts to the model.
pub(crate) const NAMES: &str = "apply_patch, exec_command, update_plan";

static JSON: LazyLock<String> = LazyLock::new(|| {
    let tools = [
        function("apply_patch", prompts::apply_patch(), APPLY_PATCH),
        function("exec_command", prompts::exec_command(), EXEC_COMMAND),
        function("update_plan", prompts::update_plan(), UPDATE_PLAN),
    ];
    format!("[{}]", tools.join(","))
});

/// The `tools` array.
pub(crate) fn json() -> &'static str {
    &JSON
}

fn function(name: &str, description: &str, parameters: &str) -> String {
    format!(
        r#"{{"type":"function","name":{},"description":{},"strict":false,"parameters":{parameters}}}"#,
        json_string(name),
        json_string(description)
    )
}

const APPLY_PATCH: &str = concat!(
    r#"{"type":"object","properties":{"#,
    r#""input":{"type":"string","description":"The whole patch, from *** Begin Patch to *** End Patch."}"#,
    r#"},"required":["input"],"additionalProperties":false}"#
);

const EXEC_COMMAND: &str = concat!(
    r#"{"type":"object","properties":{"#,
    r#""cmd":{"type":"string","description":"Shell command line to run."},"#,
    r#""workdir":{"type":"string","description":"Folder to run it in; relative paths start from the working directory."},"#,
    r#""timeout_ms":{"type":"number","description":"Wall-clock limit in milliseconds (default 120000, at most 3600000)."},"#,
    r#""max_output_tokens":{"type":"number","description":"How much of the output to return (default and maximum 10000)."},"#,
    r#""sandbox_permissions":{"type":"string","enum":["use_default","require_escalated"],"description":"Ask to run outside the sandbox with require_escalated."},"#,
    r#""justification":{"type":"string","description":"Only with require_escalated: one short question to the user that says why."}"#,
    r#"},"required":["cmd"],"additionalProperties":false}"#
);

const UPDATE_PLAN: &str = concat!(
    r#"{"type":"object","properties":{"#,
    r#""explanation":{"type":"string"},"#,
    r#""plan":{"type":"array","items":{"type":"object","properties":{"#,
    r#""step":{"type":"string"},"#,
    r#""status":{"type":"string","enum":["pending","in_progress","completed"]}"#,
    r#"},"required":["step","status"],"additionalProperties":false}}"#,
    r#"},"required":["plan"],"additionalProperties":false}"#
);
