//! stub
pub(crate) fn run(_args: &crate::cli::DemoArgs) -> anyhow::Result<crate::exit::Exit> {
    Ok(crate::exit::Exit::Failed)
}
