//! `config/read`: the configuration in force. `cwd` changes nothing, because no folder's files are configuration here.

use std::collections::BTreeMap;

use agentd_protocol::methods::config::{ConfigReadParams, ConfigReadResponse};

use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};

pub(super) async fn handle(ctx: Ctx, params: ConfigReadParams) -> Result<Answer<ConfigReadResponse>, RpcError> {
    let config = &ctx.daemon.config;
    let layers = params.include_layers.unwrap_or(false).then(|| config.shown_layers());
    Ok(Answer::now(ConfigReadResponse {
        config: config.shown(),
        origins: BTreeMap::new(),
        layers,
    }))
}
