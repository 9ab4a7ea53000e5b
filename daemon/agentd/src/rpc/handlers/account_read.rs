//! `account/read`: there are no accounts here, only API keys in the environment.

use agentd_protocol::methods::account::{AccountReadParams, AccountReadResponse};
use serde_json::json;

use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};

pub(super) async fn handle(ctx: Ctx, _: AccountReadParams) -> Result<Answer<AccountReadResponse>, RpcError> {
    let config = &ctx.daemon.config;
    let variable = config
        .provider(&config.model_provider)
        .and_then(|provider| provider.env_key.as_deref());
    let has_key = variable.is_some_and(|variable| std::env::var(variable).is_ok_and(|key| !key.trim().is_empty()));
    Ok(Answer::now(AccountReadResponse {
        account: has_key.then(|| json!({ "type": "apiKey" })),
        user_id: None,
        requires_openai_auth: config.model_provider == "openai",
        workspace_routing: None,
    }))
}
