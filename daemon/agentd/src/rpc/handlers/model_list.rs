//! `model/list`: what can be chosen, page by page. A cursor is the number of models before it.

use agentd_protocol::methods::models::{Model, ModelListParams, ModelListResponse};

use crate::catalog;
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};

pub(super) async fn handle(ctx: Ctx, params: ModelListParams) -> Result<Answer<ModelListResponse>, RpcError> {
    let mut models = catalog::models(&ctx.daemon.config);
    models.retain(|model| params.include_hidden.unwrap_or(false) || !model.hidden);
    page(models, params.cursor.as_deref(), params.limit).map(Answer::now)
}

fn page(models: Vec<Model>, cursor: Option<&str>, limit: Option<u32>) -> Result<ModelListResponse, RpcError> {
    let total = models.len();
    let start = match cursor {
        Some(text) => text
            .parse::<usize>()
            .ok()
            .filter(|n| *n <= total)
            .ok_or_else(|| RpcError::invalid_cursor(text))?,
        None => 0,
    };
    let limit = limit
        .map_or(total, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
        .max(1);
    let end = start.saturating_add(limit).min(total);
    let data = models.into_iter().skip(start).take(end - start).collect();
    Ok(ModelListResponse {
        data,
        next_cursor: (end < total).then(|| end.to_string()),
    })
}
