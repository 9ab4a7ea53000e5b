//! What the model is told of each tool. Parameter schemas belong to the engine, which offers the tools.

/// Description of `exec_command`.
pub fn exec_command() -> &'static str {
    include_str!("../prompts/tools/exec_command.md").trim_ascii_end()
}

/// Description of `apply_patch`, with the patch format.
pub fn apply_patch() -> &'static str {
    include_str!("../prompts/tools/apply_patch.md").trim_ascii_end()
}

/// Description of `update_plan`.
pub fn update_plan() -> &'static str {
    include_str!("../prompts/tools/update_plan.md").trim_ascii_end()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_patch_format_is_explained_whole() {
        for marker in [
            "*** Begin Patch",
            "*** Add File: ",
            "*** Update File: ",
            "*** Move to: ",
            "*** Delete File: ",
            "@@ ",
            "*** End of File",
            "*** End Patch",
        ] {
            assert!(super::apply_patch().contains(marker), "{marker}");
        }
    }

    #[test]
    fn plan_statuses_are_the_ones_the_tool_takes() {
        for status in ["pending", "in_progress", "completed"] {
            assert!(super::update_plan().contains(status), "{status}");
        }
    }
}
